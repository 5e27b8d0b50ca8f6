/* Replies of the gate itself: refusals and failures, then on with the next request or to the end.
 * See gate.h. */
#include <stdio.h>
#include <string.h>

#include "intercept.h"

#define TEXT_MAX 1024 /* bytes of a body: one line about a name and the rule to add */

static const char *phrase(unsigned status)
{
    static const struct {
        unsigned status;
        const char *text;
    } phrases[] = {
        { 400, "Bad Request" },         { 403, "Forbidden" },
        { 405, "Method Not Allowed" },  { 408, "Request Timeout" },
        { 414, "URI Too Long" },        { 421, "Misdirected Request" },
        { 431, "Request Header Fields Too Large" },
        { 501, "Not Implemented" },     { 502, "Bad Gateway" },
        { 503, "Service Unavailable" }, { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(phrases); i++)
        if (phrases[i].status == status)
            return phrases[i].text;
    return "Error";
}

static void begin_answer(struct sbx_conn *c, unsigned status, bool denied, const char *text)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(TEXT_MAX + 512);
    struct sbx_gate *g = c->gate;
    bool keep = c->asked.keep && c->up_body.done;

    if (c->transparent && !(c->inter && c->client.tls)) { /* no protocol that the gate could answer in: N6 */
        sbx_conn_close(c, true);
        return;
    }
    sbx_loop_disarm(&g->loop, &c->timer);
    if (sbx_conn_is_active(c->state))
        g->nactive--;
    if (!c->kept.usable)
        sbx_side_close(&g->loop, &c->server, false);
    c->state = SBX_CONN_ANSWER;
    c->client_close = !keep;
    sbx_pipe_clear(&g->pool, &c->up);
    if (sbx_buf_addf(&out, "HTTP/1.1 %u %s\r\n%sContent-Type: text/plain; charset=utf-8\r\n"
                     "Content-Length: %zu\r\n%s%s\r\n", status, phrase(status),
                     denied ? "X-Sbx-Policy: denied\r\n" : "", strlen(text) + 1,
                     status == 405 ? "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, CONNECT\r\n"
                                   : "",
                     keep ? "" : "Connection: close\r\n") ||
        (!c->asked.to_head && sbx_buf_addf(&out, "%s\n", text)) ||
        sbx_pipe_add(&g->pool, &c->down, out.ptr, out.len)) {
        sbx_conn_close(c, true);
        return;
    }
    sbx_conn_arm(c, SBX_GATE_HEAD_MS); /* a client that does not read its answer loses it */
    sbx_answer_run(c);
}

static const struct {
    const char *reason, *text;
} faults[] = {
    { "not-http", "HTTP is expected here; these bytes are not HTTP" },
    { "misdirected", "the request names another host than this connection is to" },
    { "bare-lf", "lines must end in CRLF" },
    { "target-too-long", "the request target is too long" },
    { "head-too-large", "the request head is too large" },
    { "head-timeout", "the request head did not come in time" },
    { "folded-field", "a header field is continued on the next line" },
    { "bad-field", "a header field name is malformed" },
    { "bad-field-value", "a header field value holds a control character" },
    { "bad-connection", "the Connection field is malformed" },
    { "bad-request-line", "the request line is malformed" },
    { "bad-method", "the method is malformed" },
    { "bad-target", "the request target is malformed" },
    { "http-version", "only HTTP/1.0 and HTTP/1.1 are spoken here" },
    { "port-missing", "CONNECT needs host:port" },
    { "origin-form", "this is a proxy: the request target must be an absolute URL" },
    { "scheme", "only http:// goes through a proxy like this; use CONNECT for other schemes" },
    { "bad-host-field", "exactly one well-formed Host field is needed" },
    { "method", "this method is not allowed through the sandbox's gate" },
    { "bad-content-length", "Content-Length is malformed or given twice" },
    { "bad-transfer-encoding", "the only Transfer-Encoding known is \"chunked\", in HTTP/1.1" },
    { "length-and-chunked", "Content-Length and Transfer-Encoding exclude each other" },
    { "bad-upgrade", "Upgrade may offer one protocol, and not TLS" },
    { "connect-with-body", "CONNECT has no body" },
    { "bad-chunk", "the chunked body is malformed" },
    { "no-credential", "the credential that the gate adds is not available" },
    { "no-memory", "the gate has no memory left for it" },
    { "log-unavailable", "the decision cannot be recorded: the log of the sandbox is full, or the disk of "
                         "the host" },
};

const char *sbx_fault_text(const char *reason)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(faults); i++)
        if (strcmp(faults[i].reason, reason) == 0)
            return faults[i].text;
    return "the request is malformed";
}

void sbx_answer_fault(struct sbx_conn *c, const struct sbx_fault *f)
{
    c->asked.keep = false;
    sbx_log_asked(c, f->status == 405 || f->status == 421 ? "deny" : "error", f->reason, f->status);
    begin_answer(c, f->status, f->status == 405, sbx_fault_text(f->reason));
}

void sbx_answer_denied(struct sbx_conn *c, const struct sbx_verdict *v)
{
    char text[SBX_EXPLAIN_MAX];

    c->asked.verdict = *v;
    sbx_log_asked(c, "deny", v->reason, 403);
    sbx_verdict_explain(c->asked.config->policy, v, c->asked.config->sandbox, &c->asked.host,
                        c->asked.port, text);
    begin_answer(c, 403, true, text);
}

void sbx_answer_error(struct sbx_conn *c, unsigned status, const char *reason, const char *text)
{
    char body[TEXT_MAX];

    sbx_log_asked(c, "error", reason, status);
    snprintf(body, sizeof(body), "%s:%u: %s", c->asked.host.text, c->asked.port, text);
    begin_answer(c, status, false, body);
}

void sbx_answer_run(struct sbx_conn *c)
{
    int rc = sbx_pipe_flush(&c->gate->pool, &c->down, &c->client);

    if (rc < 0) {
        sbx_conn_close(c, true);
    } else if (rc > 0 && !c->client_close) {
        sbx_conn_next(c);
    } else if (rc > 0) {
        sbx_side_shut(&c->client);
        c->state = SBX_CONN_LINGER;
        c->lingered = 0;
        sbx_conn_arm(c, SBX_GATE_LINGER_MS);
        sbx_linger_run(c);
    }
}

/* Read on for a moment: closing with bytes unread would reset the connection, and the client could
 * lose the answer (RFC 9112, 9.6). What is read is dropped, never parsed (GC C10, D22). */
void sbx_linger_run(struct sbx_conn *c)
{
    struct sbx_pool *pool = &c->gate->pool;
    ssize_t n;

    while (c->state == SBX_CONN_LINGER) {
        n = sbx_side_read(&c->client, pool->spare, SBX_GATE_SMALL_BUFFER);
        if (n == -1)
            return;
        if (n > 0)
            c->lingered += (uint64_t)n;
        if (n <= 0 || c->lingered > SBX_GATE_LINGER_BYTES)
            sbx_conn_close(c, n != 0);
    }
}
