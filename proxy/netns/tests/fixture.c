#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELPER SBX_BINARY_DIR "/libexec/sbx/sbx-netns"

bool cannot_run(void)
{
    pid_t pid;
    int status = 0;

    if (geteuid()) {
        fputs("SKIPPED: needs root to make network namespaces\n", stderr);
        return true;
    }
    pid = fork();
    if (!pid)
        _exit(unshare(CLONE_NEWNET) ? errno : 0);
    waitpid(pid, &status, 0);
    if (status)
        fprintf(stderr, "SKIPPED: cannot make a network namespace here: %s\n",
                strerror(WEXITSTATUS(status)));
    return status != 0;
}

int setup_empty(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    if (!f)
        return -1;
    f->listener = f->status = f->ended = f->gate = f->tcp4 = f->tcp6 = f->udp4 = -1;
    strcpy(f->dir, SBX_TEST_TMP "/netns-test-XXXXXX");
    *state = f;
    return mkdtemp(f->dir) && !chmod(f->dir, 0755) ? 0 : -1;
}

static void close_and_forget(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int teardown(void **state)
{
    struct fixture *f = *state;

    gate_end(f);
    for (int i = 0; i < CHILDREN; i++)
        if (f->children[i])
            end_child(f, f->children[i]);
    if (f->helper) {
        kill(f->helper, SIGKILL);
        waitpid(f->helper, NULL, 0);
    }
    close_and_forget(&f->listener);
    close_and_forget(&f->status);
    close_and_forget(&f->ended);
    unlink(f->path);
    rmdir(f->dir);
    free(f);
    return 0;
}

static void listen_at_path(struct fixture *f)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };

    snprintf(f->path, sizeof(f->path), "%s/netns.sock", f->dir);
    strcpy(at.sun_path, f->path);
    f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    assert_true(f->listener >= 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(chmod(f->path, 0777), 0);
    assert_int_equal(listen(f->listener, 8), 0);
}

static void read_line(int fd, char *out, size_t size)
{
    size_t len = 0;
    ssize_t n;

    while (len < size - 1 && (n = read(fd, out + len, size - 1 - len)) > 0)
        len += (size_t)n;
    out[len] = '\0';
}

static _Noreturn void run_helper(const char *const *args, const char *const *more)
{
    const char *argv[32] = { HELPER };
    size_t n = 1;

    while (*args)
        argv[n++] = *args++;
    while (*more)
        argv[n++] = *more++;
    argv[n] = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(HELPER, (char *const *)argv);
    _exit(127);
}

void start_helper(struct fixture *f, const char *const *args, int pidfd)
{
    char fds[4][12];
    const char *more[] = { "--socket-fd",
                           fds[0],
                           "--status-fd",
                           fds[1],
                           "--ended-fd",
                           fds[2],
                           pidfd < 0 ? NULL : "--pidfd",
                           fds[3],
                           NULL };
    int status[2], ended[2];

    listen_at_path(f);
    assert_int_equal(pipe(status), 0);
    assert_int_equal(pipe(ended), 0);
    snprintf(fds[0], 12, "%d", f->listener);
    snprintf(fds[1], 12, "%d", status[1]);
    snprintf(fds[2], 12, "%d", ended[1]);
    snprintf(fds[3], 12, "%d", pidfd);
    f->helper = fork();
    assert_true(f->helper >= 0);
    if (!f->helper)
        run_helper(args, more);
    close(status[1]);
    close(ended[1]);
    f->status = status[0];
    f->ended = ended[0];
    read_line(f->status, f->first, sizeof(f->first));
}

int setup_created(void **state)
{
    static const char *const args[] = { "--mode", "create", NULL };
    struct fixture *f;

    if (setup_empty(state))
        return -1;
    f = *state;
    start_helper(f, args, -1);
    if (!strncmp(f->first, "ok ", 3))
        return 0;
    fprintf(stderr, "the helper says: %s\n", f->first);
    return -1;
}

int helper_exit(struct fixture *f)
{
    int status = 0;

    assert_int_equal(waitpid(f->helper, &status, 0), f->helper);
    f->helper = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

const char *ended_text(struct fixture *f)
{
    static char text[256];

    read_line(f->ended, text, sizeof(text));
    return text;
}

int dial(struct fixture *f)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    strcpy(to.sun_path, f->path);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static void take_fds(struct msghdr *m, int fds[3])
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    size_t n = c ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

    for (size_t i = 0; i < 3; i++)
        fds[i] = -1;
    for (size_t i = 0; i < n && i < 3; i++)
        memcpy(&fds[i], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
}

const char *ask(int conn, const char *request, int pass, int fds[3])
{
    static char text[512];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = { 0 };
    struct iovec io = { (void *)request, strlen(request) };
    struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
    int unused[3];
    ssize_t n;

    if (pass >= 0) {
        struct cmsghdr *c = (struct cmsghdr *)control;

        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE(sizeof(int));
        *c = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
        memcpy(CMSG_DATA(c), &pass, sizeof(pass));
    }
    assert_true(sendmsg(conn, &m, MSG_NOSIGNAL) >= 0);
    io = (struct iovec){ text, sizeof(text) - 1 };
    m.msg_control = control;
    m.msg_controllen = sizeof(control);
    n = recvmsg(conn, &m, MSG_CMSG_CLOEXEC);
    assert_true(n >= 0);
    text[n] = '\0';
    take_fds(&m, fds ? fds : unused);
    return text;
}

void gate_begin(struct fixture *f)
{
    int fds[3];

    f->gate = dial(f);
    assert_string_equal(ask(f->gate, "doors", -1, fds), "ok tcp4 tcp6 udp4");
    f->tcp4 = fds[0];
    f->tcp6 = fds[1];
    f->udp4 = fds[2];
    assert_true(f->tcp4 >= 0 && f->tcp6 >= 0 && f->udp4 >= 0);
}

void gate_end(struct fixture *f)
{
    close_and_forget(&f->gate);
    close_and_forget(&f->tcp4);
    close_and_forget(&f->tcp6);
    close_and_forget(&f->udp4);
}

/* In a child: into the namespace, and no longer a holder of what the gate has. */
static int enter(struct fixture *f)
{
    char path[64];
    int fd;

    gate_end(f);

    snprintf(path, sizeof(path), "/proc/%d/ns/net", f->helper);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 || setns(fd, CLONE_NEWNET);
}

int inside(struct fixture *f, int (*run)(const void *arg), const void *arg)
{
    pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (!pid) {
        alarm(10); /* a test that hangs fails */
        _exit(enter(f) ? 255 : run(arg));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void remember(struct fixture *f, pid_t pid)
{
    for (int i = 0; i < CHILDREN; i++)
        if (!f->children[i]) {
            f->children[i] = pid;
            return;
        }
    fail_msg("too many children");
}

/* Wait until the child wrote a byte. */
static void await(struct fixture *f, pid_t pid, int pipe_fds[2])
{
    char byte;

    close(pipe_fds[1]);
    remember(f, pid);
    assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
    close(pipe_fds[0]);
}

pid_t inside_running(struct fixture *f, int (*run)(const void *arg), const void *arg)
{
    int p[2];
    pid_t pid;

    assert_int_equal(pipe(p), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(p[1], STDOUT_FILENO);
        _exit(enter(f) ? 255 : run(arg));
    }
    await(f, pid, p);
    return pid;
}

pid_t child_in(struct fixture *f, bool new_namespace, int (*prepare)(void))
{
    int p[2];
    pid_t pid;

    assert_int_equal(pipe(p), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if ((new_namespace && unshare(CLONE_NEWNET)) || (prepare && prepare()) ||
            write(p[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    await(f, pid, p);
    return pid;
}

void end_child(struct fixture *f, pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < CHILDREN; i++)
        if (f->children[i] == pid)
            f->children[i] = 0;
}

int pidfd_of(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_SETFD, 0), 0); /* for the helper to inherit */
    return fd;
}

socklen_t address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return sizeof(*v4);
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
        abort();
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    return sizeof(*v6);
}

void assert_refused(struct fixture *f, const char *why)
{
    if (strncmp(f->first, "error ", 6) || !strstr(f->first, why))
        fail_msg("want an error with \"%s\", got: %s", why, f->first);
    assert_int_not_equal(helper_exit(f), 0);
}
