/* Connecting to the judged addresses: the next one is tried beside the first after a moment, both
 * families in turn (RFC 8305); 10 s in all. See gate.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "intercept.h"

static socklen_t fill_address(struct sockaddr_storage *ss, const struct in6_addr *a, uint16_t port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ss;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ss;

    memset(ss, 0, sizeof(*ss));
    if (IN6_IS_ADDR_V4MAPPED(a)) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, &a->s6_addr[12], 4);
        return sizeof(*v4);
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    v6->sin6_addr = *a;
    return sizeof(*v6);
}

static void on_attempt(struct sbx_source *s, uint32_t events);

/* Begin to connect. 0: under way, else errno. */
static int try_address(struct sbx_conn *c, struct sbx_attempt *t, const struct in6_addr *a)
{
    struct sockaddr_storage ss;
    uint16_t port = c->asked.via ? c->asked.via->port : c->asked.port;
    socklen_t len = fill_address(&ss, a, port);
    int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1, saved;

    if (fd < 0)
        return errno;
    sbx_socket_tune(fd);
    if (c->gate->nactive >= SBX_GATE_CROWD)
        sbx_socket_crowd(fd);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    *t = (struct sbx_attempt){ { fd, on_attempt, true }, c, *a, c->gate->loop.now, 0 };
    if ((connect(fd, (struct sockaddr *)&ss, len) && errno != EINPROGRESS) ||
        sbx_loop_add(&c->gate->loop, &t->source, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)) {
        saved = errno;
        close(fd);
        t->source.fd = -1;
        return saved;
    }
    return 0;
}

void sbx_dial_cancel(struct sbx_conn *c)
{
    for (unsigned i = 0; i < SBX_GATE_ATTEMPTS; i++)
        sbx_loop_close(&c->gate->loop, &c->attempts[i].source);
}

void sbx_dial_forward(struct sbx_conn *c)
{
    if (!sbx_log_asked(c, "allow", c->asked.verdict.reason, 0)) {
        sbx_answer_error(c, 503, "log-unavailable", sbx_fault_text("log-unavailable"));
        return;
    }
    c->state = SBX_CONN_FORWARD;
    c->active_at = c->gate->loop.now;
    sbx_conn_arm(c, SBX_GATE_IDLE_MS);
    if (c->state == SBX_CONN_FORWARD)
        sbx_forward_start(c);
}

void sbx_dial_connected(struct sbx_conn *c, bool ready)
{
    struct sbx_gate *g = c->gate;
    struct sbx_asked *a = &c->asked;

    sbx_gate_refresh(g);
    if (!sbx_judge_again(c)) { /* GC G6: the policy narrowed meanwhile; no byte has gone out */
        sbx_answer_denied(c, &a->verdict);
        return;
    }
    if (!sbx_log_ready(&g->log)) {
        sbx_answer_error(c, 503, "log-unavailable", sbx_fault_text("log-unavailable"));
        return;
    }
    sbx_conn_move(c, &g->active);
    g->nactive++;
    if (c->transparent)
        sbx_names_use(g->names, &c->to);
    c->active_at = a->began = g->loop.now;
    c->state = a->connect ? SBX_CONN_TUNNEL : SBX_CONN_FORWARD;
    if (!ready && sbx_intercept_wanted(c)) {
        c->state = SBX_CONN_SHAKE;
        sbx_intercept_start(c);
        return;
    }
    if (!a->connect) {
        sbx_dial_forward(c);
        return;
    }
    sbx_conn_arm(c, SBX_GATE_IDLE_MS);
    if (c->state == SBX_CONN_TUNNEL)
        sbx_tunnel_start(c);
}

static void fail(struct sbx_conn *c, int cause)
{
    const struct sbx_upstream_proxy *via = c->asked.via;
    bool late = cause == ETIMEDOUT;
    char text[160];

    sbx_dial_cancel(c);
    sbx_cache_drop(c->gate->cache, via ? via->host.text : c->asked.host.text);
    if (!via) {
        sbx_answer_error(c, late ? 504 : 502, late ? "connect-timeout" : "connect-failed",
                         late ? "the server did not answer in time" : strerror(cause));
        return;
    }
    snprintf(text, sizeof(text), "the proxy of this machine cannot be reached: %s", strerror(cause));
    sbx_answer_error(c, late ? 504 : 502, late ? "upstream-timeout" : "upstream-connect-failed", text);
}

/* The place for another attempt, and who has been at it longest. */
static struct sbx_attempt *find_place(struct sbx_conn *c, struct sbx_attempt **ret_oldest)
{
    struct sbx_attempt *free = NULL;

    *ret_oldest = NULL;
    for (unsigned i = 0; i < SBX_GATE_ATTEMPTS; i++) {
        struct sbx_attempt *t = &c->attempts[i];

        if (t->source.fd < 0)
            free = t;
        else if (!*ret_oldest || t->began < (*ret_oldest)->began)
            *ret_oldest = t;
    }
    return free;
}

/* When to look again: for the next address, for a place for it, for the end of it all. */
static uint64_t wait_ms(const struct sbx_conn *c, bool place, const struct sbx_attempt *oldest)
{
    uint64_t now = c->gate->loop.now, at = c->asked.dial_ends, next;

    if (c->asked.next_address < c->asked.addresses.len) {
        next = place ? now + SBX_GATE_STAGGER_MS : oldest->began + SBX_GATE_ATTEMPT_MS;
        at = next < at ? next : at;
    }
    return at > now ? at - now : 0; /* a busy loop looks late: both times may be over */
}

/* Try the next address; `cause` is why the last one failed. */
static void dial_next(struct sbx_conn *c, int cause)
{
    struct sbx_asked *a = &c->asked;
    struct sbx_attempt *oldest, *place;

    while ((place = find_place(c, &oldest)) && a->next_address < a->addresses.len) {
        int rc = try_address(c, place, &a->addresses.v[a->next_address++]);

        if (!rc)
            break;
        cause = rc;
    }
    place = find_place(c, &oldest);
    if (!oldest) {
        fail(c, cause);
        return;
    }
    c->state = SBX_CONN_DIALING;
    sbx_conn_arm(c, wait_ms(c, place != NULL, oldest));
}

static void on_attempt(struct sbx_source *s, uint32_t events)
{
    struct sbx_attempt *t = sbx_container_of(s, struct sbx_attempt, source);

    t->events |= events;
    sbx_conn_wake(t->conn);
}

static void look_at(struct sbx_conn *c, struct sbx_attempt *t)
{
    struct sbx_source *s = &t->source;
    uint32_t events = t->events;
    int cause = 0;
    socklen_t len = sizeof(cause);

    t->events = 0;
    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &cause, &len))
        cause = errno;
    if (cause) {
        sbx_loop_close(&c->gate->loop, s);
        dial_next(c, cause);
        return;
    }
    if (!(events & EPOLLOUT))
        return;
    sbx_tls_free(&c->server);
    c->server = (struct sbx_side){ .source = { .fd = -1, .on = c->server.source.on } };
    c->address = t->address;
    if (sbx_loop_move(&c->gate->loop, s, &c->server.source,
                      EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)) {
        fail(c, errno);
        return;
    }
    sbx_side_note(&c->server, events);
    sbx_dial_cancel(c);
    if (c->asked.via && (c->asked.connect || c->inter))
        sbx_chain_start(c);
    else
        sbx_dial_connected(c, false);
}

void sbx_dial_run(struct sbx_conn *c)
{
    for (unsigned i = 0; i < SBX_GATE_ATTEMPTS && c->state == SBX_CONN_DIALING; i++)
        if (c->attempts[i].source.fd >= 0 && c->attempts[i].events)
            look_at(c, &c->attempts[i]);
}

bool sbx_asked_is_safe(const struct sbx_asked *a)
{
    return a->bodyless && (strcmp(a->method, "GET") == 0 || strcmp(a->method, "HEAD") == 0 ||
                           strcmp(a->method, "OPTIONS") == 0);
}

/* A safe request without a body may use the server of the one before: it can be sent again on a new
 * connection if that one turns out to be closed. Same rule set, same name, same address (GC B3). */
static bool reuse(const struct sbx_conn *c)
{
    const struct sbx_asked *a = &c->asked;
    const struct sbx_kept *k = &c->kept;
    bool safe = sbx_asked_is_safe(a);

    /* In an intercepted connection a client may expect of the server what it would of a connection of
     * its own: it is one for one, and a request that meets its end is not sent again (forward.c). */
    safe |= c->inter != NULL;
    if (a->connect || (a->upgrade && !c->inter) || !safe || !k->usable || c->server.source.fd < 0 ||
        c->server.failed || k->port != a->port || k->generation != a->config->generation ||
        strcmp(k->host.text, a->host.text) != 0)
        return false;
    if (c->inter)
        return true; /* the server has proved its name */
    for (size_t i = 0; i < a->addresses.len; i++)
        if (IN6_ARE_ADDR_EQUAL(&a->addresses.v[i], &k->address))
            return true;
    return false;
}

/* The host's own order of addresses, but with the families in turn. */
static void interleave(struct sbx_addresses *a)
{
    for (size_t i = 1; i < a->len; i++) {
        bool v4 = IN6_IS_ADDR_V4MAPPED(&a->v[i - 1]);
        size_t k = i;
        struct in6_addr other;

        while (k < a->len && IN6_IS_ADDR_V4MAPPED(&a->v[k]) == v4)
            k++;
        if (k == a->len)
            return;
        other = a->v[k];
        memmove(&a->v[i + 1], &a->v[i], (k - i) * sizeof(other));
        a->v[i] = other;
    }
}

bool sbx_dial_reuse(struct sbx_conn *c)
{
    bool same = reuse(c);

    c->reused = same && !c->kept.fresh;
    c->kept.usable = false;
    if (same)
        sbx_dial_connected(c, true);
    return same;
}

void sbx_dial_start(struct sbx_conn *c)
{
    if (sbx_dial_reuse(c))
        return;
    sbx_side_close(&c->gate->loop, &c->server, false);
    interleave(&c->asked.addresses);
    c->asked.next_address = 0;
    c->asked.dial_ends = c->gate->loop.now + SBX_GATE_DIAL_MS;
    dial_next(c, EHOSTUNREACH);
}

void sbx_dial_timeout(struct sbx_conn *c)
{
    struct sbx_attempt *oldest;

    if (c->gate->loop.now >= c->asked.dial_ends) {
        fail(c, ETIMEDOUT);
        return;
    }
    if (!find_place(c, &oldest))
        sbx_loop_close(&c->gate->loop, &oldest->source);
    dial_next(c, ETIMEDOUT);
}
