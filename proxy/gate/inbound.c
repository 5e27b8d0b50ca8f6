/* Ports inward: which there are. See inbound.h; arrive.c and inudp.c relay. */
#include "inbound.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "fds.h"
#include "inbound_int.h"

static struct sbx_inbound *start(struct sbx_gate *g)
{
    struct sbx_inbound *in = g->inbound;

    if (in)
        return in;
    in = calloc(1, sizeof(*in));
    if (!in)
        return NULL;
    in->gate = g;
    in->helper.fd = -1;
    in->paused.on = sbx_arrive_paused;
    sbx_list_init(&in->ports);
    sbx_list_init(&in->asks);
    sbx_list_init(&in->arrivals);
    g->inbound = in;
    return in;
}

static struct sbx_inport *find(struct sbx_inbound *in, const char *id)
{
    for (struct sbx_list *n = in ? in->ports.next : NULL; n && n != &in->ports; n = n->next) {
        struct sbx_inport *p = sbx_container_of(n, struct sbx_inport, node);

        if (strcmp(p->id, id) == 0)
            return p;
    }
    return NULL;
}

static void drop_port(struct sbx_inport *p)
{
    struct sbx_inbound *in = p->inbound;

    sbx_loop_close(&in->gate->loop, &p->listener);
    sbx_arrivals_drop(in, p);
    sbx_inudp_drop(p);
    while (!sbx_list_empty(&p->conns))
        sbx_conn_close(sbx_container_of(p->conns.next, struct sbx_conn, node), true);
    sbx_list_remove(&p->node);
    in->n_ports--;
    free(p);
}

/* A listening TCP socket, or a UDP one that is nobody's in particular. */
static bool is_listener(int fd, bool udp)
{
    int yes = 0, type = 0;
    socklen_t len = sizeof(yes), type_len = sizeof(type);

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len))
        return false;
    if (udp)
        return type == SOCK_DGRAM;
    return type == SOCK_STREAM && !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &len) && yes;
}

/* One connection to the helper serves all ports; another one is needed only when it has ended. */
static json_t *add(struct sbx_inbound *in, const char *id, uint16_t inside, bool udp,
                   struct sbx_passed *passed)
{
    struct sbx_inport *p = calloc(1, sizeof(*p));

    if (!p)
        return sbx_control_failure("out of memory");
    p->inbound = in;
    p->inside = inside;
    p->udp = udp;
    strcpy(p->id, id); /* its length was checked */
    p->listener = (struct sbx_source){ .fd = passed->fd[0], .on = udp ? sbx_inudp : sbx_arrive };
    sbx_list_init(&p->conns);
    sbx_list_init(&p->peers);
    if (sbx_set_nonblocking(p->listener.fd) || sbx_inside_take(in, passed) ||
        sbx_loop_add(&in->gate->loop, &p->listener, EPOLLIN)) {
        free(p);
        return sbx_control_failure("the listener cannot be watched");
    }
    passed->fd[0] = -1;
    sbx_list_append(&in->ports, &p->node);
    in->n_ports++;
    return json_pack("{s:b}", "ok", 1);
}

json_t *sbx_inbound_publish(struct sbx_gate *g, json_t *request, struct sbx_passed *passed)
{
    const char *id = json_string_value(json_object_get(request, "id"));
    const char *protocol = json_string_value(json_object_get(request, "protocol"));
    json_int_t port = json_integer_value(json_object_get(request, "port"));
    bool udp = protocol && strcmp(protocol, "udp") == 0;
    struct sbx_inbound *in = start(g);

    if (!in)
        return sbx_control_failure("out of memory");
    if (!id || !*id || strlen(id) > SBX_GATE_PORT_ID_MAX || port < 1 || port > 65535)
        return sbx_control_failure("publish: \"id\" and \"port\" are needed");
    if (protocol && !udp && strcmp(protocol, "tcp") != 0)
        return sbx_control_failure("publish: \"protocol\" is tcp or udp");
    if (passed->n != 2 || !is_listener(passed->fd[0], udp))
        return sbx_control_failure(udp ? "publish: a UDP socket and a connection to the helper are needed"
                                       : "publish: a listener and a connection to the helper are needed");
    if (find(in, id))
        return sbx_control_failure("publish: that id is published already");
    if (in->n_ports == SBX_GATE_PORTS)
        return sbx_control_failure("publish: too many ports");
    return add(in, id, (uint16_t)port, udp, passed);
}

json_t *sbx_inbound_unpublish(struct sbx_gate *g, json_t *request)
{
    const char *id = json_string_value(json_object_get(request, "id"));
    struct sbx_inport *p = id ? find(g->inbound, id) : NULL;

    if (!p)
        return sbx_control_failure("unpublish: no such id");
    drop_port(p);
    return json_pack("{s:b}", "ok", 1);
}

json_t *sbx_inbound_list(struct sbx_gate *g, json_t *request)
{
    struct sbx_inbound *in = g->inbound;
    json_t *list = json_array();

    (void)request;
    for (struct sbx_list *n = in ? in->ports.next : NULL; n && n != &in->ports; n = n->next) {
        struct sbx_inport *p = sbx_container_of(n, struct sbx_inport, node);
        int open = (int)p->n_peers;

        for (struct sbx_list *c = p->conns.next; c != &p->conns; c = c->next)
            open++;
        json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i}", "id", p->id, "protocol",
                                              p->udp ? "udp" : "tcp", "port", (int)p->inside,
                                              "connections", open));
    }
    return json_pack("{s:b, s:o}", "ok", 1, "ports", list);
}

void sbx_inbound_close(struct sbx_gate *g)
{
    struct sbx_inbound *in = g->inbound;

    if (!in)
        return;
    while (!sbx_list_empty(&in->ports))
        drop_port(sbx_container_of(in->ports.next, struct sbx_inport, node));
    sbx_inside_close(in);
    sbx_loop_disarm(&g->loop, &in->paused);
    free(in);
    g->inbound = NULL;
}
