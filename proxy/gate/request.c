/* The state HEAD: bytes of a request head come in, and what it asks for. See gate.h. */
#include <stdlib.h>
#include <string.h>

#include "intercept.h"

ssize_t sbx_conn_fill(struct sbx_conn *c, size_t max)
{
    char *scratch = c->gate->pool.spare; /* so that a connection holds what came, not room for what may come */
    size_t room = c->in.len < max ? max - c->in.len : 0;
    ssize_t n;

    if (room > SBX_GATE_SMALL_BUFFER)
        room = SBX_GATE_SMALL_BUFFER;
    if (!room)
        return -1;
    n = sbx_side_read(&c->client, scratch, room);
    if (n > 0 && sbx_buf_add(&c->in, scratch, (size_t)n))
        return -2;
    return n;
}

void sbx_conn_next(struct sbx_conn *c)
{
    struct sbx_gate *g = c->gate;

    if (sbx_conn_is_active(c->state))
        g->nactive--;
    if (c->inter && !c->in.len) { /* many wait for long, and TLS has taken its memory */
        sbx_buf_release(&c->in);
        sbx_buf_release(&c->out_head);
        sbx_buf_release(&c->reply);
    }
    c->state = SBX_CONN_HEAD;
    c->served = true;
    sbx_asked_clear(c);
    memset(&c->scan, 0, sizeof(c->scan));
    sbx_conn_move(c, c->in.len ? &g->pending : &g->idle);
    sbx_conn_arm(c, c->in.len ? SBX_GATE_HEAD_MS : sbx_intercept_idle_ms(c));
    if (c->state != SBX_CONN_DEAD) /* in its own turn: a pipeline must not nest calls */
        sbx_loop_again(&g->loop, &c->turn);
}

/* Fill c->asked from a head, as far as it could be understood. */
static void note_request(struct sbx_conn *c, const struct sbx_head *h, const struct sbx_target *t)
{
    struct sbx_asked *a = &c->asked;

    if (h->method.len && h->method.len <= SBX_GATE_METHOD_MAX) {
        memcpy(a->method, h->method.ptr, h->method.len);
        a->method[h->method.len] = '\0';
    }
    a->connect = t->connect;
    a->to_head = sbx_slice_is(h->method, "HEAD");
    a->minor = h->minor;
    a->keep = h->minor == 1 && !h->close && !t->connect;
    a->host = t->host;
    a->port = t->port;
    a->upgrade = t->upgrade;
}

/* A request in an intercepted connection: to the host that the connection is to. */
static int read_inner(struct sbx_conn *c, const struct sbx_head *h, struct sbx_target *t,
                      struct sbx_fault *f)
{
    sbx_gate_refresh(c->gate);
    sbx_config_unref(c->inter->head);
    c->inter->head = sbx_config_ref(c->gate->config);
    if (sbx_target_read_inner(h, &c->inter->host, c->inter->port, t, f))
        return -1;
    t->strike = sbx_intercept_rules(c, c->inter->head, &t->nstrike);
    return 0;
}

static int read_request(struct sbx_conn *c, size_t len, struct sbx_fault *f)
{
    struct sbx_head h = { 0 };
    struct sbx_target t = { 0 };
    enum sbx_code code;
    int rc = sbx_head_parse_request(c->in.ptr, len, &h, f);

    if (!rc)
        rc = c->inter ? read_inner(c, &h, &t, f) : sbx_target_read(&h, &t, f);
    note_request(c, &h, &t);
    if (rc)
        return rc;
    sbx_body_release(&c->up_body);
    if (sbx_frame_request(&h, &c->up_body, f))
        return -1;
    if (t.connect) { /* it has no body; what follows belongs to the tunnel, so no framing is right */
        if (c->up_body.kind != SBX_BODY_NONE && c->up_body.length) {
            *f = (struct sbx_fault){ 400, "connect-with-body" };
            return -1;
        }
        return 0;
    }
    c->asked.bodyless = c->up_body.done;
    t.upgrade = c->asked.upgrade = t.upgrade && c->up_body.done;
    sbx_buf_clear(&c->out_head);
    code = sbx_rewrite_request(&h, &t, &c->up_body, &c->out_head);
    if (code)
        *f = code == SBX_LIMIT ? (struct sbx_fault){ 431, "head-too-large" } : (struct sbx_fault){ 503, "no-memory" };
    return code ? -1 : 0;
}

/* Is there a whole head? True: the state has moved on. */
static bool try_head(struct sbx_conn *c)
{
    struct sbx_fault f;
    ssize_t len;

    if (c->in.len >= 2 && !c->scan.seen && !c->scan.blank && memcmp(c->in.ptr, "\r\n", 2) == 0) {
        sbx_buf_drop(&c->in, 2);
        c->scan.blank = true;
    }
    if (!c->in.len || (c->in.len == 1 && !c->scan.blank && c->in.ptr[0] == '\r'))
        return false;
    len = sbx_head_scan(&c->scan, c->in.ptr, c->in.len, false, &f);
    if (!len)
        return false;
    if (len < 0 || read_request(c, (size_t)len, &f)) {
        sbx_answer_fault(c, &f);
        return true;
    }
    sbx_buf_drop(&c->in, (size_t)len);
    if (c->inter && c->inter->fault) { /* in the log already */
        c->asked.logged = true;
        c->asked.keep = false;
        sbx_answer_error(c, 502, c->inter->fault, c->inter->fault_text);
        return true;
    }
    sbx_judge_start(c);
    return true;
}

void sbx_head_run(struct sbx_conn *c)
{
    while (!try_head(c)) {
        bool first = !c->in.len && !c->scan.blank;
        ssize_t n = sbx_conn_fill(c, SBX_CONN_IN_MAX);

        if (n == -1)
            return;
        if (n <= 0) {
            sbx_conn_close(c, n < 0);
            return;
        }
        if (first && c->served) { /* the time of a head begins with its first byte */
            sbx_conn_move(c, &c->gate->pending);
            sbx_conn_arm(c, SBX_GATE_HEAD_MS);
        }
        if (c->state == SBX_CONN_DEAD)
            return;
    }
}
