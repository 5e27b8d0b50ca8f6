#include "helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

/* stdin and stdout are one socket pair: a helper that never reads cannot raise SIGPIPE here. */
static enum sbx_code spawn(const char *program, int fd, pid_t *ret_pid, struct sbx_err *err)
{
    char *const argv[] = { (char *)program, (char *)"get", NULL };
    posix_spawn_file_actions_t actions;
    int number = posix_spawn_file_actions_init(&actions);

    if (!number) {
        number = posix_spawn_file_actions_adddup2(&actions, fd, 0);
        if (!number)
            number = posix_spawn_file_actions_adddup2(&actions, fd, 1);
        if (!number)
            number = posix_spawnp(ret_pid, program, &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    errno = number;
    return number ? sbx_err_errno(err, "run %s", program) : SBX_OK;
}

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static enum sbx_code talk(int fd, const char *server, struct sbx_buf *out, struct sbx_err *err)
{
    long end = now_ms() + SBX_LOGIN_HELPER_MS;

    if (send(fd, server, strlen(server), MSG_NOSIGNAL) < 0 && errno != EPIPE)
        return sbx_err_errno(err, "write");
    shutdown(fd, SHUT_WR);
    for (;;) {
        struct pollfd p = { fd, POLLIN, 0 };
        long left = end - now_ms();
        char piece[4096];
        ssize_t n;
        int ready = poll(&p, 1, left > 0 ? (int)left : 0);

        if (ready == 0)
            return sbx_err_set(err, SBX_TIMEOUT, "no answer within %d s", SBX_LOGIN_HELPER_MS / 1000);
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

enum sbx_code sbx_login_helper_get(const char *name, const char *server, struct sbx_buf *out,
                                int *ret_status, struct sbx_err *err)
{
    SBX_AUTO_FREE char *program = NULL;
    int fds[2], status = 0;
    pid_t pid = -1;
    enum sbx_code rc;

    if (!*name || strchr(name, '/'))
        return sbx_err_set(err, SBX_SCHEMA, "\"%s\" is not the name of a helper", name);
    if (asprintf(&program, "docker-credential-%s", name) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
        return sbx_err_errno(err, "socketpair");
    rc = spawn(program, fds[1], &pid, err);
    close(fds[1]);
    if (!rc) {
        rc = talk(fds[0], server, out, err);
        if (rc)
            kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (rc == SBX_NOT_FOUND) {
        *ret_status = 127;
        rc = SBX_OK;
    }
    close(fds[0]);
    return rc;
}
