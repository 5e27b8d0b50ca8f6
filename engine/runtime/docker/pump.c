#include "pump.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#define WRITE_SAFE 4096    /* bytes, PIPE_BUF: a pipe that polls writable takes them at once */
#define KILL_TRIES 100     /* 2 s: what has no pid by then was never started */
#define SIGNAL_RETRY_MS 20 /* a process that is being started has its pid within some ms */

enum { P_SOCKET, P_IN, P_OUT, P_RESIZE, P_SIGNAL, P_COUNT };

int64_t docker_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- output ---- */

static int target(const struct docker_pump *p, int stream)
{
    return stream == 2 && !p->x->tty ? p->x->err_fd : p->x->out;
}

/* One write that does not block; a reader that went away ends the process as a pipe would. */
static void put(struct docker_pump *p, int stream, const char **data, size_t *len)
{
    int fd = target(p, stream);
    struct stat st;
    size_t n = *len;
    ssize_t wrote;

    if (fd < 0 || p->gone[stream - 1]) {
        *len = 0;
        return;
    }
    if (n > WRITE_SAFE && (fstat(fd, &st) || !S_ISREG(st.st_mode)))
        n = WRITE_SAFE;
    wrote = write(fd, *data, n);
    if (wrote > 0) {
        *data += wrote;
        *len -= (size_t)wrote;
    } else if (wrote < 0 && errno != EAGAIN && errno != EINTR) {
        p->gone[stream - 1] = true;
        if (p->n_signals < sizeof(p->signals)) /* it may not have a pid yet: passed on later */
            p->signals[p->n_signals++] = SIGPIPE;
        *len = 0;
    }
}

static void put_all(struct docker_pump *p, int stream, const char *data, size_t len)
{
    while (len) {
        struct pollfd w = { target(p, stream), POLLOUT, 0 };

        if (w.fd >= 0)
            poll(&w, 1, -1);
        put(p, stream, &data, &len);
    }
}

void docker_pump_unhold(struct docker_pump *p)
{
    put_all(p, 1, p->held, p->held_len);
    p->held_len = 0;
}

/* The Engine reports an exec that did not start as output; the exit status tells later which. */
static bool hold(struct docker_pump *p)
{
    static const char *const openings[] = { "OCI runtime exec failed", "unable to find user",
                                            "no matching entries" };
    bool first = !p->first_seen;

    p->first_seen = true;
    if (!first || p->piece.stream != 1 || p->piece.len > sizeof(p->held))
        return false;
    for (size_t i = 0; i < SBX_ARRAY_LEN(openings); i++)
        if (p->piece.len > strlen(openings[i]) &&
            memcmp(p->piece.data, openings[i], strlen(openings[i])) == 0) {
            memcpy(p->held, p->piece.data, p->piece.len);
            p->held_len = p->piece.len;
            p->piece.len = 0;
            return true;
        }
    return false;
}

/* Find the next piece to write in what was received. */
static enum sbx_code next_piece(struct docker_pump *p, struct sbx_err *err)
{
    struct docker_wire *w = p->w;
    size_t taken = w->len - w->at;

    while (!p->piece.len && w->at < w->len) {
        taken = w->len - w->at;
        if (p->x->tty)
            p->piece = (struct docker_piece){ 1, w->rx + w->at, taken };
        else if (docker_demux_next(&p->demux, w->rx + w->at, taken, &taken, &p->piece))
            return sbx_err_set(err, SBX_SYNTAX, "the Engine's stream is not in frames");
        w->at += taken;
        if (p->piece.len && !hold(p) && p->held_len)
            docker_pump_unhold(p);
    }
    return SBX_OK;
}

static enum sbx_code take_socket(struct docker_pump *p, struct sbx_err *err)
{
    ssize_t n = recv(p->w->fd, p->w->rx, sizeof(p->w->rx), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return SBX_OK;
    if (n < 0 && errno != ECONNRESET)
        return sbx_err_errno(err, "read from the Engine");
    p->ended = n <= 0;
    p->w->at = 0;
    p->w->len = n > 0 ? (size_t)n : 0;
    return SBX_OK;
}

/* ---- input ---- */

static void read_in(struct docker_pump *p)
{
    ssize_t n = read(p->x->in, p->in, sizeof(p->in));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    p->in_at = 0;
    p->in_len = n > 0 ? (size_t)n : 0;
    p->in_done = n <= 0; /* a terminal that hung up is an end too */
}

static void send_in(struct docker_pump *p)
{
    ssize_t n = send(p->w->fd, p->in + p->in_at, p->in_len - p->in_at, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n > 0)
        p->in_at += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        p->in_done = true; /* the process closed its stdin or ended: its output still counts */
        p->in_at = p->in_len;
    }
}

static void half_close(struct docker_pump *p)
{
    if (p->half_closed || !p->in_done || p->in_at < p->in_len || p->x->in < 0)
        return;
    shutdown(p->w->fd, SHUT_WR);
    p->half_closed = true;
}

/* ---- side doors ---- */

static void resize(struct docker_pump *p)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct sbx_winsize size = p->x->winsize(p->x->ctx);

    /* a process that ended meanwhile cannot be resized: nothing to say about it */
    if (size.rows && size.cols &&
        docker_do(p->d, &c, NULL, "POST", NULL, "/exec/%s/resize?h=%u&w=%u", p->exec_id, size.rows,
                  size.cols))
        return;
}

static void take_resize(struct docker_pump *p)
{
    char bytes[64]; /* several at once are one change */
    ssize_t n = read(p->resize_fd, bytes, sizeof(bytes));

    if (n > 0)
        resize(p);
    else if (n == 0)
        p->resize_fd = -1;
}

static void take_signals(struct docker_pump *p)
{
    ssize_t n = read(p->signal_fd, p->signals + p->n_signals, sizeof(p->signals) - p->n_signals);

    for (ssize_t i = 0; i < n; i++)
        p->asked += p->signals[p->n_signals + (size_t)i] == SIGINT ||
                    p->signals[p->n_signals + (size_t)i] == SIGTERM;
    if (n > 0)
        p->n_signals += (size_t)n;
    else if (n == 0)
        p->signal_fd = -1; /* nobody will send one any more */
}

/* A process that is still being started is killed as soon as it has a pid. */
static void kill_it(const struct docker_pump *p)
{
    for (int tries = 0; tries < KILL_TRIES; tries++) {
        if (docker_signal(p->d, p->container, p->exec_id, SIGKILL))
            return;
        poll(NULL, 0, SIGNAL_RETRY_MS);
    }
}

static void pass_signals(struct docker_pump *p)
{
    while (p->n_signals && docker_signal(p->d, p->container, p->exec_id, p->signals[0]))
        memmove(p->signals, p->signals + 1, --p->n_signals);
    if (p->asked < 2 || p->n_signals)
        return;
    if (docker_stopped(p->d, p->exec_id)) {
        p->given_up = true;
        kill_it(p);
    }
    p->asked = 1; /* the next one is another second one */
}

static int wait_ms(const struct docker_pump *p, int most)
{
    if (p->n_signals && (most < 0 || most > SIGNAL_RETRY_MS))
        most = SIGNAL_RETRY_MS;
    if (p->deadline_ms) {
        int64_t left = p->deadline_ms - docker_now_ms();

        if (left < 0)
            left = 0;
        if (most < 0 || left < most)
            most = left > 1000000 ? 1000000 : (int)left;
    }
    return most;
}

static enum sbx_code late(const struct docker_pump *p, struct sbx_err *err)
{
    if (!p->deadline_ms || docker_now_ms() < p->deadline_ms)
        return SBX_OK;
    kill_it(p);
    return sbx_err_set(err, SBX_TIMEOUT, "%s did not end within %d s", p->x->argv[0],
                       p->x->timeout_s);
}

enum sbx_code docker_pump_idle(struct docker_pump *p, int ms, struct sbx_err *err)
{
    struct pollfd f = { p->n_signals < sizeof(p->signals) ? p->signal_fd : -1, POLLIN, 0 };

    pass_signals(p);
    if (poll(&f, 1, wait_ms(p, ms)) > 0)
        take_signals(p);
    return late(p, err);
}

static void watch(const struct docker_pump *p, struct pollfd f[P_COUNT])
{
    bool writing = p->piece.len > 0;

    f[P_SOCKET] = (struct pollfd){ p->w->fd, 0, 0 };
    if (!writing)
        f[P_SOCKET].events |= POLLIN;
    if (p->in_at < p->in_len)
        f[P_SOCKET].events |= POLLOUT;
    if (!f[P_SOCKET].events)
        f[P_SOCKET].fd = -1; /* an end would wake us at once, again and again */
    f[P_IN] = (struct pollfd){ !p->in_done && p->in_at == p->in_len ? p->x->in : -1, POLLIN, 0 };
    f[P_OUT] = (struct pollfd){ writing ? target(p, p->piece.stream) : -1, POLLOUT, 0 };
    f[P_RESIZE] = (struct pollfd){ p->x->winsize ? p->resize_fd : -1, POLLIN, 0 };
    f[P_SIGNAL] = (struct pollfd){ p->n_signals < sizeof(p->signals) ? p->signal_fd : -1, POLLIN,
                                   0 };
}

static enum sbx_code turn(struct docker_pump *p, struct sbx_err *err)
{
    struct pollfd f[P_COUNT];
    bool dropped = p->piece.len && (target(p, p->piece.stream) < 0);
    enum sbx_code rc;

    watch(p, f);
    if (poll(f, P_COUNT, dropped ? 0 : wait_ms(p, -1)) < 0 && errno != EINTR)
        return sbx_err_errno(err, "wait for input");
    if (f[P_OUT].revents || dropped)
        put(p, p->piece.stream, &p->piece.data, &p->piece.len);
    if (f[P_IN].revents)
        read_in(p);
    if (p->in_at < p->in_len && (f[P_SOCKET].revents & (POLLOUT | POLLERR) || f[P_IN].revents))
        send_in(p);
    half_close(p);
    if (f[P_RESIZE].revents)
        take_resize(p);
    if (f[P_SIGNAL].revents)
        take_signals(p);
    pass_signals(p);
    if (!p->piece.len && p->w->at == p->w->len && f[P_SOCKET].revents) {
        rc = take_socket(p, err);
        if (rc)
            return rc;
    }
    rc = next_piece(p, err);
    return rc ? rc : late(p, err);
}

static enum sbx_code run(struct docker_pump *p, struct sbx_err *err)
{
    enum sbx_code rc = next_piece(p, err); /* what came with the head */

    p->in_done = p->x->in < 0;
    p->resize_fd = p->x->resize_fd;
    p->signal_fd = p->x->signal_fd;
    if (!rc && p->x->tty && p->x->winsize)
        resize(p);
    while (!rc && !(p->ended && !p->piece.len))
        rc = turn(p, err);
    return rc;
}

/* A reader that goes away is an answer of write() here, not the end of this program. */
enum sbx_code docker_pump(struct docker_pump *p, struct sbx_err *err)
{
    static const struct timespec now = { 0, 0 };
    sigset_t pipe_set, before, pending;
    bool was_pending;
    enum sbx_code rc;

    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_set, &before);
    rc = run(p, err);
    while (!was_pending && sigtimedwait(&pipe_set, NULL, &now) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}
