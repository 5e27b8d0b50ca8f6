/* TLS that ends at the gate and begins anew. See intercept.h. */
#include "intercept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sbx_inject *sbx_intercept_rules(const struct sbx_conn *c,
                                             const struct sbx_config *config, size_t *ret_len)
{
    return sbx_injects_find(&config->injects, c->inter->host.text, c->inter->port, ret_len);
}

bool sbx_intercept_wanted(const struct sbx_conn *c)
{
    const struct sbx_asked *a = &c->asked;
    size_t n = 0;

    if (c->inter)
        return true;
    return a->connect && !a->config->learn && sbx_injects_find(&a->config->injects, a->host.text, a->port, &n);
}

bool sbx_intercept_ready(const struct sbx_conn *c)
{
    size_t n = 0;
    const struct sbx_inject *r = sbx_intercept_rules(c, c->asked.config, &n);
    struct sbx_slice value;

    for (size_t i = 0; i < n; i++)
        if (!sbx_secrets_find(c->gate->secrets, r[i].secret, &value))
            return false;
    return true;
}

void sbx_intercept_free(struct sbx_conn *c)
{
    if (!c->inter)
        return;
    sbx_config_unref(c->inter->head);
    sbx_h2_free(c->inter->session);
    free(c->inter);
    c->inter = NULL;
}

/* Of what an intercepted connection takes, more than half is TLS with its server (17 of 31 KiB). */
uint64_t sbx_intercept_idle_ms(struct sbx_conn *c)
{
    if (!c->inter)
        return SBX_GATE_KEEP_MS;
    c->inter->resting = c->kept.usable && c->gate->nconns > SBX_GATE_CROWD;
    return c->inter->resting ? SBX_GATE_REST_MS : SBX_GATE_KEEP_MS;
}

bool sbx_intercept_rest(struct sbx_conn *c)
{
    if (!c->inter || !c->inter->resting)
        return false;
    c->inter->resting = c->kept.usable = false;
    sbx_side_close(&c->gate->loop, &c->server, false);
    sbx_conn_arm(c, SBX_GATE_KEEP_MS - SBX_GATE_REST_MS);
    return true;
}

bool sbx_intercept_still(struct sbx_conn *c)
{
    char byte;

    return sbx_side_read(&c->server, &byte, 1) == -1;
}

/* ---- the client ---- */

static void client_failed(struct sbx_conn *c)
{
    sbx_log_asked(c, "error", sbx_tls_distrusted(&c->client) ? "client-distrust" : "client-tls", 0);
    sbx_conn_close(c, true);
}

/* Both sides are ready, or the server's is not and the client is to be told. */
static void open_client(struct sbx_conn *c)
{
    struct sbx_intercept *x = c->inter;

    if (!x->fault && !sbx_tunnel_log(c)) {
        sbx_conn_close(c, true);
        return;
    }
    x->step = SBX_STEP_OPEN;
    c->asked.open = false; /* each request has an end of its own */
    if (x->h2) {
        sbx_session_start(c);
        return;
    }
    c->kept = (struct sbx_kept){ x->host, x->port, c->address, c->asked.config->generation,
                                 !x->fault, true };
    sbx_conn_next(c);
}

static void run_client(struct sbx_conn *c)
{
    int rc = sbx_tls_shake(&c->client);

    if (rc < 0)
        client_failed(c);
    else if (rc > 0)
        open_client(c);
}

static void begin_client(struct sbx_conn *c)
{
    struct sbx_intercept *x = c->inter;
    const char *spoken = !x->offer.alpn ? NULL : x->h2 ? "h2" : x->offer.h1 ? "http/1.1" : "";
    SSL *ssl = sbx_trust_inward(c->gate->trust, c->gate->authority, &x->host, spoken);

    sbx_hold_free(c);
    /* What the client got in plain text is out long ago, since it has answered with its hello. */
    if (!ssl || c->down.buf || sbx_tls_begin(&c->client, ssl, &c->in)) {
        sbx_conn_close(c, true);
        return;
    }
    x->step = SBX_STEP_CLIENT;
    sbx_conn_arm(c, SBX_GATE_SHAKE_MS);
    if (c->state == SBX_CONN_SHAKE)
        run_client(c);
}

/* ---- the server ---- */

/* The client learns it as the answer to its request: over TLS, since it would not read anything else. */
static void server_failed(struct sbx_conn *c, const char *reason, const char *text)
{
    struct sbx_intercept *x = c->inter;

    snprintf(x->fault_text, sizeof(x->fault_text), "TLS with the server failed: %s", text);
    sbx_side_close(&c->gate->loop, &c->server, true);
    if (!c->asked.connect) {
        sbx_answer_error(c, 502, reason, x->fault_text);
        return;
    }
    sbx_log_asked(c, "error", reason, 502);
    x->fault = reason;
    begin_client(c);
}

static void server_ready(struct sbx_conn *c)
{
    if (c->asked.connect) {
        c->inter->h2 = sbx_tls_is_h2(&c->server);
        begin_client(c);
        return;
    }
    c->inter->step = SBX_STEP_OPEN;
    sbx_dial_forward(c);
}

static void run_server(struct sbx_conn *c)
{
    int rc = sbx_tls_shake(&c->server);

    if (rc > 0)
        server_ready(c);
    else if (rc < 0)
        server_failed(c, sbx_tls_distrusts(&c->server) ? "upstream-certificate" : "upstream-tls",
                      sbx_tls_fault(&c->server));
}

static void begin_server(struct sbx_conn *c)
{
    struct sbx_intercept *x = c->inter;
    struct sbx_offer offer = x->offer;
    SSL *ssl;

    offer.h2 &= c->asked.connect;
    ssl = sbx_trust_outward(c->gate->trust, c->asked.config->upstream_ca, &x->host, offer);
    if (!ssl || sbx_tls_begin(&c->server, ssl, NULL)) {
        sbx_conn_close(c, true);
        return;
    }
    x->step = SBX_STEP_SERVER;
    sbx_conn_arm(c, SBX_GATE_SHAKE_MS);
    if (c->state == SBX_CONN_SHAKE)
        run_server(c);
}

/* ---- the hello ---- */

/* The client's offer, cut to what the gate can read. */
static void take_offer(struct sbx_conn *c)
{
    const struct sbx_hello *h = sbx_hold_hello(c);
    struct sbx_offer *o = &c->inter->offer;

    *o = (struct sbx_offer){ h->alpn, h->offers_h1, h->offers_h2 };
    if (o->alpn && !o->h1 && !o->h2)
        sbx_hold_deny(c, "no-protocol", NULL);
    else
        begin_server(c);
}

static void run_hello(struct sbx_conn *c)
{
    if (sbx_pipe_flush(&c->gate->pool, &c->down, &c->client) < 0) {
        sbx_conn_close(c, true);
        return;
    }
    switch (sbx_hold_look(c)) {
    case SBX_HELD_TLS:
        take_offer(c);
        return;
    case SBX_HELD_OTHER:
        sbx_hold_deny(c, "not-tls", NULL); /* GC C8: nothing but TLS goes where a value is injected */
        return;
    case SBX_HELD_NOTHING:
        sbx_log_asked(c, "error", "client-closed", 0);
        sbx_conn_close(c, false);
        return;
    case SBX_HELD_MORE:
    case SBX_HELD_CLOSED:
        return;
    }
}

void sbx_intercept_run(struct sbx_conn *c)
{
    switch (c->inter->step) {
    case SBX_STEP_HELLO:
        run_hello(c);
        return;
    case SBX_STEP_SERVER:
        run_server(c);
        return;
    case SBX_STEP_CLIENT:
        run_client(c);
        return;
    case SBX_STEP_OPEN:
        return;
    }
}

void sbx_intercept_timeout(struct sbx_conn *c)
{
    switch (c->inter->step) {
    case SBX_STEP_HELLO:
        sbx_hold_deny(c, "hello-timeout", NULL);
        return;
    case SBX_STEP_SERVER:
        server_failed(c, "upstream-tls", "it did not answer in time");
        return;
    case SBX_STEP_CLIENT:
    case SBX_STEP_OPEN:
        client_failed(c);
        return;
    }
}

void sbx_intercept_start(struct sbx_conn *c)
{
    if (c->inter) {
        begin_server(c);
        return;
    }
    if (!c->gate->authority) {
        sbx_answer_error(c, 503, "no-authority", "the gate has no certificate authority");
        return;
    }
    c->inter = calloc(1, sizeof(*c->inter));
    if (!c->inter) {
        sbx_conn_close(c, true);
        return;
    }
    c->inter->host = c->asked.host;
    c->inter->port = c->asked.port;
    if (sbx_hold_start(c, true) || sbx_tunnel_accept(c)) {
        sbx_conn_close(c, true);
        return;
    }
    sbx_conn_arm(c, SBX_GATE_HEAD_MS);
    if (c->state == SBX_CONN_SHAKE)
        run_hello(c);
}

/* ---- requests ---- */

/* The head without its last empty line, the fields of the rules, the empty line. */
static char *compose(const struct sbx_conn *c, const struct sbx_inject *r, size_t n, size_t *ret_len)
{
    size_t at = c->out_head.len - 2, len = c->out_head.len;
    struct sbx_slice value;
    char *out;

    for (size_t i = 0; i < n; i++) {
        if (!sbx_secrets_find(c->gate->secrets, r[i].secret, &value))
            return NULL;
        len += strlen(r[i].header) + value.len + 4;
    }
    out = malloc(len);
    if (!out)
        return NULL;
    memcpy(out, c->out_head.ptr, at);
    for (size_t i = 0; i < n; i++) {
        size_t name = strlen(r[i].header);

        if (!sbx_secrets_find(c->gate->secrets, r[i].secret, &value))
            continue; /* it was there a moment ago, in this same turn */
        memcpy(out + at, r[i].header, name);
        memcpy(out + at + name, ": ", 2);
        memcpy(out + at + name + 2, value.ptr, value.len);
        memcpy(out + at + name + 2 + value.len, "\r\n", 2);
        at += name + value.len + 4;
    }
    memcpy(out + at, "\r\n", 2);
    *ret_len = at + 2;
    return out;
}

int sbx_intercept_send_head(struct sbx_conn *c)
{
    size_t n = 0, was = 0, len = 0;
    const struct sbx_inject *now = sbx_intercept_rules(c, c->asked.config, &n);
    const struct sbx_inject *then = sbx_intercept_rules(c, c->inter->head, &was);
    char *out;

    if (!n || !sbx_injects_equal(now, n, then, was))
        return -1;
    out = compose(c, now, n, &len);
    if (!out)
        return -1;
    c->asked.bytes_out += c->out_head.len; /* how long a value is, is nobody's business */
    sbx_pipe_give_secret(&c->up, out, len);
    return 0;
}
