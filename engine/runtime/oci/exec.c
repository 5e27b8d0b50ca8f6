#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "enter/enter.h"
#include "enter/image.h"
#include "oci.h"
#include "sbx/file.h"
#include "sbx/text.h"

/*
 * Processes are put into a running container by a program of ours (enter/), not by the OCI
 * runtime's exec: that takes 20 to 50 ms each time, most of it to compile the seccomp filter again, and
 * an image is shaped by many small steps.
 */

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* since Linux 6.3; older ones answer EINVAL and need none */
#endif

struct run {
    struct box *b;
    const struct sbx_exec *exec;
    struct streams streams;
    int pidfd;                    /* PID 1 of the container */
    int program, request, status; /* memory files; our end of the status socket */
    int theirs;                   /* the other end */
    pid_t pid;                    /* the process; 0: not yet */
    struct enter_status failure;  /* what: 0 if it did not fail */
};

/* Sealed: what a hostile image may reach as /proc/self/exe cannot be changed. Kept for the next. */
static int program_fd(void)
{
    static int kept = -1;
    SBX_AUTO_FD int fd = -1;

    if (kept >= 0)
        return kept;
    fd = memfd_create("sbx-enter", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("sbx-enter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 ||
        sbx_write_all(fd, sbx_enter_image, (size_t)(sbx_enter_image_end - sbx_enter_image)) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
        return -1;
    kept = sbx_take_fd(&fd);
    return kept;
}

static enum sbx_code write_request(struct run *r, const struct user *user, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(OCI_REQUEST_MAX);
    enum sbx_code rc = oci_request(r->b, r->exec, user, &text, err);

    if (rc)
        return rc;
    r->request = memfd_create("sbx-request", MFD_CLOEXEC);
    if (r->request < 0 || sbx_write_all(r->request, text.ptr, text.len))
        return sbx_err_errno(err, "memfd");
    return SBX_OK;
}

/* Out of the way of the numbers that they are to get. */
static int above(int fd) { return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, ENTER_STATUS + 1); }

static void place(int fd, int to)
{
    if (fd < 0)
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0 || dup2(fd, to) < 0)
        _exit(125);
}

/* In the child: only async-signal-safe calls, and those of cgroup.c, which allocate little. */
static void child(struct run *r)
{
    static char name[] = "sbx-enter";
    char *argv[] = { name, NULL }, *env[] = { NULL };
    int program = above(r->program);
    int fds[] = { above(r->streams.child[0]),
                  above(r->streams.child[1]),
                  above(r->streams.child[2]),
                  above(r->request),
                  above(r->pidfd),
                  above(r->theirs) };
    sigset_t none;

    if (oci_cgroup_join(r->b->pid)) {
        struct enter_status s = {
            .what = ENTER_FAILED, .stage = ENTER_SETUP, .number = errno, .text = "join cgroups"
        };

        send(r->theirs, &s, sizeof(s), MSG_NOSIGNAL);
        _exit(125);
    }
    for (int i = 0; i < 6; i++)
        place(fds[i], i);
    dup3(program, ENTER_STATUS + 1, O_CLOEXEC);
    close_range(ENTER_STATUS + 2, ~0U, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    syscall(SYS_execveat, ENTER_STATUS + 1, "", argv, env, AT_EMPTY_PATH);
    _exit(125);
}

static enum sbx_code spawn(struct run *r, pid_t *ret, struct sbx_err *err)
{
    int pair[2];
    pid_t pid;

    r->program = program_fd();
    if (r->program < 0)
        return sbx_err_errno(err, "memfd");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return sbx_err_errno(err, "socketpair");
    r->status = pair[0];
    r->theirs = pair[1];
    pid = fork();
    if (pid < 0)
        return sbx_err_errno(err, "fork");
    if (!pid)
        child(r);
    close(sbx_take_fd(&r->theirs));
    streams_close_child(&r->streams);
    *ret = pid;
    return SBX_OK;
}

/* One message; false at the end. */
static bool receive(struct run *r)
{
    char control[CMSG_SPACE(sizeof(int))];
    struct enter_status s = { 0 };
    struct iovec iov = { &s, sizeof(s) };
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    struct cmsghdr *c;
    ssize_t n;
    int master;

    do
        n = recvmsg(r->status, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(s))
        return false;
    c = CMSG_FIRSTHDR(&m);
    if (s.what == ENTER_STARTED)
        r->pid = s.number;
    else if (s.what == ENTER_FAILED)
        r->failure = s;
    if (c && c->cmsg_type == SCM_RIGHTS) {
        memcpy(&master, CMSG_DATA(c), sizeof(master));
        streams_terminal(&r->streams, master);
    }
    return true;
}

/* What a shell says, where its user looks for it. The words may be an image's or a kit's. */
static void complain(const struct sbx_exec *x, const char *before, const char *what,
                     const char *after)
{
    SBX_AUTO(sbx_buf) clean = SBX_BUF_INIT(4 * PATH_MAX);
    int fd = x->tty ? x->out : x->err_fd;

    if (fd < 0)
        return;
    if (sbx_text_escape(&clean, what, strlen(what)))
        sbx_buf_clear(&clean);
    dprintf(fd, "sbx: %s%s%s%s", before, clean.ptr ? clean.ptr : "", after, x->tty ? "\r\n" : "\n");
}

static enum sbx_code explain(const struct run *r, int *ret_status, struct sbx_err *err)
{
    const char *cwd = r->exec->workdir && *r->exec->workdir ? r->exec->workdir
                                                            : box_text(r->b, "workdir");
    int number = r->failure.number;
    char why[128];

    snprintf(why, sizeof(why), ": %s", strerror(number));
    switch (r->failure.stage) {
    case ENTER_EXEC:
        complain(r->exec, "", r->exec->argv[0], why);
        *ret_status = number == ENOENT || number == ENOTDIR ? 127 : 126;
        return SBX_OK;
    case ENTER_DIRECTORY:
        complain(r->exec, "working directory ", cwd, why);
        *ret_status = 126;
        return SBX_OK;
    case ENTER_GONE:
        return sbx_err_set(err, SBX_UNAVAILABLE, "the container is not running");
    default:
        return sbx_err_set(err, SBX_FAILED, "enter the container: %.60s: %s", r->failure.text,
                           strerror(number));
    }
}

static enum sbx_code follow(struct run *r, int *ret_status, struct sbx_err *err)
{
    SBX_AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    enum sbx_code rc;

    if (pidfd < 0)
        return sbx_err_errno(err, "pidfd of process %d", (int)r->pid);
    rc = streams_run(&r->streams, pidfd, r->pid, err);
    if (rc && rc != SBX_TIMEOUT)
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    *ret_status = oci_wait(r->pid);
    if (r->streams.given_up)
        *ret_status = 128 + SIGINT;
    return rc;
}

static enum sbx_code run(struct run *r, int *ret_status, struct sbx_err *err)
{
    pid_t helper = 0;
    enum sbx_code rc = spawn(r, &helper, err);

    if (rc)
        return rc;
    while (receive(r))
        ;
    oci_wait(helper);
    if (r->failure.what) {
        if (r->pid)
            oci_wait(r->pid);
        return explain(r, ret_status, err);
    }
    if (!r->pid)
        return sbx_err_set(err, SBX_FAILED, "enter the container: the helper ended");
    return follow(r, ret_status, err);
}

static void close_run(struct run *r)
{
    streams_release(&r->streams);
    if (r->pidfd >= 0)
        close(r->pidfd);
    if (r->request >= 0)
        close(r->request);
    if (r->status >= 0)
        close(r->status);
    if (r->theirs >= 0)
        close(r->theirs);
}

/* A user whom the sandbox does not have is the caller's word, so it ends as a shell's 126. */
static enum sbx_code find_user(const struct run *r, int root, struct user *ret, int *ret_status,
                               bool *ret_done, struct sbx_err *err)
{
    struct sbx_err why = SBX_ERR_INIT;
    enum sbx_code rc = oci_user(root, r->exec->user ? r->exec->user : box_text(r->b, "user"), ret,
                                &why);

    *ret_done = rc == SBX_NOT_FOUND;
    if (!rc)
        return rc;
    if (!*ret_done)
        return sbx_err_set(err, rc, "%s", why.text);
    complain(r->exec, "", why.text, "");
    *ret_status = 126;
    return SBX_OK;
}

enum sbx_code oci_exec(struct sbx_runtime *rt, const char *id, const struct sbx_exec *exec,
                       int *ret_status, struct sbx_err *err)
{
    SBX_AUTO(box) b = BOX_INIT;
    SBX_AUTO_FREE struct run *r = calloc(1, sizeof(*r));
    SBX_AUTO_FD int root = -1;
    struct user user;
    bool done = false;
    enum sbx_code rc;

    if (!r)
        return oci_no_memory(err);
    r->b = &b;
    r->exec = exec;
    r->pidfd = r->program = r->request = r->status = r->theirs = -1;
    rc = streams_open(&r->streams, exec, err);
    if (!rc)
        rc = box_running((struct oci *)rt, id, &b, err);
    if (!rc)
        rc = oci_root_open(&b, &root, &r->pidfd, err);
    if (!rc)
        rc = find_user(r, root, &user, ret_status, &done, err);
    if (!rc && !done)
        rc = write_request(r, &user, err);
    if (!rc && !done)
        rc = run(r, ret_status, err);
    close_run(r);
    return rc;
}
