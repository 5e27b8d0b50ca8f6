/* Commands of ours inside the container, with their output line by line. */
#include "steps.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#define LINE_MAX_BYTES 8192 /* bytes of a line shown; longer ones are broken */

struct reader {
    struct sbx_engine *e;
    const struct sbx_inside *x;
    int fd;
    char line[LINE_MAX_BYTES];
    size_t len;
};

static void keep(struct sbx_tail *t, const char *line)
{
    if (t->n == SBX_TAIL_LINES)
        memmove(t->lines[0], t->lines[1], sizeof(t->lines) - sizeof(t->lines[0]));
    else
        t->n++;
    snprintf(t->lines[t->n - 1], sizeof(t->lines[0]), "%.*s", SBX_TAIL_BYTES - 1, line);
}

static void flush(struct reader *r)
{
    r->line[r->len] = '\0';
    r->len = 0;
    if (r->x->tail && *r->line)
        keep(r->x->tail, r->line);
    if (r->x->step)
        sbx_event_send(r->e, SBX_EVENT_OUTPUT, r->x->step, "%s", r->line);
}

static void take(struct reader *r, const char *data, size_t n)
{
    if (r->x->out) { /* past its bound the rest is drained: the command must not block */
        if (sbx_buf_add(r->x->out, data, n))
            return;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (data[i] == '\n' || data[i] == '\r' || r->len == sizeof(r->line) - 1) {
            if (r->len)
                flush(r);
            if (data[i] == '\n' || data[i] == '\r')
                continue;
        }
        r->line[r->len++] = data[i];
    }
}

static void *read_all(void *arg)
{
    struct reader *r = arg;
    char data[16384];
    ssize_t n;

    while ((n = read(r->fd, data, sizeof(data))) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            take(r, data, (size_t)n);
    if (r->len)
        flush(r);
    return NULL;
}

/* Turns the user's interrupt into signals for the process, harder each time. */
struct watcher {
    int interrupt_fd, stop_fd, signal_fd;
};

static void *watch(void *arg)
{
    static const unsigned char signals[] = { SIGINT, SIGTERM, SIGKILL };
    struct watcher *w = arg;
    struct pollfd p[] = { { .fd = w->stop_fd, .events = POLLIN },
                          { .fd = w->interrupt_fd, .events = POLLIN } };

    for (size_t i = 0; i < sizeof(signals); i++) {
        if (i && poll(p, 1, 1000) != 0) /* one second to follow each */
            return NULL;
        if (!i && (poll(p, 2, -1) <= 0 || p[0].revents))
            return NULL;
        if (write(w->signal_fd, &signals[i], 1) != 1)
            return NULL;
    }
    return NULL;
}

const char *const *sbx_user_env(const struct sbx_box *box, const char *user)
{
    static const char *const root[] = { "HOME=/root", "USER=root", NULL };
    const char *home = sbx_plan_env_get(box->plan, "HOME");
    bool is_root = user && (!strcmp(user, "0") || !strcmp(user, "root") ||
                            !strncmp(user, "0:", 2) || !strncmp(user, "root:", 5));

    return is_root && home && !strcmp(home, SBX_AGENT_HOME) ? root : NULL;
}

static enum sbx_code run(struct sbx_box *box, const struct sbx_inside *x, int out, int signal_fd,
                         int *ret_status, struct sbx_err *err)
{
    struct sbx_exec exec = {
        .argv = x->argv, .env = x->env ? x->env : sbx_user_env(box, x->user), .user = x->user,
        .workdir = x->workdir, .in = x->in, .out = out, .err_fd = out, .resize_fd = -1,
        .signal_fd = signal_fd,
    };

    return sbx_runtime_exec(box->rt, box->record.container, &exec, ret_status, err);
}

static enum sbx_code with_watcher(struct sbx_box *box, const struct sbx_inside *x, int out,
                                  int *ret_status, struct sbx_err *err)
{
    int stop[2], signals[2];
    struct watcher w;
    pthread_t thread;
    enum sbx_code rc;

    if (box->e->config.interrupt_fd < 0)
        return run(box, x, out, -1, ret_status, err);
    if (pipe2(stop, O_CLOEXEC))
        return sbx_err_errno(err, "pipe");
    if (pipe2(signals, O_CLOEXEC)) {
        close(stop[0]);
        close(stop[1]);
        return sbx_err_errno(err, "pipe");
    }
    w = (struct watcher){ box->e->config.interrupt_fd, stop[0], signals[1] };
    if (pthread_create(&thread, NULL, watch, &w)) {
        rc = sbx_err_set(err, SBX_FAILED, "cannot start a thread");
    } else {
        rc = run(box, x, out, signals[0], ret_status, err);
        close(stop[1]);
        stop[1] = -1;
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < 2; i++) {
        if (stop[i] >= 0)
            close(stop[i]);
        close(signals[i]);
    }
    return rc;
}

enum sbx_code sbx_inside(struct sbx_box *box, const struct sbx_inside *x, int *ret_status,
                         struct sbx_err *err)
{
    struct reader *r = calloc(1, sizeof(*r));
    pthread_t thread;
    int ends[2];
    enum sbx_code rc;

    if (!r)
        return sbx_out_of_memory(err);
    if (pipe2(ends, O_CLOEXEC)) {
        free(r);
        return sbx_err_errno(err, "pipe");
    }
    *r = (struct reader){ .e = box->e, .x = x, .fd = ends[0] };
    if (pthread_create(&thread, NULL, read_all, r)) {
        rc = sbx_err_set(err, SBX_FAILED, "cannot start a thread");
        close(ends[1]);
    } else {
        rc = with_watcher(box, x, ends[1], ret_status, err);
        close(ends[1]);
        pthread_join(thread, NULL);
    }
    close(ends[0]);
    free(r);
    if (sbx_interrupted(box->e, NULL))
        return sbx_interrupted(box->e, err);
    return rc;
}

const char *sbx_tail_text(const struct sbx_tail *t, size_t lines, struct sbx_arena *arena)
{
    const char *text = "";
    size_t from = t->n > lines ? t->n - lines : 0;

    for (size_t i = from; text && i < t->n; i++)
        text = sbx_arena_printf(arena, "%s%s%s", text, i > from ? "\n" : "", t->lines[i]);
    return text;
}
