/*
 * Does a registry of this machine speak TLS? Asked with the first words of a client and answered by the first
 * byte: cheaper than a client that reads all certificates of the system only to learn that none is needed.
 */
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "registry.h"

#define PROBE_MS 5000 /* for a server of a busy machine, this one; one that is slower is asked with TLS, as others are */
#define HELLO_BODY 41 /* version, random, session, one suite, one compression */

/* RFC 8446 4.1.2, as small as it may be. Its random number has ends of lines: a server of HTTP waits for one. */
static const unsigned char hello[] = {
    0x16, 3, 1, 0, HELLO_BODY + 4, 1, 0, 0, HELLO_BODY, 3, 3,
    '\r', '\n', '\r', '\n', '\r', '\n', '\r', '\n', '\r', '\n', '\r', '\n', '\r', '\n', '\r', '\n',
    '\r', '\n', '\r', '\n', '\r', '\n', '\r', '\n', '\r', '\n', '\r', '\n', '\r', '\n', '\r', '\n',
    0, 0, 2, 0x13, 1, 1, 0,
};
_Static_assert(sizeof(hello) == 5 + 4 + HELLO_BODY, "the lengths in it are right");

static bool ready(int fd, short events)
{
    struct pollfd p = { fd, events, 0 };

    return poll(&p, 1, PROBE_MS) == 1;
}

static int connect_to(const struct addrinfo *a)
{
    SBX_AUTO_FD int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t len = sizeof(int);
    int failed = 0;

    if (fd < 0 || (connect(fd, a->ai_addr, a->ai_addrlen) && errno != EINPROGRESS))
        return -1;
    if (!ready(fd, POLLOUT) || getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len) || failed)
        return -1;
    return sbx_take_fd(&fd);
}

static bool says_http(const struct addrinfo *a)
{
    SBX_AUTO_FD int fd = connect_to(a);
    char first = 0;

    return fd >= 0 && send(fd, hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello) &&
           ready(fd, POLLIN) && recv(fd, &first, 1, 0) == 1 && first == 'H';
}

bool registry_speaks_http(const char *host)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    const char *end = *host == '[' ? strchr(host, ']') : strrchr(host, ':');
    const char *colon = end ? strchr(end, ':') : NULL;
    struct addrinfo *list = NULL;
    char name[256];
    bool yes;

    snprintf(name, sizeof(name), "%.*s", end ? (int)(end - host - (*host == '[')) : (int)strlen(host),
             host + (*host == '['));
    /* Without a port that is https and http's two: TLS is tried first, as ever. */
    if (!colon || getaddrinfo(name, colon + 1, &hints, &list))
        return false;
    yes = says_http(list);
    freeaddrinfo(list);
    return yes;
}
