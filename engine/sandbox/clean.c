/* Removal: of a sandbox, of what a crash left, of everything. */
#include "net.h"
#include "workspace.h"

#include "sbx/file.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define IN_FLIGHT_S 10 /* an Engine makes a container within a second or two, on a slow disk too */
#define AGAIN_MS 100
#define HASH_DIGITS 8 /* of a volume's name */

/* By id where it is known, else by name: a crash may lie between making and remembering. */
static enum sbx_code remove_container(struct sbx_box *box, struct sbx_runtime *rt, const char *id,
                                      const char *name, struct sbx_err *err)
{
    struct sbx_container c;
    enum sbx_code rc;

    if (id) {
        rc = sbx_runtime_remove(rt, id, err);
        if (rc)
            return rc;
    }
    rc = sbx_runtime_inspect(rt, name, box->arena, &c, err);
    if (rc == SBX_NOT_FOUND)
        return SBX_OK;
    if (!rc && !sbx_container_is_ours(box->e, rt, &c))
        return SBX_OK;
    return rc ? rc : sbx_runtime_remove(rt, c.id, err);
}

/* They are NAME-HHHHHHHH (container.c). */
static bool is_volume_of(const char *volume, const char *name)
{
    size_t len = strlen(name);

    return !strncmp(volume, name, len) && volume[len] == '-' &&
           strspn(volume + len + 1, "0123456789abcdef") == HASH_DIGITS &&
           !volume[len + 1 + HASH_DIGITS];
}

/* The names of volumes went with the record. */
static enum sbx_code remove_volumes_by_name(struct sbx_box *box, struct sbx_runtime *rt,
                                            struct sbx_err *err)
{
    const char **all = NULL;
    struct sbx_container c;
    size_t n = 0;
    enum sbx_code rc = sbx_runtime_inspect(rt, box->name, box->arena, &c, NULL);

    if (!rc) /* another user's sandbox of this name: they are its */
        return SBX_OK;
    rc = sbx_runtime_volume_list(rt, box->arena, &all, &n, err);
    for (size_t i = 0; !rc && i < n; i++)
        if (is_volume_of(all[i], box->name))
            rc = sbx_runtime_volume_remove(rt, all[i], err);
    return rc;
}

static enum sbx_code try_remove(struct sbx_box *box, struct sbx_runtime *rt, struct sbx_err *err)
{
    char holder[SBX_SANDBOX_NAME_MAX + 16];
    enum sbx_code rc = remove_container(box, rt, box->record.container, box->name, err);

    snprintf(holder, sizeof(holder), "%s_holder", box->name);
    if (!rc && (!box->has_record || box->record.net == SBX_NET_HOLDER))
        rc = remove_container(box, rt, box->record.holder, holder, err);
    for (const char *const *v = box->record.volumes; !rc && v && *v; v++)
        rc = sbx_runtime_volume_remove(rt, *v, err);
    if (!rc && box->broken)
        rc = remove_volumes_by_name(box, rt, err);
    return rc;
}

/*
 * Was an Engine asked for a container by a command that ended before the answer, and may it be at it
 * still? Nobody else is asking: we hold the lock.
 */
static bool in_flight(struct sbx_box *box, struct sbx_runtime *rt)
{
    SBX_AUTO(sbx_buf) name = SBX_BUF_INIT(SBX_STATE_MAX);
    struct sbx_container c;
    struct stat st;

    return sbx_runtime_info(rt)->kind == SBX_RUNTIME_DOCKER &&
           !fstatat(box->dirfd, SBX_ASKED, &st, 0) && time(NULL) - st.st_mtime < IN_FLIGHT_S &&
           !sbx_file_read(box->dirfd, SBX_ASKED, &name, NULL) && name.len &&
           sbx_runtime_inspect(rt, name.ptr, box->arena, &c, NULL) == SBX_NOT_FOUND;
}

/* A volume is in use for a moment by what is being made or was just removed: tried again for a while. */
static enum sbx_code remove_from(struct sbx_box *box, struct sbx_runtime *rt, struct sbx_err *err)
{
    int64_t until = sbx_now_ms() + IN_FLIGHT_S * 1000;
    enum sbx_code rc;

    while (in_flight(box, rt) && sbx_now_ms() < until)
        poll(NULL, 0, AGAIN_MS);
    while ((rc = try_remove(box, rt, err)) == SBX_BUSY && sbx_now_ms() < until &&
           sbx_runtime_info(rt)->kind == SBX_RUNTIME_DOCKER)
        poll(NULL, 0, AGAIN_MS);
    return rc;
}

static enum sbx_code remove_runtime_parts(struct sbx_box *box, struct sbx_err *err)
{
    static const enum sbx_runtime_kind all[] = { SBX_RUNTIME_DOCKER, SBX_RUNTIME_OCI };
    struct sbx_runtime *rt = box->rt;
    enum sbx_code rc;

    if (rt)
        return remove_from(box, rt, err);
    if (box->has_record) {
        rc = sbx_engine_runtime(box->e, sbx_box_runtime_kind(box), &rt, err);
        return rc ? rc : remove_from(box, rt, err);
    }
    if (box->e->runtimes[SBX_RUNTIME_FAKE])
        return remove_from(box, box->e->runtimes[SBX_RUNTIME_FAKE], err);
    for (size_t i = 0; i < SBX_ARRAY_LEN(all); i++) /* no record: nothing was made, or it is broken */
        if (!sbx_engine_runtime(box->e, all[i], &rt, NULL)) {
            rc = remove_from(box, rt, err);
            if (rc)
                return rc;
        }
    return SBX_OK;
}

enum sbx_code sbx_box_clean(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK, removed;
    SBX_AUTO_FD int config = -1;

    if (box->dirfd < 0) {
        sbx_lock_drop(box->e, box->name);
        return SBX_OK;
    }
    removed = remove_runtime_parts(box, err);
    sbx_net_end(box);
    sbx_workspaces_unmount(box->dir);
    if (removed) /* the state is what a next try goes by */
        return sbx_err_wrap(err, removed, "remove %s", box->name);
    sbx_logs_keep(box);
    config = sbx_gate_lock(box); /* a rule that is written now would keep the directory from going */
    rc = sbx_dir_remove(AT_FDCWD, box->dir, err);
    if (rc)
        return sbx_err_wrap(err, rc, "remove %s", box->name);
    close(box->dirfd);
    box->dirfd = -1;
    box->has_record = false;
    return SBX_OK;
}

enum sbx_code sbx_sandbox_remove(struct sbx_engine *e, const char *name, bool force,
                                 struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    enum sbx_code rc = sbx_name_check(name, err);
    size_t sessions;

    if (!rc)
        rc = sbx_box_lock(e, name, &box, err);
    if (rc)
        return rc;
    if (box.dirfd < 0) {
        sbx_lock_drop(e, name);
        return sbx_err_set(err, SBX_NOT_FOUND, "sandbox %s not found", name);
    }
    sessions = force ? 0 : sbx_sessions(box.dir);
    if (sessions)
        return sbx_err_set(err, SBX_BUSY, "sandbox %s is in use by %zu session%s; --force ends %s",
                           name, sessions, sessions > 1 ? "s" : "", sessions > 1 ? "them" : "it");
    rc = sbx_box_clean(&box, err);
    if (!rc) /* what was for this one is not for the next one of its name */
        rc = sbx_inject_drop(e, name, err);
    if (!rc)
        sbx_lock_drop(e, name);
    return rc;
}

static enum sbx_code remove_all(struct sbx_engine *e, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const char *const *names;
    size_t n = 0;
    enum sbx_code rc = arena ? sbx_sandbox_names(e, arena, &names, &n, err)
                             : sbx_out_of_memory(err);

    for (size_t i = 0; !rc && i < n; i++) {
        rc = sbx_sandbox_remove(e, names[i], true, err);
        if (rc == SBX_NOT_FOUND)
            rc = SBX_OK;
    }
    return rc;
}

/* Another user's, of the same Engine: its container says of which state directory it is. */
static bool is_foreign_volume(struct sbx_engine *e, const struct sbx_runtime *rt,
                              const struct sbx_container *list, size_t n, const char *volume)
{
    for (size_t i = 0; i < n; i++)
        if (!sbx_container_is_ours(e, rt, &list[i]) && is_volume_of(volume, list[i].name))
            return true;
    return false;
}

/* What the app has at a runtime without any record here: of a state directory that was deleted. */
static enum sbx_code remove_strays(struct sbx_engine *e, enum sbx_runtime_kind kind,
                                   struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_runtime *rt;
    struct sbx_container *list = NULL;
    const char **volumes = NULL;
    size_t n = 0, n_volumes = 0;
    enum sbx_code rc;

    if (sbx_engine_runtime(e, kind, &rt, NULL))
        return SBX_OK; /* no such runtime here */
    rc = sbx_runtime_list(rt, arena, &list, &n, err);
    for (size_t i = 0; !rc && i < n; i++)
        if (sbx_container_is_ours(e, rt, &list[i]))
            rc = sbx_runtime_remove(rt, list[i].id, err);
    if (!rc && sbx_runtime_volume_list(rt, arena, &volumes, &n_volumes, err))
        n_volumes = 0;
    for (size_t i = 0; !rc && i < n_volumes; i++)
        if (!is_foreign_volume(e, rt, list, n, volumes[i]))
            rc = sbx_runtime_volume_remove(rt, volumes[i], err);
    return rc;
}

enum sbx_code sbx_engine_reset(struct sbx_engine *e, struct sbx_err *err)
{
    SBX_AUTO_FD int lock = -1;
    bool fake = e->runtimes[SBX_RUNTIME_FAKE] != NULL;
    enum sbx_code rc = sbx_lock_app(e, true, &lock, err);

    if (rc)
        return rc;
    e->resetting = true;
    rc = remove_all(e, err);
    if (!rc && !fake)
        rc = remove_strays(e, SBX_RUNTIME_DOCKER, err);
    if (!rc && !fake)
        rc = remove_strays(e, SBX_RUNTIME_OCI, err);
    if (!rc && fake)
        rc = remove_strays(e, SBX_RUNTIME_FAKE, err);
    e->resetting = false;
    for (size_t i = 0; !rc && i < 3; i++) {
        static const char *const ours[] = { "sandboxes", "logs", "locks" };
        char path[4096];

        snprintf(path, sizeof(path), "%s/%s", e->paths.state, ours[i]);
        rc = sbx_dir_remove(AT_FDCWD, path, err);
    }
    return rc ? sbx_err_wrap(err, rc, "reset") : SBX_OK;
}
