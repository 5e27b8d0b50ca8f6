#include "doors.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "place.h"

#define BACKLOG 4096 /* connections not yet accepted; the kernel's own default limit, somaxconn */

#define REFUSED_AT_ONCE 256 /* connections; then the helper looks at its clients again: 2 ms */

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
    if (family == AF_INET
            ? set(fd, SOL_IP, IP_TRANSPARENT, 1)
            : set(fd, SOL_IPV6, IPV6_TRANSPARENT, 1) || set(fd, SOL_IPV6, IPV6_V6ONLY, 1))
        return sbx_err_errno(err, "make a door transparent");
    /* Connections of an earlier helper's time may linger on the port. Never SO_REUSEPORT: root inside would
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
    /* They listen from now on, whether there is a gate or not: beside a listener nobody can bind, while
     * between any other state and that one there is a moment in which a program inside can. */
    if (!rc && (listen(ret->tcp4, BACKLOG) || (ret->tcp6 >= 0 && listen(ret->tcp6, BACKLOG))))
        rc = sbx_err_errno(err, "listen at a door");
    return rc;
}

static void tcp_refuse(int listener)
{
    const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

    for (int i = 0; i < REFUSED_AT_ONCE; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0)
            return;
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        close(fd);
    }
}

void sbx_doors_refuse(const struct sbx_doors *doors)
{
    tcp_refuse(doors->tcp4);
    if (doors->tcp6 >= 0)
        tcp_refuse(doors->tcp6);
}

size_t sbx_dns_fail(unsigned char *message, size_t len)
{
    enum { HEADER = 12, RESPONSE = 0x80, RECURSION_DESIRED = 0x01, OPCODE = 0x78, SERVFAIL = 2 };

    if (len < HEADER || (message[2] & RESPONSE))
        return 0;
    message[2] = RESPONSE | (message[2] & (OPCODE | RECURSION_DESIRED));
    message[3] = RESPONSE | SERVFAIL; /* here 0x80 is "recursion available" */
    return len;
}

void sbx_doors_refuse_dns(const struct sbx_doors *doors)
{
    unsigned char message[SBX_DNS_QUESTION_MAX];
    struct sockaddr_in from;
    socklen_t from_len = sizeof(from);
    ssize_t n = recvfrom(doors->udp4, message, sizeof(message), MSG_DONTWAIT,
                         (struct sockaddr *)&from, &from_len);
    size_t len = n > 0 ? sbx_dns_fail(message, (size_t)n) : 0;

    if (len)
        sendto(doors->udp4, message, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from,
               from_len);
}
