/* The long-lived programs of one sandbox: started clean, known by pid and start time. */
#include "net.h"

#include "sbx/file.h"
#include "sbx/json.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FIRST_FD 3
#define SAFE_FD 64 /* above every descriptor of a child */
#define END_TIMEOUT_MS 3000 /* helper and gate end within 1 s by contract */
#define PROCESS_EXITING 0x4 /* PF_EXITING of the flags in /proc/PID/stat; no header for programs names it */

/* In the child, between fork and exec: only system calls. */
static void become(const struct sbx_spawn *s, int program)
{
    static char *const none[] = { NULL };
    int high[SBX_SPAWN_FDS], n = 0;

    setsid();
    prctl(PR_SET_PDEATHSIG, 0);
    for (int null = open("/dev/null", O_RDWR); n < 3; n++)
        dup2(null, n);
    for (n = 0; n < SBX_SPAWN_FDS && s->fds[n] >= 0; n++)
        if ((high[n] = fcntl(s->fds[n], F_DUPFD, SAFE_FD)) < 0)
            _exit(126);
    for (n = 0; n < SBX_SPAWN_FDS && s->fds[n] >= 0; n++)
        dup2(high[n], FIRST_FD + n);
    if (FIRST_FD + n != program && dup2(program, FIRST_FD + n) < 0)
        _exit(126);
    fcntl(FIRST_FD + n, F_SETFD, FD_CLOEXEC);
    syscall(SYS_close_range, FIRST_FD + n + 1, ~0U, 0);
    if (chdir("/") ||
        (s->uid && (setgroups(0, NULL) || setresgid(s->uid, s->uid, s->uid) ||
                    setresuid(s->uid, s->uid, s->uid))))
        _exit(126);
    fexecve(FIRST_FD + n, (char *const *)s->argv, none);
    _exit(127);
}

/* Twice forked: the process is nobody's child, so no command has to reap it. */
static void twice(const struct sbx_spawn *s, int program, int report)
{
    pid_t pid = fork();

    if (pid == 0)
        become(s, program);
    if (write(report, &pid, sizeof(pid)) != sizeof(pid))
        _exit(1);
    _exit(pid < 0);
}

enum sbx_code sbx_spawn(const struct sbx_spawn *s, pid_t *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int program = open(s->path, O_RDONLY | O_CLOEXEC);
    SBX_AUTO_FD int from = -1;
    SBX_AUTO_FD int to = -1;
    int ends[2];
    pid_t middle, pid = -1;

    if (program < 0)
        return sbx_err_errno(err, "start %s", s->path);
    if (program < SAFE_FD) { /* out of the way of the child's descriptors */
        int high = fcntl(program, F_DUPFD_CLOEXEC, SAFE_FD);

        if (high < 0)
            return sbx_err_errno(err, "start %s", s->path);
        close(program);
        program = high;
    }
    if (pipe2(ends, O_CLOEXEC))
        return sbx_err_errno(err, "start %s", s->path);
    from = ends[0];
    to = ends[1];
    middle = fork();
    if (middle == 0)
        twice(s, program, to);
    close(sbx_take_fd(&to));
    if (middle < 0 || read(from, &pid, sizeof(pid)) != sizeof(pid) || pid < 0) {
        if (middle > 0)
            waitpid(middle, NULL, 0);
        return sbx_err_set(err, SBX_FAILED, "start %s: cannot fork", s->path);
    }
    waitpid(middle, NULL, 0);
    *ret = pid;
    return SBX_OK;
}

enum sbx_code sbx_status_line(int fd, const char *who, char *line, size_t size, struct sbx_err *err)
{
    int64_t until = sbx_now_ms() + SBX_READY_TIMEOUT_MS;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    size_t n = 0;

    for (ssize_t got = 1; got > 0 && n + 1 < size && !memchr(line, '\n', n);) {
        int64_t left = until - sbx_now_ms();

        if (left <= 0 || poll(&p, 1, (int)left) <= 0)
            return sbx_err_set(err, SBX_TIMEOUT, "%s said nothing for %d s", who,
                               SBX_READY_TIMEOUT_MS / 1000);
        got = read(fd, line + n, size - 1 - n);
        n += got > 0 ? (size_t)got : 0;
    }
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (!strncmp(line, "ok", 2) && (!line[2] || line[2] == ' ')) {
        memmove(line, line + (line[2] ? 3 : 2), strlen(line + (line[2] ? 3 : 2)) + 1);
        return SBX_OK;
    }
    if (!strncmp(line, "error ", 6))
        return sbx_err_set(err, SBX_FAILED, "%s: %s", who, line + 6);
    return sbx_err_set(err, SBX_FAILED, "%s ended at its start%s%s", who, n ? ": " : "", line);
}

/* Of /proc/PID/stat; what is dying has lost some of its descriptors already, or will before it runs on. */
struct process_stat { unsigned long long start; bool dying; };

static bool read_stat(pid_t pid, struct process_stat *ret)
{
    char path[64], text[1024], state;
    SBX_AUTO_FD int fd = -1;
    ssize_t n;
    unsigned flags;
    unsigned long pending; /* signals of the thread: the kernel puts SIGKILL there as soon as it is sent */
    char *paren;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    paren = strrchr(text, ')'); /* fields 3, 9, 22 and 31 count from the first; the second ends here */
    if (!paren || sscanf(paren + 1, " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                                    "%*d %llu %*u %*d %*u %*u %*u %*u %*u %*u %lu",
                         &state, &flags, &ret->start, &pending) != 4)
        return false;
    ret->dying = (flags & PROCESS_EXITING) || (pending & 1UL << (SIGKILL - 1));
    return state != 'Z' && state != 'X';
}

unsigned long long sbx_process_start(pid_t pid)
{
    struct process_stat st;

    return read_stat(pid, &st) ? st.start : 0;
}

bool sbx_pidfile_read(struct sbx_box *box, const char *name, struct sbx_pidfile *ret)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_STATE_MAX);
    SBX_AUTO_JSON json_t *o = NULL;
    const char *cookie;
    json_int_t pid;

    if (sbx_file_read(box->dirfd, name, &text, NULL))
        return false;
    o = json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
    cookie = json_string_value(json_object_get(o, "cookie"));
    pid = json_integer_value(json_object_get(o, "pid"));
    ret->pid = pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
    ret->start = (unsigned long long)json_integer_value(json_object_get(o, "start_time"));
    ret->cookie = cookie ? strtoull(cookie, NULL, 10) : 0;
    return ret->pid > 0 && ret->start;
}

enum sbx_code sbx_pidfile_write(struct sbx_box *box, const char *name, const struct sbx_pidfile *p,
                                struct sbx_err *err)
{
    char text[200];
    int n = snprintf(text, sizeof(text),
                     "{\"pid\":%d,\"start_time\":%llu,\"cookie\":\"%llu\"}\n", (int)p->pid,
                     p->start, p->cookie);

    return sbx_put(box, name, text, (size_t)n, 0600, err);
}

bool sbx_process_alive(const struct sbx_pidfile *p)
{
    struct process_stat st;

    return p->pid > 0 && p->start && read_stat(p->pid, &st) && st.start == p->start && !st.dying;
}

void sbx_process_end(const struct sbx_pidfile *p)
{
    SBX_AUTO_FD int fd = p->pid > 0 ? (int)syscall(SYS_pidfd_open, p->pid, 0) : -1;
    struct pollfd wait = { .fd = fd, .events = POLLIN };

    if (fd < 0 || !p->start || sbx_process_start(p->pid) != p->start)
        return; /* the descriptor holds the process: from here on the pid cannot be another's */
    syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0);
    if (poll(&wait, 1, END_TIMEOUT_MS) > 0)
        return;
    syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    poll(&wait, 1, END_TIMEOUT_MS);
}
