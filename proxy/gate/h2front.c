/* The session that faces the client: requests come in, are judged and passed on; replies go out. See
 * h2part.h. */
#include <stdio.h>
#include <string.h>

#include "h2part.h"

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    static const nghttp2_extpri fair = { NGHTTP2_EXTPRI_DEFAULT_URGENCY, 1 };
    struct sbx_h2_end *e = ctx;
    struct sbx_h2_stream *s;

    if (sbx_h2_list_open(e))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    s = sbx_h2_stream_new(e->h, frame->hd.stream_id);
    if (!s || nghttp2_session_set_stream_user_data(session, s->front, s))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    /* All streams in turn: no client can have one of its streams starve another by its priorities. */
    return nghttp2_session_change_extpri_stream_priority(session, s->front, &fair, 1)
               ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static const char *record(struct sbx_h2 *h, const struct sbx_http_ask *ask, unsigned status,
                          const char *reason)
{
    return h->host.fault(h->host.ctx, ask, status, reason);
}

static void refuse(struct sbx_h2_stream *s, const struct sbx_http_ask *ask, unsigned status,
                   const char *reason)
{
    struct sbx_http_no no = { .status = status };

    snprintf(no.text, sizeof(no.text), "%s\n", record(s->h, ask, status, reason));
    sbx_h2_front_answer(s, &no);
}

/* Bounds that nghttp2 does not keep. True: refused. */
static bool out_of_bounds(struct sbx_h2_stream *s, const struct sbx_h2_list *l,
                          const struct sbx_http_ask *ask)
{
    if (l->broken)
        refuse(s, ask, 400, "bad-field");
    else if (l->over)
        refuse(s, ask, 431, "head-too-large");
    else if (ask->path.len > SBX_GATE_TARGET_MAX)
        refuse(s, ask, 414, "target-too-long");
    else if (ask->method.len > SBX_GATE_METHOD_MAX)
        refuse(s, ask, 400, "bad-method");
    else
        return false;
    return true;
}

static void take_request(struct sbx_h2_stream *s, const struct sbx_h2_list *l)
{
    char authority[SBX_HOST_MAX + 16];
    struct sbx_h2 *h = s->h;
    struct sbx_http_no no = { 0 };
    struct sbx_h2_fields f;
    struct sbx_http_ask ask;
    uint64_t number = 0;
    bool goes_on;

    sbx_h2_ask(l, &ask);
    s->to_head = sbx_slice_is(ask.method, "HEAD");
    if (out_of_bounds(s, l, &ask))
        return;
    if (sbx_h2_broken(h)) {
        refuse(s, &ask, 502, "h2-server");
        return;
    }
    if (sbx_h2_no_server(h)) {
        record(h, &ask, 0, "server-closed"); /* nothing was done: any client may try again */
        sbx_h2_stream_cut(s, NGHTTP2_REFUSED_STREAM);
        return;
    }
    goes_on = h->host.judge(h->host.ctx, &ask, &number, &no);
    if (sbx_slice_is(ask.method, "CONNECT")) { /* GC E5: no tunnel in a stream */
        sbx_h2_stream_cut(s, NGHTTP2_PROTOCOL_ERROR);
        return;
    }
    if (!goes_on) {
        sbx_h2_front_answer(s, &no);
        return;
    }
    s->number = number;
    s->began_ms = h->now_ms;
    s->bytes_out = l->text.len;
    memcpy(s->method, ask.method.ptr, ask.method.len);
    if (sbx_h2_request_fields(h, l, authority, &f) || sbx_h2_back_request(s, &f, !s->up_ended))
        sbx_h2_front_failed(s);
}

static int on_headers(struct sbx_h2_end *e, struct sbx_h2_stream *s, const nghttp2_frame *frame)
{
    struct sbx_h2_list *l = e->list;

    e->list = NULL;
    if (s) {
        s->up_ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
            take_request(s, l);
        else
            sbx_h2_back_resume(s); /* trailers of a request are dropped: N24 */
    }
    sbx_h2_list_free(l);
    return 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct sbx_h2_end *e = ctx;
    struct sbx_h2_stream *s = sbx_h2_stream_find(e, frame->hd.stream_id);

    (void)session;
    if (frame->hd.type == NGHTTP2_HEADERS)
        return e->list ? on_headers(e, s, frame) : 0;
    if (frame->hd.type == NGHTTP2_DATA && s && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
        s->up_ended = true;
        sbx_h2_back_resume(s);
    }
    return 0;
}

/* nghttp2 refuses the frame: a reset of the stream is on its way, or the end of the connection. */
static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int rc, void *ctx)
{
    struct sbx_h2_end *e = ctx;
    struct sbx_http_ask ask;
    bool open = frame->hd.type == NGHTTP2_HEADERS && e->list;

    (void)session;
    if (open && frame->headers.cat == NGHTTP2_HCAT_REQUEST &&
        (rc == NGHTTP2_ERR_HTTP_HEADER || rc == NGHTTP2_ERR_HTTP_MESSAGING)) {
        sbx_h2_ask(e->list, &ask);
        record(e->h, &ask, 0, "bad-field");
    }
    if (open) {
        sbx_h2_list_free(e->list);
        e->list = NULL;
    }
    return 0;
}

/* A field that nghttp2 would leave out silently. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                             size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                             void *ctx)
{
    struct sbx_h2_end *e = ctx;

    (void)session, (void)frame, (void)name, (void)name_len, (void)value, (void)value_len, (void)flags;
    if (e->list)
        e->list->broken = true;
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                   void *ctx)
{
    struct sbx_h2_end *e = ctx;
    struct sbx_h2_stream *s = sbx_h2_stream_find(e, id);

    (void)session, (void)flags;
    sbx_h2_window_held(e, len);
    if (!s || s->up_stopped) {
        sbx_h2_consume(e, id, len);
        return 0;
    }
    s->bytes_out += len;
    if (!s->up.len)
        s->moved_ms = e->h->now_ms;
    if (sbx_h2_queue_add(&s->up, data, len))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    sbx_h2_back_resume(s);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct sbx_h2_end *e = ctx;
    struct sbx_h2_stream *s = sbx_h2_stream_find(e, id);

    (void)session;
    if (!s)
        return 0;
    if (code == NGHTTP2_NO_ERROR)
        sbx_h2_guard_well(e);
    if (s->up.len && (code != NGHTTP2_NO_ERROR || !s->back))
        sbx_h2_stream_stop_up(s);
    s->front = 0;
    if (!s->back)
        sbx_h2_stream_free(s);
    else if (code != NGHTTP2_NO_ERROR || !s->up_ended || !s->finished)
        sbx_h2_stream_cut(s, code);
    return 0;
}

/* The whole reply is out while the request's body still comes: RFC 9113, 8.1. */
static void stop_client(struct sbx_h2_end *e, struct sbx_h2_stream *s)
{
    s->finished = true;
    if (!s->up_ended && !s->back &&
        nghttp2_submit_rst_stream(e->session, NGHTTP2_FLAG_NONE, s->front, NGHTTP2_NO_ERROR))
        e->deaf = true;
}

/* A reset that only the client's own fault can have made. */
static bool is_fault(uint32_t code)
{
    return code == NGHTTP2_PROTOCOL_ERROR || code == NGHTTP2_FLOW_CONTROL_ERROR ||
           code == NGHTTP2_STREAM_CLOSED || code == NGHTTP2_FRAME_SIZE_ERROR;
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct sbx_h2_end *e = ctx;
    struct sbx_h2_stream *s = sbx_h2_stream_find(e, frame->hd.stream_id);

    (void)session;
    if (frame->hd.type == NGHTTP2_RST_STREAM && is_fault(frame->rst_stream.error_code))
        (void)sbx_h2_guard_cut(e); /* settle() looks */
    if (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) {
        sbx_h2_guard_use(e);
        if (s && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
            stop_client(e, s);
    }
    sbx_h2_sent(e, frame);
    return 0;
}

/* A reply that cannot be sent, as one whose head is past what nghttp2 sends. */
static int on_frame_not_send(nghttp2_session *session, const nghttp2_frame *frame, int rc, void *ctx)
{
    struct sbx_h2_end *e = ctx;
    struct sbx_h2_stream *s = sbx_h2_stream_find(e, frame->hd.stream_id);

    (void)session, (void)rc;
    if (s && frame->hd.type == NGHTTP2_HEADERS)
        sbx_h2_stream_cut(s, NGHTTP2_INTERNAL_ERROR);
    return 0;
}

static void add_callbacks(nghttp2_session_callbacks *cb)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid_frame);
    nghttp2_session_callbacks_set_on_invalid_header_callback(cb, on_invalid_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, on_frame_not_send);
}

nghttp2_session *sbx_h2_front_new(struct sbx_h2_end *e)
{
    static const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, SBX_GATE_H2_STREAMS },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, SBX_GATE_HEAD_MAX },
        { NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
    };

    return sbx_h2_session_new(e, add_callbacks, settings, SBX_ARRAY_LEN(settings));
}
