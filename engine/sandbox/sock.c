/* Unix sockets below a sandbox's directory, and messages with descriptors. */
#include "net.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/*
 * A path of any length fits an address through the directory's descriptor: sun_path has 108 bytes,
 * a state directory may have more.
 */
static struct sockaddr_un address(const struct sbx_box *box, const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };

    snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", box->dirfd, path);
    return a;
}

enum sbx_code sbx_socket_listen(struct sbx_box *box, const char *path, int type, mode_t mode,
                                int *ret, struct sbx_err *err)
{
    struct sockaddr_un a = address(box, path);
    SBX_AUTO_FD int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    unlinkat(box->dirfd, path, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || chmod(a.sun_path, mode) ||
        listen(fd, 16))
        return sbx_err_errno(err, "%s/%s", box->dir, path);
    *ret = sbx_take_fd(&fd);
    return SBX_OK;
}

enum sbx_code sbx_socket_connect(struct sbx_box *box, const char *path, int type, int *ret,
                                 struct sbx_err *err)
{
    struct sockaddr_un a = address(box, path);
    SBX_AUTO_FD int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
        return sbx_err_errno(err, "%s/%s", box->dir, path);
    *ret = sbx_take_fd(&fd);
    return SBX_OK;
}

ssize_t sbx_send_with(int sock, const void *data, size_t len, const int *fds, size_t n)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(SBX_SPAWN_FDS * sizeof(int))];
    } control = { .buf = { 0 } };
    struct iovec iov = { (void *)data, len };
    struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
    ssize_t sent;

    if (n) {
        m.msg_control = control.buf;
        m.msg_controllen = CMSG_SPACE(n * sizeof(int));
        control.align.cmsg_level = SOL_SOCKET;
        control.align.cmsg_type = SCM_RIGHTS;
        control.align.cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(&control.align), fds, n * sizeof(int));
    }
    do
        sent = sendmsg(sock, &m, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}
