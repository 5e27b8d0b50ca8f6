/* See h2lab.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "h2lab.h"

struct lab lab;

int lab_setup(void **state)
{
    (void)state;
    lab_open(&lab);
    return 0;
}

int lab_teardown(void **state)
{
    (void)state;
    lab_close(&lab);
    return 0;
}

const char *lab_last_line(const struct sbx_buf *b)
{
    const char *p = b->ptr;

    if (!p)
        return "";
    for (const char *q = strchr(p, '\n'); q && q[1]; q = strchr(p, '\n'))
        p = q + 1;
    return p;
}

void lab_has(const struct sbx_buf *b, const char *line)
{
    if (!b->ptr || !strstr(b->ptr, line))
        fail_msg("no \"%s\" in \"%s\"", line, b->ptr ? b->ptr : "");
}

void lab_has_not(const struct sbx_buf *b, const char *text)
{
    if (b->ptr && strstr(b->ptr, text))
        fail_msg("\"%s\" in \"%s\"", text, b->ptr);
}

struct lab_stream *lab_by_id(struct lab_side *side, int32_t id)
{
    for (unsigned i = 0; i < side->n; i++)
        if (side->streams[i].id == id)
            return &side->streams[i];
    return NULL;
}

static struct lab_stream *add_stream(struct lab_side *side, int32_t id)
{
    struct lab_stream *s = &side->streams[side->n++];

    assert_true(side->n <= LAB_STREAMS);
    memset(s, 0, sizeof(*s));
    s->id = id;
    s->head.max = s->trailers.max = LAB_TEXT;
    s->body.max = 64 * LAB_TEXT;
    return s;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct lab_side *side = ctx;

    (void)session;
    side->in_block++;
    if (!lab_by_id(side, frame->hd.stream_id))
        add_stream(side, frame->hd.stream_id);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    struct lab_stream *s = lab_by_id(ctx, frame->hd.stream_id);
    struct sbx_buf *to = s->headed ? &s->trailers : &s->head;

    (void)session;
    assert_int_equal(sbx_buf_add(to, name, name_len), SBX_OK);
    assert_int_equal(sbx_buf_adds(to, ": "), SBX_OK);
    assert_int_equal(sbx_buf_add(to, value, value_len), SBX_OK);
    assert_int_equal(sbx_buf_adds(to, "\n"), SBX_OK);
    s->secret |= flags & NGHTTP2_NV_FLAG_NO_INDEX;
    return 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct lab_side *side = ctx;
    struct lab_stream *s = lab_by_id(side, frame->hd.stream_id);

    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        side->goaway = true;
        side->goaway_code = frame->goaway.error_code;
    }
    if (!s)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && !s->headed) {
        if (s->head.ptr && strncmp(s->head.ptr, ":status: 1", 10) == 0) {
            s->interim++;
            sbx_buf_clear(&s->head);
        } else {
            s->headed = true;
        }
    }
    s->ended |= (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
                (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                   void *ctx)
{
    struct lab_stream *s = lab_by_id(ctx, id);

    (void)session, (void)flags;
    assert_int_equal(sbx_buf_add(&s->body, data, len), SBX_OK);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct lab_stream *s = lab_by_id(ctx, id);

    (void)session;
    if (s) {
        s->closed = true;
        s->code = code;
    }
    return 0;
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *buf, size_t max, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx)
{
    struct lab_stream *s = lab_by_id(ctx, id);
    size_t n = s->to_send < max ? s->to_send : max;

    (void)source;
    memset(buf, 'x', n);
    s->to_send -= n;
    if (!s->to_send && !s->hold) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (s->trailer) {
            nghttp2_nv nv = { (uint8_t *)"x-trailer", (uint8_t *)s->trailer, 9, strlen(s->trailer), 0 };

            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            assert_int_equal(nghttp2_submit_trailer(session, id, &nv, 1), 0);
        }
    } else if (!n) {
        s->waits = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)n;
}

static nghttp2_session_callbacks *callbacks(void)
{
    nghttp2_session_callbacks *cb;

    assert_int_equal(nghttp2_session_callbacks_new(&cb), 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    return cb;
}

/* The connection's host is api.example.com:443, as intercept.c would judge it. */
static bool names_host(struct sbx_slice s)
{
    return sbx_slice_is_nocase(s, "api.example.com") || sbx_slice_is_nocase(s, "api.example.com:443");
}

static bool lab_judge(void *ctx, const struct sbx_http_ask *ask, uint64_t *ret_number,
                      struct sbx_http_no *no)
{
    struct lab *l = ctx;

    l->judged++;
    assert_int_equal(sbx_buf_addf(&l->log, "judge %.*s %.*s %.*s %.*s\n", (int)ask->method.len,
                                  ask->method.ptr ? ask->method.ptr : "", (int)ask->authority.len,
                                  ask->authority.ptr ? ask->authority.ptr : "", (int)ask->host.len,
                                  ask->host.ptr ? ask->host.ptr : "", (int)ask->path.len,
                                  ask->path.ptr ? ask->path.ptr : ""), SBX_OK);
    no->status = 0;
    if (sbx_slice_is(ask->method, "TRACE") || sbx_slice_is(ask->method, "CONNECT"))
        no->status = 405;
    else if ((ask->authority.len && !names_host(ask->authority)) ||
             (ask->host.len && !names_host(ask->host)))
        no->status = 421;
    else if (l->refuse)
        no->status = 403;
    no->denied = no->status == 403;
    snprintf(no->text, sizeof(no->text), "refused with %u\n", no->status);
    *ret_number = l->judged;
    l->running += !no->status;
    return !no->status;
}

static void lab_over(void *ctx, const struct sbx_http_over *what)
{
    struct lab *l = ctx;

    assert_true(what->number && what->number <= l->judged);
    l->running--;
    l->over = *what;
    snprintf(l->over_method, sizeof(l->over_method), "%s", what->method);
}

static const char *lab_fault(void *ctx, const struct sbx_http_ask *ask, unsigned status, const char *reason)
{
    struct lab *l = ctx;

    (void)ask;
    assert_int_equal(sbx_buf_addf(&l->log, "fault %u %s\n", status, reason), SBX_OK);
    return reason;
}

static bool lab_strikes(void *ctx, struct sbx_slice name)
{
    (void)ctx;
    return sbx_slice_is_nocase(name, "authorization") || sbx_slice_is_nocase(name, "x_api_key");
}

static bool lab_add(void *ctx, unsigned i, struct sbx_http_field *ret)
{
    static const char name[] = "authorization", value[] = "Bearer real-secret";

    (void)ctx;
    if (i)
        return false;
    *ret = (struct sbx_http_field){ { name, sizeof(name) - 1 }, { value, sizeof(value) - 1 } };
    return true;
}

void lab_open_raw(struct lab *l)
{
    const struct sbx_http_host host = { l, lab_judge, lab_fault, lab_over, lab_strikes, lab_add, &l->spare };
    nghttp2_session_callbacks *cb = callbacks();

    memset(l, 0, sizeof(*l));
    l->log.max = LAB_TEXT;
    l->now_ms = 1000;
    l->spare = 1 << 20;
    l->client.lab = l->origin.lab = l;
    l->h = sbx_h2_new(&host, l->now_ms);
    assert_non_null(l->h);
    assert_int_equal(nghttp2_session_server_new(&l->origin.session, cb, &l->origin), 0);
    assert_int_equal(nghttp2_submit_settings(l->origin.session, NGHTTP2_FLAG_NONE, NULL, 0), 0);
    nghttp2_session_callbacks_del(cb);
}

void lab_open(struct lab *l)
{
    nghttp2_session_callbacks *cb = callbacks();

    lab_open_raw(l);
    assert_int_equal(nghttp2_session_client_new(&l->client.session, cb, &l->client), 0);
    assert_int_equal(nghttp2_submit_settings(l->client.session, NGHTTP2_FLAG_NONE, NULL, 0), 0);
    nghttp2_session_callbacks_del(cb);
}

static void release_side(struct lab_side *side)
{
    for (unsigned i = 0; i < side->n; i++) {
        sbx_buf_release(&side->streams[i].head);
        sbx_buf_release(&side->streams[i].trailers);
        sbx_buf_release(&side->streams[i].body);
    }
    nghttp2_session_del(side->session);
}

void lab_close(struct lab *l)
{
    sbx_h2_free(l->h);
    assert_int_equal(l->running, 0); /* every request that went on came to an end */
    release_side(&l->client);
    release_side(&l->origin);
    sbx_buf_release(&l->log);
}

/* One frame of a side to the relay. */
static bool move_in(struct lab *l, struct lab_side *side, enum sbx_http_end end)
{
    const uint8_t *data;
    ssize_t n;

    if (!side->session || side->mute || !sbx_h2_wants(l->h, end))
        return false;
    n = nghttp2_session_mem_send(side->session, &data);
    assert_true(n >= 0);
    if (n == 0)
        return false;
    (void)sbx_h2_input(l->h, end, data, (size_t)n);
    return true;
}

static bool move_out(struct lab *l, struct lab_side *side, enum sbx_http_end end)
{
    char buf[4096];
    bool moved = false;
    size_t n;

    if (!side->session || side->stalled)
        return false;
    while ((n = sbx_h2_output(l->h, end, buf, sizeof(buf)))) {
        assert_true(nghttp2_session_mem_recv(side->session, (uint8_t *)buf, n) >= 0);
        moved = true;
    }
    return moved;
}

void lab_run(struct lab *l)
{
    bool moved = true;

    while (moved) {
        sbx_h2_tick(l->h, l->now_ms);
        moved = move_in(l, &l->client, SBX_HTTP_CLIENT);
        moved |= move_out(l, &l->origin, SBX_HTTP_SERVER);
        moved |= move_in(l, &l->origin, SBX_HTTP_SERVER);
        moved |= move_out(l, &l->client, SBX_HTTP_CLIENT);
    }
}

static size_t fill(nghttp2_nv *nv, const char *const *fields)
{
    size_t n = 0;

    for (; fields && fields[0]; fields += 2)
        nv[n++] = (nghttp2_nv){ (uint8_t *)fields[0], (uint8_t *)fields[1], strlen(fields[0]),
                                strlen(fields[1]), NGHTTP2_NV_FLAG_NONE };
    return n;
}

struct lab_stream *lab_ask_all(struct lab *l, const char *const *fields, ssize_t body, bool hold)
{
    nghttp2_data_provider provider = { .read_callback = read_body };
    nghttp2_nv nv[300];
    size_t n = fill(nv, fields);
    int32_t id = nghttp2_submit_request(l->client.session, NULL, nv, n, body < 0 ? NULL : &provider,
                                        NULL);
    struct lab_stream *s;

    assert_true(id > 0);
    s = add_stream(&l->client, id);
    s->to_send = body < 0 ? 0 : (size_t)body;
    s->hold = hold;
    return s;
}

struct lab_stream *lab_ask(struct lab *l, const char *method, const char *path, const char *const *extra,
                           ssize_t body)
{
    const char *fields[64] = { ":method", method, ":scheme", "https", ":authority", "api.example.com",
                               ":path", path };
    size_t n = 8;

    for (; extra && *extra; extra++)
        fields[n++] = *extra;
    return lab_ask_all(l, fields, body, false);
}

void lab_reply(struct lab *l, unsigned i, const char *status, const char *const *extra, ssize_t body,
               const char *trailer)
{
    nghttp2_data_provider provider = { .read_callback = read_body };
    struct lab_stream *s = &l->origin.streams[i];
    nghttp2_nv nv[300] = { { (uint8_t *)":status", (uint8_t *)status, 7, 3, 0 } };
    size_t n = 1 + fill(nv + 1, extra);

    assert_true(i < l->origin.n);
    s->to_send = body < 0 ? 0 : (size_t)body;
    s->trailer = trailer;
    assert_int_equal(nghttp2_submit_response(l->origin.session, s->id, nv, n,
                                             body < 0 ? NULL : &provider), 0);
}

void lab_interim(struct lab *l, unsigned i, const char *status)
{
    nghttp2_nv nv = { (uint8_t *)":status", (uint8_t *)status, 7, 3, 0 };

    assert_true(i < l->origin.n);
    assert_int_equal(nghttp2_submit_headers(l->origin.session, 0, l->origin.streams[i].id, NULL, &nv, 1,
                                            NULL), 0);
}

void lab_more(struct lab_side *side, struct lab_stream *s, size_t n, bool hold)
{
    s->to_send += n;
    s->hold = hold;
    if (s->waits) {
        s->waits = false;
        assert_int_equal(nghttp2_session_resume_data(side->session, s->id), 0);
    }
}
