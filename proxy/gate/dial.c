/* Connecting to a judged address: one after another, 10 s in all. See gate.h. */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate.h"

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

/* Begin to connect. 0: under way, else errno. */
static int try_address(struct sbx_conn *c, const struct in6_addr *a)
{
    struct sbx_loop *loop = &c->gate->loop;
    struct sockaddr_storage ss;
    socklen_t len = fill_address(&ss, a, c->asked.port);
    int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1, saved;

    if (fd < 0)
        return errno;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    if (connect(fd, (struct sockaddr *)&ss, len) && errno != EINPROGRESS) {
        saved = errno;
        close(fd);
        return saved;
    }
    c->server = (struct sbx_side){ .source = { fd, c->server.source.on } };
    if (sbx_loop_add(loop, &c->server.source, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)) {
        saved = errno;
        close(fd);
        c->server.source.fd = -1;
        return saved;
    }
    c->address = *a;
    return 0;
}

static void connected(struct sbx_conn *c)
{
    struct sbx_gate *g = c->gate;
    struct sbx_asked *a = &c->asked;

    sbx_gate_refresh(g);
    if (!sbx_judge_again(c)) { /* GC G6: the policy narrowed meanwhile; no byte has gone out */
        sbx_answer_denied(c, &a->verdict);
        return;
    }
    sbx_log_asked(c, "allow", a->verdict.reason, a->connect ? 200 : 0);
    sbx_list_remove(&c->node);
    sbx_list_append(&g->active, &c->node);
    g->nactive++;
    c->active_at = g->loop.now;
    c->state = a->connect ? SBX_CONN_TUNNEL : SBX_CONN_FORWARD;
    sbx_conn_arm(c, SBX_GATE_IDLE_MS);
    if (c->state == SBX_CONN_TUNNEL)
        sbx_tunnel_start(c);
    else if (c->state == SBX_CONN_FORWARD)
        sbx_forward_start(c);
}

static void fail(struct sbx_conn *c, int cause)
{
    bool late = cause == ETIMEDOUT;

    sbx_answer_error(c, late ? 504 : 502, late ? "connect-timeout" : "connect-failed",
                     late ? "the server did not answer in time" : strerror(cause));
}

static void dial_next(struct sbx_conn *c, int cause)
{
    struct sbx_asked *a = &c->asked;
    uint64_t now = c->gate->loop.now;

    sbx_loop_close(&c->gate->loop, &c->server.source);
    while (a->next_address < a->addresses.len && now < a->dial_ends) {
        const struct in6_addr *address = &a->addresses.v[a->next_address++];
        bool last = a->next_address == a->addresses.len;
        uint64_t left = a->dial_ends - now;

        cause = try_address(c, address);
        if (cause)
            continue;
        c->state = SBX_CONN_DIALING;
        sbx_conn_arm(c, last || left < SBX_GATE_ATTEMPT_MS ? left : SBX_GATE_ATTEMPT_MS);
        return;
    }
    fail(c, cause);
}

/* A safe request without a body may use the server of the one before: it can be sent again on a new
 * connection if that one turns out to be closed. Same rule set, same name, same address (GC B3). */
static bool reuse(struct sbx_conn *c)
{
    const struct sbx_asked *a = &c->asked;
    const struct sbx_kept *k = &c->kept;
    bool safe = a->bodyless && (strcmp(a->method, "GET") == 0 || strcmp(a->method, "HEAD") == 0 ||
                                strcmp(a->method, "OPTIONS") == 0);

    if (a->connect || !safe || !k->usable || c->server.source.fd < 0 || c->server.failed ||
        k->port != a->port || k->generation != a->config->generation ||
        strcmp(k->host.text, a->host.text) != 0)
        return false;
    for (size_t i = 0; i < a->addresses.len; i++)
        if (IN6_ARE_ADDR_EQUAL(&a->addresses.v[i], &k->address))
            return true;
    return false;
}

void sbx_dial_start(struct sbx_conn *c)
{
    c->reused = reuse(c);
    c->kept.usable = false;
    if (c->reused) {
        connected(c);
        return;
    }
    c->asked.next_address = 0;
    c->asked.dial_ends = c->gate->loop.now + SBX_GATE_DIAL_MS;
    dial_next(c, EHOSTUNREACH);
}

void sbx_dial_event(struct sbx_conn *c, uint32_t events)
{
    int cause = 0;
    socklen_t len = sizeof(cause);

    if (getsockopt(c->server.source.fd, SOL_SOCKET, SO_ERROR, &cause, &len))
        cause = errno;
    if (cause)
        dial_next(c, cause);
    else if (events & EPOLLOUT)
        connected(c);
}

void sbx_dial_timeout(struct sbx_conn *c)
{
    dial_next(c, ETIMEDOUT);
}
