#include "backend.h"

#include <string.h>

#include "names.h"

/* Arguments are checked here, context is added here; the work is the backend's slot. */

static enum sbx_code missing(struct sbx_err *err, const char *what, const char *of)
{
    return sbx_err_set(err, SBX_FAILED, "%s: %s is missing", of, what);
}

#define NEED(value, of)                                                                            \
    do {                                                                                           \
        if (!(value))                                                                              \
            return missing(err, #value, of);                                                       \
    } while (0)
#define NEED_TEXT(text, of) NEED((text) && *(text), of)

static enum sbx_code context(struct sbx_err *err, enum sbx_code rc, const char *doing,
                             const char *with)
{
    return rc ? sbx_err_wrap(err, rc, "%s %s", doing, with) : SBX_OK;
}

/* ---- images ---- */

enum sbx_code sbx_runtime_image_ensure(struct sbx_runtime *rt, const char *reference,
                                       enum sbx_pull pull, const struct sbx_progress *progress,
                                       struct sbx_arena *arena, struct sbx_image *ret,
                                       struct sbx_err *err)
{
    NEED_TEXT(reference, "image");
    NEED(arena && ret, "image");
    return context(err, rt->ops->image_ensure(rt, reference, pull, progress, arena, ret, err),
                   "image", reference);
}

enum sbx_code sbx_runtime_image_load(struct sbx_runtime *rt, const char *path,
                                     struct sbx_arena *arena, const char ***ret_names,
                                     size_t *ret_n, struct sbx_err *err)
{
    NEED_TEXT(path, "load image");
    NEED(arena && ret_names && ret_n, "load image");
    return context(err, rt->ops->image_load(rt, path, arena, ret_names, ret_n, err), "load image",
                   path);
}

enum sbx_code sbx_runtime_image_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                                     struct sbx_image **ret, size_t *ret_n, struct sbx_err *err)
{
    NEED(arena && ret && ret_n, "list images");
    return context(err, rt->ops->image_list(rt, arena, ret, ret_n, err), "list", "images");
}

enum sbx_code sbx_runtime_image_remove(struct sbx_runtime *rt, const char *reference,
                                       struct sbx_err *err)
{
    NEED_TEXT(reference, "remove image");
    return context(err, rt->ops->image_remove(rt, reference, err), "remove image", reference);
}

/* ---- containers ---- */

static enum sbx_code check_mount(const struct sbx_mount *m, struct sbx_err *err)
{
    if (!m->target || *m->target != '/')
        return sbx_err_set(err, SBX_FAILED, "mount target %s is not absolute",
                           m->target ? m->target : "(none)");
    if (m->kind == SBX_MOUNT_BIND && (!m->source || *m->source != '/'))
        return sbx_err_set(err, SBX_FAILED, "mount %s: source %s is not absolute", m->target,
                           m->source ? m->source : "(none)");
    if (m->kind == SBX_MOUNT_VOLUME && !sbx_name_valid(m->source))
        return sbx_err_set(err, SBX_FAILED, "mount %s: %s is not a volume name", m->target,
                           m->source ? m->source : "(none)");
    if (m->size < 0 || m->uid < 0 || m->mode > 07777)
        return sbx_err_set(err, SBX_FAILED, "mount %s: size, mode or uid out of range", m->target);
    return SBX_OK;
}

static enum sbx_code check_spec(const struct sbx_runtime *rt, const struct sbx_container_spec *s,
                                struct sbx_err *err)
{
    if (!s->image || !*s->image || !s->argv || !s->argv[0])
        return sbx_err_set(err, SBX_FAILED, "image or command is missing");
    if (s->netns != SBX_NETNS_NONE && (!s->netns_ref || !*s->netns_ref))
        return sbx_err_set(err, SBX_FAILED, "the network namespace to join is missing");
    if (s->netns == SBX_NETNS_PATH && !rt->info.netns_by_path)
        return sbx_err_set(err, SBX_UNSUPPORTED, "the %s runtime takes no namespace path",
                           rt->info.name);
    if (s->netns == SBX_NETNS_CONTAINER && !rt->info.netns_join_container)
        return sbx_err_set(err, SBX_UNSUPPORTED, "the %s runtime joins no container's network",
                           rt->info.name);
    if (s->gpus && !rt->info.gpu)
        return sbx_err_set(err, SBX_UNSUPPORTED, "the %s runtime has no gpu support",
                           rt->info.name);
    if (s->privileged && !rt->info.privileged)
        return sbx_err_set(err, SBX_UNSUPPORTED, "the %s runtime cannot start it privileged here",
                           rt->info.name);
    if (s->cpus < 0 || s->memory < 0 || s->pids < 0)
        return sbx_err_set(err, SBX_FAILED, "a negative limit");
    for (size_t i = 0; i < s->n_mounts; i++) {
        enum sbx_code rc = check_mount(&s->mounts[i], err);

        if (rc)
            return rc;
    }
    return SBX_OK;
}

enum sbx_code sbx_runtime_create(struct sbx_runtime *rt, const struct sbx_container_spec *spec,
                                 char **ret_id, struct sbx_err *err)
{
    enum sbx_code rc;

    NEED(spec && ret_id, "create container");
    if (!sbx_name_valid(spec->name))
        return sbx_err_set(err, SBX_FAILED, "create container: \"%s\" is not a name",
                           spec->name ? spec->name : "");
    rc = check_spec(rt, spec, err);
    if (!rc)
        rc = rt->ops->create(rt, spec, ret_id, err);
    return context(err, rc, "create container", spec->name);
}

enum sbx_code sbx_runtime_start(struct sbx_runtime *rt, const char *id, struct sbx_err *err)
{
    NEED_TEXT(id, "start container");
    return context(err, rt->ops->start(rt, id, err), "start container", id);
}

enum sbx_code sbx_runtime_stop(struct sbx_runtime *rt, const char *id, int timeout_s,
                               struct sbx_err *err)
{
    NEED_TEXT(id, "stop container");
    return context(err, rt->ops->stop(rt, id, timeout_s < 0 ? 0 : timeout_s, err), "stop container",
                   id);
}

enum sbx_code sbx_runtime_remove(struct sbx_runtime *rt, const char *id, struct sbx_err *err)
{
    NEED_TEXT(id, "remove container");
    return context(err, rt->ops->remove(rt, id, err), "remove container", id);
}

enum sbx_code sbx_runtime_inspect(struct sbx_runtime *rt, const char *id, struct sbx_arena *arena,
                                  struct sbx_container *ret, struct sbx_err *err)
{
    NEED_TEXT(id, "inspect container");
    NEED(arena && ret, "inspect container");
    return context(err, rt->ops->inspect(rt, id, arena, ret, err), "inspect container", id);
}

enum sbx_code sbx_runtime_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                               struct sbx_container **ret, size_t *ret_n, struct sbx_err *err)
{
    NEED(arena && ret && ret_n, "list containers");
    return context(err, rt->ops->list(rt, arena, ret, ret_n, err), "list", "containers");
}

/* ---- inside ---- */

enum sbx_code sbx_runtime_exec(struct sbx_runtime *rt, const char *id, const struct sbx_exec *exec,
                               int *ret_status, struct sbx_err *err)
{
    NEED_TEXT(id, "exec");
    NEED(exec && ret_status, "exec");
    NEED(exec->argv && exec->argv[0], "exec");
    if (exec->user && !*exec->user) /* a forgotten variable must not make it root */
        return sbx_err_set(err, SBX_USAGE, "exec: the user is empty");
    return context(err, rt->ops->exec(rt, id, exec, ret_status, err), "exec in", id);
}

enum sbx_code sbx_runtime_copy_in(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                                  struct sbx_err *err)
{
    NEED_TEXT(id, "copy into container");
    NEED(path && *path == '/', "copy into container");
    return context(err, rt->ops->copy_in(rt, id, path, fd, err), "copy to", path);
}

enum sbx_code sbx_runtime_copy_out(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                                   struct sbx_err *err)
{
    NEED_TEXT(id, "copy out of container");
    NEED(path && *path == '/', "copy out of container");
    return context(err, rt->ops->copy_out(rt, id, path, fd, err), "copy from", path);
}

enum sbx_code sbx_runtime_commit(struct sbx_runtime *rt, const char *id, const char *reference,
                                 struct sbx_err *err)
{
    NEED_TEXT(id, "save container");
    NEED_TEXT(reference, "save container");
    return context(err, rt->ops->commit(rt, id, reference, err), "save container as", reference);
}

/* ---- volumes ---- */

enum sbx_code sbx_runtime_volume_ensure(struct sbx_runtime *rt, const char *name, int64_t size,
                                        bool *ret_sized, bool *ret_created, struct sbx_err *err)
{
    bool sized = false, created = false;
    enum sbx_code rc;

    if (!sbx_name_valid(name) || size < 0)
        return sbx_err_set(err, SBX_FAILED, "volume: bad name \"%s\" or size", name ? name : "");
    rc = rt->ops->volume_ensure(rt, name, size, &sized, &created, err);
    if (rc)
        return context(err, rc, "volume", name);
    if (ret_sized)
        *ret_sized = sized;
    if (ret_created)
        *ret_created = created;
    return SBX_OK;
}

enum sbx_code sbx_runtime_volume_remove(struct sbx_runtime *rt, const char *name,
                                        struct sbx_err *err)
{
    NEED_TEXT(name, "remove volume");
    return context(err, rt->ops->volume_remove(rt, name, err), "remove volume", name);
}

enum sbx_code sbx_runtime_volume_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                                      const char ***ret, size_t *ret_n, struct sbx_err *err)
{
    NEED(arena && ret && ret_n, "list volumes");
    return context(err, rt->ops->volume_list(rt, arena, ret, ret_n, err), "list", "volumes");
}
