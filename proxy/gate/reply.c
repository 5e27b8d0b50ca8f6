/* The head of a reply to a forwarded request: interim ones, a switch to WebSocket, the one that begins the reply, or none at
 * all. See gate.h. */
#include <string.h>

#include "intercept.h"

static int pass_interim(struct sbx_conn *c, const struct sbx_head *h)
{
    static const struct sbx_reply_plan plan = { 0 };
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_GATE_REPLY_HEAD_MAX + 256);

    if (h->status == 101 || ++c->interim > SBX_GATE_INTERIM_MAX)
        return -1; /* only WebSocket was sent on, above; endless ones keep a client waiting for ever */
    if (c->asked.minor == 0)
        return 0;
    if (sbx_rewrite_reply(h, &c->down_body, &plan, &out))
        return -1;
    return sbx_pipe_add(&c->gate->pool, &c->down, out.ptr, out.len);
}

/* The reply was 101 as asked: from here on it is a tunnel. */
static int switch_protocols(struct sbx_conn *c, const struct sbx_head *h)
{
    static const struct sbx_reply_plan plan = { .upgrade = true };
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_GATE_REPLY_HEAD_MAX + 256);
    struct sbx_pool *pool = &c->gate->pool;

    if (sbx_rewrite_reply(h, &c->down_body, &plan, &out) ||
        sbx_pipe_add(pool, &c->down, out.ptr, out.len) || sbx_websocket_start(c, h))
        return -1;
    c->kept.usable = false;
    c->state = SBX_CONN_TUNNEL;
    return 0;
}

/* What both sides sent behind their heads belongs to the tunnel. */
static void begin_tunnel(struct sbx_conn *c)
{
    struct sbx_pool *pool = &c->gate->pool;

    sbx_websocket_held(c);
    c->asked.bytes_in += c->reply.len;
    if (sbx_pipe_add(pool, &c->down, c->reply.ptr, c->reply.len)) {
        sbx_conn_close(c, true);
        return;
    }
    sbx_buf_release(&c->reply);
    sbx_buf_release(&c->out_head);
    sbx_tunnel_begin(c);
    if (c->state == SBX_CONN_TUNNEL)
        sbx_loop_again(&c->gate->loop, &c->turn);
}

static int begin_reply(struct sbx_conn *c, const struct sbx_head *h)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_GATE_REPLY_HEAD_MAX + 1024);
    enum sbx_body_kind kind = c->down_body.kind;
    struct sbx_reply_plan plan = { 0 };

    c->chunk_reply = plan.chunked = kind == SBX_BODY_CHUNKED && c->asked.minor == 1;
    c->client_close = plan.close = !c->asked.keep || kind == SBX_BODY_UNTIL_CLOSE ||
                                   !c->up_body.done;
    plan.keep_length = c->asked.to_head || h->status == 304;
    if (sbx_rewrite_reply(h, &c->down_body, &plan, &out) ||
        sbx_pipe_add(&c->gate->pool, &c->down, out.ptr, out.len))
        return -1;
    c->reply_begun = true;
    c->kept.fresh = false;
    c->kept.usable = kind != SBX_BODY_UNTIL_CLOSE && h->minor == 1 && !h->close;
    c->kept.host = c->asked.host;
    c->kept.port = c->asked.port;
    c->kept.address = c->address;
    c->kept.generation = c->asked.config->generation;
    return 0;
}

/* One head, if it is all there. 1: taken, 0: more bytes are needed, -1: refused, -2: the proxy of this
 * machine wants a password, which is nothing the client could answer. */
static int try_reply_head(struct sbx_conn *c)
{
    struct sbx_fault f;
    struct sbx_head h;
    ssize_t len = c->reply.len ? sbx_head_scan(&c->reply_scan, c->reply.ptr, c->reply.len, true, &f)
                               : 0;
    int rc;

    if (len <= 0)
        return (int)len;
    if (sbx_head_parse_reply(c->reply.ptr, (size_t)len, &h, &f))
        return -1;
    sbx_body_release(&c->down_body);
    if (sbx_frame_reply(&h, c->asked.to_head, &c->down_body, &f))
        return -1;
    if (h.status == 407 && c->asked.via && !c->inter)
        return -2;
    if (h.status == 101 && c->asked.upgrade && sbx_is_websocket(&h))
        rc = switch_protocols(c, &h);
    else
        rc = h.status / 100 == 1 ? pass_interim(c, &h) : begin_reply(c, &h);
    sbx_buf_drop(&c->reply, (size_t)len);
    c->asked.bytes_in += (uint64_t)len;
    memset(&c->reply_scan, 0, sizeof(c->reply_scan));
    if (!rc && c->state == SBX_CONN_TUNNEL)
        begin_tunnel(c);
    return rc ? -1 : 1;
}

/* The server ended before its reply began: perhaps only the kept connection had gone stale. */
static void server_gone(struct sbx_conn *c)
{
    struct sbx_gate *g = c->gate;

    if (!c->reused || c->reply.len || c->interim) {
        sbx_forward_give_up(c, 502, "server-closed", "the server closed the connection without a reply");
        return;
    }
    if (!sbx_asked_is_safe(&c->asked)) {
        sbx_conn_close(c, false); /* what the client would have seen without the gate: it may ask again */
        return;
    }
    sbx_pipe_clear(&g->pool, &c->up);
    sbx_side_close(&g->loop, &c->server, false);
    g->nactive--;
    c->state = SBX_CONN_DIALING;
    sbx_conn_move(c, &g->pending);
    c->kept.usable = false;
    if (c->inter)
        sbx_judge_dial(c);
    else
        sbx_dial_start(c);
}

bool sbx_reply_run_head(struct sbx_conn *c)
{
    int rc = try_reply_head(c);
    char *room;
    ssize_t n;

    if (rc == -2) {
        c->asked.logged = false; /* what became of it is a record of its own */
        sbx_forward_give_up(c, 502, "upstream-auth", "the proxy of this machine wants other credentials (407)");
    } else if (rc < 0) {
        sbx_forward_give_up(c, 502, "bad-reply", "the server's reply is malformed");
    }
    if (rc)
        return rc > 0;
    room = sbx_buf_room(&c->reply, SBX_GATE_SMALL_BUFFER);
    n = room ? sbx_side_read(&c->server, room, SBX_GATE_SMALL_BUFFER) : -2;
    if (n == -1)
        return false;
    if (n <= 0) {
        server_gone(c);
        return false;
    }
    sbx_buf_commit(&c->reply, (size_t)n);
    c->active_at = c->gate->loop.now;
    return true;
}
