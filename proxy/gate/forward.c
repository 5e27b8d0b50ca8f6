/* Absolute-form requests: one request to the server, one reply back, both strictly framed so that
 * neither side can smuggle another message. See gate.h. */
#include <stdio.h>
#include <string.h>

#include "intercept.h"

#define LEAD 32 /* bytes kept free in front of data in the spare buffer: the line of a chunk */

/* A proxy of this machine gets it in absolute-form, with its password. */
static int send_head(struct sbx_conn *c)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(c->out_head.max + SBX_GATE_UPSTREAM_AUTH_MAX);
    const struct sbx_buf *head = &c->out_head;
    const struct sbx_asked *a = &c->asked;
    int rc;

    if (a->via) {
        if (!sbx_buf_room(&out, out.max) || sbx_upstream_absolute(a->via, &a->host, a->port, head, &out))
            return -1;
        head = &out;
    }
    c->asked.bytes_out += head->len;
    rc = sbx_pipe_add(&c->gate->pool, &c->up, head->ptr, head->len);
    c->up.secret |= a->via && c->up.buf;
    if (out.ptr)
        explicit_bzero(out.ptr, out.cap);
    return rc;
}

void sbx_forward_start(struct sbx_conn *c)
{
    sbx_buf_clear(&c->reply);
    memset(&c->reply_scan, 0, sizeof(c->reply_scan));
    c->interim = 0;
    c->reply_begun = c->reply_done = false;
    c->chunk_reply = c->client_close = false;
    if (c->inter ? sbx_intercept_send_head(c) : send_head(c)) {
        sbx_conn_close(c, true);
        return;
    }
    sbx_forward_run(c);
}

/* Before the reply has begun the client gets a status, else only the cut connection can tell it (GC D19). */
void sbx_forward_give_up(struct sbx_conn *c, unsigned status, const char *reason, const char *text)
{
    c->kept.usable = false;
    if (c->reply_begun || c->down.buf)
        sbx_conn_close(c, true);
    else
        sbx_answer_error(c, status, reason, text);
}

/* Put a chunk's line in front of n bytes at spare[LEAD] and its end behind. Returns where it starts. */
static size_t wrap_chunk(char *spare, size_t *n)
{
    char line[LEAD];
    size_t len = (size_t)snprintf(line, sizeof(line), "%zx\r\n", *n);

    memcpy(spare + LEAD - len, line, len);
    memcpy(spare + LEAD + *n, "\r\n", 2);
    *n += len + 2;
    return LEAD - len;
}

/* The last chunk, with the trailers that may go on. 0 or -1. */
static int end_chunks(struct sbx_conn *c, struct sbx_pipe *pipe, const struct sbx_buf *trailers)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(2 * SBX_GATE_TRAILERS_MAX);

    if (sbx_buf_adds(&out, "0\r\n"))
        return -1;
    if (trailers ? sbx_rewrite_trailers(trailers, &out) != SBX_OK
                 : sbx_buf_adds(&out, "\r\n") != SBX_OK)
        return -1;
    return sbx_pipe_add(&c->gate->pool, pipe, out.ptr, out.len);
}

/* Bytes of a body to spare[LEAD]: those at hand first, then from the socket. As sbx_side_read(). */
static ssize_t take(struct sbx_conn *c, struct sbx_side *from, const struct sbx_buf *held,
                    const struct sbx_body *body)
{
    struct sbx_pool *pool = &c->gate->pool;
    size_t max = sbx_pool_read_size(pool) - LEAD - 2;

    if (body->kind == SBX_BODY_CHUNKED && max > SBX_GATE_SMALL_BUFFER - LEAD - 2)
        max = SBX_GATE_SMALL_BUFFER - LEAD - 2; /* what follows the body must fit c->in */
    if (body->kind == SBX_BODY_LENGTH && max > body->left)
        max = (size_t)body->left;
    if (held->len) {
        if (max > held->len)
            max = held->len;
        memcpy(pool->spare + LEAD, held->ptr, max);
        return (ssize_t)max;
    }
    return sbx_side_read(from, pool->spare + LEAD, max);
}

/* Decode what take() got, and put what does not belong to the body back. Bytes of data or -1. */
static ssize_t decode(struct sbx_conn *c, struct sbx_buf *held, struct sbx_body *body, size_t got)
{
    char *data = c->gate->pool.spare + LEAD;
    bool was_held = held->len > 0;
    size_t used = 0;
    ssize_t n = sbx_body_decode(body, data, got, &used);

    if (n < 0)
        return -1;
    if (was_held)
        sbx_buf_drop(held, used);
    else if (used < got && sbx_buf_add(held, data + used, got - used))
        return -1;
    return n;
}

static ssize_t send_data(struct sbx_conn *c, struct sbx_pipe *pipe, struct sbx_side *to, size_t n,
                         bool chunked)
{
    struct sbx_pool *pool = &c->gate->pool;
    size_t at = LEAD;

    if (!n)
        return 1;
    if (chunked)
        at = wrap_chunk(pool->spare, &n);
    return sbx_pipe_send(pool, pipe, to, at, n);
}

/* The request's body. True: more may be at hand. */
static bool run_up(struct sbx_conn *c)
{
    struct sbx_pool *pool = &c->gate->pool;
    bool chunked = c->up_body.kind == SBX_BODY_CHUNKED;
    ssize_t got, n;

    if (c->server.failed || sbx_pipe_flush(pool, &c->up, &c->server) < 0) {
        sbx_pipe_clear(pool, &c->up); /* a reply may have been sent before: run_down looks */
        return false;
    }
    if (c->up.buf || c->up_body.done)
        return false;
    got = take(c, &c->client, &c->in, &c->up_body);
    if (got == -1)
        return false;
    if (got <= 0) {
        sbx_conn_close(c, true); /* the client left in the middle of its body */
        return false;
    }
    c->active_at = c->gate->loop.now;
    n = decode(c, &c->in, &c->up_body, (size_t)got);
    if (n < 0) {
        sbx_forward_give_up(c, 400, "bad-chunk", "the chunked body is malformed");
        return false;
    }
    c->asked.bytes_out += (uint64_t)n;
    if (send_data(c, &c->up, &c->server, (size_t)n, chunked) < 0)
        return false;
    if (c->up_body.done && chunked && end_chunks(c, &c->up, NULL)) /* trailers are dropped: N24 */
        sbx_conn_close(c, true);
    return c->state == SBX_CONN_FORWARD;
}

static void finish(struct sbx_conn *c)
{
    struct sbx_gate *g = c->gate;
    bool clean = c->up_body.done && !c->up.buf;

    sbx_log_end(c);
    if (!c->kept.usable || !clean || c->reply.len || c->server.ended || c->server.failed) {
        sbx_side_close(&g->loop, &c->server, false);
        c->kept.usable = false;
    }
    sbx_pipe_clear(&g->pool, &c->up);
    sbx_body_release(&c->up_body);
    sbx_body_release(&c->down_body);
    sbx_buf_clear(&c->reply);
    if (clean && !c->client_close) {
        sbx_conn_next(c);
        return;
    }
    sbx_side_close(&g->loop, &c->server, false);
    g->nactive--;
    c->client_close = true;
    c->state = SBX_CONN_ANSWER;
    sbx_answer_run(c); /* nothing is left to send: to LINGER */
}

static bool run_reply_body(struct sbx_conn *c)
{
    struct sbx_body *body = &c->down_body;
    ssize_t got, n;

    if (body->done) {
        c->reply_done = true;
        return false;
    }
    got = take(c, &c->server, &c->reply, body);
    if (got == -1)
        return false;
    if (got == 0 && body->kind == SBX_BODY_UNTIL_CLOSE) {
        c->reply_done = true;
        return false;
    }
    if (got <= 0) {
        sbx_forward_give_up(c, 502, "server-closed", "the server closed the connection early");
        return false;
    }
    c->active_at = c->gate->loop.now;
    n = decode(c, &c->reply, body, (size_t)got);
    c->asked.bytes_in += n > 0 ? (uint64_t)n : 0;
    if (n < 0 || send_data(c, &c->down, &c->client, (size_t)n, c->chunk_reply) < 0 ||
        (body->done && c->chunk_reply && end_chunks(c, &c->down, &body->trailers))) {
        sbx_conn_close(c, true);
        return false;
    }
    return true;
}

/* The reply. True: more may be at hand. */
static bool run_down(struct sbx_conn *c)
{
    int rc = sbx_pipe_flush(&c->gate->pool, &c->down, &c->client);

    if (rc < 0 || c->client.failed) {
        sbx_conn_close(c, true);
        return false;
    }
    if (!rc)
        return false;
    if (!c->reply_begun)
        return sbx_reply_run_head(c);
    if (!c->reply_done && run_reply_body(c))
        return true;
    if (c->state == SBX_CONN_FORWARD && c->reply_done && !c->down.buf)
        finish(c);
    return false;
}

void sbx_forward_run(struct sbx_conn *c)
{
    bool up = true, down = true;

    for (unsigned round = 0; round < 2 * SBX_GATE_ROUNDS && (up || down); round++) {
        up = run_up(c);
        if (c->state != SBX_CONN_FORWARD)
            return;
        down = run_down(c);
        if (c->state != SBX_CONN_FORWARD)
            return;
    }
    if (up || down)
        sbx_loop_again(&c->gate->loop, &c->turn);
}
