#include "doors.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "place.h"

#define BACKLOG 4096 /* connections not yet accepted; the kernel's own default limit (somaxconn) */

#ifndef IPV6_TRANSPARENT
#define IPV6_TRANSPARENT 75
#endif

static int set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof(value));
}

static enum sbx_code make(int family, int type, int *ret, struct sbx_err *err)
{
    int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *ret = fd;
    if (fd < 0)
        return sbx_err_errno(err, "make a door");
    if (family == AF_INET ? set(fd, SOL_IP, IP_TRANSPARENT, 1)
                          : set(fd, SOL_IPV6, IPV6_TRANSPARENT, 1) ||
                                set(fd, SOL_IPV6, IPV6_V6ONLY, 1))
        return sbx_err_errno(err, "make a door transparent");
    /* Connections of an earlier gate may linger on the port. Never SO_REUSEPORT: root inside would
     * join the group. UDP has no such rest, so not even this. */
    if (type == SOCK_STREAM && set(fd, SOL_SOCKET, SO_REUSEADDR, 1))
        return sbx_err_errno(err, "make a door reuse its address");
    return SBX_OK;
}

static enum sbx_code open4(int type, int *ret, struct sbx_err *err)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(SBX_GATE_PORT),
                              .sin_addr = { htonl(SBX_GATE4) } };
    enum sbx_code rc = make(AF_INET, type, ret, err);

    if (!rc && bind(*ret, (struct sockaddr *)&at, sizeof(at)))
        rc = sbx_err_errno(err, "bind the IPv4 %s door", type == SOCK_STREAM ? "TCP" : "DNS");
    return rc;
}

static enum sbx_code open6(int *ret, struct sbx_err *err)
{
    struct sockaddr_in6 at = { .sin6_family = AF_INET6,
                               .sin6_port = htons(SBX_GATE_PORT),
                               .sin6_addr = SBX_GATE6 };
    enum sbx_code rc = make(AF_INET6, SOCK_STREAM, ret, err);

    if (!rc && bind(*ret, (struct sockaddr *)&at, sizeof(at)))
        rc = sbx_err_errno(err, "bind the IPv6 TCP door");
    return rc;
}

enum sbx_code sbx_doors_open(bool ipv6, struct sbx_doors *ret, struct sbx_err *err)
{
    enum sbx_code rc = open4(SOCK_STREAM, &ret->tcp4, err);

    if (!rc)
        rc = open4(SOCK_DGRAM, &ret->udp4, err);
    if (!rc && ipv6)
        rc = open6(&ret->tcp6, err);
    /* Once through the listening state: the kernel then forgets that the port was bound with
     * SO_REUSEADDR, and nothing inside can bind beside it. */
    if (!rc)
        rc = sbx_doors_serve(ret, err);
    if (!rc)
        sbx_doors_refuse(ret);
    return rc;
}

static enum sbx_code tcp_serve(int fd, struct sbx_err *err)
{
    if (set(fd, SOL_SOCKET, SO_REUSEADDR, 1) || listen(fd, BACKLOG))
        return sbx_err_errno(err, "listen at a door");
    return SBX_OK;
}

enum sbx_code sbx_doors_serve(const struct sbx_doors *doors, struct sbx_err *err)
{
    struct sockaddr nobody = { .sa_family = AF_UNSPEC };
    enum sbx_code rc = tcp_serve(doors->tcp4, err);

    if (!rc && doors->tcp6 >= 0)
        rc = tcp_serve(doors->tcp6, err);
    if (!rc && connect(doors->udp4, &nobody, sizeof(nobody)) && errno != ENOTCONN)
        rc = sbx_err_errno(err, "open the DNS door");
    if (rc)
        sbx_doors_refuse(doors);
    return rc;
}

static void tcp_refuse(int fd)
{
    set(fd, SOL_SOCKET, SO_REUSEADDR, 0); /* so nobody else may bind the port */
    shutdown(fd, SHUT_RD);                /* a listener stops listening, but stays bound */
}

/* A connected UDP socket takes datagrams of its peer only; the kernel refuses the others' at once.
 * Nobody can be this peer: its port is ours. */
static void udp_refuse(int fd)
{
    struct sockaddr_in self = { .sin_family = AF_INET,
                                .sin_port = htons(SBX_GATE_PORT),
                                .sin_addr = { htonl(SBX_GATE4) } };
    char byte;

    connect(fd, (struct sockaddr *)&self, sizeof(self));
    while (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0 || errno == ECONNREFUSED)
        ;
}

void sbx_doors_refuse(const struct sbx_doors *doors)
{
    tcp_refuse(doors->tcp4);
    if (doors->tcp6 >= 0)
        tcp_refuse(doors->tcp6);
    udp_refuse(doors->udp4);
}
