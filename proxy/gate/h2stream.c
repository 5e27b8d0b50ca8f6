/* Streams and the bodies that wait in them. See h2part.h. */
#include <stdlib.h>
#include <string.h>

#include "h2part.h"

#define KEEP 65536 /* bytes of an empty queue that are kept: a usual window */

int sbx_h2_queue_add(struct sbx_h2_queue *q, const void *data, size_t len)
{
    size_t cap = q->cap ? q->cap : 4096;
    char *ptr;

    if (q->off && q->off + q->len + len > q->cap) {
        memmove(q->ptr, q->ptr + q->off, q->len);
        q->off = 0;
    }
    while (cap < q->len + len)
        cap *= 2;
    if (cap > q->cap) {
        ptr = realloc(q->ptr, cap);
        if (!ptr)
            return -1;
        q->ptr = ptr;
        q->cap = cap;
    }
    memcpy(q->ptr + q->off + q->len, data, len);
    q->len += len;
    return 0;
}

size_t sbx_h2_queue_take(struct sbx_h2_queue *q, void *buf, size_t max)
{
    size_t n = q->len < max ? q->len : max;

    if (!n)
        return 0;
    memcpy(buf, q->ptr + q->off, n);
    q->off += n;
    q->len -= n;
    if (!q->len && q->cap > KEEP)
        sbx_h2_queue_release(q);
    else if (!q->len)
        q->off = 0;
    return n;
}

void sbx_h2_queue_release(struct sbx_h2_queue *q)
{
    free(q->ptr);
    memset(q, 0, sizeof(*q));
}

struct sbx_h2_stream *sbx_h2_stream_find(struct sbx_h2_end *e, int32_t id)
{
    return id ? nghttp2_session_get_stream_user_data(e->session, id) : NULL;
}

struct sbx_h2_stream *sbx_h2_stream_new(struct sbx_h2 *h, int32_t front)
{
    struct sbx_h2_stream *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->h = h;
    s->front = front;
    s->moved_ms = h->now_ms;
    s->window = SBX_GATE_H2_STREAM_WINDOW;
    sbx_list_append(&h->streams, &s->node);
    h->nstreams++;
    return s;
}

void sbx_h2_stream_free(struct sbx_h2_stream *s)
{
    struct sbx_h2 *h = s->h;
    const struct sbx_http_over end = { s->number, s->method, s->bytes_in, s->bytes_out,
                                       h->now_ms - s->began_ms };

    if (s->number)
        h->host.over(h->host.ctx, &end);
    sbx_h2_stream_stop_up(s);
    if (!s->answered)
        sbx_h2_consume(&h->server, s->back, s->down.len);
    sbx_h2_queue_release(&s->down);
    sbx_h2_list_free(s->trailers);
    sbx_list_remove(&s->node);
    if (!--h->nstreams)
        h->idle_ms = h->now_ms;
    free(s);
}

void sbx_h2_stream_stop_up(struct sbx_h2_stream *s)
{
    sbx_h2_consume(&s->h->client, s->front, s->up.len);
    sbx_h2_queue_release(&s->up);
    s->up_stopped = true;
}

void sbx_h2_stream_cut(struct sbx_h2_stream *s, uint32_t code)
{
    /* Submitting only queues the frame: the stream itself goes when both sessions have closed it. */
    if (s->front && nghttp2_submit_rst_stream(s->h->client.session, NGHTTP2_FLAG_NONE, s->front, code))
        s->h->client.deaf = true;
    if (s->back && nghttp2_submit_rst_stream(s->h->server.session, NGHTTP2_FLAG_NONE, s->back,
                                             NGHTTP2_CANCEL))
        s->h->server.deaf = true;
}
