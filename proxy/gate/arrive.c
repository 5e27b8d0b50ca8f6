/* Connections from outside on their way in: a socket from the helper, connected inside, then a tunnel as
 * any other. See inbound_int.h. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#include "inbound_int.h"

/* One connection on its way in. */
struct arrival {
    struct sbx_list node;
    struct sbx_inport *port;
    struct sbx_ask *ask;
    int client;
    struct sbx_source server;
    struct sbx_timer timer;
    bool v6; /* ::1 is tried: nobody listens on 127.0.0.1 */
};

static void drop(struct arrival *a)
{
    struct sbx_inbound *in = a->port->inbound;

    sbx_inside_forget(a->ask);
    if (a->client >= 0) {
        sbx_socket_reset(a->client);
        close(a->client);
    }
    sbx_loop_close(&in->gate->loop, &a->server);
    sbx_loop_disarm(&in->gate->loop, &a->timer);
    sbx_list_remove(&a->node);
    in->n_arrivals--;
    free(a);
}

void sbx_arrivals_drop(struct sbx_inbound *in, const struct sbx_inport *p)
{
    for (struct sbx_list *n = in->arrivals.next; n != &in->arrivals;) {
        struct arrival *a = sbx_container_of(n, struct arrival, node);

        n = n->next;
        if (!p || a->port == p)
            drop(a);
    }
}

static void on_late(struct sbx_timer *t)
{
    drop(sbx_container_of(t, struct arrival, timer));
}

static void on_socket(void *ctx, int fd);

static void ask(struct arrival *a)
{
    a->ask = sbx_inside_ask(a->port->inbound, a->v6 ? "tcp6" : "tcp4", on_socket, a);
    if (!a->ask)
        drop(a);
}

/* Connected: from here on it is a tunnel, with its bounds and times. */
static void begin_tunnel(struct arrival *a, uint32_t events)
{
    struct sbx_gate *g = a->port->inbound->gate;
    struct sbx_conn *c = sbx_conn_open(g, a->client);

    if (!c) {
        drop(a);
        return;
    }
    a->client = -1;
    sbx_socket_tune(c->client.source.fd);
    sbx_socket_tune(a->server.fd);
    c->asked.logged = true; /* no decision of the policy: nothing to log */
    c->state = SBX_CONN_TUNNEL;
    g->nactive++;
    c->active_at = g->loop.now;
    sbx_list_remove(&c->node);
    sbx_list_append(&a->port->conns, &c->node);
    if (sbx_loop_move(&g->loop, &a->server, &c->server.source,
                      EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)) {
        sbx_conn_close(c, true);
    } else {
        sbx_side_note(&c->server, events);
        sbx_conn_arm(c, SBX_GATE_IDLE_MS);
        sbx_conn_run(c);
    }
    drop(a);
}

/* Nobody on 127.0.0.1: perhaps on ::1. */
static void refused(struct arrival *a)
{
    sbx_loop_close(&a->port->inbound->gate->loop, &a->server);
    if (a->v6) {
        drop(a);
        return;
    }
    a->v6 = true;
    ask(a);
}

static void on_server(struct sbx_source *s, uint32_t events)
{
    struct arrival *a = sbx_container_of(s, struct arrival, server);
    int cause = 0;
    socklen_t len = sizeof(cause);

    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &cause, &len) || cause)
        refused(a);
    else if (events & EPOLLOUT)
        begin_tunnel(a, events);
}

static void on_socket(void *ctx, int fd)
{
    struct arrival *a = ctx;

    a->ask = NULL;
    if (fd < 0) {
        refused(a);
        return;
    }
    a->server = (struct sbx_source){ .fd = fd, .on = on_server };
    if (sbx_inside_connect(fd, a->v6, a->port->inside) && errno != EINPROGRESS) {
        close(fd);
        a->server.fd = -1;
        refused(a);
    } else if (sbx_loop_add(&a->port->inbound->gate->loop, &a->server, EPOLLOUT)) {
        close(fd);
        a->server.fd = -1;
        drop(a);
    }
}

static void arrive(struct sbx_inport *p, int fd)
{
    struct sbx_inbound *in = p->inbound;
    struct arrival *a = in->n_arrivals < SBX_GATE_ARRIVALS ? calloc(1, sizeof(*a)) : NULL;

    if (!a) {
        close(fd);
        return;
    }
    a->port = p;
    a->client = fd;
    a->server.fd = -1;
    a->timer.on = on_late;
    sbx_list_append(&in->arrivals, &a->node);
    in->n_arrivals++;
    if (sbx_loop_arm(&in->gate->loop, &a->timer, SBX_GATE_DIAL_MS))
        drop(a);
    else
        ask(a);
}

static void watch_listeners(struct sbx_inbound *in, uint32_t events)
{
    for (struct sbx_list *n = in->ports.next; n != &in->ports; n = n->next) {
        struct sbx_inport *p = sbx_container_of(n, struct sbx_inport, node);
        struct epoll_event ev = { .events = events, .data.ptr = &p->listener };

        if (!p->udp)
            epoll_ctl(in->gate->loop.epfd, EPOLL_CTL_MOD, p->listener.fd, &ev);
    }
}

void sbx_arrive_paused(struct sbx_timer *t)
{
    watch_listeners(sbx_container_of(t, struct sbx_inbound, paused), EPOLLIN);
}

void sbx_arrive(struct sbx_source *s, uint32_t events)
{
    struct sbx_inport *p = sbx_container_of(s, struct sbx_inport, listener);

    (void)events;
    for (unsigned i = 0; i < SBX_GATE_ROUNDS; i++) {
        int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            arrive(p, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            watch_listeners(p->inbound, 0);
            sbx_loop_arm(&p->inbound->gate->loop, &p->inbound->paused, 100);
        }
        return;
    }
}
