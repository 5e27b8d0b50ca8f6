/* Ports inward. See inbound.h.
 *
 *     accepted on the host -> a socket from the helper -> connect inside -> a tunnel as any other
 */
#include "inbound.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fds.h"

struct port {
    struct sbx_list node;
    struct sbx_inbound *inbound;
    struct sbx_source listener;
    struct sbx_list conns; /* tunnels, by their node */
    char id[SBX_GATE_PORT_ID_MAX + 1];
    uint16_t inside;
};

struct sbx_inbound {
    struct sbx_gate *gate;
    struct sbx_source helper;
    struct sbx_list ports;
    struct sbx_list asked;   /* waiting for a socket, in the order of the questions */
    struct sbx_list dialing; /* connecting */
    unsigned n_ports, n_waiting;
    struct sbx_timer paused; /* out of descriptors: accept again later */
};

/* One connection on its way in. */
struct arrival {
    struct sbx_list node;
    struct port *port; /* NULL: given up, but the helper's answer is still to come */
    struct sbx_inbound *inbound;
    int client;
    struct sbx_source server;
    struct sbx_timer timer;
    bool v6; /* ::1 is tried: nobody listens on 127.0.0.1 */
};

static void close_client(struct arrival *a, bool reset)
{
    struct linger now = { 1, 0 };

    if (a->client < 0)
        return;
    if (reset)
        setsockopt(a->client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(a->client);
    a->client = -1;
}

static void drop_arrival(struct arrival *a)
{
    struct sbx_loop *loop = &a->inbound->gate->loop;

    close_client(a, true);
    sbx_loop_close(loop, &a->server);
    sbx_loop_disarm(loop, &a->timer);
    sbx_list_remove(&a->node);
    a->inbound->n_waiting--;
    free(a);
}

/* The place in the queue of questions stays until it is answered: answers carry no name. */
static void give_up(struct arrival *a, bool answered)
{
    if (answered) {
        drop_arrival(a);
        return;
    }
    close_client(a, true);
    sbx_loop_disarm(&a->inbound->gate->loop, &a->timer);
    a->port = NULL;
}

static bool is_asked(const struct arrival *a)
{
    return a->server.fd < 0;
}

static void on_late(struct sbx_timer *t)
{
    struct arrival *a = sbx_container_of(t, struct arrival, timer);

    give_up(a, !is_asked(a));
}

static int ask(struct arrival *a)
{
    const char *text = a->v6 ? "socket tcp6" : "socket tcp4";
    struct sbx_inbound *in = a->inbound;

    if (in->helper.fd < 0 || send(in->helper.fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return -1;
    sbx_list_remove(&a->node);
    sbx_list_append(&in->asked, &a->node);
    return 0;
}

/* Connected: from here on it is a tunnel, with its bounds and times. */
static void begin_tunnel(struct arrival *a, uint32_t events)
{
    struct sbx_gate *g = a->inbound->gate;
    struct sbx_conn *c = sbx_conn_open(g, a->client);

    if (!c) {
        drop_arrival(a);
        return;
    }
    a->client = -1;
    sbx_socket_tune(a->server.fd, g->nactive >= SBX_GATE_CROWD);
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
    drop_arrival(a);
}

/* Nobody on 127.0.0.1: perhaps on ::1. */
static void refused(struct arrival *a)
{
    sbx_loop_close(&a->inbound->gate->loop, &a->server);
    if (a->v6) {
        drop_arrival(a);
        return;
    }
    a->v6 = true;
    if (ask(a))
        drop_arrival(a);
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

static void dial(struct arrival *a, int fd)
{
    struct sbx_inbound *in = a->inbound;
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(a->port->inside),
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(a->port->inside),
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int rc;

    sbx_list_remove(&a->node);
    sbx_list_append(&in->dialing, &a->node);
    a->server = (struct sbx_source){ fd, on_server };
    rc = sbx_set_nonblocking(fd);
    if (!rc)
        rc = a->v6 ? connect(fd, (struct sockaddr *)&v6, sizeof(v6))
                   : connect(fd, (struct sockaddr *)&v4, sizeof(v4));
    if (rc && errno != EINPROGRESS) {
        close(fd);
        a->server.fd = -1;
        refused(a);
        return;
    }
    if (sbx_loop_add(&in->gate->loop, &a->server, EPOLLOUT)) {
        close(fd);
        a->server.fd = -1;
        drop_arrival(a);
    }
}

static void drop_helper(struct sbx_inbound *in)
{
    sbx_loop_close(&in->gate->loop, &in->helper);
    while (!sbx_list_empty(&in->asked))
        drop_arrival(sbx_container_of(in->asked.next, struct arrival, node));
}

static void on_helper(struct sbx_source *s, uint32_t events)
{
    struct sbx_inbound *in = sbx_container_of(s, struct sbx_inbound, helper);
    struct arrival *a;
    char text[256];
    int fds[1];
    unsigned n = 0;
    ssize_t len = sbx_fds_receive(s->fd, text, sizeof(text) - 1, fds, 1, &n);

    (void)events;
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0 || sbx_list_empty(&in->asked)) {
        if (n)
            close(fds[0]);
        drop_helper(in);
        return;
    }
    a = sbx_container_of(in->asked.next, struct arrival, node);
    if (n && a->port) {
        dial(a, fds[0]);
        return;
    }
    if (n)
        close(fds[0]);
    if (a->v6 || !a->port)
        drop_arrival(a);
    else
        refused(a);
}

static void arrive(struct port *p, int fd)
{
    struct sbx_inbound *in = p->inbound;
    struct arrival *a = in->n_waiting < SBX_GATE_ARRIVALS ? calloc(1, sizeof(*a)) : NULL;

    if (!a) {
        close(fd);
        return;
    }
    a->port = p;
    a->inbound = in;
    a->client = fd;
    a->server.fd = -1;
    a->timer.on = on_late;
    sbx_list_init(&a->node);
    in->n_waiting++;
    if (sbx_loop_arm(&in->gate->loop, &a->timer, SBX_GATE_DIAL_MS) || ask(a))
        drop_arrival(a);
}

static void watch_listeners(struct sbx_inbound *in, uint32_t events)
{
    for (struct sbx_list *n = in->ports.next; n != &in->ports; n = n->next) {
        struct port *p = sbx_container_of(n, struct port, node);
        struct epoll_event ev = { .events = events, .data.ptr = &p->listener };

        epoll_ctl(in->gate->loop.epfd, EPOLL_CTL_MOD, p->listener.fd, &ev);
    }
}

static void on_paused(struct sbx_timer *t)
{
    watch_listeners(sbx_container_of(t, struct sbx_inbound, paused), EPOLLIN);
}

static void on_listener(struct sbx_source *s, uint32_t events)
{
    struct port *p = sbx_container_of(s, struct port, listener);

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

static struct sbx_inbound *start(struct sbx_gate *g)
{
    struct sbx_inbound *in = g->inbound;

    if (in)
        return in;
    in = calloc(1, sizeof(*in));
    if (!in)
        return NULL;
    in->gate = g;
    in->helper = (struct sbx_source){ -1, on_helper };
    in->paused.on = on_paused;
    sbx_list_init(&in->ports);
    sbx_list_init(&in->asked);
    sbx_list_init(&in->dialing);
    g->inbound = in;
    return in;
}

static struct port *find(struct sbx_inbound *in, const char *id)
{
    for (struct sbx_list *n = in ? in->ports.next : NULL; n && n != &in->ports; n = n->next) {
        struct port *p = sbx_container_of(n, struct port, node);

        if (strcmp(p->id, id) == 0)
            return p;
    }
    return NULL;
}

static void give_up_all(struct sbx_list *list, const struct port *p)
{
    for (struct sbx_list *n = list->next; n != list;) {
        struct arrival *a = sbx_container_of(n, struct arrival, node);

        n = n->next;
        if (a->port == p)
            give_up(a, !is_asked(a));
    }
}

static void drop_port(struct port *p)
{
    struct sbx_inbound *in = p->inbound;

    sbx_loop_close(&in->gate->loop, &p->listener);
    give_up_all(&in->asked, p);
    give_up_all(&in->dialing, p);
    while (!sbx_list_empty(&p->conns))
        sbx_conn_close(sbx_container_of(p->conns.next, struct sbx_conn, node), true);
    sbx_list_remove(&p->node);
    in->n_ports--;
    free(p);
}

static json_t *failure(const char *text)
{
    return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

static bool is_listener(int fd)
{
    int yes = 0;
    socklen_t len = sizeof(yes);

    return fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &len) && yes;
}

/* One connection serves all ports; another one is needed only when it has ended. */
static int take_helper(struct sbx_inbound *in, struct sbx_passed *passed)
{
    if (in->helper.fd >= 0)
        return 0;
    in->helper.fd = passed->fd[1];
    if (sbx_loop_add(&in->gate->loop, &in->helper, EPOLLIN | EPOLLRDHUP)) {
        in->helper.fd = -1;
        return -1;
    }
    passed->fd[1] = -1;
    return 0;
}

static json_t *add(struct sbx_inbound *in, const char *id, uint16_t inside,
                   struct sbx_passed *passed)
{
    struct port *p = calloc(1, sizeof(*p));

    if (!p)
        return failure("out of memory");
    p->inbound = in;
    p->inside = inside;
    strcpy(p->id, id); /* its length was checked */
    p->listener = (struct sbx_source){ passed->fd[0], on_listener };
    sbx_list_init(&p->conns);
    if (sbx_set_nonblocking(p->listener.fd) || take_helper(in, passed) ||
        sbx_loop_add(&in->gate->loop, &p->listener, EPOLLIN)) {
        free(p);
        return failure("the listener cannot be watched");
    }
    passed->fd[0] = -1;
    sbx_list_append(&in->ports, &p->node);
    in->n_ports++;
    return json_pack("{s:b}", "ok", 1);
}

json_t *sbx_inbound_publish(struct sbx_gate *g, json_t *request, struct sbx_passed *passed)
{
    const char *id = json_string_value(json_object_get(request, "id"));
    json_int_t port = json_integer_value(json_object_get(request, "port"));
    struct sbx_inbound *in = start(g);

    if (!in)
        return failure("out of memory");
    if (!id || !*id || strlen(id) > SBX_GATE_PORT_ID_MAX || port < 1 || port > 65535)
        return failure("publish: \"id\" and \"port\" are needed");
    if (passed->n != 2 || !is_listener(passed->fd[0]))
        return failure("publish: a listener and a connection to the helper are needed");
    if (find(in, id))
        return failure("publish: that id is published already");
    if (in->n_ports == SBX_GATE_PORTS)
        return failure("publish: too many ports");
    return add(in, id, (uint16_t)port, passed);
}

json_t *sbx_inbound_unpublish(struct sbx_gate *g, json_t *request)
{
    const char *id = json_string_value(json_object_get(request, "id"));
    struct port *p = id ? find(g->inbound, id) : NULL;

    if (!p)
        return failure("unpublish: no such id");
    drop_port(p);
    return json_pack("{s:b}", "ok", 1);
}

json_t *sbx_inbound_list(struct sbx_gate *g, json_t *request)
{
    struct sbx_inbound *in = g->inbound;
    json_t *list = json_array();

    (void)request;
    for (struct sbx_list *n = in ? in->ports.next : NULL; n && n != &in->ports; n = n->next) {
        struct port *p = sbx_container_of(n, struct port, node);
        int open = 0;

        for (struct sbx_list *c = p->conns.next; c != &p->conns; c = c->next)
            open++;
        json_array_append_new(list, json_pack("{s:s, s:i, s:i}", "id", p->id, "port",
                                              (int)p->inside, "connections", open));
    }
    return json_pack("{s:b, s:o}", "ok", 1, "ports", list);
}

void sbx_inbound_close(struct sbx_gate *g)
{
    struct sbx_inbound *in = g->inbound;

    if (!in)
        return;
    while (!sbx_list_empty(&in->ports))
        drop_port(sbx_container_of(in->ports.next, struct port, node));
    drop_helper(in);
    while (!sbx_list_empty(&in->dialing))
        drop_arrival(sbx_container_of(in->dialing.next, struct arrival, node));
    sbx_loop_disarm(&g->loop, &in->paused);
    free(in);
    g->inbound = NULL;
}
