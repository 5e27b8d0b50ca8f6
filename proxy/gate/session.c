/* HTTP/2 in an intercepted connection: the state H2. Bytes go between the two TLS sides and the session
 * object (http.h), which judges each request through the slots below. See intercept.h. */
#include <stdio.h>
#include <string.h>

#include "intercept.h"

#define PIECE SBX_GATE_SMALL_BUFFER /* bytes to a side at once: one TLS record */

/* ---- what the session asks ---- */

static bool refuse(struct sbx_http_no *no, unsigned status, const char *text)
{
    no->status = status;
    no->denied = status == 403 || status == 405;
    snprintf(no->text, sizeof(no->text), "%s\n", text);
    return false;
}

/* Nothing, or the host and port of the connection. */
static bool is_own(const struct sbx_conn *c, struct sbx_slice authority)
{
    struct sbx_host host;
    uint16_t port = 0;

    if (!authority.len)
        return true;
    return !sbx_target_parse(authority.ptr, authority.len, 443, &host, &port, NULL) &&
           port == c->inter->port && strcmp(host.text, c->inter->host.text) == 0;
}

static bool is_one_of(struct sbx_slice method, const char *const *list)
{
    while (*list && !sbx_slice_is_nocase(method, *list))
        list++;
    return *list != NULL;
}

/* What is wrong with a request by itself: status and reason as for HTTP/1. */
static bool is_wrong(const struct sbx_conn *c, const struct sbx_http_ask *ask, struct sbx_fault *f)
{
    static const char *const refused[] = { "TRACE", "TRACK", "CONNECT", NULL };

    if (is_one_of(ask->method, refused))
        *f = (struct sbx_fault){ 405, "method" };
    else if (!ask->authority.len && !ask->host.len)
        *f = (struct sbx_fault){ 400, "bad-host-field" };
    else if (!sbx_slice_is(ask->scheme, "https") || !is_own(c, ask->authority) ||
             !is_own(c, ask->host))
        *f = (struct sbx_fault){ 421, "misdirected" };
    else
        return false;
    return true;
}

static bool judge(void *ctx, const struct sbx_http_ask *ask, struct sbx_http_no *no)
{
    struct sbx_conn *c = ctx;
    struct sbx_fault f;

    if (is_wrong(c, ask, &f)) {
        sbx_log_inner(c, ask->method, f.status == 400 ? "error" : "deny", f.reason, f.status);
        return refuse(no, f.status, sbx_fault_text(&f));
    }
    sbx_gate_refresh(c->gate);
    if (!sbx_judge_again(c)) {
        sbx_log_inner(c, ask->method, "deny", c->asked.verdict.reason, 403);
        refuse(no, 403, "");
        sbx_verdict_explain(c->asked.config->policy, &c->asked.verdict, &c->inter->host, c->inter->port,
                            no->text);
        memcpy(no->text + strlen(no->text), "\n", 2);
        return false;
    }
    if (!sbx_intercept_ready(c)) {
        sbx_log_inner(c, ask->method, "error", "no-credential", 503);
        return refuse(no, 503, "the credential that the gate adds is not available");
    }
    if (!sbx_log_inner(c, ask->method, "allow", c->asked.verdict.reason, 0))
        return refuse(no, 503, "the decision cannot be recorded: the log of the sandbox is full, or "
                               "the disk of the host");
    return true;
}

static void fault(void *ctx, const struct sbx_http_ask *ask, unsigned status, const char *reason)
{
    static const struct sbx_slice unknown;

    sbx_log_inner(ctx, ask ? ask->method : unknown, "error", reason, status);
}

static bool strikes(void *ctx, struct sbx_slice name)
{
    struct sbx_conn *c = ctx;
    size_t n = 0;
    const struct sbx_inject *r = sbx_intercept_rules(c, c->asked.config, &n);

    return sbx_inject_strikes(r, n, name);
}

static bool add(void *ctx, unsigned i, struct sbx_http_field *ret)
{
    struct sbx_conn *c = ctx;
    size_t n = 0;
    const struct sbx_inject *r = sbx_intercept_rules(c, c->asked.config, &n);

    if (i >= n || !sbx_secrets_find(c->gate->secrets, r[i].secret, &ret->value))
        return false;
    ret->name = (struct sbx_slice){ r[i].lower, strlen(r[i].lower) };
    return true;
}

/* ---- bytes ---- */

static void tell_end(struct sbx_conn *c, enum sbx_http_end side)
{
    if (!c->inter->told[side])
        sbx_h2_ended(c->inter->session, side);
    c->inter->told[side] = true;
}

/* Read from a side while the session wants it. True: there may be more. */
static bool take(struct sbx_conn *c, enum sbx_http_end from)
{
    struct sbx_side *side = from == SBX_HTTP_CLIENT ? &c->client : &c->server;
    struct sbx_pool *pool = &c->gate->pool;

    for (unsigned round = 0; round < SBX_GATE_ROUNDS; round++) {
        ssize_t n;

        if (!sbx_h2_wants(c->inter->session, from))
            return false;
        n = sbx_side_read(side, pool->spare, PIECE);
        if (n == -1)
            return false;
        if (n <= 0) {
            tell_end(c, from);
            return false;
        }
        c->active_at = c->gate->loop.now;
        *(from == SBX_HTTP_CLIENT ? &c->asked.bytes_out : &c->asked.bytes_in) += (uint64_t)n;
        if (sbx_h2_input(c->inter->session, from, pool->spare, (size_t)n))
            return false;
    }
    return true;
}

/* What the session has for a side, as far as it takes it. True: there may be more. */
static bool give(struct sbx_conn *c, enum sbx_http_end to)
{
    struct sbx_side *side = to == SBX_HTTP_CLIENT ? &c->client : &c->server;
    struct sbx_pipe *pipe = to == SBX_HTTP_CLIENT ? &c->down : &c->up;
    struct sbx_pool *pool = &c->gate->pool;

    if (side->failed || sbx_pipe_flush(pool, pipe, side) < 0) {
        sbx_pipe_clear(pool, pipe);
        side->failed = true;
        tell_end(c, to);
        return false;
    }
    for (unsigned round = 0; round < SBX_GATE_ROUNDS && !pipe->buf; round++) {
        size_t n = sbx_h2_output(c->inter->session, to, pool->spare, PIECE);
        int rc;

        if (!n)
            return false;
        rc = sbx_pipe_send(pool, pipe, side, 0, n);
        if (to == SBX_HTTP_SERVER) { /* a value may be among it */
            explicit_bzero(pool->spare, n);
            pipe->secret = pipe->buf != NULL;
        }
        if (rc < 0)
            return false;
    }
    return !pipe->buf;
}

static bool is_over(struct sbx_conn *c)
{
    if (c->client.failed && c->server.failed)
        return true;
    return sbx_h2_done(c->inter->session) && (c->client.failed || !c->down.buf) &&
           (c->server.failed || !c->up.buf);
}

void sbx_session_run(struct sbx_conn *c)
{
    struct sbx_h2 *h = c->inter->session;
    uint64_t next = sbx_h2_tick(h, c->gate->loop.now);
    bool more = false;

    for (unsigned round = 0; round < SBX_GATE_ROUNDS; round++) {
        more = take(c, SBX_HTTP_CLIENT);
        more |= take(c, SBX_HTTP_SERVER);
        more |= give(c, SBX_HTTP_CLIENT);
        more |= give(c, SBX_HTTP_SERVER);
        if (c->state != SBX_CONN_H2)
            return;
        if (!more)
            break;
    }
    if (!more && is_over(c)) {
        sbx_conn_close(c, false);
        return;
    }
    if (more)
        sbx_loop_again(&c->gate->loop, &c->turn);
    sbx_conn_arm(c, next);
}

void sbx_session_start(struct sbx_conn *c)
{
    const struct sbx_http_host host = { c, judge, fault, strikes, add, &c->gate->h2_spare };

    c->inter->session = sbx_h2_new(&host, c->gate->loop.now);
    if (!c->inter->session) {
        sbx_conn_close(c, true);
        return;
    }
    c->state = SBX_CONN_H2;
    sbx_session_run(c);
}
