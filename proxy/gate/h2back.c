/* The session that faces the server: requests go out, replies come in. See h2part.h. */
#include <string.h>

#include "h2part.h"

static ssize_t read_up(nghttp2_session *session, int32_t id, uint8_t *buf, size_t max, uint32_t *flags,
                       nghttp2_data_source *source, void *ctx)
{
    struct sbx_h2_stream *s = sbx_h2_stream_find(ctx, id);
    size_t n;

    (void)session, (void)source;
    if (!s)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* resets the stream */
    n = sbx_h2_queue_take(&s->up, buf, max);
    if (n) {
        s->moved_ms = s->h->now_ms;
        sbx_h2_consume(&s->h->client, s->front, n);
    }
    if (!s->up.len && s->up_ended) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (!n) {
        s->up_waits = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)n;
}

int sbx_h2_back_request(struct sbx_h2_stream *s, const struct sbx_h2_fields *f, bool has_body)
{
    nghttp2_data_provider body = { .read_callback = read_up };
    int32_t id = nghttp2_submit_request(s->h->server.session, NULL, f->v, f->n, has_body ? &body : NULL,
                                        s);

    if (id < 0)
        return -1;
    s->back = id;
    return 0;
}

void sbx_h2_back_resume(struct sbx_h2_stream *s)
{
    if (!s->up_waits || !s->back)
        return;
    s->up_waits = false;
    if (nghttp2_session_resume_data(s->h->server.session, s->back))
        s->up_waits = true; /* the stream is closing: nothing is sent any more */
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    (void)session, (void)frame;
    return sbx_h2_list_open(ctx) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static void take_reply(struct sbx_h2_stream *s, const struct sbx_h2_list *l)
{
    unsigned status = sbx_h2_list_status(l);
    struct sbx_h2_fields f;
    int rc;

    sbx_h2_reply_fields(l, &f);
    if (l->over || status < 100 || (status < 200 && ++s->interim > SBX_GATE_INTERIM_MAX))
        rc = -1;
    else
        rc = status < 200 ? sbx_h2_front_interim(s, &f) : sbx_h2_front_reply(s, &f);
    if (rc)
        sbx_h2_front_failed(s);
}

static int on_headers(struct sbx_h2_end *e, struct sbx_h2_stream *s, const nghttp2_frame *frame)
{
    struct sbx_h2_list *l = e->list;

    e->list = NULL;
    if (s && s->front && !s->answered && !s->cut) {
        s->down_ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
        s->bytes_in += l->text.len;
        if (!s->replied) {
            take_reply(s, l);
        } else if (l->over) {
            sbx_h2_stream_cut(s, NGHTTP2_INTERNAL_ERROR);
        } else {
            s->trailers = l;
            sbx_h2_front_resume(s);
            return 0;
        }
    }
    sbx_h2_list_free(l);
    return 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct sbx_h2_end *e = ctx;
    struct sbx_h2_stream *s = sbx_h2_stream_find(e, frame->hd.stream_id);

    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        e->leaves = true;
    if (frame->hd.type == NGHTTP2_HEADERS)
        return e->list ? on_headers(e, s, frame) : 0;
    if (frame->hd.type == NGHTTP2_DATA && s && !s->cut && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
        s->down_ended = true;
        sbx_h2_front_resume(s);
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                   void *ctx)
{
    struct sbx_h2_end *e = ctx;
    struct sbx_h2_stream *s = sbx_h2_stream_find(e, id);

    (void)session, (void)flags;
    sbx_h2_window_held(e, len);
    if (!s || !s->front || s->answered || s->cut) {
        sbx_h2_consume(e, id, len);
        return 0;
    }
    s->bytes_in += len;
    if (!s->down.len)
        s->moved_ms = e->h->now_ms;
    if (sbx_h2_queue_add(&s->down, data, len))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    sbx_h2_front_resume(s);
    return 0;
}

/* Codes of the server that mean the request; the others speak of the hop behind the gate. */
static bool is_end_to_end(uint32_t code)
{
    return code == NGHTTP2_INTERNAL_ERROR || code == NGHTTP2_CANCEL || code == NGHTTP2_REFUSED_STREAM ||
           code == NGHTTP2_ENHANCE_YOUR_CALM || code == NGHTTP2_INADEQUATE_SECURITY ||
           code == NGHTTP2_HTTP_1_1_REQUIRED;
}

void sbx_h2_back_gone(struct sbx_h2_stream *s, uint32_t code)
{
    s->back = 0;
    if (!s->front) {
        sbx_h2_stream_free(s);
        return;
    }
    sbx_h2_stream_stop_up(s);
    if (s->answered || s->cut || s->h->client.away || s->h->client.ended)
        return;
    if (!s->down_ended && is_end_to_end(code) && (!s->replied || code != NGHTTP2_REFUSED_STREAM))
        sbx_h2_front_cut(s, code);
    else if (!s->down_ended)
        sbx_h2_front_failed(s);
    else if (s->finished && !s->up_ended)
        sbx_h2_stream_cut(s, NGHTTP2_NO_ERROR);
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct sbx_h2_stream *s = sbx_h2_stream_find(ctx, id);

    (void)session;
    if (s)
        sbx_h2_back_gone(s, code);
    return 0;
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    (void)session;
    if (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS)
        sbx_h2_guard_use(ctx);
    sbx_h2_sent(ctx, frame);
    return 0;
}

static void add_callbacks(nghttp2_session_callbacks *cb)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_send);
}

nghttp2_session *sbx_h2_back_new(struct sbx_h2_end *e)
{
    static const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, SBX_GATE_REPLY_HEAD_MAX },
    };

    return sbx_h2_session_new(e, add_callbacks, settings, SBX_ARRAY_LEN(settings));
}
