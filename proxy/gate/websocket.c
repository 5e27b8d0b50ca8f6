/* The WebSocket that a connection has become: a tunnel whose frames are checked both ways. See frames.h,
 * gate.h. */
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "gate.h"

struct sbx_websocket {
    struct sbx_frames up, down;
    bool ending;
};

#define DROPS 16 /* reads of one side before others get their turn */

/* Take one element off a list. A comma in a quoted string separates nothing; a string without an end goes to
 * the end of the list. */
static struct sbx_slice next_extension(struct sbx_slice *list)
{
    struct sbx_slice one = { list->ptr, 0 };
    bool quoted = false;

    for (; one.len < list->len && (quoted || one.ptr[one.len] != ','); one.len++) {
        if (one.ptr[one.len] == '"')
            quoted = !quoted;
        else if (quoted && one.ptr[one.len] == '\\' && one.len + 1 < list->len)
            one.len++;
    }
    list->ptr += one.len + (one.len < list->len);
    list->len -= one.len + (one.len < list->len);
    return one;
}

/* RSV bits belong to extensions. What others than the one that is in use mean by them nobody knows here. */
static void read_extensions(struct sbx_websocket *w, struct sbx_slice list)
{
    static const char deflate[] = "permessage-deflate"; /* RFC 7692, 6: RSV1 of a message's first frame */

    while (list.len) {
        struct sbx_slice one = next_extension(&list);
        const char *more = memchr(one.ptr, ';', one.len);

        if (more)
            one.len = (size_t)(more - one.ptr);
        while (one.len && (*one.ptr == ' ' || *one.ptr == '\t'))
            one.ptr++, one.len--;
        while (one.len && (one.ptr[one.len - 1] == ' ' || one.ptr[one.len - 1] == '\t'))
            one.len--;
        if (sbx_slice_is_nocase(one, deflate))
            w->up.first = w->down.first |= 0x40;
        else if (one.len && sbx_head_is_token(one)) /* else it puts none into use, and opens nothing */
            w->up.first = w->up.later = w->down.first = w->down.later = 0x70;
    }
}

int sbx_websocket_start(struct sbx_conn *c, const struct sbx_head *reply)
{
    struct sbx_websocket *w = calloc(1, sizeof(*w));

    if (!w)
        return -1;
    w->up.masked = true;
    for (unsigned i = 0; i < reply->nfields; i++)
        if (sbx_slice_is_nocase(reply->fields[i].name, "sec-websocket-extensions"))
            read_extensions(w, reply->fields[i].value);
    c->websocket = w;
    return 0;
}

void sbx_websocket_free(struct sbx_conn *c)
{
    free(c->websocket);
    c->websocket = NULL;
}

void sbx_websocket_held(struct sbx_conn *c)
{
    c->in.len = sbx_frames_check(&c->websocket->up, c->in.ptr, c->in.len);
    c->reply.len = sbx_frames_check(&c->websocket->down, c->reply.ptr, c->reply.len);
}

ssize_t sbx_websocket_read(struct sbx_conn *c, struct sbx_side *from, ssize_t *ret_read)
{
    struct sbx_frames *f = from == &c->client ? &c->websocket->up : &c->websocket->down;
    struct sbx_pool *pool = &c->gate->pool;
    size_t held = sbx_frames_resume(f, pool->spare);

    *ret_read = f->fault ? -1 : sbx_side_read(from, pool->spare + held, sbx_pool_read_size(pool) - held);
    return *ret_read > 0 ? (ssize_t)sbx_frames_check(f, pool->spare, held + (size_t)*ret_read) : 0;
}

/* Behind what is on its way already; not in the middle of a frame. */
static void say_close(struct sbx_conn *c, const struct sbx_frames *f, enum sbx_frame_fault why,
                      struct sbx_pipe *pipe)
{
    char frame[SBX_FRAME_CLOSE_MAX];

    if (sbx_frames_between(f) &&
        sbx_pipe_add(&c->gate->pool, pipe, frame, sbx_frames_close(f, why, frame)))
        sbx_pipe_clear(&c->gate->pool, pipe); /* no memory: the end alone tells it */
}

/* A side hears the rest, then the end; what it says is dropped, since closing with bytes unread would reset the
 * connection, and it could lose the close frame. True: there is more to drop. */
static bool finish(struct sbx_conn *c, struct sbx_pipe *pipe, struct sbx_side *side)
{
    struct sbx_pool *pool = &c->gate->pool;
    ssize_t n = 1;

    if (side->failed || sbx_pipe_flush(pool, pipe, side) < 0)
        sbx_pipe_clear(pool, pipe);
    else if (!pipe->buf)
        sbx_side_shut(side);
    for (unsigned i = 0; i < DROPS && n > 0; i++)
        n = sbx_side_read(side, pool->spare, SBX_GATE_SMALL_BUFFER);
    return n > 0;
}

bool sbx_websocket_over(struct sbx_conn *c)
{
    struct sbx_websocket *w = c->websocket;
    enum sbx_frame_fault why = w->up.fault ? w->up.fault : w->down.fault;
    bool more;

    if (!why)
        return false;
    if (!w->ending) {
        w->ending = c->draining = true;
        c->asked.logged = false; /* that it was allowed is one record, why it ends another */
        sbx_log_asked(c, "error", why == SBX_FRAME_TOO_BIG ? "websocket-too-big" : "websocket-frame", 0);
        say_close(c, &w->up, why, &c->up);
        say_close(c, &w->down, why, &c->down);
        sbx_conn_arm(c, SBX_GATE_DRAIN_MS);
    }
    if (c->state != SBX_CONN_TUNNEL)
        return true;
    more = finish(c, &c->up, &c->server);
    more |= finish(c, &c->down, &c->client);
    if (c->client.ended && c->server.ended && !c->up.buf && !c->down.buf)
        sbx_conn_close(c, false);
    else if (more)
        sbx_loop_again(&c->gate->loop, &c->turn);
    return true;
}
