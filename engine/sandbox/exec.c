/* Processes that users run inside; the agent is one of them. */
#include "net.h"
#include "steps.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

#define USED_FRESH_S 60 /* last_used_at is written anew after that: each write costs a sync */

/* ---- a gate that dies while a process is attached is back within a second ---- */

struct guard {
    struct sbx_engine *e;
    const char *name;
    int stop_fd;
};

/* Wait for the end of the gate, or of the session (then false). */
static bool wait_for_death(struct guard *g)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    struct sbx_pidfile gate;
    struct pollfd p[2] = { { .fd = g->stop_fd, .events = POLLIN }, { .fd = -1, .events = POLLIN } };
    SBX_AUTO_FD int pidfd = -1;

    if (sbx_box_peek(g->e, g->name, &box, NULL) || !sbx_pidfile_read(&box, "net/gate.pid.json", &gate))
        return false;
    pidfd = (int)syscall(SYS_pidfd_open, gate.pid, 0);
    if (pidfd < 0 || !sbx_process_alive(&gate))
        return poll(p, 1, 0) == 0;
    p[1].fd = pidfd;
    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    return !p[0].revents;
}

static void *guard_gate(void *arg)
{
    struct guard *g = arg;
    struct pollfd stop = { .fd = g->stop_fd, .events = POLLIN };

    while (wait_for_death(g)) {
        SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
        struct sbx_err err = SBX_ERR_INIT;
        enum sbx_code rc = sbx_box_lock(g->e, g->name, &box, &err);

        if (!rc && (box.dirfd < 0 || !box.has_record)) {
            if (box.dirfd < 0) /* removed meanwhile: nor does its lock stay */
                sbx_lock_drop(g->e, g->name);
            return NULL;
        }
        if (!rc)
            rc = sbx_net_ensure(&box, &err);
        if (rc == SBX_UNAVAILABLE)
            return NULL; /* the container ended: nothing to guard */
        if (rc && poll(&stop, 1, 500) != 0)
            return NULL;
    }
    return NULL;
}

/* ---- run ---- */

static enum sbx_code run_guarded(struct sbx_box *box, const struct sbx_exec *exec, int *ret_status,
                                 struct sbx_err *err)
{
    struct guard g = { box->e, box->name, -1 };
    pthread_t thread;
    int ends[2];
    enum sbx_code rc;

    if (box->record.net == SBX_NET_NONE)
        return sbx_runtime_exec(box->rt, box->record.container, exec, ret_status, err);
    if (pipe2(ends, O_CLOEXEC))
        return sbx_err_errno(err, "pipe");
    g.stop_fd = ends[0];
    if (pthread_create(&thread, NULL, guard_gate, &g)) {
        rc = sbx_err_set(err, SBX_FAILED, "cannot start a thread");
        close(ends[1]);
    } else {
        rc = sbx_runtime_exec(box->rt, box->record.container, exec, ret_status, err);
        close(ends[1]);
        pthread_join(thread, NULL);
    }
    close(ends[0]);
    return rc;
}

/* Up without a lock when all is as it was left: parallel execs do not wait for each other. */
static bool is_up(struct sbx_box *box)
{
    struct sbx_container c;

    return box->record.started_at && box->record.container && box->record.phase == SBX_STATE_READY &&
           !sbx_runtime_inspect(box->rt, box->record.container, box->arena, &c, NULL) && c.running &&
           !strcmp(c.started_at, box->record.started_at) &&
           (box->record.net == SBX_NET_NONE || sbx_gate_alive(box));
}

static bool used_lately(const struct sbx_box *box)
{
    const char *now = sbx_now(box->arena);

    /* equal but for the seconds: the same minute */
    return now && !strncmp(now, box->record.last_used_at, strlen("2026-01-01T00:00"));
}

static enum sbx_code bring_up(struct sbx_engine *e, const char *name, struct sbx_box *box,
                              struct sbx_err *err)
{
    enum sbx_code rc = sbx_box_peek(e, name, box, err);

    if (rc)
        return rc;
    if (box->has_record && box->record.phase == SBX_STATE_CREATING && sbx_lock_held(e, name))
        return sbx_err_set(err, SBX_BUSY, "sandbox %s is being created", name);
    rc = sbx_box_open(box, err);
    if (rc || (is_up(box) && used_lately(box)))
        return rc;
    sbx_box_release(box);
    *box = (struct sbx_box)SBX_BOX_INIT;
    rc = sbx_box_lock(e, name, box, err);
    if (!rc)
        rc = sbx_box_open(box, err);
    if (!rc && box->record.phase == SBX_STATE_READY)
        rc = sbx_box_up(box, SBX_AT_START, err);
    if (!rc) {
        box->record.last_used_at = sbx_now(box->arena);
        rc = sbx_box_save(box, err);
    }
    return rc;
}

/* Signals are on their way to a process that is not there yet: until then they end what we wait for. */
static enum sbx_code bring_up_for(struct sbx_engine *e, const char *name,
                                  const struct sbx_streams *s, struct sbx_box *box,
                                  struct sbx_err *err)
{
    int before = e->config.interrupt_fd;
    enum sbx_code rc;

    if (s->signal_fd >= 0)
        sbx_engine_interrupt_by(e, s->signal_fd);
    rc = bring_up(e, name, box, err);
    sbx_engine_interrupt_by(e, before);
    return rc;
}

static const char *const *join_env(struct sbx_arena *arena, const char *const *a,
                                   const char *const *b)
{
    size_t n = 0, k = 0;
    const char **v;

    while (a && a[n])
        n++;
    while (b && b[k])
        k++;
    v = sbx_arena_array(arena, n + k + 1, sizeof(*v));
    for (size_t i = 0; v && i < n; i++)
        v[i] = a[i];
    for (size_t i = 0; v && i < k; i++)
        v[n + i] = b[i];
    return v;
}

static enum sbx_code run(struct sbx_box *box, const struct sbx_command *c, int *ret_status,
                         struct sbx_err *err)
{
    const char *user = c->user ? c->user : "1000";
    const struct sbx_streams *s = &c->streams;
    struct sbx_exec exec = {
        .argv = c->argv, .user = user, .workdir = c->workdir ? c->workdir : box->plan->workdir,
        .env = join_env(box->arena, sbx_user_env(box, user), c->env), .tty = s->tty, .in = s->in,
        .out = s->out, .err_fd = s->err_fd, .resize_fd = s->resize_fd, .winsize = s->winsize,
        .ctx = s->ctx, .signal_fd = s->signal_fd, .privileged = c->privileged,
    };
    SBX_AUTO_FD int session = -1;
    enum sbx_code rc = exec.env ? sbx_session_begin(box, &session, err) : sbx_out_of_memory(err);

    if (rc)
        return rc;
    sbx_box_unlock(box);
    return run_guarded(box, &exec, ret_status, err);
}

enum sbx_code sbx_sandbox_exec(struct sbx_engine *e, const char *name, const struct sbx_command *c,
                               int *ret_status, struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    enum sbx_code rc = sbx_name_check(name, err);

    if (!rc)
        rc = bring_up_for(e, name, &c->streams, &box, err);
    if (!rc && box.record.learned)
        sbx_gate_step(&box, "exec");
    return rc ? rc : run(&box, c, ret_status, err);
}

enum sbx_code sbx_sandbox_launch(struct sbx_engine *e, const char *name, bool interactive,
                                 const char *const *args, const char *const *env,
                                 const struct sbx_streams *streams, int *ret_status,
                                 struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    struct sbx_command c = { .env = env, .streams = *streams };
    enum sbx_code rc = sbx_name_check(name, err);

    if (!rc)
        rc = bring_up_for(e, name, streams, &box, err);
    if (rc)
        return rc;
    c.argv = sbx_plan_launch(box.plan, interactive, args, box.arena);
    if (!c.argv)
        return sbx_out_of_memory(err);
    sbx_gate_step(&box, "agent");
    rc = sbx_history_add(&box, "agent-started", NULL, err);
    return rc ? rc : run(&box, &c, ret_status, err);
}
