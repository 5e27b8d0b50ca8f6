/* HTTP/2 from both sides at once. The input is records: a byte that says whose bytes follow (1: the
 * server's), whether output is taken behind them (2), and whether time passes (4); two bytes of length;
 * the bytes. Nothing but judged requests may reach the server, in frames that are whole. */
#include <stdlib.h>
#include <string.h>

#include "h2part.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
    struct sbx_h2 *h;
    struct sbx_buf server; /* output */
    size_t parsed;         /* of it */
    unsigned allowed, begun, ended;
    uint64_t now_ms;
};

static bool judge(void *ctx, const struct sbx_http_ask *ask, uint64_t *ret_number, struct sbx_http_no *no)
{
    struct run *r = ctx;
    struct sbx_slice a = ask->authority.len ? ask->authority : ask->host;

    if (sbx_slice_is(a, "a.de") && !sbx_slice_is(ask->method, "CONNECT")) {
        *ret_number = ++r->allowed;
        return true;
    }
    *no = (struct sbx_http_no){ .status = 421, .denied = true, .text = "no\n" };
    return false;
}

static const char *fault(void *ctx, const struct sbx_http_ask *ask, unsigned status, const char *reason)
{
    (void)ctx, (void)status;
    if (!*reason || (ask && ask->method.len && !ask->method.ptr))
        abort();
    return reason;
}

static void over(void *ctx, const struct sbx_http_over *what)
{
    struct run *r = ctx;

    if (!what->number || what->number > r->allowed || ++r->ended > r->allowed)
        abort();
}

static bool strikes(void *ctx, struct sbx_slice name)
{
    (void)ctx;
    return sbx_slice_is_nocase(name, "authorization");
}

static bool add(void *ctx, unsigned i, struct sbx_http_field *ret)
{
    (void)ctx;
    *ret = (struct sbx_http_field){ { "authorization", 13 }, { "secret", 6 } };
    return i == 0;
}

static uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Frames that went to the server, behind the 24 bytes of the preface. */
static void check_server(struct run *r)
{
    if (r->parsed < NGHTTP2_CLIENT_MAGIC_LEN)
        r->parsed = r->server.len >= NGHTTP2_CLIENT_MAGIC_LEN ? NGHTTP2_CLIENT_MAGIC_LEN : 0;
    while (r->parsed && r->server.len - r->parsed >= 9) {
        const uint8_t *p = (const uint8_t *)r->server.ptr + r->parsed;
        size_t len = 9 + ((size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2]);

        if (r->server.len - r->parsed < len)
            break;
        if (p[3] == NGHTTP2_HEADERS) {
            r->begun++;
            if (!(word(p + 5) & 1))
                abort();
        }
        r->parsed += len;
    }
    if (r->begun > r->allowed)
        abort(); /* a request that was not judged, or trailers */
}

static void take_output(struct run *r)
{
    char buf[1024];
    size_t n;

    do {
        n = sbx_h2_output(r->h, SBX_HTTP_SERVER, buf, sizeof(buf));
        if (n && sbx_buf_add(&r->server, buf, n))
            abort();
        n += sbx_h2_output(r->h, SBX_HTTP_CLIENT, buf, sizeof(buf));
    } while (n);
    check_server(r);
}

/* No stream holds more than its window, nor all together more than theirs. */
static void check_held(const struct sbx_h2 *h)
{
    size_t up = 0, down = 0;

    for (const struct sbx_list *n = h->streams.next; n != &h->streams; n = n->next) {
        const struct sbx_h2_stream *s = sbx_container_of(n, struct sbx_h2_stream, node);

        up += s->up.len;
        down += s->answered ? 0 : s->down.len;
    }
    if (up > h->client.window || down > h->server.window || up != h->client.held || down != h->server.held ||
        h->client.window + h->server.window != 2 * 65535 + h->borrowed || h->nstreams > 2 * SBX_GATE_H2_STREAMS)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run r = { .server.max = 1 << 26, .now_ms = 1000 };
    size_t spare = 1 << 20;
    const struct sbx_http_host host = { &r, judge, fault, over, strikes, add, &spare };

    r.h = sbx_h2_new(&host, r.now_ms);
    if (!r.h)
        return 0;
    while (size >= 3) {
        enum sbx_http_end from = data[0] & 1 ? SBX_HTTP_SERVER : SBX_HTTP_CLIENT;
        size_t len = (size_t)data[1] << 8 | data[2];
        uint8_t what = data[0];

        data += 3, size -= 3;
        if (len > size)
            len = size;
        if (what & 4)
            sbx_h2_tick(r.h, r.now_ms += 1 + (uint64_t)(what >> 3) * 30000);
        if (sbx_h2_wants(r.h, from))
            (void)sbx_h2_input(r.h, from, data, len);
        if (what & 2)
            take_output(&r);
        check_held(r.h);
        data += len, size -= len;
    }
    take_output(&r);
    sbx_h2_ended(r.h, r.now_ms & 1 ? SBX_HTTP_CLIENT : SBX_HTTP_SERVER);
    take_output(&r);
    sbx_h2_free(r.h);
    if (spare != 1 << 20 || r.ended != r.allowed)
        abort();
    sbx_buf_release(&r.server);
    return 0;
}
