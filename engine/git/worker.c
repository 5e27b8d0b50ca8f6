/*
 * libgit2 has no limit of time and cannot be interrupted: it works in a process of its own, which tells
 * that it goes on, and is ended with all that it started when it does not or when the user wants so.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "remote.h"

#define TELL_MS 200 /* between two signs of life; the watcher's shortest limit is some of these */
#define WAIT_MS                                                                                    \
    3600000 /* for who has a limit of his own: only so that the arithmetic has a number */

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

/* A datagram from the worker. */
struct word {
    enum { GOES_ON, WAITS, DONE } kind;
    enum sbx_code code;
    char commit[41];
    struct sbx_err err;
};
#define SHORT_WORD offsetof(struct word, code) /* all that GOES_ON and WAITS send */

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- signals ---- */

enum sbx_code git_signals_hold(struct git_signals *s, struct sbx_err *err)
{
    struct sigaction now;
    sigset_t set;

    s->got = 0;
    sigemptyset(&set);
    for (size_t i = 0; i < SBX_ARRAY_LEN(ending); i++) /* what the caller ignores stays ignored */
        if (!sigaction(ending[i], NULL, &now) && now.sa_handler != SIG_IGN)
            sigaddset(&set, ending[i]);
    s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->fd < 0)
        return sbx_err_errno(err, "a descriptor for signals");
    pthread_sigmask(SIG_BLOCK, &set, &s->before);
    return SBX_OK;
}

bool git_signals_wait(struct git_signals *s, int ms)
{
    struct pollfd p = { s->fd, POLLIN, 0 };
    struct signalfd_siginfo info;

    if (!s->got && poll(&p, 1, ms) > 0 && read(s->fd, &info, sizeof(info)) == sizeof(info))
        s->got = (int)info.ssi_signo;
    return s->got != 0;
}

void git_signals_release(struct git_signals *s)
{
    close(s->fd);
    pthread_sigmask(SIG_SETMASK, &s->before, NULL);
    if (s->got)
        raise(s->got); /* to the caller's handler, or the end of the process */
}

/* ---- in the worker ---- */

static void tell(struct git_job *job, int kind)
{
    struct word w = { .kind = kind };

    job->told_ms = now_ms();
    if (send(job->tell, &w, SHORT_WORD, MSG_NOSIGNAL) < 0)
        _exit(1); /* nobody listens any more */
}

void git_alive(struct git_job *job)
{
    if (now_ms() - job->told_ms >= TELL_MS)
        tell(job, GOES_ON);
}

void git_waits(struct git_job *job, bool waits) { tell(job, waits ? WAITS : GOES_ON); }

__attribute__((noreturn)) static void be_worker(git_work work, struct git_job *job, pid_t parent,
                                                const struct git_signals *signals)
{
    struct word w = { .kind = DONE, .err = SBX_ERR_INIT };

    setsid(); /* programs that it starts have no terminal to ask on, and end with it */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (size_t i = 0; i < SBX_ARRAY_LEN(ending); i++)
        signal(ending[i], SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_SETMASK, &signals->before, NULL);
    w.code = work(job, &w.err);
    memcpy(w.commit, job->commit, sizeof(w.commit));
    _exit(send(job->tell, &w, sizeof(w), MSG_NOSIGNAL) != sizeof(w));
}

/* ---- in the watcher ---- */

struct watch {
    struct git_signals *signals;
    const struct sbx_git_source *source;
    int wire;
    long began_ms, heard_ms;
    bool waits;
};

/* Milliseconds that may pass until something must be heard. */
static long patience(const struct watch *w)
{
    const struct sbx_git_source *s = w->source;
    long now = now_ms(), silence = s->silence_ms ? s->silence_ms : SBX_GIT_SILENCE_MS;
    long left = w->waits ? WAIT_MS : w->heard_ms + silence - now;

    if (s->limit_ms && w->began_ms + s->limit_ms - now < left)
        left = w->began_ms + s->limit_ms - now;
    return left > 0 ? left : 0;
}

static enum sbx_code too_late(const struct watch *w, struct sbx_err *err)
{
    long now = now_ms();
    bool all = w->source->limit_ms && now - w->began_ms >= w->source->limit_ms;

    return sbx_err_set(err, SBX_TIMEOUT,
                       "%.200s: %s for %ld s; try again, or look whether git itself "
                       "can fetch it",
                       w->source->url, all ? "not done" : "the server says nothing",
                       (now - (all ? w->began_ms : w->heard_ms) + 500) / 1000);
}

/* Until the worker is done, or must be ended. */
static enum sbx_code listen_to(struct watch *w, struct word *out, struct sbx_err *err)
{
    for (;;) {
        struct pollfd p[2] = { { w->wire, POLLIN, 0 }, { w->signals->fd, POLLIN, 0 } };
        int ready = poll(p, 2, (int)patience(w));
        ssize_t n;

        if (ready < 0 && errno != EINTR)
            return sbx_err_errno(err, "wait for libgit2");
        if (git_signals_wait(w->signals, 0))
            return sbx_err_set(err, SBX_CANCELED, "interrupted");
        if (!(n = ready > 0 && p[0].revents ? recv(w->wire, out, sizeof(*out), 0) : -1))
            return sbx_err_set(err, SBX_FAILED, "%.200s: libgit2 crashed on what the server sent",
                               w->source->url);
        if (n == sizeof(*out))
            return SBX_OK;
        if (n > 0) {
            w->heard_ms = now_ms();
            w->waits = out->kind == WAITS;
        } else if (ready == 0 && patience(w) == 0) {
            return too_late(w, err);
        }
    }
}

enum sbx_code git_in_worker(git_work work, struct git_job *job, struct git_signals *signals,
                            struct sbx_err *err)
{
    struct watch w = { .signals = signals, .source = job->source };
    struct word word = { .kind = GOES_ON };
    pid_t self = getpid(), pid;
    int wire[2];
    enum sbx_code rc;

    if (!sbx_git2(err))
        return SBX_UNAVAILABLE;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, wire))
        return sbx_err_errno(err, "a socket pair");
    w.began_ms = w.heard_ms = job->told_ms = now_ms();
    w.wire = wire[0];
    job->tell = wire[1];
    pid = fork();
    if (pid == 0)
        be_worker(work, job, self, signals);
    close(wire[1]);
    rc = pid < 0 ? sbx_err_errno(err, "start a process") : listen_to(&w, &word, err);
    close(wire[0]);
    if (pid > 0) {
        if (kill(-pid, SIGKILL)) /* its session, if it made one already */
            kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (!rc)
        memcpy(job->commit, word.commit, sizeof(job->commit));
    if (!rc && word.code)
        rc = sbx_err_set(err, word.code, "%s", word.err.text);
    return rc;
}
