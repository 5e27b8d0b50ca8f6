/*
 * Ports inward: which are published (sandbox.json), and the sockets of the host handed to the gate, which
 * relays what arrives (docs/gate-config.md 4). A chosen host port is kept over stop and start.
 */
#include "net.h"
#include "portsock.h"

#include <string.h>

#define CHOICES 16 /* host ports tried until one is free in both families */

static const char *loopback(bool ipv6)
{
    return ipv6 ? "::1" : "127.0.0.1";
}

/* "127.0.0.1:8080", "127.0.0.1:8080/udp": how the gate knows it. */
static const char *port_id(const struct sbx_published *p, char id[64])
{
    snprintf(id, 64, p->ipv6 ? "[%s]:%u%s" : "%s:%u%s", p->host_ip, p->host_port,
             p->udp ? "/udp" : "");
    return id;
}

const char *sbx_published_protocol(const struct sbx_published *p)
{
    if (p->udp)
        return p->ipv6 ? "udp6" : "udp4";
    return p->ipv6 ? "tcp6" : "tcp4";
}

static bool same(const struct sbx_published *a, const struct sbx_published *b)
{
    return a->ipv6 == b->ipv6 && a->udp == b->udp && a->sandbox_port == b->sandbox_port &&
           a->host_port == b->host_port && !strcmp(a->host_ip, b->host_ip);
}

static enum sbx_code push(struct sbx_box *box, const struct sbx_published *p, struct sbx_err *err)
{
    struct sbx_record *r = &box->record;
    struct sbx_published *v;

    for (size_t i = 0; i < r->n_ports; i++)
        if (p->fixed && p->host_port && same(&r->ports[i], p))
            return sbx_err_set(err, SBX_EXISTS, "port %s:%u is published already", p->host_ip,
                               p->host_port);
    if (r->n_ports == SBX_PORTS_MAX)
        return sbx_err_set(err, SBX_LIMIT, "at most %d ports of a sandbox can be published",
                           SBX_PORTS_MAX);
    v = sbx_arena_array(box->arena, r->n_ports + 1, sizeof(*v));
    if (!v)
        return sbx_out_of_memory(err);
    if (r->n_ports)
        memcpy(v, r->ports, r->n_ports * sizeof(*v));
    v[r->n_ports++] = *p;
    r->ports = v;
    return SBX_OK;
}

/* One spec is one port, or one in each family. */
static enum sbx_code push_spec(struct sbx_box *box, const struct sbx_port_spec *s,
                               struct sbx_err *err)
{
    bool both = s->protocol == SBX_PORT_TCP || s->protocol == SBX_PORT_UDP,
         ipv6 = s->protocol == SBX_PORT_TCP6 || s->protocol == SBX_PORT_UDP6;
    struct sbx_published p = { .host_port = s->host_port, .sandbox_port = s->sandbox_port,
                               .fixed = s->host_port != 0, .ipv6 = ipv6,
                               .udp = s->protocol >= SBX_PORT_UDP };
    enum sbx_code rc;

    p.host_ip = *s->host_ip ? sbx_arena_strdup(box->arena, s->host_ip) : loopback(ipv6);
    rc = p.host_ip ? push(box, &p, err) : sbx_out_of_memory(err);
    if (rc || !both)
        return rc;
    p.ipv6 = true;
    p.host_ip = loopback(true);
    return push(box, &p, err);
}

static enum sbx_code push_plan(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < box->plan->n_ports; i++) {
        const struct sbx_plan_port *port = &box->plan->ports[i];
        const char *protocol = port->protocol && *port->protocol ? port->protocol : "tcp";
        struct sbx_published p = {
            .sandbox_port = (uint16_t)port->container,
            .ipv6 = !strcmp(protocol, "tcp6") || !strcmp(protocol, "udp6"),
            .udp = !strncmp(protocol, "udp", 3),
            .name = port->name && *port->name ? sbx_arena_strdup(box->arena, port->name) : NULL,
            .kit = sbx_arena_strdup(box->arena, port->kit),
        };

        p.host_ip = loopback(p.ipv6);
        rc = push(box, &p, err);
    }
    return rc;
}

enum sbx_code sbx_ports_record(struct sbx_box *box, const struct sbx_port_spec *specs, size_t n,
                               struct sbx_err *err)
{
    enum sbx_code rc = push_plan(box, err);

    for (size_t i = 0; !rc && i < n; i++)
        rc = push_spec(box, &specs[i], err);
    return rc;
}

/* ---- opening ---- */

static enum sbx_code hand_over(struct sbx_box *box, const struct sbx_published *p, int listener,
                               struct sbx_err *err)
{
    SBX_AUTO_FD int helper = -1;
    char id[64];
    int fds[2] = { listener, -1 };
    enum sbx_code rc = sbx_helper_connect(box, &helper, err);

    fds[1] = helper;
    return rc ? rc
              : sbx_gate_ask_with(box,
                                  json_pack("{s:s, s:s, s:i, s:s}", "op", "publish", "id",
                                            port_id(p, id), "port", (int)p->sandbox_port, "protocol",
                                            p->udp ? "udp" : "tcp"),
                                  fds, 2, NULL, err);
}

/* A chosen port that somebody took while the sandbox was down gives way to another one. */
static enum sbx_code open_one(struct sbx_box *box, struct sbx_published *p, bool *moved,
                              struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    unsigned old = p->host_port;
    enum sbx_code rc = sbx_port_listen(p, &fd, err);

    if (rc == SBX_BUSY && !p->fixed && p->host_port) {
        p->host_port = 0;
        rc = sbx_port_listen(p, &fd, err);
        if (!rc)
            sbx_event_send(box->e, SBX_EVENT_WARNING, NULL,
                           "port %u of this machine was taken meanwhile: port %u of the sandbox is "
                           "at %s:%u now",
                           old, p->sandbox_port, p->host_ip, p->host_port);
    }
    *moved |= old != p->host_port;
    return rc ? rc : hand_over(box, p, fd, err);
}

/* The IPv6 half of "tcp" or "udp" takes the number that the IPv4 half has. */
static struct sbx_published *other_half(struct sbx_record *r, size_t i)
{
    struct sbx_published *p = &r->ports[i], *next = p + 1;

    if (i + 1 >= r->n_ports || p->ipv6 || !next->ipv6 || next->udp != p->udp || next->sandbox_port != p->sandbox_port ||
        p->kit || next->kit || strcmp(next->host_ip, "::1") || strcmp(p->host_ip, "127.0.0.1") ||
        next->host_port)
        return NULL;
    return next;
}

/* Find a number that is free in both families; only the choice, sockets are made again. */
static void choose_both(struct sbx_published *p, struct sbx_published *half)
{
    for (unsigned i = 0; i < CHOICES; i++) {
        struct sbx_published one = *p, two = *half;
        SBX_AUTO_FD int a = -1;
        SBX_AUTO_FD int b = -1;

        if (sbx_port_listen(&one, &a, NULL))
            return;
        two.host_port = one.host_port;
        if (sbx_port_listen(&two, &b, NULL))
            continue;
        p->host_port = half->host_port = one.host_port;
        return;
    }
}

static enum sbx_code open_from(struct sbx_box *box, size_t first, bool strict, struct sbx_err *err)
{
    struct sbx_record *r = &box->record;
    bool moved = false;

    for (size_t i = first; i < r->n_ports; i++) {
        struct sbx_published *p = &r->ports[i], *half = p->host_port ? NULL : other_half(r, i);
        struct sbx_err one = SBX_ERR_INIT;
        enum sbx_code rc;

        if (half) {
            choose_both(p, half);
            moved = true;
        }
        rc = open_one(box, p, &moved, &one);
        if (rc && strict)
            return sbx_err_set(err, rc, "publish port %u: %s", p->sandbox_port, one.text);
        if (rc)
            sbx_event_send(box->e, SBX_EVENT_WARNING, NULL, "port %u is not published: %s",
                           p->sandbox_port, one.text);
    }
    return moved ? sbx_box_save(box, err) : SBX_OK;
}

enum sbx_code sbx_ports_open(struct sbx_box *box, bool strict, struct sbx_err *err)
{
    return box->record.net == SBX_NET_NONE ? SBX_OK : open_from(box, 0, strict, err);
}

/* ---- of a sandbox that is there ---- */

static void close_one(struct sbx_box *box, const struct sbx_published *p)
{
    struct sbx_err unused = SBX_ERR_INIT;
    char id[64];

    if (box->record.net != SBX_NET_NONE && sbx_gate_alive(box))
        (void)!sbx_gate_ask(box, json_pack("{s:s, s:s}", "op", "unpublish", "id", port_id(p, id)),
                            NULL, &unused);
}

static enum sbx_code copy_out(const struct sbx_published *v, size_t n, struct sbx_arena *arena,
                              const struct sbx_published **ret, size_t *ret_n, struct sbx_err *err)
{
    struct sbx_published *out = sbx_arena_array(arena, n + 1, sizeof(*out));

    if (!out)
        return sbx_out_of_memory(err);
    for (size_t i = 0; i < n; i++) {
        out[i] = v[i];
        out[i].host_ip = sbx_arena_strdup(arena, v[i].host_ip);
        out[i].name = sbx_arena_strdup(arena, v[i].name);
        out[i].kit = sbx_arena_strdup(arena, v[i].kit);
        if (!out[i].host_ip || (v[i].name && !out[i].name) || (v[i].kit && !out[i].kit))
            return sbx_out_of_memory(err);
    }
    *ret = out;
    *ret_n = n;
    return SBX_OK;
}

static enum sbx_code open_box(struct sbx_engine *e, const char *name, struct sbx_box *box,
                              struct sbx_err *err)
{
    enum sbx_code rc = sbx_name_check(name, err);

    if (!rc)
        rc = sbx_box_lock(e, name, box, err);
    return rc ? rc : sbx_box_open(box, err);
}

enum sbx_code sbx_sandbox_publish(struct sbx_engine *e, const char *name,
                                  const struct sbx_port_spec *specs, size_t n,
                                  struct sbx_arena *arena, const struct sbx_published **ret,
                                  size_t *ret_n, struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    size_t before;
    enum sbx_code rc = open_box(e, name, &box, err);

    if (!rc)
        rc = sbx_box_up(&box, SBX_AT_START, err);
    if (rc)
        return rc;
    before = box.record.n_ports;
    for (size_t i = 0; !rc && i < n; i++)
        rc = push_spec(&box, &specs[i], err);
    if (!rc && box.record.net != SBX_NET_NONE)
        rc = open_from(&box, before, true, err);
    if (!rc)
        rc = sbx_box_save(&box, err);
    if (!rc)
        return copy_out(box.record.ports + before, box.record.n_ports - before, arena, ret, ret_n,
                        err);
    for (size_t i = before; i < box.record.n_ports; i++) /* none of them, where one failed */
        close_one(&box, &box.record.ports[i]);
    box.record.n_ports = before;
    (void)!sbx_box_save(&box, NULL);
    return sbx_err_wrap(err, rc, "sandbox %s", name);
}

static bool fits(const struct sbx_published *p, const struct sbx_port_spec *s)
{
    if (s->protocol != SBX_PORT_ANY && p->udp != (s->protocol >= SBX_PORT_UDP))
        return false;
    if (s->protocol == SBX_PORT_TCP4 || s->protocol == SBX_PORT_UDP4 ||
        s->protocol == SBX_PORT_TCP6 || s->protocol == SBX_PORT_UDP6)
        if (p->ipv6 != (s->protocol == SBX_PORT_TCP6 || s->protocol == SBX_PORT_UDP6))
            return false;
    return p->sandbox_port == s->sandbox_port && (!s->host_port || s->host_port == p->host_port) &&
           (!*s->host_ip || !strcmp(s->host_ip, p->host_ip));
}

enum sbx_code sbx_sandbox_unpublish(struct sbx_engine *e, const char *name,
                                    const struct sbx_port_spec *specs, size_t n,
                                    struct sbx_arena *arena, const struct sbx_published **ret,
                                    size_t *ret_n, struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    struct sbx_published gone[SBX_PORTS_MAX] = { 0 }, kept[SBX_PORTS_MAX] = { 0 };
    size_t n_gone = 0, n_kept = 0;
    enum sbx_code rc = open_box(e, name, &box, err);

    if (rc)
        return rc;
    for (size_t k = 0; k < n; k++) {
        size_t i = 0;

        while (i < box.record.n_ports && !fits(&box.record.ports[i], &specs[k]))
            i++;
        if (i == box.record.n_ports)
            return sbx_err_set(err, SBX_NOT_FOUND, "sandbox %s: port %u is not published so", name,
                               specs[k].sandbox_port);
    }
    for (size_t i = 0; i < box.record.n_ports && i < SBX_PORTS_MAX; i++) {
        size_t k = 0;

        while (k < n && !fits(&box.record.ports[i], &specs[k]))
            k++;
        if (k < n)
            gone[n_gone++] = box.record.ports[i];
        else
            kept[n_kept++] = box.record.ports[i];
    }
    rc = copy_out(gone, n_gone, arena, ret, ret_n, err);
    box.record.ports = kept;
    box.record.n_ports = n_kept;
    if (!rc)
        rc = sbx_box_save(&box, err);
    for (size_t i = 0; !rc && i < n_gone; i++)
        close_one(&box, &gone[i]);
    return rc;
}
