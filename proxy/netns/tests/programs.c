/* See programs.h. */
#include "programs.h"

#include <errno.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WAIT_S 5 /* until a receive that should succeed is given up */

int socket_for(const struct sockaddr_storage *to, int type)
{
    struct timeval limit = { WAIT_S, 0 };
    int fd = socket(to->ss_family, type ? type : SOCK_STREAM, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    return fd;
}

/* errno of connect, 0 when it worked. */
int try_connect(const void *arg)
{
    const struct target *t = arg;
    struct sockaddr_storage to;
    socklen_t len = address(t->addr, t->port, &to);
    int fd = socket_for(&to, t->type);

    return connect(fd, (struct sockaddr *)&to, len) ? errno : 0;
}

/* errno of sending one datagram unconnected. */
int try_send(const void *arg)
{
    const struct target *t = arg;
    struct sockaddr_storage to;
    socklen_t len = address(t->addr, t->port, &to);
    int fd = socket_for(&to, t->type);

    return sendto(fd, "x", 1, 0, (struct sockaddr *)&to, len) < 0 ? errno : 0;
}

/* One connection waits at the door, and says where it meant to go. */
void assert_arrived(int door, const char *addr, uint16_t port)
{
    struct sockaddr_storage want, got, from;
    socklen_t len = sizeof(got), from_len = sizeof(from);
    int fd = accept(door, (struct sockaddr *)&from, &from_len);

    if (fd < 0)
        fail_msg("nothing arrived for %s port %u", addr, port);
    address(addr, port, &want);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&got, &len), 0);
    close(fd);
    assert_int_equal(got.ss_family, want.ss_family);
    if (got.ss_family == AF_INET) {
        assert_memory_equal(&((struct sockaddr_in *)&got)->sin_addr,
                            &((struct sockaddr_in *)&want)->sin_addr, 4);
        assert_int_equal(((struct sockaddr_in *)&got)->sin_port, htons(port));
        assert_int_equal(((struct sockaddr_in *)&from)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    } else {
        assert_memory_equal(&((struct sockaddr_in6 *)&got)->sin6_addr,
                            &((struct sockaddr_in6 *)&want)->sin6_addr, 16);
        assert_int_equal(((struct sockaddr_in6 *)&got)->sin6_port, htons(port));
    }
}

void assert_nothing_arrived(const struct fixture *f)
{
    assert_int_equal(accept(f->tcp4, NULL, NULL), -1);
    assert_int_equal(accept(f->tcp6, NULL, NULL), -1);
    assert_int_equal(recv(f->udp4, &(char){ 0 }, 1, MSG_DONTWAIT), -1);
}

/* errno of an echo request over a ping socket (no capability needed: ping_group_range). */
int try_ping(const void *arg)
{
    struct icmphdr echo = { .type = ICMP_ECHO };
    struct sockaddr_storage to;
    socklen_t len = address(arg, 0, &to);
    struct timeval limit = { WAIT_S, 0 };
    int fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
    char answer[64];

    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (sendto(fd, &echo, sizeof(echo), 0, (struct sockaddr *)&to, len) < 0)
        return errno;
    return recv(fd, answer, sizeof(answer), 0) < 0 ? errno : 0;
}

const unsigned char question[QUESTION] = {
    0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 1, 0, 1
};

/* Ask 198.18.0.1:53 from a connected socket, as resolvers do: only answers from there are taken. */
int ask_dns(const void *want)
{
    struct sockaddr_storage to;
    socklen_t len = address("198.18.0.1", 53, &to);
    int fd = socket_for(&to, SOCK_DGRAM);
    char answer[64] = "";

    if (connect(fd, (struct sockaddr *)&to, len) || send(fd, question, sizeof(question), 0) < 0)
        return errno;
    if (write(STDOUT_FILENO, "", want ? 1 : 0) < 0) /* asked */
        return 254;
    if (recv(fd, answer, sizeof(answer), 0) < 0)
        return errno;
    if (!want)
        return answer[3] & 0xf; /* rcode */
    return strcmp(answer, want) ? 253 : 0;
}

/* Connect, then wait for the end: what kind it is. With `say`, stdout tells when the connection is there. */
static int end_of(const struct target *t, bool say)
{
    struct sockaddr_storage to;
    socklen_t len = address(t->addr, t->port, &to);
    int fd = socket_for(&to, SOCK_STREAM);
    char byte;

    if (connect(fd, (struct sockaddr *)&to, len) || (say && write(STDOUT_FILENO, "", 1) != 1))
        return 255;
    return recv(fd, &byte, 1, 0) < 0 ? errno : 0;
}

int connect_and_read(const void *arg)
{
    return end_of(arg, false);
}

int connect_and_wait(const void *arg)
{
    return end_of(arg, true);
}
