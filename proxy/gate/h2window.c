/* Windows that grow. Each connection begins with the least that there is, 64 KiB. It gets more where bytes
 * are held, since a stream that stalls must not stop the others; and a stream of the server does that has
 * nothing left for a client that would take more: 64 KiB a round trip is 1.3 MB/s where a server is 50 ms
 * away. The memory that this may cost comes from a stock that all connections of the gate share. See
 * h2part.h. */
#include "h2part.h"

/* Let all streams of a side together have `size` bytes on their way. False: the stock has not enough. */
static bool widen(struct sbx_h2_end *e, uint32_t size)
{
    struct sbx_h2 *h = e->h;
    uint32_t more;

    if (size <= e->window)
        return true;
    more = size - e->window;
    if (!h->host.spare || *h->host.spare < more ||
        nghttp2_session_set_local_window_size(e->session, NGHTTP2_FLAG_NONE, 0, (int32_t)size))
        return false;
    *h->host.spare -= more;
    h->borrowed += more;
    e->window = size;
    return true;
}

void sbx_h2_window_held(struct sbx_h2_end *e, size_t n)
{
    e->held += n;
    if (e->held > e->window / 2 && 2 * e->window <= SBX_GATE_H2_WINDOW)
        (void)widen(e, 2 * e->window);
}

void sbx_h2_window_moved(struct sbx_h2_stream *s, size_t n)
{
    uint32_t size = 2 * s->window;

    s->at_once += n;
    if (s->down.len) /* the client is the slower one */
        return;
    if (s->at_once < s->window || !s->back || s->down_ended || size > SBX_GATE_H2_STREAM_WINDOW_MAX)
        return;
    s->at_once = 0;
    if (widen(&s->h->server, 2 * size) &&
        nghttp2_session_set_local_window_size(s->h->server.session, NGHTTP2_FLAG_NONE, s->back,
                                              (int32_t)size) == 0)
        s->window = size;
}

void sbx_h2_window_return(struct sbx_h2 *h)
{
    if (h->host.spare)
        *h->host.spare += h->borrowed;
    h->borrowed = 0;
}
