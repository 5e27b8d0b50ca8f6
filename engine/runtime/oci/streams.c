#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>

#include "oci.h"

#define DRAIN_MAX (16 << 20) /* bytes read after the process ended: what pipes can hold, not more */
#define KILL_DEPTH 64        /* generations of children that are killed with a process */

enum { P_PROCESS, P_IN, P_TO, P_OUT, P_ERR, P_RESIZE, P_SIGNAL, P_COUNT };

/*
 * Bytes are carried by us. The caller's own descriptors never go inside: a terminal or a file could
 * be reached there by /proc/self/fd, a pipe set to O_NONBLOCK for everyone who shares it, and a
 * process left in the background would hold it open after the command has ended.
 */
static int make_pipe(int *ours, int *theirs, bool we_write)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC))
        return -1;
    *ours = fds[we_write];
    *theirs = fds[!we_write];
    return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

enum sbx_code streams_open(struct streams *s, const struct sbx_exec *exec, struct sbx_err *err)
{
    s->exec = exec;
    s->to = s->from[0] = s->from[1] = s->master = -1;
    s->child[0] = s->child[1] = s->child[2] = -1;
    if (exec->tty)
        return SBX_OK;
    if ((exec->in >= 0 && make_pipe(&s->to, &s->child[0], true)) ||
        (exec->out >= 0 && make_pipe(&s->from[0], &s->child[1], false)) ||
        (exec->err_fd >= 0 && make_pipe(&s->from[1], &s->child[2], false)))
        return sbx_err_errno(err, "pipe");
    return SBX_OK;
}

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void streams_close_child(struct streams *s)
{
    for (int i = 0; i < 3; i++)
        shut(&s->child[i]);
}

void streams_release(struct streams *s)
{
    streams_close_child(s);
    shut(&s->to);
    shut(&s->from[0]);
    shut(&s->from[1]);
    shut(&s->master);
}

static void set_size(struct streams *s)
{
    struct sbx_winsize w;
    struct winsize ws;

    if (s->master < 0 || !s->exec->winsize)
        return;
    w = s->exec->winsize(s->exec->ctx);
    ws = (struct winsize){ .ws_row = w.rows, .ws_col = w.cols };
    ioctl(s->master, TIOCSWINSZ, &ws);
}

void streams_terminal(struct streams *s, int master)
{
    s->master = master;
    set_size(s);
    s->to = s->exec->in >= 0 ? fcntl(master, F_DUPFD_CLOEXEC, 3) : -1;
    s->from[0] = fcntl(master, F_DUPFD_CLOEXEC, 3);
    fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
}

/* Bytes to the process' stdin, as many as it takes. */
static void push(struct streams *s)
{
    while (s->pending_at < s->pending_len) {
        ssize_t n = write(s->to, s->pending + s->pending_at, s->pending_len - s->pending_at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) { /* it does not read any more */
            s->in_ended = true;
            s->pending_at = s->pending_len;
            break;
        }
        s->pending_at += (size_t)n;
    }
    s->pending_at = s->pending_len = 0;
    if (s->in_ended && s->master < 0)
        shut(&s->to);
}

static void pull_in(struct streams *s)
{
    ssize_t n = read(s->exec->in, s->pending, sizeof(s->pending));

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        s->in_ended = true;
        if (s->master >= 0) /* a terminal has no end: say it as a keyboard does */
            s->pending[s->pending_len++] = 4;
    } else {
        s->pending_len = (size_t)n;
    }
    push(s);
}

/* The caller's end may have been made non-blocking by someone who shares it. */
static int put_out(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        struct pollfd p = { .fd = fd, .events = POLLOUT };

        if (n < 0 && errno == EAGAIN)
            poll(&p, 1, -1);
        else if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

/* false: nothing there now */
static bool pull_out(struct streams *s, int which)
{
    char data[32768];
    ssize_t n = read(s->from[which], data, sizeof(data));
    int to = which ? s->exec->err_fd : s->exec->out;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    if (n <= 0 || (to >= 0 && put_out(to, data, (size_t)n))) {
        shut(&s->from[which]); /* ended, or our reader is gone: the process gets EPIPE */
        return false;
    }
    return true;
}

/* The process and what it started: an orphan would go on in the container. */
static void kill_tree(pid_t pid, int depth)
{
    char path[64];
    FILE *f;
    int child;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    f = depth < KILL_DEPTH ? fopen(path, "re") : NULL;
    kill(pid, SIGSTOP); /* makes no more of them while we look */
    while (f && fscanf(f, "%d", &child) == 1)
        kill_tree(child, depth + 1);
    if (f)
        fclose(f);
    kill(pid, SIGKILL);
}

static void forward_signals(struct streams *s, int pidfd, pid_t pid)
{
    unsigned char numbers[32];
    ssize_t n = read(s->exec->signal_fd, numbers, sizeof(numbers));

    for (ssize_t i = 0; i < n; i++) {
        syscall(SYS_pidfd_send_signal, pidfd, (int)numbers[i], NULL, 0);
        s->asked += numbers[i] == SIGINT || numbers[i] == SIGTERM;
    }
    if (s->asked < 2 || !sbx_process_stopped(pid))
        return;
    s->given_up = true;
    kill_tree(pid, 0);
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void watch(const struct streams *s, int pidfd, struct pollfd *p)
{
    bool pending = s->pending_len > s->pending_at;

    for (int i = 0; i < P_COUNT; i++)
        p[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
    p[P_PROCESS].fd = pidfd;
    if (s->to >= 0 && !pending && !s->in_ended)
        p[P_IN].fd = s->exec->in;
    if (s->to >= 0 && pending)
        p[P_TO] = (struct pollfd){ .fd = s->to, .events = POLLOUT };
    p[P_OUT].fd = s->from[0];
    p[P_ERR].fd = s->from[1];
    p[P_RESIZE].fd = s->exec->resize_fd;
    p[P_SIGNAL].fd = s->exec->signal_fd;
}

static void handle(struct streams *s, int pidfd, pid_t pid, const struct pollfd *p)
{
    char byte[64];

    if (p[P_IN].revents)
        pull_in(s);
    if (p[P_TO].revents)
        push(s);
    if (p[P_OUT].revents)
        pull_out(s, 0);
    if (p[P_ERR].revents)
        pull_out(s, 1);
    if (p[P_RESIZE].revents && read(s->exec->resize_fd, byte, sizeof(byte)) > 0)
        set_size(s);
    if (p[P_SIGNAL].revents)
        forward_signals(s, pidfd, pid);
}

/* What was written before the end; what others who hold the pipe write later is not ours. */
static void drain(struct streams *s)
{
    for (int i = 0; i < 2; i++)
        for (size_t n = 0; s->from[i] >= 0 && n < DRAIN_MAX / 32768 && pull_out(s, i); n++)
            ;
}

enum sbx_code streams_run(struct streams *s, int pidfd, pid_t pid, struct sbx_err *err)
{
    int64_t end = s->exec->timeout_s > 0 ? now_ms() + s->exec->timeout_s * 1000LL : 0;
    bool late = false;

    for (;;) {
        struct pollfd p[P_COUNT];
        int64_t left = end ? end - now_ms() : -1;
        int n;

        watch(s, pidfd, p);
        n = poll(p, P_COUNT, end ? (left > 0 ? (int)left : 0) : -1);
        if (n < 0 && errno != EINTR)
            return sbx_err_errno(err, "poll");
        if (n > 0)
            handle(s, pidfd, pid, p);
        if (n > 0 && p[P_PROCESS].revents)
            break;
        if (end && !late && now_ms() >= end) {
            late = true;
            end = 0;
            kill_tree(pid, 0);
        }
    }
    drain(s);
    if (late)
        return sbx_err_set(err, SBX_TIMEOUT, "still running after %d s: killed",
                           s->exec->timeout_s);
    return SBX_OK;
}
