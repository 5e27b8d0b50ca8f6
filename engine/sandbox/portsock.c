/* Sockets of the host for published ports. */
#include "portsock.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 128 /* connections that wait for the gate's next round */

static socklen_t fill(const struct sbx_published *p, struct sockaddr_storage *ss)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ss;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ss;

    memset(ss, 0, sizeof(*ss));
    if (p->ipv6) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(p->host_port);
        return inet_pton(AF_INET6, p->host_ip, &v6->sin6_addr) == 1 ? sizeof(*v6) : 0;
    }
    v4->sin_family = AF_INET;
    v4->sin_port = htons(p->host_port);
    return inet_pton(AF_INET, p->host_ip, &v4->sin_addr) == 1 ? sizeof(*v4) : 0;
}

static enum sbx_code explain(const struct sbx_published *p, struct sbx_err *err)
{
    const char *open = p->ipv6 ? "[" : "", *shut = p->ipv6 ? "]" : "";

    switch (errno) {
    case EADDRINUSE:
        return sbx_err_set(err, SBX_BUSY, "port %s%s%s:%u of this machine is in use by another program",
                           open, p->host_ip, shut, p->host_port);
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
        return sbx_err_set(err, SBX_UNAVAILABLE, "%s is no address of this machine", p->host_ip);
    case EACCES:
        return sbx_err_set(err, SBX_FAILED, "port %u of this machine is for root alone", p->host_port);
    default:
        return sbx_err_errno(err, "listen on %s%s%s:%u", open, p->host_ip, shut, p->host_port);
    }
}

enum sbx_code sbx_port_listen(struct sbx_published *p, int *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = socket(p->ipv6 ? AF_INET6 : AF_INET,
                                (p->udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_storage ss;
    socklen_t len = fill(p, &ss);
    int one = 1;

    if (!len)
        return sbx_err_set(err, SBX_SCHEMA, "\"%s\" is no address", p->host_ip);
    if (fd < 0)
        return explain(p, err);
    /* What a restart left in TIME_WAIT does not keep the port; a listener still does. With UDP the option would
     * let two programs have the port. */
    if ((!p->udp && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one))) ||
        (p->ipv6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one))) ||
        bind(fd, (struct sockaddr *)&ss, len) || (!p->udp && listen(fd, BACKLOG)) ||
        getsockname(fd, (struct sockaddr *)&ss, &len))
        return explain(p, err);
    p->host_port = ntohs(p->ipv6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
                                 : ((struct sockaddr_in *)&ss)->sin_port);
    *ret = sbx_take_fd(&fd);
    return SBX_OK;
}
