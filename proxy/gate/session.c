/* HTTP/2 in an intercepted connection: the state H2. Bytes go between the two TLS sides and the session
 * (http.h), whose questions are answered here. See intercept.h. */
#include <stdio.h>
#include <string.h>

#include "intercept.h"

#define CHUNK 65536 /* bytes that are read or written at once: four TLS records */

/* ---- what the session asks ---- */

static bool log_request(struct sbx_conn *c, const char *method, const char *decision, const char *reason,
                        unsigned status, uint64_t number)
{
    struct sbx_record r = sbx_record_of(c, number != 0);

    r.method = method && *method ? method : NULL;
    r.decision = decision;
    r.reason = reason;
    r.status = status;
    r.request = number;
    return sbx_log(&c->gate->log, &r);
}

/* The method for the log, or nothing where it cannot be one. */
static const char *method_of(const struct sbx_http_ask *ask, char text[SBX_GATE_METHOD_MAX + 1])
{
    size_t n = ask && ask->method.len <= SBX_GATE_METHOD_MAX ? ask->method.len : 0;

    if (n)
        memcpy(text, ask->method.ptr, n);
    text[n] = '\0';
    return text;
}

static bool refuse(struct sbx_conn *c, const char *method, const struct sbx_fault *f,
                   struct sbx_http_no *no)
{
    bool error = f->status == 400 || f->status == 503;

    log_request(c, method, error ? "error" : "deny", f->reason, f->status, 0);
    no->status = f->status;
    no->denied = f->status == 403 || f->status == 405;
    snprintf(no->text, sizeof(no->text), "%s\n", sbx_fault_text(f->reason));
    return false;
}

/* Does a name of the request mean the host of this connection (GC E4)? 0, or -1 with f set. */
static int check_name(const struct sbx_intercept *x, struct sbx_slice s, struct sbx_fault *f)
{
    struct sbx_host host;
    uint16_t port;

    if (!s.len)
        return 0;
    *f = (struct sbx_fault){ 400, "bad-host-field" };
    if (sbx_target_parse(s.ptr, s.len, 443, &host, &port, NULL))
        return -1;
    *f = (struct sbx_fault){ 421, "misdirected" };
    return port == x->port && strcmp(host.text, x->host.text) == 0 ? 0 : -1;
}

static int check_request(const struct sbx_intercept *x, const struct sbx_http_ask *ask,
                         struct sbx_fault *f)
{
    *f = (struct sbx_fault){ 405, "method" };
    if (sbx_slice_is_nocase(ask->method, "TRACE") || sbx_slice_is_nocase(ask->method, "TRACK") ||
        sbx_slice_is(ask->method, "CONNECT"))
        return -1;
    *f = (struct sbx_fault){ 400, "scheme" };
    if (!sbx_slice_is(ask->scheme, "https"))
        return -1;
    *f = (struct sbx_fault){ 400, "bad-target" };
    if (!ask->path.len || memchr(ask->path.ptr, '#', ask->path.len))
        return -1;
    if (check_name(x, ask->authority, f) || check_name(x, ask->host, f))
        return -1;
    *f = (struct sbx_fault){ 400, "bad-host-field" };
    return ask->authority.len || ask->host.len ? 0 : -1;
}

static bool judge(void *ctx, const struct sbx_http_ask *ask, uint64_t *ret_number,
                  struct sbx_http_no *no)
{
    struct sbx_conn *c = ctx;
    char method[SBX_GATE_METHOD_MAX + 1], text[SBX_EXPLAIN_MAX];
    struct sbx_fault f;

    method_of(ask, method);
    if (check_request(c->inter, ask, &f))
        return refuse(c, method, &f, no);
    if (!sbx_judge_again(c)) { /* not reached while every new file cuts those that it forbids */
        f = (struct sbx_fault){ 403, c->asked.verdict.reason };
        refuse(c, method, &f, no);
        sbx_verdict_explain(c->asked.config->policy, &c->asked.verdict, c->asked.config->sandbox,
                            &c->asked.host, c->asked.port, text);
        snprintf(no->text, sizeof(no->text), "%s\n", text);
        return false;
    }
    if (!sbx_intercept_ready(c)) {
        f = (struct sbx_fault){ 503, "no-credential" };
        return refuse(c, method, &f, no);
    }
    *ret_number = ++c->gate->requests;
    if (log_request(c, method, "allow", c->asked.verdict.reason, 0, *ret_number))
        return true;
    f = (struct sbx_fault){ 503, "log-unavailable" };
    return refuse(c, method, &f, no);
}

static const char *fault(void *ctx, const struct sbx_http_ask *ask, unsigned status, const char *reason)
{
    char method[SBX_GATE_METHOD_MAX + 1];

    log_request(ctx, method_of(ask, method), "error", reason, status, 0);
    return sbx_fault_text(reason);
}

static void over(void *ctx, const struct sbx_http_over *what)
{
    struct sbx_conn *c = ctx;
    struct sbx_record r = sbx_record_of(c, true);

    r.method = *what->method ? what->method : NULL;
    r.request = what->number;
    r.event = "close";
    r.reason = c->asked.verdict.reason;
    r.bytes_in = what->bytes_in;
    r.bytes_out = what->bytes_out;
    r.duration_ms = what->duration_ms;
    sbx_log_event(&c->gate->log, &r);
}

static bool strikes(void *ctx, struct sbx_slice name)
{
    struct sbx_conn *c = ctx;
    size_t n = 0;
    const struct sbx_inject *rules = sbx_intercept_rules(c, c->asked.config, &n);

    return sbx_inject_strikes(rules, n, name);
}

static bool add(void *ctx, unsigned i, struct sbx_http_field *ret)
{
    struct sbx_conn *c = ctx;
    size_t n = 0;
    const struct sbx_inject *rules = sbx_intercept_rules(c, c->asked.config, &n);

    if (i >= n || !sbx_secrets_find(c->gate->secrets, rules[i].secret, &ret->value))
        return false; /* judge() has just seen that all values are there */
    ret->name = (struct sbx_slice){ rules[i].lower, strlen(rules[i].lower) };
    return true;
}

/* ---- bytes ---- */

/* What a side has said. True: something was taken. */
static bool take(struct sbx_conn *c, struct sbx_side *side, enum sbx_http_end end)
{
    struct sbx_h2 *h = c->inter->session;
    struct sbx_pool *pool = &c->gate->pool;
    ssize_t n;

    if (side->failed)
        sbx_h2_ended(h, end);
    if (!sbx_h2_wants(h, end))
        return false;
    n = sbx_side_read(side, pool->spare, CHUNK);
    if (n == -1)
        return false;
    if (n <= 0) {
        sbx_h2_ended(h, end);
        return true;
    }
    c->active_at = c->gate->loop.now;
    c->gate->relayed += (uint64_t)n;
    (void)sbx_h2_input(h, end, pool->spare, (size_t)n); /* what is wrong with it is output, and done */
    return true;
}

/* What a side is to hear. True: it takes more. */
static bool give(struct sbx_conn *c, struct sbx_side *side, enum sbx_http_end end, struct sbx_pipe *pipe)
{
    struct sbx_h2 *h = c->inter->session;
    struct sbx_pool *pool = &c->gate->pool;
    /* Towards the server go secrets: in small pieces, which are wiped. */
    bool secret = end == SBX_HTTP_SERVER;
    size_t n;
    int rc = side->failed ? -1 : sbx_pipe_flush(pool, pipe, side);

    if (rc > 0) {
        n = sbx_h2_output(h, end, pool->spare, secret ? SBX_GATE_SMALL_BUFFER : CHUNK);
        if (!n)
            return false;
        rc = sbx_pipe_send(pool, pipe, side, 0, n);
        if (secret)
            explicit_bzero(pool->spare, n);
        if (secret && pipe->buf)
            pipe->secret = true;
    }
    if (rc < 0) {
        sbx_pipe_clear(pool, pipe);
        sbx_h2_ended(h, end);
    }
    return rc > 0;
}

static void arm(struct sbx_conn *c)
{
    uint64_t ms = sbx_h2_tick(c->inter->session, c->gate->loop.now);

    if (!c->timer.index || c->timer.at > c->gate->loop.now + ms)
        sbx_conn_arm(c, ms);
}

/* All is said: what is left goes out, and the client has a moment to read it. */
static void end(struct sbx_conn *c)
{
    struct sbx_gate *g = c->gate;

    sbx_session_free(c);
    g->nactive--;
    c->state = SBX_CONN_ANSWER;
    c->client_close = true;
    sbx_side_close(&g->loop, &c->server, false);
    sbx_pipe_clear(&g->pool, &c->up);
    sbx_conn_arm(c, SBX_GATE_LINGER_MS);
    if (c->state == SBX_CONN_ANSWER)
        sbx_answer_run(c);
}

/* Without a stream it may have to make room for others. */
static void note_idle(struct sbx_conn *c)
{
    bool idle = !sbx_h2_streams(c->inter->session);

    if (idle != c->inter->idle)
        sbx_conn_move(c, idle ? &c->gate->idle : &c->gate->active);
    c->inter->idle = idle;
}

void sbx_session_leave(struct sbx_conn *c)
{
    if (c->state == SBX_CONN_H2) {
        sbx_h2_drain(c->inter->session);
        (void)give(c, &c->client, SBX_HTTP_CLIENT, &c->down);
    }
    sbx_conn_close(c, false);
}

void sbx_session_run(struct sbx_conn *c)
{
    struct sbx_h2 *h = c->inter->session;
    bool more = true;

    if (c->client.readable)
        sbx_gate_refresh(c->gate); /* before a decision; it may close this connection too */
    if (c->state != SBX_CONN_H2)
        return;
    arm(c);
    for (unsigned round = 0; c->state == SBX_CONN_H2 && more && round < SBX_GATE_ROUNDS; round++) {
        more = take(c, &c->client, SBX_HTTP_CLIENT);
        more |= give(c, &c->server, SBX_HTTP_SERVER, &c->up);
        more |= take(c, &c->server, SBX_HTTP_SERVER);
        more |= give(c, &c->client, SBX_HTTP_CLIENT, &c->down);
    }
    if (c->state != SBX_CONN_H2)
        return;
    if (c->client.failed || (c->client.ended && !more))
        sbx_conn_close(c, c->client.failed);
    else if (sbx_h2_done(h) && !c->up.buf)
        end(c);
    else {
        note_idle(c);
        if (more)
            sbx_loop_again(&c->gate->loop, &c->turn);
    }
}

void sbx_session_timeout(struct sbx_conn *c)
{
    uint64_t silent = c->gate->loop.now - c->active_at;

    if (silent >= SBX_GATE_IDLE_MS)
        sbx_conn_close(c, true);
    else if (c->inter->idle && silent >= SBX_GATE_H2_CROWD_IDLE_MS && c->gate->nconns > SBX_GATE_CROWD)
        sbx_session_leave(c);
    else
        sbx_session_run(c);
}

void sbx_session_start(struct sbx_conn *c)
{
    const struct sbx_http_host host = { c, judge, fault, over, strikes, add, &c->gate->h2_spare };

    c->inter->session = sbx_h2_new(&host, c->gate->loop.now);
    if (!c->inter->session) {
        sbx_conn_close(c, true);
        return;
    }
    sbx_buf_release(&c->in);
    c->state = SBX_CONN_H2;
    c->asked.connect = false; /* from here on records speak of its requests */
    c->asked.method[0] = '\0';
    c->active_at = c->gate->loop.now;
    sbx_loop_disarm(&c->gate->loop, &c->timer);
    sbx_session_run(c);
}

void sbx_session_free(struct sbx_conn *c)
{
    if (!c->inter)
        return;
    sbx_h2_free(c->inter->session);
    c->inter->session = NULL;
}
