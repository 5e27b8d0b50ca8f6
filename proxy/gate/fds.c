#include "fds.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void keep(const struct cmsghdr *m, int *fds, unsigned max, unsigned *n)
{
    size_t len = (m->cmsg_len - CMSG_LEN(0)) / sizeof(int);

    for (size_t i = 0; i < len; i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(m) + i * sizeof(fd), sizeof(fd));
        if (*n < max)
            fds[(*n)++] = fd;
        else
            close(fd);
    }
}

ssize_t sbx_fds_receive(int fd, void *buf, size_t size, int *fds, unsigned max, unsigned *ret_n)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(SBX_FDS_MAX * sizeof(int))];
    } control;
    struct iovec iov = { buf, size };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf,
                          .msg_controllen = sizeof(control.buf) };
    ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    *ret_n = 0;
    if (n < 0)
        return n;
    for (struct cmsghdr *m = CMSG_FIRSTHDR(&msg); m; m = CMSG_NXTHDR(&msg, m))
        if (m->cmsg_level == SOL_SOCKET && m->cmsg_type == SCM_RIGHTS)
            keep(m, fds, max, ret_n);
    return n;
}

int sbx_set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}
