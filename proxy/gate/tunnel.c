/* CONNECT tunnels and transparent connections: bytes both ways, half-close kept, nothing lost. See gate.h. */
#include <string.h>

#include "gate.h"

static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";

int sbx_tunnel_accept(struct sbx_conn *c)
{
    if (c->transparent)
        return 0;
    return sbx_pipe_add(&c->gate->pool, &c->down, established, sizeof(established) - 1);
}

void sbx_tunnel_start(struct sbx_conn *c)
{
    if (sbx_hold_start(c, false) || sbx_tunnel_accept(c) ||
        sbx_pipe_add(&c->gate->pool, &c->down, c->reply.ptr, c->reply.len)) { /* behind an upstream's answer */
        sbx_conn_close(c, true);
        return;
    }
    c->asked.bytes_in += c->reply.len;
    sbx_buf_release(&c->reply);
    if (c->hold)
        sbx_conn_arm(c, SBX_GATE_UNSAID_MS);
    else
        sbx_tunnel_begin(c);
    sbx_tunnel_run(c);
}

void sbx_tunnel_begin(struct sbx_conn *c)
{
    if (!sbx_tunnel_log(c)) {
        sbx_conn_close(c, true);
        return;
    }
    /* What came with the CONNECT was held for the verdict and belongs to the server now. */
    c->asked.bytes_out += c->in.len;
    if (sbx_pipe_add(&c->gate->pool, &c->up, c->in.ptr, c->in.len))
        sbx_conn_close(c, true);
    sbx_buf_release(&c->in);
}

bool sbx_tunnel_log(struct sbx_conn *c)
{
    return sbx_log_asked(c, "allow", c->asked.verdict.reason, c->transparent ? 0 : 200);
}

/* Move what there is from one side to the other. True: there is more, another turn is wanted. */
static bool move(struct sbx_conn *c, struct sbx_side *from, struct sbx_side *to,
                 struct sbx_pipe *pipe)
{
    struct sbx_pool *pool = &c->gate->pool;

    if (to->failed || sbx_pipe_flush(pool, pipe, to) < 0) {
        sbx_pipe_clear(pool, pipe);
        return false;
    }
    if (pipe->buf)
        return false;
    for (unsigned round = 0; round < SBX_GATE_ROUNDS; round++) {
        ssize_t n = 0, on = 0; /* read; of those and what was held, to go on */

        if (c->websocket)
            on = sbx_websocket_read(c, from, &n);
        else
            on = n = sbx_side_read(from, pool->spare, sbx_pool_read_size(pool));

        if (n == 0 && !from->failed)
            sbx_side_shut(to);
        if (n <= 0)
            return false;
        c->active_at = c->gate->loop.now;
        if (c->hold && !sbx_tunnel_log(c)) { /* the server has spoken: it is the first to do so */
            sbx_conn_close(c, true);
            return false;
        }
        c->gate->relayed += (uint64_t)n;
        *(from == &c->client ? &c->asked.bytes_out : &c->asked.bytes_in) += (uint64_t)n;
        if (on && sbx_pipe_send(pool, pipe, to, 0, (size_t)on) < 1)
            return to->failed; /* then the other direction is to be looked at once more */
    }
    return from->readable || from->tls;
}

/* A failed side takes nothing more; what it sent before still goes to the other one. */
static bool over(const struct sbx_side *failed, const struct sbx_pipe *from_it)
{
    return failed->failed && failed->ended && !from_it->buf;
}

void sbx_tunnel_run(struct sbx_conn *c)
{
    bool was_half = c->client.ended || c->server.ended, more = false;

    if (c->state != SBX_CONN_TUNNEL || (c->hold && !sbx_hold_run(c)) ||
        (c->websocket && sbx_websocket_over(c)))
        return;
    if (!c->hold)
        more = move(c, &c->client, &c->server, &c->up);
    more |= move(c, &c->server, &c->client, &c->down);
    if (c->state != SBX_CONN_TUNNEL || (c->websocket && sbx_websocket_over(c)))
        return;
    if (over(&c->client, &c->up) || over(&c->server, &c->down) ||
        (c->client.failed && c->server.failed)) {
        sbx_conn_close(c, true);
        return;
    }
    if (c->client.shut && c->server.shut) {
        sbx_conn_close(c, false);
        return;
    }
    if (more)
        sbx_loop_again(&c->gate->loop, &c->turn);
    if (!c->draining && (c->client.failed || c->server.failed || c->client.reset || c->server.reset)) {
        c->draining = true;
        sbx_conn_arm(c, SBX_GATE_DRAIN_MS);
    } else if (!was_half && !c->hold && (c->client.ended || c->server.ended))
        sbx_conn_arm(c, SBX_GATE_HALF_MS);
}

void sbx_forward_idle_timeout(struct sbx_conn *c)
{
    uint64_t limit = c->client.ended || c->server.ended ? SBX_GATE_HALF_MS : SBX_GATE_IDLE_MS;
    uint64_t idle = c->gate->loop.now - c->active_at;

    if (c->hold && sbx_hold_timeout(c))
        return;
    if (c->draining || idle >= limit)
        sbx_conn_close(c, true);
    else
        sbx_conn_arm(c, limit - idle);
}
