/* The first bytes of a client in a tunnel are held until it is known what they are: the server name of
 * a ClientHello must be the name that the connection was allowed for (N25, GC C1, C6). Bytes of the
 * server flow meanwhile. See gate.h. */
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "hello.h"

struct sbx_hold {
    struct sbx_hello hello;
    bool check;     /* the server name counts */
    uint64_t began; /* loop time of the first byte; 0: none yet */
};

int sbx_hold_start(struct sbx_conn *c)
{
    const struct sbx_asked *a = &c->asked;
    bool check = a->host.kind == SBX_HOST_NAME && !a->verdict.host_resource;

    if (!check && !c->transparent)
        return 0; /* nothing to check and nothing to tell */
    c->hold = malloc(sizeof(*c->hold));
    if (!c->hold)
        return -1;
    *c->hold = (struct sbx_hold){ .hello = SBX_HELLO_INIT, .check = check };
    return 0;
}

void sbx_hold_free(struct sbx_conn *c)
{
    if (!c->hold)
        return;
    sbx_hello_release(&c->hold->hello);
    free(c->hold);
    c->hold = NULL;
}

/* A name with odd bytes is told as the log tells those of DNS: printable. */
static void deny(struct sbx_conn *c, const char *reason, const char *host)
{
    struct sbx_record r = {
        .door = c->transparent ? "transparent" : "proxy",
        .proxy = c->transparent ? "transparent" : "forward-bypass",
        .protocol = c->transparent ? "tls" : "connect",
        .method = *c->asked.method ? c->asked.method : NULL,
        .host = host ? host : c->asked.host.text,
        .port = c->asked.port,
        .address = &c->address,
        .decision = "deny",
        .reason = reason,
    };

    sbx_log(&c->gate->log, &r);
    c->asked.logged = true;
    sbx_conn_close(c, true);
}

/* Without a name in the hello only a rule for the address itself can mean this connection. */
static bool address_allowed(const struct sbx_conn *c)
{
    struct sbx_host literal = { .kind = IN6_IS_ADDR_V4MAPPED(&c->address) ? SBX_HOST_IPV4
                                                                          : SBX_HOST_IPV6,
                                .address = c->address };

    return sbx_policy_judge(c->asked.config->policy, &literal, c->asked.port).decision == SBX_ALLOW;
}

/* The whole hello is there. True: its name is right. */
static bool check_name(struct sbx_conn *c)
{
    const struct sbx_hello *h = &c->hold->hello;
    struct sbx_host host;

    if (!c->hold->check)
        return true;
    if (!h->named) {
        /* Through the proxy the client has named the host itself. */
        if (!c->transparent || address_allowed(c))
            return true;
        deny(c, "no-server-name", NULL);
        return false;
    }
    if (sbx_host_parse(h->name, h->name_len, &host, NULL)) {
        deny(c, "bad-hello", NULL);
        return false;
    }
    if (strcmp(host.text, c->asked.host.text) == 0)
        return true;
    deny(c, "server-name", host.text);
    return false;
}

static bool looks_like_http(const struct sbx_buf *in)
{
    static const char *const methods[] = { "GET ", "HEAD ", "POST ", "PUT ", "PATCH ", "DELETE ",
                                           "OPTIONS ", "PRI " };

    for (size_t i = 0; i < SBX_ARRAY_LEN(methods); i++)
        if (in->len >= strlen(methods[i]) && memcmp(in->ptr, methods[i], strlen(methods[i])) == 0)
            return true;
    return false;
}

/* Known well: log it, and let the bytes go. False: the connection is closed. */
static bool let_go(struct sbx_conn *c, bool tls)
{
    c->asked.seen = tls ? SBX_SEEN_TLS : looks_like_http(&c->in) ? SBX_SEEN_HTTP : SBX_SEEN_OTHER;
    c->asked.ech = tls && c->hold->hello.ech;
    if (!sbx_tunnel_log(c)) {
        sbx_conn_close(c, true);
        return false;
    }
    sbx_hold_free(c);
    c->asked.bytes_out += c->in.len;
    if (sbx_pipe_add(&c->gate->pool, &c->up, c->in.ptr, c->in.len)) {
        sbx_conn_close(c, true);
        return false;
    }
    sbx_buf_release(&c->in);
    sbx_conn_arm(c, c->client.ended || c->server.ended ? SBX_GATE_HALF_MS : SBX_GATE_IDLE_MS);
    return c->state == SBX_CONN_TUNNEL;
}

static void note_first(struct sbx_conn *c)
{
    if (c->hold->began || !c->in.len)
        return;
    c->hold->began = c->gate->loop.now;
    sbx_conn_arm(c, SBX_GATE_HELLO_MS);
}

bool sbx_hold_run(struct sbx_conn *c)
{
    while (c->state == SBX_CONN_TUNNEL) {
        enum sbx_hello_state s = sbx_hello_read(&c->hold->hello, c->in.ptr, c->in.len);
        ssize_t n;

        if (s == SBX_HELLO_DONE)
            return check_name(c) && let_go(c, true);
        if (s == SBX_HELLO_NOT_TLS)
            return let_go(c, false);
        if (s == SBX_HELLO_BAD || c->in.len >= SBX_GATE_HELLO_MAX) {
            deny(c, "bad-hello", NULL);
            return false;
        }
        note_first(c);
        n = sbx_conn_fill(c, SBX_GATE_HELLO_MAX);
        if (n == -1)
            return c->state == SBX_CONN_TUNNEL;
        if (n == -2 && c->in.len) { /* a reset, and nothing of it went out */
            sbx_conn_close(c, true);
            return false;
        }
        if (n <= 0 && c->in.len) {
            deny(c, "bad-hello", NULL);
            return false;
        }
        if (n <= 0)
            return let_go(c, false); /* it ended without a byte: the tunnel knows what to do */
    }
    return false;
}

bool sbx_hold_timeout(struct sbx_conn *c)
{
    if (c->hold->began) {
        deny(c, "hello-timeout", NULL);
        return true;
    }
    if (c->asked.logged)
        return false;
    if (sbx_tunnel_log(c)) /* perhaps the server is to speak first, and it is slow */
        sbx_conn_arm(c, SBX_GATE_HALF_MS);
    else
        sbx_conn_close(c, true);
    return true;
}
