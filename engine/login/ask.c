#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "sbx/login_ask.h"

extern char **environ;

/* stdin and stdout are one socket pair: a helper that never reads cannot raise SIGPIPE here. */
static enum sbx_code spawn(const struct sbx_login_asked *h, int fd, pid_t *ret_pid, struct sbx_err *err)
{
    posix_spawn_file_actions_t actions;
    int number = posix_spawn_file_actions_init(&actions);

    if (!number) {
        number = posix_spawn_file_actions_adddup2(&actions, fd, 0);
        if (!number)
            number = posix_spawn_file_actions_adddup2(&actions, fd, 1);
        if (!number && h->quiet)
            number = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        if (!number)
            number = posix_spawnp(ret_pid, h->argv[0], &actions, NULL, h->argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    errno = number;
    return number ? sbx_err_errno(err, "run %s", h->argv[0]) : SBX_OK;
}

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static enum sbx_code talk(const struct sbx_login_asked *h, int fd, struct sbx_buf *out,
                          struct sbx_err *err)
{
    long end = now_ms() + h->limit_ms;

    if (send(fd, h->question, strlen(h->question), MSG_NOSIGNAL) < 0 && errno != EPIPE)
        return sbx_err_errno(err, "write");
    shutdown(fd, SHUT_WR);
    for (;;) {
        struct pollfd p = { fd, POLLIN, 0 };
        long left = end - now_ms();
        char piece[4096];
        ssize_t n;
        int ready = poll(&p, 1, left > 0 ? (int)left : 0);

        if (ready == 0)
            return sbx_err_set(err, SBX_TIMEOUT, "no answer within %d s", h->limit_ms / 1000);
        n = ready < 0 ? -1 : recv(fd, piece, sizeof(piece), 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return SBX_OK;
        ready = sbx_buf_add(out, piece, (size_t)n);
        explicit_bzero(piece, sizeof(piece));
        if (ready)
            return sbx_err_set(err, SBX_LIMIT, "its answer is too long");
    }
}

enum sbx_code sbx_login_ask(const struct sbx_login_asked *h, struct sbx_buf *out, int *ret_status,
                             struct sbx_err *err)
{
    int fds[2], status = 0;
    pid_t pid = -1;
    enum sbx_code rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
        return sbx_err_errno(err, "socketpair");
    rc = spawn(h, fds[1], &pid, err);
    close(fds[1]);
    if (!rc) {
        rc = talk(h, fds[0], out, err);
        if (rc)
            kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    close(fds[0]);
    return rc;
}
