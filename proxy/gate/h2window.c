/* Windows of the server that grow. 64 KiB a round trip is 1.3 MB/s where a server is 50 ms away, so a stream
 * that has nothing left for a client that would take more gets twice as much, again and again; the memory that this
 * may cost comes from a stock that all connections of the gate share. See h2part.h. */
#include "h2part.h"

/* Let all streams together have `size` bytes on their way. False: the stock has not enough. */
static bool widen_connection(struct sbx_h2 *h, uint32_t size)
{
    uint32_t more;

    if (size <= h->server.window)
        return true;
    more = size - h->server.window;
    if (!h->host.spare || *h->host.spare < more ||
        nghttp2_session_set_local_window_size(h->server.session, NGHTTP2_FLAG_NONE, 0, (int32_t)size))
        return false;
    *h->host.spare -= more;
    h->borrowed += more;
    h->server.window = size;
    return true;
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
    if (widen_connection(s->h, 2 * size) &&
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
