#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "commands.h"
#include "place.h"
#include "sbx/auto.h"

/* One byte with the descriptor of a file of records; -1: none came. */
static int receive(int sock)
{
    char byte;
    _Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))];
    struct iovec v = { &byte, 1 };
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)
    };
    struct cmsghdr *c;
    int fd;

    if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    c = CMSG_FIRSTHDR(&m);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
        c->cmsg_len != CMSG_LEN(sizeof(int)))
        return -1;
    memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    return fd;
}

/* A process of its own: PID 1 goes on to reap and to follow signals. */
static void child(int root, int sock)
{
    sigset_t none;
    int records;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    fcntl(sock, F_SETFL, 0);
    records = receive(sock);
    _exit(records < 0 ? 1 : sbx_init_batch(root, records, sock));
}

void sbx_init_steps(int root)
{
    SBX_AUTO_FD int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = SBX_STEPS_SOCKET };

    if (sock < 0 || connect(sock, (struct sockaddr *)&to, sizeof(to)))
        return;
    if (!fork())
        child(root, sock);
}
