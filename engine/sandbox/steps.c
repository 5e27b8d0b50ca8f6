/*
 * The plan's steps, in their order. Steps of files that follow each other are one batch: an exec costs a
 * container runtime 30 ms and more, writing a file microseconds.
 */
#include "net.h"
#include "steps.h"

#include "sbx/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* A step that failed: fatal at create (F5, F7), told at a later start (F4, F7). */
static enum sbx_code judge(struct sbx_box *box, unsigned when, const char *what, enum sbx_code rc,
                           struct sbx_err *err)
{
    if (!rc || rc == SBX_CANCELED || rc == SBX_UNSUPPORTED || when & (SBX_AT_CREATE | SBX_AT_ADD) ||
        box->record.strict_startup)
        return rc ? sbx_err_wrap(err, rc, "%s", what) : SBX_OK;
    sbx_event_send(box->e, SBX_EVENT_WARNING, NULL, "%s failed: %s", what, err->text);
    return sbx_history_add(box, "step-failed",
                          json_pack("{s:s, s:s}", "step", what, "error", err->text), err);
}

static const char *describe(const struct sbx_plan_step *s)
{
    static const char *const texts[SBX_PHASE_COUNT] = {
        [SBX_PHASE_DEFAULTS] = "Set up names, proxy and trust",
        [SBX_PHASE_HOME] = "Copy the kits' home files",
        [SBX_PHASE_HOME_AGAIN] = "Put the kits' home files back over the installers'",
        [SBX_PHASE_SETUP_FILES] = "Write setup files",
        [SBX_PHASE_STARTUP] = "Write the list of startup commands",
        [SBX_PHASE_WORKSPACE_FILES] = "Copy the kits' workspace files",
        [SBX_PHASE_INSTRUCTIONS] = "Write agent instructions",
    };

    return texts[s->phase] ? texts[s->phase] : "";
}

static enum sbx_code flush(struct sbx_box *box, struct sbx_pending *p, unsigned when,
                           unsigned long long cookie, struct sbx_err *err)
{
    struct sbx_stage stages[SBX_PENDING_MAX];
    enum sbx_code rc = SBX_OK;
    size_t n = p->n;

    for (size_t i = 0; i < n; i++)
        stages[i] = sbx_stage_begin(box, p->steps[i], "%s", describe(p->steps[i]));
    if (n)
        rc = p->defaults ? sbx_run_defaults(box, &p->batch, cookie, when, err)
                         : sbx_batch_run(box, &p->batch, NULL, err);
    if (n)
        rc = judge(box, when, p->steps[n - 1]->id, rc, err);
    for (size_t i = 0; i < n; i++)
        sbx_stage_end(&stages[i], rc);
    sbx_batch_release(&p->batch);
    p->n = 0;
    p->defaults = false;
    return rc;
}

static enum sbx_code queue_files(struct sbx_batch *b, const struct sbx_plan_step *s,
                                 struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < s->n_files; i++)
        rc = sbx_batch_file(b, &s->files[i], err);
    return rc;
}

static bool same_content(const struct sbx_plan_file *f)
{
    SBX_AUTO(sbx_buf) there = SBX_BUF_INIT(SBX_KIT_FILE_MAX);
    char digest[SBX_DIGEST_TEXT_SIZE];

    return !sbx_file_read(AT_FDCWD, f->path, &there, NULL) && there.len == f->size &&
           !sbx_digest(there.ptr ? there.ptr : "", there.len, digest) && !strcmp(digest, f->digest);
}

/* The kit's file hides one of the user's, at every start (seed pitfalls 17). */
static void banner(struct sbx_box *box, const struct sbx_plan_step *s)
{
    for (size_t i = 0; i < s->n_files; i++) {
        struct stat st;

        if (!lstat(s->files[i].path, &st) && !same_content(&s->files[i]))
            sbx_event_send(box->e, SBX_EVENT_WARNING, s->id,
                           "*** kit %s overwrites %s in your working copy, now and at every start",
                           s->files[i].kit, s->files[i].path);
    }
}

static enum sbx_code queue(struct sbx_box *box, struct sbx_pending *p,
                           const struct sbx_plan_step *s, unsigned when, struct sbx_err *err)
{
    enum sbx_code rc;

    if (p->n == SBX_PENDING_MAX)
        return sbx_err_set(err, SBX_LIMIT, "more than %d phases of files", SBX_PENDING_MAX);
    switch (s->phase) {
    case SBX_PHASE_DEFAULTS:
        p->defaults = true;
        rc = sbx_queue_defaults(box, &p->batch, s, when, err);
        break;
    case SBX_PHASE_STARTUP:
        rc = sbx_queue_startup(box, &p->batch, err);
        break;
    case SBX_PHASE_INSTRUCTIONS:
        rc = sbx_queue_instructions(box, &p->batch, s, err);
        break;
    default:
        if (s->phase == SBX_PHASE_WORKSPACE_FILES && box->record.sources[0])
            banner(box, s);
        rc = queue_files(&p->batch, s, err);
    }
    if (!rc && p->batch.n)
        p->steps[p->n++] = s;
    return rc ? sbx_err_wrap(err, rc, "%s", s->id) : SBX_OK;
}

struct run {
    struct sbx_box *box;
    struct sbx_pending pending;
    unsigned when;
    unsigned long long cookie;
    bool installed, startup_queued, started;
};

static enum sbx_code run_install(struct run *r, const struct sbx_plan_step *s, struct sbx_err *err)
{
    enum sbx_code rc = flush(r->box, &r->pending, r->when, r->cookie, err);

    r->installed = true;
    return rc ? rc : sbx_step_install(r->box, s, err);
}

/* Everything before is written, PID 1 may go on; what comes later waits for its foreground commands. */
static enum sbx_code run_startup(struct run *r, struct sbx_err *err)
{
    enum sbx_code rc = flush(r->box, &r->pending, r->when, r->cookie, err);

    r->started = true;
    sbx_gate_step(r->box, "startup");
    if (!rc)
        rc = sbx_step_startup(r->box, r->when, r->cookie, err);
    if (!rc && !r->box->record.learned) /* a learning sandbox names who asks next */
        sbx_gate_step(r->box, "");
    return rc;
}

static enum sbx_code run_step(struct run *r, const struct sbx_plan_step *s, struct sbx_err *err)
{
    enum sbx_code rc = sbx_interrupted(r->box->e, err);

    if (rc)
        return rc;
    if (s->phase == SBX_PHASE_INSTALL)
        return run_install(r, s, err);
    if (r->installed) {
        r->installed = false;
        sbx_event_send(r->box->e, SBX_EVENT_NOTE, NULL, "Install commands completed");
    }
    if (s->phase == SBX_PHASE_STARTUP && r->startup_queued)
        return SBX_OK; /* one step stands for all: they are one list */
    r->startup_queued |= s->phase == SBX_PHASE_STARTUP;
    if (s->phase > SBX_PHASE_STARTUP && r->startup_queued && !r->started) {
        rc = run_startup(r, err);
        if (rc)
            return rc;
    }
    return queue(r->box, &r->pending, s, r->when, err);
}

enum sbx_code sbx_steps_run(struct sbx_box *box, unsigned when, unsigned long long cookie,
                            struct sbx_err *err)
{
    struct run r = { .box = box, .when = when, .cookie = cookie,
                     .pending = { .batch = SBX_BATCH_INIT } };
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < box->plan->n_steps; i++)
        if (box->plan->steps[i].when & when && box->plan->steps[i].phase >= SBX_PHASE_DEFAULTS)
            rc = run_step(&r, &box->plan->steps[i], err);
    if (!rc && r.installed)
        sbx_event_send(box->e, SBX_EVENT_NOTE, NULL, "Install commands completed");
    if (!rc && !r.started)
        rc = run_startup(&r, err);
    if (!rc)
        rc = flush(box, &r.pending, when, cookie, err);
    sbx_batch_release(&r.pending.batch);
    return rc;
}
