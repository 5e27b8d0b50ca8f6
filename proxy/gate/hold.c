/* The first bytes of a client in a tunnel are held until it is known what they are: the server name of
 * a ClientHello must be the name that the connection was allowed for (N25, GC C1, C6). Bytes of the
 * server flow meanwhile. See gate.h. */
#include <stdlib.h>
#include <string.h>

#include "gate.h"

struct sbx_hold {
    struct sbx_hello hello;
    bool check;     /* the server name counts */
    bool strict;    /* intercepted: a server name must be that of the host, whatever kind it is */
    uint64_t began; /* loop time of the first byte; 0: none yet */
};

int sbx_hold_start(struct sbx_conn *c, bool strict)
{
    const struct sbx_asked *a = &c->asked;
    bool check = a->host.kind == SBX_HOST_NAME && !a->verdict.host_resource;

    if (!check && !strict && !c->transparent)
        return 0; /* nothing to check and nothing to tell */
    c->hold = malloc(sizeof(*c->hold));
    if (!c->hold)
        return -1;
    *c->hold = (struct sbx_hold){ .hello = SBX_HELLO_INIT, .check = check, .strict = strict };
    return 0;
}

const struct sbx_hello *sbx_hold_hello(const struct sbx_conn *c)
{
    return &c->hold->hello;
}

void sbx_hold_free(struct sbx_conn *c)
{
    if (!c->hold)
        return;
    sbx_hello_release(&c->hold->hello);
    free(c->hold);
    c->hold = NULL;
}

/* A name with odd bytes is told as the log tells those of DNS: printable. */
void sbx_hold_deny(struct sbx_conn *c, const char *reason, const char *host)
{
    struct sbx_record r = {
        .door = c->transparent ? "transparent" : "proxy",
        .proxy = c->transparent ? "transparent" : c->inter ? "forward" : "forward-bypass",
        .protocol = !c->transparent ? "connect" : strcmp(reason, "not-tls") ? "tls" : "tcp",
        .method = *c->asked.method ? c->asked.method : NULL,
        .host = host ? host : c->asked.host.text,
        .port = c->asked.port,
        .address = c->asked.via ? NULL : &c->address,
        .address_text = c->asked.via ? "upstream" : NULL,
        .decision = "deny",
        .reason = reason,
    };

    sbx_log(&c->gate->log, &r);
    c->asked.logged = true;
    sbx_conn_close(c, true);
}

/* Without a name in the hello only a rule for the address itself can mean this connection. */
static bool address_allowed(const struct sbx_conn *c)
{
    /* whose address only the proxy of this machine knows has none that a rule could mean */
    struct sbx_host literal = { .kind = IN6_IS_ADDR_V4MAPPED(&c->address) ? SBX_HOST_IPV4
                                                                          : SBX_HOST_IPV6,
                                .address = c->address };

    return !c->asked.via && sbx_policy_judge(c->asked.config->policy, &literal, c->asked.port).decision == SBX_ALLOW;
}

/* The whole hello is there. True: its name is right. */
static bool check_name(struct sbx_conn *c)
{
    const struct sbx_hello *h = &c->hold->hello;
    struct sbx_host host;

    if (!c->hold->check && !(c->hold->strict && h->named))
        return true;
    if (!h->named) {
        /* Through the proxy the client has named the host itself. */
        if (!c->transparent || address_allowed(c))
            return true;
        sbx_hold_deny(c, "no-server-name", NULL);
        return false;
    }
    if (sbx_host_parse(h->name, h->name_len, &host, NULL)) {
        sbx_hold_deny(c, "bad-hello", NULL);
        return false;
    }
    if (strcmp(host.text, c->asked.host.text) == 0)
        return true;
    sbx_hold_deny(c, "server-name", host.text);
    return false;
}

static bool looks_like_http(const struct sbx_buf *in)
{
    static const char *const methods[] = { "GET ", "HEAD ", "POST ", "PUT ", "PATCH ", "DELETE ",
                                           "OPTIONS ", "PRI " };

    for (size_t i = 0; i < SBX_ARRAY_LEN(methods); i++)
        if (in->len >= strlen(methods[i]) && memcmp(in->ptr, methods[i], strlen(methods[i])) == 0)
            return true;
    return false;
}

/* Known well: log it, and let the bytes go. False: the connection is closed. */
static bool let_go(struct sbx_conn *c)
{
    if (!sbx_tunnel_log(c)) {
        sbx_conn_close(c, true);
        return false;
    }
    sbx_hold_free(c);
    c->asked.bytes_out += c->in.len;
    if (sbx_pipe_add(&c->gate->pool, &c->up, c->in.ptr, c->in.len)) {
        sbx_conn_close(c, true);
        return false;
    }
    sbx_buf_release(&c->in);
    sbx_conn_arm(c, c->client.ended || c->server.ended ? SBX_GATE_HALF_MS : SBX_GATE_IDLE_MS);
    return c->state == SBX_CONN_TUNNEL;
}

static void note_first(struct sbx_conn *c)
{
    if (c->hold->began || !c->in.len)
        return;
    c->hold->began = c->gate->loop.now;
    sbx_conn_arm(c, SBX_GATE_HELLO_MS);
}

static enum sbx_held known(struct sbx_conn *c, bool tls)
{
    c->asked.seen = tls ? SBX_SEEN_TLS : looks_like_http(&c->in) ? SBX_SEEN_HTTP : SBX_SEEN_OTHER;
    c->asked.ech = tls && c->hold->hello.ech;
    if (!tls)
        return SBX_HELD_OTHER;
    return check_name(c) ? SBX_HELD_TLS : SBX_HELD_CLOSED;
}

enum sbx_held sbx_hold_look(struct sbx_conn *c)
{
    while (c->state != SBX_CONN_DEAD) {
        enum sbx_hello_state s = sbx_hello_read(&c->hold->hello, c->in.ptr, c->in.len);
        ssize_t n;

        if (s == SBX_HELLO_DONE || s == SBX_HELLO_NOT_TLS)
            return known(c, s == SBX_HELLO_DONE);
        if (s == SBX_HELLO_BAD || c->in.len >= SBX_GATE_HELLO_MAX) {
            sbx_hold_deny(c, "bad-hello", NULL);
            break;
        }
        note_first(c);
        n = sbx_conn_fill(c, SBX_GATE_HELLO_MAX);
        if (n == -1)
            return c->state == SBX_CONN_DEAD ? SBX_HELD_CLOSED : SBX_HELD_MORE;
        if (n == -2 && c->in.len) { /* a reset, and nothing of it went out */
            sbx_conn_close(c, true);
            break;
        }
        if (n <= 0 && c->in.len) {
            sbx_hold_deny(c, "bad-hello", NULL);
            break;
        }
        if (n <= 0)
            return SBX_HELD_NOTHING;
    }
    return SBX_HELD_CLOSED;
}

bool sbx_hold_run(struct sbx_conn *c)
{
    switch (sbx_hold_look(c)) {
    case SBX_HELD_MORE:
        return true;
    case SBX_HELD_NOTHING: /* it ended without a byte: the tunnel knows what to do */
        c->asked.seen = SBX_SEEN_OTHER;
        return let_go(c);
    case SBX_HELD_TLS:
    case SBX_HELD_OTHER:
        return let_go(c);
    case SBX_HELD_CLOSED:
        break;
    }
    return false;
}

bool sbx_hold_timeout(struct sbx_conn *c)
{
    if (c->hold->began) {
        sbx_hold_deny(c, "hello-timeout", NULL);
        return true;
    }
    if (c->asked.logged)
        return false;
    if (sbx_tunnel_log(c)) /* perhaps the server is to speak first, and it is slow */
        sbx_conn_arm(c, SBX_GATE_HALF_MS);
    else
        sbx_conn_close(c, true);
    return true;
}
