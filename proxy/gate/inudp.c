/* Published UDP ports: each address that sends has a socket of its own inside, so that answers find their
 * way back. What nobody uses for a while is forgotten. See inbound_int.h. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inbound_int.h"

#define HELD 4 /* datagrams of a peer until its socket is there; the kernel would keep more */

struct datagram {
    char *data;
    size_t len;
};

struct peer {
    struct sbx_list node;
    struct sbx_inport *port;
    struct sockaddr_storage from;
    socklen_t from_len;
    struct sbx_source inside; /* connected; fd -1: asked for */
    struct sbx_ask *ask;
    struct sbx_timer idle;
    struct datagram held[HELD];
    unsigned n_held;
    bool v6, answered;
};

static void free_held(struct peer *p)
{
    while (p->n_held) {
        struct datagram *d = &p->held[--p->n_held];

        p->port->inbound->held -= d->len;
        free(d->data);
    }
}

static void drop(struct peer *p)
{
    struct sbx_inbound *in = p->port->inbound;

    free_held(p);
    sbx_inside_forget(p->ask);
    sbx_loop_close(&in->gate->loop, &p->inside);
    sbx_loop_disarm(&in->gate->loop, &p->idle);
    sbx_list_remove(&p->node);
    p->port->n_peers--;
    in->n_peers--;
    free(p);
}

void sbx_inudp_drop(struct sbx_inport *port)
{
    while (!sbx_list_empty(&port->peers))
        drop(sbx_container_of(port->peers.next, struct peer, node));
}

static void on_idle(struct sbx_timer *t)
{
    drop(sbx_container_of(t, struct peer, idle));
}

/* The latest one is the last to go. False: no memory for its time, and it is gone. */
static bool used(struct peer *p)
{
    struct sbx_loop *loop = &p->port->inbound->gate->loop;

    sbx_list_remove(&p->node);
    sbx_list_append(&p->port->peers, &p->node);
    if (!sbx_loop_arm(loop, &p->idle, p->answered ? SBX_GATE_UDP_MS : SBX_GATE_UDP_UNANSWERED_MS))
        return true;
    drop(p);
    return false;
}

static void on_socket(void *ctx, int fd);

static void ask(struct peer *p)
{
    p->ask = sbx_inside_ask(p->port->inbound, p->v6 ? "udp6" : "udp4", on_socket, p);
    if (!p->ask)
        drop(p);
}

/* Nobody is there at 127.0.0.1: perhaps at ::1; nobody at all: the next datagram begins anew. Somebody who was
 * there before may come again. */
static void refused(struct peer *p)
{
    if (p->answered)
        return;
    if (p->v6) {
        drop(p);
        return;
    }
    sbx_loop_close(&p->port->inbound->gate->loop, &p->inside);
    p->v6 = true;
    ask(p);
}

static void hold(struct peer *p, const char *data, size_t len)
{
    size_t *all = &p->port->inbound->held;
    struct datagram *d = &p->held[p->n_held];

    if (p->n_held == HELD || *all + len > SBX_GATE_UDP_HELD || !(d->data = malloc(len ? len : 1)))
        return; /* lost, as datagrams may be */
    *all += len;
    memcpy(d->data, data, len);
    d->len = len;
    p->n_held++;
}

static void send_in(struct peer *p, const char *data, size_t len)
{
    if (p->inside.fd < 0)
        hold(p, data, len);
    else if (send(p->inside.fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == ECONNREFUSED &&
             send(p->inside.fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        errno = 0; /* the first call told of an earlier one; on_inside() looks after the refusal */
}

/* Answers, to whom they belong. */
static void on_inside(struct sbx_source *s, uint32_t events)
{
    struct peer *p = sbx_container_of(s, struct peer, inside);
    struct sbx_pool *pool = &p->port->inbound->gate->pool;

    (void)events;
    for (unsigned i = 0; i < SBX_GATE_UDP_ROUNDS; i++) {
        ssize_t n = recv(s->fd, pool->spare, SBX_GATE_BUFFER, MSG_DONTWAIT);

        if (n < 0) {
            if (errno == ECONNREFUSED)
                refused(p);
            return;
        }
        p->answered = true;
        free_held(p);
        if (sendto(p->port->listener.fd, pool->spare, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT,
                   (struct sockaddr *)&p->from, p->from_len) < 0 && errno != EAGAIN)
            continue; /* told of somebody's closed port: no matter of this one's */
        if (!used(p))
            return;
    }
}

static void on_socket(void *ctx, int fd)
{
    struct peer *p = ctx;
    unsigned n = p->n_held;

    p->ask = NULL;
    if (fd >= 0 && !sbx_inside_connect(fd, p->v6, p->port->inside)) {
        p->inside = (struct sbx_source){ .fd = fd, .on = on_inside };
        if (!sbx_loop_add(&p->port->inbound->gate->loop, &p->inside, EPOLLIN)) {
            for (unsigned i = 0; i < n; i++)
                send_in(p, p->held[i].data, p->held[i].len);
            if (p->v6) /* at the first address it may turn out that nobody is there */
                free_held(p);
            return;
        }
        p->inside.fd = -1;
    }
    if (fd >= 0)
        close(fd);
    drop(p);
}

static bool same(const struct peer *p, const struct sockaddr_storage *from, socklen_t len)
{
    const struct sockaddr_in *a = (const struct sockaddr_in *)&p->from,
                             *b = (const struct sockaddr_in *)from;
    const struct sockaddr_in6 *x = (const struct sockaddr_in6 *)&p->from,
                              *y = (const struct sockaddr_in6 *)from;

    if (p->from_len != len || a->sin_family != b->sin_family || a->sin_port != b->sin_port)
        return false;
    if (a->sin_family == AF_INET)
        return a->sin_addr.s_addr == b->sin_addr.s_addr;
    return x->sin6_scope_id == y->sin6_scope_id && IN6_ARE_ADDR_EQUAL(&x->sin6_addr, &y->sin6_addr);
}

/* The latest first: mostly it is one of a few. */
static struct peer *find(struct sbx_inport *port, const struct sockaddr_storage *from, socklen_t len)
{
    for (struct sbx_list *n = port->peers.prev; n != &port->peers; n = n->prev) {
        struct peer *p = sbx_container_of(n, struct peer, node);

        if (same(p, from, len))
            return p;
    }
    return NULL;
}

/* A full port gives up whom nobody has answered, else who has been silent longest. */
static bool make_room(struct sbx_inport *port)
{
    struct peer *oldest = NULL;

    if (port->n_peers < SBX_GATE_UDP_PEERS && port->inbound->n_peers < SBX_GATE_UDP_PEERS_ALL)
        return true;
    for (struct sbx_list *n = port->peers.next; n != &port->peers; n = n->next) {
        struct peer *p = sbx_container_of(n, struct peer, node);

        if (!oldest || (oldest->answered && !p->answered))
            oldest = p;
        if (!p->answered)
            break;
    }
    if (oldest)
        drop(oldest);
    return oldest != NULL;
}

static struct peer *add(struct sbx_inport *port, const struct sockaddr_storage *from, socklen_t len)
{
    bool busy = port->inbound->n_asks >= SBX_GATE_UDP_ASKS;
    struct peer *p = !busy && make_room(port) ? calloc(1, sizeof(*p)) : NULL;

    if (!p)
        return NULL;
    p->port = port;
    p->from = *from;
    p->from_len = len;
    p->inside.fd = -1;
    p->idle.on = on_idle;
    sbx_list_append(&port->peers, &p->node);
    port->n_peers++;
    port->inbound->n_peers++;
    p->ask = sbx_inside_ask(port->inbound, "udp4", on_socket, p);
    if (p->ask)
        return p;
    drop(p);
    return NULL;
}

void sbx_inudp(struct sbx_source *s, uint32_t events)
{
    struct sbx_inport *port = sbx_container_of(s, struct sbx_inport, listener);
    struct sbx_pool *pool = &port->inbound->gate->pool;

    (void)events;
    for (unsigned i = 0; i < SBX_GATE_UDP_ROUNDS; i++) {
        struct sockaddr_storage from = { 0 };
        socklen_t len = sizeof(from);
        ssize_t n = recvfrom(s->fd, pool->spare, SBX_GATE_BUFFER, MSG_DONTWAIT,
                             (struct sockaddr *)&from, &len);
        struct peer *p;

        if (n < 0 && errno != ECONNREFUSED) /* that is about an answer before */
            return;
        if (n < 0)
            continue;
        p = find(port, &from, len);
        if (!p)
            p = add(port, &from, len);
        if (p && used(p))
            send_in(p, pool->spare, (size_t)n);
    }
}
