#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "oci.h"
#include "sbx/file.h"

#define LOG_MAX 65536 /* bytes of a runtime's log that are looked at */

static int redirect(int fd, int to)
{
    if (fd < 0)
        fd = open("/dev/null", O_RDWR);
    if (fd == to)
        return fcntl(fd, F_SETFD, 0);
    return fd < 0 ? -1 : dup2(fd, to);
}

/* Descriptors of ours must not reach the runtime, nor what it starts. */
static void close_rest(void)
{
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC))
        for (int fd = 3; fd < 1024; fd++)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void child(const struct program *p, pid_t parent)
{
    sigset_t none;

    /* Whoever began a start ends it: nothing of it goes on without the lock that we hold. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
        _exit(125);

    /* above 2, so that none of the three is overwritten before it is used */
    int in = p->in < 0 ? -1 : fcntl(p->in, F_DUPFD, 3);
    int out = p->out < 0 ? -1 : fcntl(p->out, F_DUPFD, 3);
    int err_fd = p->err_fd < 0 ? -1 : fcntl(p->err_fd, F_DUPFD, 3);

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (redirect(in, 0) < 0 || redirect(out, 1) < 0 || redirect(err_fd, 2) < 0)
        _exit(125);
    if (p->cwd && chdir(p->cwd)) {
        dprintf(2, "chdir %s: %s", p->cwd, strerror(errno));
        _exit(125);
    }
    if (p->prepare && p->prepare(p->ctx))
        _exit(125);
    close_rest();
    execv(p->argv[0], (char *const *)p->argv);
    dprintf(2, "%s: %s", p->argv[0], strerror(errno));
    _exit(125);
}

enum sbx_code oci_spawn(const struct program *p, pid_t *ret, struct sbx_err *err)
{
    pid_t self = getpid(), pid = fork();

    if (pid < 0)
        return sbx_err_errno(err, "fork");
    if (!pid)
        child(p, self);
    *ret = pid;
    return SBX_OK;
}

int oci_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 125;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

enum sbx_code oci_wait_for(pid_t pid, const struct sbx_patience *p, int *ret_status)
{
    SBX_AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    enum sbx_code rc = pidfd < 0 ? SBX_IO : sbx_patience_poll(p, pidfd);

    if (rc)
        kill(pid, SIGKILL); /* our child, not waited for: the number is still its own */
    *ret_status = oci_wait(pid);
    return rc;
}

enum sbx_code oci_hear(int fd, const struct sbx_patience *p, struct sbx_buf *out)
{
    char chunk[4096];

    for (;;) {
        enum sbx_code rc = sbx_patience_poll(p, fd);
        ssize_t n;

        if (rc)
            return rc;
        n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return SBX_OK;
        if (sbx_buf_add(out, chunk, (size_t)n))
            continue; /* beyond the bound: keep the pipe empty all the same */
    }
}

enum sbx_code oci_run(const struct program *p, struct sbx_buf *out, int *ret_status,
                      struct sbx_err *err)
{
    SBX_AUTO_FD int from = -1, to = -1;
    struct sbx_patience patience = sbx_patience_begin(NULL, OCI_RUN_MS);
    struct program q = *p;
    pid_t pid;
    int fds[2];
    enum sbx_code rc, waited;

    if (pipe2(fds, O_CLOEXEC))
        return sbx_err_errno(err, "pipe");
    from = fds[0];
    to = fds[1];
    q.out = q.err_fd = to;
    rc = oci_spawn(&q, &pid, err);
    if (rc)
        return rc;
    close(sbx_take_fd(&to));
    rc = oci_hear(from, &patience, out);
    if (rc)
        kill(pid, SIGKILL);
    waited = oci_wait_for(pid, &patience, ret_status);
    rc = rc ? rc : waited;
    return rc ? sbx_patience_error(err, rc, p->argv[0]) : SBX_OK;
}

/* One JSON object a line: {"level":"error","msg":"…"}; crun writes the same. */
void oci_log_message(const char *path, struct sbx_buf *out)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(LOG_MAX);
    char *line, *rest;

    if (sbx_file_read(AT_FDCWD, path, &text, NULL) || !text.len)
        return;
    rest = text.ptr;
    while ((line = strsep(&rest, "\n"))) {
        SBX_AUTO_JSON json_t *row = json_loads(line, 0, NULL);
        const char *level = json_string_value(json_object_get(row, "level"));
        const char *message = json_string_value(json_object_get(row, "msg"));

        if (!message || (level && strcmp(level, "error") != 0 && strcmp(level, "fatal") != 0))
            continue;
        sbx_buf_clear(out);
        if (sbx_buf_adds(out, message))
            return;
    }
}
