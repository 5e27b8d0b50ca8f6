/* PID 1 of a sandbox: reaps, waits for the engine's marks, runs the startup list once, idles. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "marks.h"
#include "place.h"
#include "sbx/boot.h"
#include "startup.h"

#define EXIT_TERM (128 + SIGTERM)

enum phase { PHASE_CLOSED, PHASE_LIST, PHASE_IDLE, PHASE_ENDING };

struct pid1 {
    enum phase phase;
    bool asked; /* for the steps of this start */
    int root, signals, changes; /* changes: inotify; -1: none to be had */
    uint64_t cookie;
    char boot_id[SBX_BOOT_ID_SIZE];
    int64_t kill_at_ms; /* PHASE_ENDING */
    struct sbx_startup startup;
};

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The usual signals by which containers are stopped: an image can name its own. */
static int take_signals(void)
{
    const int stop[] = { SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGPWR, SIGRTMIN + 3, SIGCHLD };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < SBX_ARRAY_LEN(stop); i++)
        sigaddset(&set, stop[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int watch_marks(void)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd >= 0 &&
        inotify_add_watch(fd, SBX_MARKS_DIR, IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE) < 0)
        sbx_auto_fd_(&fd), fd = -1;
    return fd;
}

/* Once the gate is up the engine's steps are asked for; once they are done, the list may run. */
static bool ready(struct pid1 *p)
{
    SBX_AUTO_FD int dir = open(SBX_MARKS_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0 || !sbx_marks_gate(dir, p->cookie, p->boot_id))
        return false;
    if (!p->asked)
        sbx_init_steps(p->root);
    p->asked = true;
    return sbx_marks_ready(dir, p->cookie, p->boot_id);
}

static void reap(struct pid1 *p)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (p->phase == PHASE_LIST)
            sbx_startup_reaped(&p->startup, pid, status);
}

static void begin_end(struct pid1 *p)
{
    if (p->phase == PHASE_ENDING)
        return;
    p->phase = PHASE_ENDING;
    p->kill_at_ms = now_ms() + SBX_TERM_MS;
    kill(-1, SIGTERM);
    kill(-1, SIGCONT); /* a stopped one would not see it */
}

static void take_events(struct pid1 *p)
{
    struct signalfd_siginfo info;
    char changes[4096];

    while (read(p->signals, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            begin_end(p);
    while (p->changes >= 0 && read(p->changes, changes, sizeof(changes)) > 0)
        ;
    reap(p);
}

/* Everyone has gone, those that exec'd from outside included; or time is up. */
static bool ended(const struct pid1 *p)
{
    if (kill(-1, 0) && errno == ESRCH)
        return true;
    return now_ms() >= p->kill_at_ms;
}

static int timeout(const struct pid1 *p)
{
    if (p->phase == PHASE_CLOSED)
        return p->changes >= 0 ? SBX_RECHECK_MS : SBX_POLL_MS;
    return p->phase == PHASE_ENDING ? SBX_POLL_MS : -1;
}

static void advance(struct pid1 *p)
{
    if (p->phase == PHASE_CLOSED && ready(p)) {
        p->phase = PHASE_LIST;
        sbx_auto_fd_(&p->changes);
        p->changes = -1;
        sbx_startup_begin(&p->startup, p->root);
    }
    if (p->phase == PHASE_LIST && sbx_startup_step(&p->startup))
        p->phase = PHASE_IDLE;
}

int sbx_init_pid1(void)
{
    static struct pid1 p = { .phase = PHASE_CLOSED };

    p.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    p.signals = take_signals();
    p.changes = watch_marks();
    p.cookie = sbx_netns_cookie();
    sbx_boot_id(p.boot_id);
    if (p.root < 0 || p.signals < 0) {
        perror("sbx-init: cannot begin");
        return 1;
    }
    for (;;) {
        struct pollfd fds[] = { { p.signals, POLLIN, 0 }, { p.changes, POLLIN, 0 } };

        advance(&p);
        if (p.phase == PHASE_ENDING && ended(&p))
            break;
        poll(fds, SBX_ARRAY_LEN(fds), timeout(&p));
        take_events(&p);
    }
    kill(-1, SIGKILL);
    return EXIT_TERM;
}
