/* Connections to where the program inside meant to go: the name is that of the synthetic address, a
 * literal address needs a rule of its own. See gate.h. */
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"

static void refuse(struct sbx_gate *g, int fd, const char *host, uint16_t port, const char *reason)
{
    struct sbx_record r = { .door = "transparent", .proxy = "network", .protocol = "tcp",
                            .host = host, .port = port, .reason = reason,
                            .decision = strcmp(reason, "too-many-tunnels") == 0 ? "error" : "deny" };

    sbx_log(&g->log, &r);
    sbx_socket_reset(fd);
    close(fd);
}

static uint32_t v4_of(const struct in6_addr *a)
{
    uint32_t v4;

    memcpy(&v4, &a->s6_addr[12], 4);
    return IN6_IS_ADDR_V4MAPPED(a) ? ntohl(v4) : 0;
}

static const char *text_of(const struct in6_addr *a, char buf[INET6_ADDRSTRLEN])
{
    if (IN6_IS_ADDR_V4MAPPED(a))
        return inet_ntop(AF_INET, &a->s6_addr[12], buf, INET6_ADDRSTRLEN);
    return inet_ntop(AF_INET6, a, buf, INET6_ADDRSTRLEN);
}

void sbx_transparent_accept(struct sbx_gate *g, int fd, const struct in6_addr *to, uint16_t port)
{
    char buf[INET6_ADDRSTRLEN];
    const char *text = text_of(to, buf);
    struct sbx_host host;
    struct sbx_conn *c;

    if (v4_of(to) == SBX_GATE_ADDRESS) {
        refuse(g, fd, text, port, "no-such-door");
        return;
    }
    if (v4_of(to) == SBX_HOST_ADDRESS) {
        text = "host.docker.internal";
    } else if (sbx_names_in_range(to)) {
        const char *name = sbx_names_find(g->names, to);

        if (!name) {
            refuse(g, fd, text, port, "unknown-address");
            return;
        }
        text = name;
    }
    if (sbx_host_parse(text, strlen(text), &host, NULL)) { /* a scope, or what no program can mean */
        refuse(g, fd, text, port, "special");
        return;
    }
    c = sbx_conn_open(g, fd);
    if (!c) {
        refuse(g, fd, host.text, port, "too-many-tunnels");
        return;
    }
    c->transparent = true;
    c->to = *to;
    c->asked.connect = true;
    c->asked.host = host;
    c->asked.port = port;
    sbx_judge_start(c);
}
