/*
 * The first records of a start, asked for by PID 1 (docs/gate-config.md section 5): no exec is needed,
 * which takes an Engine 100 ms. It asks once its gate is up, before it runs anything of the image or the
 * user, so that nobody else inside can be first; then nobody listens any more.
 */
#include "net.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define SOCKET "run/steps"
#define LOOK_MS 500 /* between two looks whether the container still runs */

enum sbx_code sbx_serve_open(struct sbx_box *box, struct sbx_err *err)
{
    /* for everybody: root inside may be another user here, and only we can pass the box's directory */
    return sbx_socket_listen(box, SOCKET, SOCK_STREAM, 0666, &box->steps, err);
}

enum sbx_code sbx_serve_again(struct sbx_box *box, struct sbx_err *err)
{
    struct stat st;

    return fstatat(box->dirfd, SOCKET, &st, AT_SYMLINK_NOFOLLOW) ? SBX_OK : sbx_serve_open(box, err);
}

/* SBX_OK: there is something to read; SBX_TIMEOUT; SBX_CANCELED */
static enum sbx_code wait_for(struct sbx_box *box, int fd, int timeout_ms, struct sbx_err *err)
{
    struct pollfd p[] = { { .fd = fd, .events = POLLIN },
                          { .fd = box->e->config.interrupt_fd, .events = POLLIN } };
    int n;

    do
        n = poll(p, SBX_ARRAY_LEN(p), timeout_ms);
    while (n < 0 && errno == EINTR);
    if (p[1].revents)
        return sbx_interrupted(box->e, err);
    return n > 0 ? SBX_OK : SBX_TIMEOUT;
}

static bool runs(struct sbx_box *box)
{
    struct sbx_container c;

    return !sbx_runtime_inspect(box->rt, box->record.container, box->arena, &c, NULL) && c.running;
}

static bool is_pid1(const struct sbx_box *box, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
           (!box->pid1 || peer.pid == box->pid1);
}

static enum sbx_code take_caller(struct sbx_box *box, int *ret, struct sbx_err *err)
{
    int64_t until = sbx_now_ms() + SBX_READY_TIMEOUT_MS;
    enum sbx_code rc;

    do {
        rc = wait_for(box, box->steps, LOOK_MS, err);
        if (!rc && (*ret = accept4(box->steps, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
            if (is_pid1(box, *ret))
                return SBX_OK;
            close(sbx_take_fd(ret));
        }
    } while ((!rc || (rc == SBX_TIMEOUT && runs(box))) && sbx_now_ms() < until);
    return rc == SBX_CANCELED ? rc
                              : sbx_err_set(err, SBX_UNAVAILABLE, "PID 1 does not ask for its steps");
}

/* To the end: what is missing of the answers is seen by whoever compares them with the records. */
static enum sbx_code read_answers(struct sbx_box *box, int sock, struct sbx_buf *out,
                                  struct sbx_err *err)
{
    for (;;) {
        enum sbx_code rc = wait_for(box, sock, -1, err);
        char *room = sbx_buf_room(out, 4096);
        ssize_t n;

        if (rc || !room)
            return rc ? rc : sbx_err_set(err, SBX_LIMIT, "the answers of PID 1 are too long");
        n = read(sock, room, 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return SBX_OK;
        sbx_buf_commit(out, (size_t)n);
    }
}

enum sbx_code sbx_serve(struct sbx_box *box, int fd, struct sbx_buf *out, struct sbx_err *err)
{
    SBX_AUTO_FD int sock = -1;
    enum sbx_code rc = take_caller(box, &sock, err);

    close(sbx_take_fd(&box->steps));
    if (!rc && sbx_send_with(sock, "", 1, &fd, 1) != 1)
        rc = sbx_err_errno(err, "give PID 1 its steps");
    return rc ? rc : read_answers(box, sock, out, err);
}
