#include "box.h"

#include "sbx/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum sbx_code sbx_out_of_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

const char *sbx_now(struct sbx_arena *arena)
{
    struct timespec t;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &t);
    gmtime_r(&t.tv_sec, &tm);
    return sbx_arena_printf(arena, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", tm.tm_year + 1900,
                            tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                            t.tv_nsec / 1000000);
}

const char *sbx_box_path(struct sbx_box *box, const char *fmt, ...)
{
    char rest[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(rest, sizeof(rest), fmt, args);
    va_end(args);
    return sbx_arena_printf(box->arena, "%s/%s", box->dir, rest);
}

static enum sbx_code begin(struct sbx_engine *e, const char *name, struct sbx_box *box,
                           struct sbx_err *err)
{
    box->e = e;
    box->arena = sbx_arena_new();
    box->name = box->arena ? sbx_arena_strdup(box->arena, name) : NULL;
    if (!box->name || asprintf(&box->dir, "%s/sandboxes/%s", e->paths.state, name) < 0)
        return sbx_out_of_memory(err);
    return SBX_OK;
}

/* Open the directory and its record; neither need be there. */
static enum sbx_code look(struct sbx_box *box, struct sbx_err *err)
{
    struct sbx_err inner = SBX_ERR_INIT;
    enum sbx_code rc;

    box->dirfd = open(box->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (box->dirfd < 0)
        return errno == ENOENT ? SBX_OK : sbx_err_errno(err, "sandbox %s: %s", box->name, box->dir);
    rc = sbx_state_read(box->dirfd, box->arena, &box->record, &inner);
    box->has_record = !rc;
    if (rc == SBX_NO_MEMORY)
        return sbx_out_of_memory(err);
    if (rc) /* what was read of it is no record */
        box->record = (struct sbx_record){ 0 };
    if (rc && rc != SBX_NOT_FOUND && !(box->broken = sbx_arena_strdup(box->arena, inner.text)))
        return sbx_out_of_memory(err);
    return SBX_OK;
}

enum sbx_code sbx_box_broken(struct sbx_box *box, struct sbx_err *err)
{
    if (!box->broken)
        return SBX_OK;
    return sbx_err_set(err, SBX_FAILED,
                       "sandbox %s: its record %s/sandbox.json cannot be read (%s); put it back, or "
                       "remove the sandbox with \"sbx rm %s\"",
                       box->name, box->dir, box->broken, box->name);
}

enum sbx_code sbx_box_lock(struct sbx_engine *e, const char *name, struct sbx_box *box,
                           struct sbx_err *err)
{
    enum sbx_code rc = begin(e, name, box, err);

    if (!rc && !e->resetting)
        rc = sbx_lock_app(e, false, &box->app_lock, err);
    if (!rc)
        rc = sbx_lock_name(e, name, &box->lock, err);
    return rc ? rc : look(box, err);
}

enum sbx_code sbx_box_peek(struct sbx_engine *e, const char *name, struct sbx_box *box,
                           struct sbx_err *err)
{
    enum sbx_code rc = begin(e, name, box, err);

    if (!rc)
        rc = look(box, err);
    if (!rc && box->dirfd < 0)
        rc = sbx_err_set(err, SBX_NOT_FOUND, "sandbox %s not found", name);
    return rc;
}

enum sbx_runtime_kind sbx_box_runtime_kind(const struct sbx_box *box)
{
    if (!strcmp(box->record.runtime, "docker"))
        return SBX_RUNTIME_DOCKER;
    return !strcmp(box->record.runtime, "oci") ? SBX_RUNTIME_OCI : SBX_RUNTIME_FAKE;
}

enum sbx_code sbx_box_open(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code rc;

    if (box->dirfd < 0) {
        sbx_lock_drop(box->e, box->name);
        return sbx_err_set(err, SBX_NOT_FOUND, "sandbox %s not found", box->name);
    }
    rc = sbx_box_broken(box, err);
    if (rc)
        return rc;
    if (!box->has_record || box->record.phase == SBX_STATE_CREATING)
        return sbx_err_set(err, SBX_FAILED,
                           "sandbox %s was never completed (its create was cut off); remove it with "
                           "\"sbx rm %s\"",
                           box->name, box->name);
    rc = sbx_planfile_read(box, err);
    if (!rc)
        rc = sbx_engine_runtime(box->e, sbx_box_runtime_kind(box), &box->rt, err);
    if (rc)
        return sbx_err_wrap(err, rc, "sandbox %s", box->name);
    box->info = sbx_runtime_info(box->rt);
    return SBX_OK;
}

static enum sbx_code save(struct sbx_box *box, bool durable, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_STATE_MAX);
    enum sbx_code rc = sbx_state_text(&box->record, &text, err);

    if (!rc)
        rc = durable ? sbx_file_write(box->dirfd, "sandbox.json", text.ptr, text.len, 0600, err)
                     : sbx_put(box, "sandbox.json", text.ptr, text.len, 0600, err);
    return rc ? sbx_err_wrap(err, rc, "state of sandbox %s", box->name) : SBX_OK;
}

enum sbx_code sbx_box_save(struct sbx_box *box, struct sbx_err *err)
{
    bool first = !box->record.container && !box->record.generation;
    bool engine = box->info && box->info->kind == SBX_RUNTIME_DOCKER;

    return save(box, box->record.phase != SBX_STATE_CREATING || (first && engine), err);
}

enum sbx_code sbx_box_settle(struct sbx_box *box, enum sbx_state_phase phase, struct sbx_err *err)
{
    enum sbx_code rc;

    box->record.phase = phase;
    rc = save(box, false, err);
    return rc ? rc : sbx_put_settle(box, err);
}

void sbx_box_unlock(struct sbx_box *box)
{
    if (box->lock >= 0)
        close(box->lock);
    if (box->app_lock >= 0)
        close(box->app_lock);
    box->lock = box->app_lock = -1;
}

void sbx_box_release(struct sbx_box *box)
{
    if (box->dirfd >= 0)
        close(box->dirfd);
    if (box->gate_status >= 0)
        close(box->gate_status);
    if (box->steps >= 0)
        close(box->steps);
    sbx_box_unlock(box);
    sbx_plan_free(box->plan);
    free(box->dir);
    sbx_arena_free(box->arena);
    *box = (struct sbx_box)SBX_BOX_INIT;
}
