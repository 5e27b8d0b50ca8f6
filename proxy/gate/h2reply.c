/* Replies on their way to the client: the server's, and the gate's own. See h2part.h. */
#include <stdio.h>
#include <string.h>

#include "h2part.h"

/* The reply ends with its trailers, if any of them goes on. */
static uint32_t end_reply(struct sbx_h2_stream *s)
{
    struct sbx_h2_fields f = { .n = 0 };

    if (s->trailers)
        sbx_h2_trailer_fields(s->trailers, &f);
    if (f.n && nghttp2_submit_trailer(s->h->client.session, s->front, f.v, f.n) == 0)
        return NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    return NGHTTP2_DATA_FLAG_EOF;
}

static ssize_t read_down(nghttp2_session *session, int32_t id, uint8_t *buf, size_t max, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx)
{
    struct sbx_h2_stream *s = sbx_h2_stream_find(ctx, id);
    size_t n;

    (void)source;
    if (!s)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* resets the stream */
    n = sbx_h2_queue_take(&s->down, buf, max);
    if (n) {
        s->moved_ms = s->h->now_ms;
        if (!s->answered) {
            sbx_h2_consume(&s->h->server, s->back, n);
            sbx_h2_window_moved(s, n);
        }
    }
    if (!s->down.len && s->down_ended) {
        *flags |= end_reply(s);
    } else if (!n) {
        if (s->cut && nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, s->cut_code))
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        s->down_waits = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)n;
}

int sbx_h2_front_reply(struct sbx_h2_stream *s, const struct sbx_h2_fields *f)
{
    nghttp2_data_provider body = { .read_callback = read_down };
    bool bare = s->down_ended && !s->down.len && !s->trailers;
    int rc = nghttp2_submit_response(s->h->client.session, s->front, f->v, f->n, bare ? NULL : &body);

    s->replied = rc == 0;
    return rc;
}

int sbx_h2_front_interim(struct sbx_h2_stream *s, const struct sbx_h2_fields *f)
{
    return nghttp2_submit_headers(s->h->client.session, NGHTTP2_FLAG_NONE, s->front, NULL, f->v, f->n,
                                  NULL);
}

void sbx_h2_front_resume(struct sbx_h2_stream *s)
{
    if (!s->down_waits || !s->front)
        return;
    s->down_waits = false;
    if (nghttp2_session_resume_data(s->h->client.session, s->front))
        s->down_waits = true; /* the stream is closing: nothing is sent any more */
}

static struct sbx_slice text_slice(const char *text)
{
    return (struct sbx_slice){ text, strlen(text) };
}

void sbx_h2_front_answer(struct sbx_h2_stream *s, const struct sbx_http_no *no)
{
    char status[16], length[24];
    struct sbx_h2_fields f = { .n = 0 };

    snprintf(status, sizeof(status), "%u", no->status);
    snprintf(length, sizeof(length), "%zu", strlen(no->text));
    sbx_h2_add(&f, ":status", text_slice(status), NGHTTP2_NV_FLAG_NONE);
    sbx_h2_add(&f, "content-type", text_slice("text/plain; charset=utf-8"), NGHTTP2_NV_FLAG_NONE);
    sbx_h2_add(&f, "content-length", text_slice(length), NGHTTP2_NV_FLAG_NONE);
    if (no->denied)
        sbx_h2_add(&f, "x-sbx-policy", text_slice("denied"), NGHTTP2_NV_FLAG_NONE);
    if (no->status == 405)
        sbx_h2_add(&f, "allow", text_slice("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
                   NGHTTP2_NV_FLAG_NONE);
    sbx_h2_stream_stop_up(s);
    s->answered = s->down_ended = true;
    if ((!s->to_head && sbx_h2_queue_add(&s->down, no->text, strlen(no->text))) ||
        sbx_h2_front_reply(s, &f))
        sbx_h2_stream_cut(s, NGHTTP2_INTERNAL_ERROR);
}

void sbx_h2_front_cut(struct sbx_h2_stream *s, uint32_t code)
{
    if (!s->replied) {
        sbx_h2_stream_cut(s, code);
        return;
    }
    s->cut = true;
    s->cut_code = code;
    sbx_h2_front_resume(s);
}

void sbx_h2_front_failed(struct sbx_h2_stream *s)
{
    struct sbx_http_no no = { .status = 502, .text = "the server's reply is malformed, or it closed the "
                                                     "connection without one\n" };

    if (s->back && nghttp2_submit_rst_stream(s->h->server.session, NGHTTP2_FLAG_NONE, s->back,
                                             NGHTTP2_CANCEL))
        s->h->server.deaf = true;
    if (s->replied) /* only the cut stream can tell it */
        sbx_h2_front_cut(s, NGHTTP2_INTERNAL_ERROR);
    else
        sbx_h2_front_answer(s, &no);
}
