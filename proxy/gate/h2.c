/* HTTP/2 between a client and a server: the object, its input and output, its ends. See http.h, h2part.h. */
#include <stdlib.h>
#include <string.h>

#include "h2part.h"

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *ctx)
{
    (void)session;
    return sbx_h2_guard_frame(ctx, hd) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    struct sbx_h2_end *e = ctx;
    struct sbx_slice n = { (const char *)name, name_len }, v = { (const char *)value, value_len };

    (void)session, (void)frame;
    return e->list && sbx_h2_list_add(e, n, v, flags) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static nghttp2_session_callbacks *common_callbacks(void)
{
    nghttp2_session_callbacks *cb = NULL;

    if (nghttp2_session_callbacks_new(&cb))
        return NULL;
    nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin_frame);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    return cb;
}

static nghttp2_option *options(enum sbx_http_end which)
{
    nghttp2_option *o = NULL;

    if (nghttp2_option_new(&o))
        return NULL;
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_no_closed_streams(o, 1);
    /* Theirs counts pieces of a frame that come apart (9 bytes of its head), ours counts frames. */
    nghttp2_option_set_max_continuations(o, 10 * SBX_GATE_H2_CONTINUATIONS);
    nghttp2_option_set_max_settings(o, SBX_GATE_H2_SETTINGS);
    /* Ours is stricter, has the right code, and time as it is told: this one is not to come first. */
    nghttp2_option_set_stream_reset_rate_limit(o, 10 * SBX_GATE_H2_RESETS, SBX_GATE_H2_RESETS);
    if (which == SBX_HTTP_CLIENT)
        nghttp2_option_set_max_deflate_dynamic_table_size(o, SBX_GATE_H2_TABLE);
    return o;
}

nghttp2_session *sbx_h2_session_new(struct sbx_h2_end *e, void (*add)(nghttp2_session_callbacks *cb),
                                    const nghttp2_settings_entry *settings, size_t n)
{
    int (*make)(nghttp2_session **, const nghttp2_session_callbacks *, void *, const nghttp2_option *,
                nghttp2_mem *) = e->which == SBX_HTTP_CLIENT ? nghttp2_session_server_new3
                                                             : nghttp2_session_client_new3;
    nghttp2_session_callbacks *cb = common_callbacks();
    nghttp2_option *option = options(e->which);
    nghttp2_session *session = NULL;

    if (cb && option) {
        add(cb);
        if (make(&session, cb, e, option, &e->mem.calls) == 0 &&
            nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, n))
            session = NULL; /* its memory goes with e->mem */
    }
    nghttp2_session_callbacks_del(cb);
    nghttp2_option_del(option);
    return session;
}

void sbx_h2_consume(struct sbx_h2_end *e, int32_t id, size_t n)
{
    e->held -= n;
    if (n && !e->mem.failed &&
        (id ? nghttp2_session_consume(e->session, id, n)
            : nghttp2_session_consume_connection(e->session, n)))
        e->deaf = true; /* out of memory: settle() looks */
}

struct sbx_h2 *sbx_h2_new(const struct sbx_http_host *host, uint64_t now_ms)
{
    struct sbx_h2 *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->host = *host;
    h->now_ms = h->idle_ms = now_ms;
    sbx_list_init(&h->streams);
    h->client.h = h->server.h = h;
    h->client.which = SBX_HTTP_CLIENT;
    h->server.which = SBX_HTTP_SERVER;
    sbx_h2_mem_init(&h->client.mem, false);
    sbx_h2_mem_init(&h->server.mem, true);
    sbx_h2_guard_init(&h->client);
    sbx_h2_guard_init(&h->server);
    h->client.window = h->server.window = NGHTTP2_INITIAL_CONNECTION_WINDOW_SIZE;
    h->client.session = sbx_h2_front_new(&h->client);
    h->server.session = sbx_h2_back_new(&h->server);
    if (h->client.session && h->server.session)
        return h;
    sbx_h2_free(h);
    return NULL;
}

static void release_end(struct sbx_h2_end *e)
{
    if (!e->mem.failed)
        nghttp2_session_del(e->session);
    sbx_h2_mem_release(&e->mem);
    sbx_h2_list_free(e->list);
}

void sbx_h2_free(struct sbx_h2 *h)
{
    if (!h)
        return;
    while (!sbx_list_empty(&h->streams))
        sbx_h2_stream_free(sbx_container_of(h->streams.next, struct sbx_h2_stream, node));
    sbx_h2_window_return(h);
    release_end(&h->client);
    release_end(&h->server);
    free(h);
}

static struct sbx_h2_end *end_of(struct sbx_h2 *h, enum sbx_http_end which)
{
    return which == SBX_HTTP_CLIENT ? &h->client : &h->server;
}

static bool is_over(const struct sbx_h2_end *e)
{
    return e->ended || (!e->out_len && !nghttp2_session_want_read(e->session) &&
                        !nghttp2_session_want_write(e->session));
}

/* GOAWAY and the end of all streams of this side. */
static void send_away(struct sbx_h2_end *e, uint32_t code)
{
    e->deaf = true;
    if (e->away)
        return;
    e->away = true;
    if (nghttp2_session_terminate_session(e->session, code))
        e->ended = true; /* out of memory: only closing is left */
}

/* The server gives no more replies: what has none gets one of the gate. */
static void lose_server(struct sbx_h2 *h)
{
    struct sbx_list *node, *next;

    for (node = h->streams.next; node != &h->streams; node = next) {
        struct sbx_h2_stream *s = sbx_container_of(node, struct sbx_h2_stream, node);

        next = node->next;
        if (!s->back)
            continue;
        /* The session may still be asked to send what it had: not from a stream that is freed. */
        nghttp2_session_set_stream_user_data(h->server.session, s->back, NULL);
        sbx_h2_back_gone(s, NGHTTP2_NO_ERROR);
    }
}

void sbx_h2_drain(struct sbx_h2 *h)
{
    if (h->client.told || h->client.away)
        return;
    h->client.told = true;
    if (nghttp2_submit_goaway(h->client.session, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(h->client.session),
                              NGHTTP2_NO_ERROR, NULL, 0))
        h->client.ended = true;
}

void sbx_h2_sent(struct sbx_h2_end *e, const nghttp2_frame *frame)
{
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR &&
        !e->why.reason)
        e->why = (struct sbx_h2_why){ "h2-protocol", frame->goaway.error_code };
}

static void record_end(struct sbx_h2 *h, const char *reason)
{
    if (!h->recorded)
        h->host.fault(h->host.ctx, NULL, 0, reason);
    h->recorded = true;
}

/* A session without memory is in no state to be asked anything: both sides are over at once. */
static bool has_failed(struct sbx_h2 *h)
{
    if (!h->client.mem.failed && !h->server.mem.failed)
        return false;
    record_end(h, "h2-failed");
    h->client.ended = h->client.deaf = h->server.ended = h->server.deaf = true;
    h->client.out_len = h->server.out_len = 0;
    return true;
}

bool sbx_h2_no_server(const struct sbx_h2 *h)
{
    return h->server.ended || !nghttp2_session_check_request_allowed(h->server.session);
}

bool sbx_h2_broken(const struct sbx_h2 *h)
{
    const struct sbx_h2_end *s = &h->server;

    return s->why.reason || (!s->ended && !s->leaves && sbx_h2_no_server(h));
}

/* What the state of one side means for the other, after anything has happened. */
static void settle(struct sbx_h2 *h)
{
    bool server_was = h->server.away || h->server.ended;

    if (has_failed(h))
        return;
    if (h->client.why.reason)
        send_away(&h->client, h->client.why.code);
    if (h->server.why.reason)
        send_away(&h->server, h->server.why.code);
    if (h->client.why.reason || h->server.why.reason)
        record_end(h, h->client.why.reason ? h->client.why.reason : "h2-server");
    if (h->client.away || is_over(&h->client))
        send_away(&h->server, NGHTTP2_NO_ERROR);
    if (!server_was && (h->server.away || h->server.ended))
        lose_server(h);
    /* A client that was sent away before its first request would never learn what is wrong. */
    if (sbx_h2_no_server(h) && (!sbx_h2_broken(h) ||
                                nghttp2_session_get_last_proc_stream_id(h->client.session)))
        sbx_h2_drain(h);
    (void)has_failed(h); /* while all that was done */
}

int sbx_h2_input(struct sbx_h2 *h, enum sbx_http_end from, const void *data, size_t len)
{
    struct sbx_h2_end *e = end_of(h, from);
    ssize_t n;

    if (e->deaf || e->ended)
        return -1;
    n = nghttp2_session_mem_recv(e->session, data, len);
    if (n < 0 && !e->why.reason) {
        bool calm = n == NGHTTP2_ERR_FLOODED || n == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS;

        e->why = n == NGHTTP2_ERR_BAD_CLIENT_MAGIC
                     ? (struct sbx_h2_why){ "h2-protocol", NGHTTP2_PROTOCOL_ERROR }
                 : calm ? (struct sbx_h2_why){ "h2-flood", NGHTTP2_ENHANCE_YOUR_CALM }
                        : (struct sbx_h2_why){ "h2-failed", NGHTTP2_INTERNAL_ERROR };
    }
    settle(h);
    return e->deaf ? -1 : 0;
}

/* The next frame, or the rest of one. False: none. */
static bool next_frame(struct sbx_h2_end *e)
{
    ssize_t n;

    if (e->out_len)
        return true;
    n = nghttp2_session_mem_send(e->session, &e->out);
    if (n > 0) {
        e->out_len = (size_t)n;
        return true;
    }
    if (n < 0 && !e->why.reason)
        e->why = (struct sbx_h2_why){ "h2-failed", NGHTTP2_INTERNAL_ERROR };
    return false;
}

size_t sbx_h2_output(struct sbx_h2 *h, enum sbx_http_end to, void *buf, size_t max)
{
    struct sbx_h2_end *e = end_of(h, to);
    size_t done = 0;

    while (done < max && !e->ended && next_frame(e)) {
        size_t n = e->out_len < max - done ? e->out_len : max - done;

        memcpy((char *)buf + done, e->out, n);
        e->out += n;
        e->out_len -= n;
        done += n;
    }
    settle(h);
    return done;
}

bool sbx_h2_wants(const struct sbx_h2 *h, enum sbx_http_end from)
{
    const struct sbx_h2_end *e = from == SBX_HTTP_CLIENT ? &h->client : &h->server;
    /* The server is read on a while longer: one that writes before it reads must not wait for us. */
    size_t max = from == SBX_HTTP_CLIENT ? SBX_GATE_H2_QUEUE : 2 * SBX_GATE_H2_QUEUE;

    return !e->deaf && !e->ended &&
           nghttp2_session_get_outbound_queue_size(h->client.session) < max &&
           nghttp2_session_get_outbound_queue_size(h->server.session) < max;
}

void sbx_h2_ended(struct sbx_h2 *h, enum sbx_http_end side)
{
    struct sbx_h2_end *e = end_of(h, side);
    bool away = h->server.away;

    if (e->ended || has_failed(h))
        return;
    e->ended = e->deaf = true;
    e->out_len = 0;
    if (side == SBX_HTTP_SERVER && !away)
        lose_server(h);
    settle(h);
}

unsigned sbx_h2_streams(const struct sbx_h2 *h)
{
    return h->nstreams;
}

bool sbx_h2_done(const struct sbx_h2 *h)
{
    return is_over(&h->client) && is_over(&h->server);
}

/* A header block that does not end. */
static uint64_t watch_list(struct sbx_h2_end *e)
{
    uint64_t waited = e->h->now_ms - e->list_ms;

    if (!e->list || e->deaf)
        return SBX_GATE_H2_TICK_MS;
    if (waited < SBX_GATE_HEAD_MS)
        return SBX_GATE_HEAD_MS - waited;
    e->why = (struct sbx_h2_why){ "head-timeout", NGHTTP2_ENHANCE_YOUR_CALM };
    return SBX_GATE_H2_TICK_MS;
}

static void watch_streams(struct sbx_h2 *h)
{
    for (struct sbx_list *n = h->streams.next; n != &h->streams; n = n->next) {
        struct sbx_h2_stream *s = sbx_container_of(n, struct sbx_h2_stream, node);

        if ((s->up.len || s->down.len) && h->now_ms - s->moved_ms >= SBX_GATE_H2_STALL_MS)
            sbx_h2_stream_cut(s, NGHTTP2_CANCEL);
    }
    if (!h->nstreams && h->now_ms - h->idle_ms >= SBX_GATE_H2_IDLE_MS)
        sbx_h2_drain(h);
}

uint64_t sbx_h2_tick(struct sbx_h2 *h, uint64_t now_ms)
{
    uint64_t client, server;

    h->now_ms = now_ms;
    if (has_failed(h))
        return SBX_GATE_H2_TICK_MS;
    client = watch_list(&h->client);
    server = watch_list(&h->server);
    if (now_ms >= h->watch_ms) {
        h->watch_ms = now_ms + SBX_GATE_H2_TICK_MS;
        watch_streams(h);
    }
    settle(h);
    return client < server ? client : server;
}
