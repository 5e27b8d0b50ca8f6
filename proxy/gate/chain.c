/* Asking the proxy of this machine for a tunnel: one head out, one head back, in the time that connecting
 * has. What follows the reply's head belongs to the tunnel. See gate.h, upstream.h. */
#include <string.h>

#include "intercept.h"

static void fail(struct sbx_conn *c, unsigned status, const char *reason, const char *text)
{
    sbx_side_close(&c->gate->loop, &c->server, false);
    sbx_answer_error(c, status, reason, text);
}

void sbx_chain_start(struct sbx_conn *c)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_GATE_UPSTREAM_HEAD_MAX);
    const struct sbx_asked *a = &c->asked;
    uint64_t now = c->gate->loop.now;

    c->state = SBX_CONN_CHAIN;
    c->interim = 0;
    sbx_buf_clear(&c->reply);
    if (!sbx_buf_room(&out, out.max) || sbx_upstream_connect(a->via, &a->host, a->port, &out) ||
        sbx_pipe_add(&c->gate->pool, &c->up, out.ptr, out.len)) {
        sbx_conn_close(c, true);
    } else {
        c->up.secret = true; /* the proxy's password */
        sbx_conn_arm(c, a->dial_ends > now ? a->dial_ends - now : 1);
        sbx_chain_run(c);
    }
    if (out.ptr)
        explicit_bzero(out.ptr, out.cap);
}

static void opened(struct sbx_conn *c, size_t head)
{
    sbx_buf_drop(&c->reply, head);
    if (c->reply.len && sbx_intercept_wanted(c)) /* no server of TLS speaks first */
        fail(c, 502, "bad-upstream-reply", "the proxy of this machine sent more than its answer");
    else
        sbx_dial_connected(c, false); /* what is left in c->reply is the server's: tunnel.c */
}

/* True: there may be more to look at. */
static bool look(struct sbx_conn *c)
{
    struct sbx_upstream_answer answer;
    size_t skip = 0;
    ssize_t n = sbx_upstream_answer(c->reply.ptr, c->reply.len, &c->interim, &skip, &answer);

    if (skip) {
        sbx_buf_drop(&c->reply, skip);
        return true;
    }
    if (n > 0 && answer.open)
        opened(c, (size_t)n);
    else if (n)
        fail(c, 502, answer.reason, answer.text);
    return false;
}

static ssize_t receive(struct sbx_conn *c)
{
    char *room = sbx_buf_room(&c->reply, SBX_GATE_SMALL_BUFFER);
    ssize_t n = room ? sbx_side_read(&c->server, room, SBX_GATE_SMALL_BUFFER) : -2;

    if (n > 0)
        sbx_buf_commit(&c->reply, (size_t)n);
    return n;
}

void sbx_chain_run(struct sbx_conn *c)
{
    if (c->server.failed || sbx_pipe_flush(&c->gate->pool, &c->up, &c->server) < 0) {
        fail(c, 502, "upstream-closed", "the proxy of this machine closed the connection");
        return;
    }
    while (c->state == SBX_CONN_CHAIN) {
        ssize_t n;

        if (look(c))
            continue;
        if (c->state != SBX_CONN_CHAIN)
            return;
        n = receive(c);
        if (n == -1)
            return;
        if (n <= 0)
            fail(c, 502, "upstream-closed", "the proxy of this machine closed the connection");
    }
}

void sbx_chain_timeout(struct sbx_conn *c)
{
    fail(c, 504, "upstream-timeout", "the proxy of this machine did not answer in time");
}
