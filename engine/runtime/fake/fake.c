#include "fake.h"

#include <string.h>

/* The slots for images, containers and volumes. */

static enum sbx_code fake_open(const struct sbx_runtime_config *config, struct sbx_runtime **ret,
                               struct sbx_err *err)
{
    struct sbx_arena *mem = sbx_arena_new();
    struct fake *f = mem ? sbx_arena_alloc(mem, sizeof(*f)) : NULL;

    (void)config;
    if (!f) {
        sbx_arena_free(mem);
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    f->mem = mem;
    f->rt.info = (struct sbx_runtime_info){
        .version = "fake 1",
        .netns_by_path = true,
        .netns_join_container = true,
        .gpu = true,
        .privileged = true,
    };
    *ret = &f->rt;
    return SBX_OK;
}

static void fake_free(struct sbx_runtime *rt) { sbx_arena_free(((struct fake *)rt)->mem); }

static struct fake_image *find_image(struct fake *f, const char *reference)
{
    for (struct fake_image *i = f->images; i; i = i->next)
        if (strcmp(i->image.reference, reference) == 0 || strcmp(i->image.id, reference) == 0)
            return i;
    return NULL;
}

static enum sbx_code fake_image_ensure(struct sbx_runtime *rt, const char *reference,
                                       enum sbx_pull pull, const struct sbx_progress *progress,
                                       struct sbx_arena *arena, struct sbx_image *ret,
                                       struct sbx_err *err)
{
    static const char *const names[] = { "missing", "always", "never" };
    struct fake *f = (struct fake *)rt;
    enum sbx_code rc = sbx_fake_call(f, err, "image_ensure", "%s %s", reference, names[pull]);
    struct fake_image *i = find_image(f, reference);

    (void)arena; /* the world outlives it */
    if (rc)
        return rc;
    if (!i || (!i->local && pull == SBX_PULL_NEVER))
        return sbx_err_set(err, SBX_NOT_FOUND, "no such image");
    if ((!i->local || pull == SBX_PULL_ALWAYS) && progress && progress->line)
        progress->line(progress->ctx, "pulled");
    i->local = true;
    *ret = i->image;
    return SBX_OK;
}

static enum sbx_code fake_image_load(struct sbx_runtime *rt, const char *path,
                                     struct sbx_arena *arena, const char ***ret_names,
                                     size_t *ret_n, struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    enum sbx_code rc = sbx_fake_call(f, err, "image_load", "%s", path);
    const char **names = sbx_fake_alloc(f, 2, sizeof(*names));

    (void)arena;
    if (rc)
        return rc;
    names[0] = sbx_fake_printf(f, "loaded%s", path);
    sbx_fake_image(rt, &(struct sbx_image){ .reference = names[0] }, true);
    *ret_names = names;
    *ret_n = 1;
    return SBX_OK;
}

static enum sbx_code fake_image_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                                     struct sbx_image **ret, size_t *ret_n, struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    enum sbx_code rc = sbx_fake_call(f, err, "image_list", "%s", "");
    struct sbx_image *list;
    size_t n = 0;

    (void)arena;
    if (rc)
        return rc;
    for (struct fake_image *i = f->images; i; i = i->next)
        n += i->local;
    list = sbx_fake_alloc(f, n + 1, sizeof(*list));
    *ret = list;
    *ret_n = n;
    for (struct fake_image *i = f->images; i; i = i->next)
        if (i->local)
            *list++ = i->image;
    return SBX_OK;
}

static enum sbx_code fake_image_remove(struct sbx_runtime *rt, const char *reference,
                                       struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    enum sbx_code rc = sbx_fake_call(f, err, "image_remove", "%s", reference);
    struct fake_image *i = find_image(f, reference);

    if (rc)
        return rc;
    if (!i || !i->local)
        return sbx_err_set(err, SBX_NOT_FOUND, "no such image");
    for (struct fake_container *c = f->containers; c; c = c->next)
        if (find_image(f, c->spec.image) == i)
            return sbx_err_set(err, SBX_BUSY, "used by container %s", c->state.name);
    for (struct fake_image **p = &f->images; *p; p = &(*p)->next)
        if (*p == i) {
            *p = i->next;
            break;
        }
    return SBX_OK;
}

static struct sbx_container_spec copy_spec(struct fake *f, const struct sbx_container_spec *spec)
{
    struct sbx_container_spec s = *spec;
    struct sbx_mount *mounts = sbx_fake_alloc(f, s.n_mounts + 1, sizeof(*mounts));

    s.name = sbx_fake_printf(f, "%s", spec->name);
    s.image = sbx_fake_printf(f, "%s", spec->image);
    s.hostname = spec->hostname ? sbx_fake_printf(f, "%s", spec->hostname) : NULL;
    s.argv = sbx_fake_list(f, spec->argv);
    s.env = sbx_fake_list(f, spec->env);
    s.workdir = spec->workdir ? sbx_fake_printf(f, "%s", spec->workdir) : NULL;
    s.labels = sbx_fake_list(f, spec->labels);
    s.netns_ref = spec->netns_ref ? sbx_fake_printf(f, "%s", spec->netns_ref) : NULL;
    s.sysctls = sbx_fake_list(f, spec->sysctls);
    s.cap_add = sbx_fake_list(f, spec->cap_add);
    s.cap_drop = sbx_fake_list(f, spec->cap_drop);
    s.gpus = spec->gpus ? sbx_fake_printf(f, "%s", spec->gpus) : NULL;
    for (size_t i = 0; i < s.n_mounts; i++) {
        mounts[i] = spec->mounts[i];
        mounts[i].target = sbx_fake_printf(f, "%s", mounts[i].target);
        mounts[i].source = mounts[i].source ? sbx_fake_printf(f, "%s", mounts[i].source) : NULL;
    }
    s.mounts = mounts;
    return s;
}

static enum sbx_code fake_create(struct sbx_runtime *rt, const struct sbx_container_spec *spec,
                                 char **ret_id, struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    enum sbx_code rc = sbx_fake_call(f, err, "create", "%s", spec->name);
    struct fake_image *image = find_image(f, spec->image);
    struct fake_container *c;
    char *id;

    if (rc)
        return rc;
    if (sbx_fake_find(f, spec->name))
        return sbx_err_set(err, SBX_EXISTS, "the name is taken");
    if (!image || !image->local)
        return sbx_err_set(err, SBX_NOT_FOUND, "no such image %s", spec->image);
    c = sbx_fake_alloc(f, 1, sizeof(*c));
    c->spec = copy_spec(f, spec);
    c->state = (struct sbx_container){ .id = sbx_fake_printf(f, "%064x", ++f->serial),
                                       .name = c->spec.name,
                                       .labels = c->spec.labels,
                                       .started_at = "" };
    id = strdup(c->state.id);
    if (!id)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    c->next = f->containers;
    f->containers = c;
    *ret_id = id;
    return SBX_OK;
}

/* Note the call under the container's name and find it. */
static enum sbx_code on_container(struct fake *f, const char *op, const char *id,
                                  struct fake_container **ret, struct sbx_err *err)
{
    struct fake_container *c = sbx_fake_find(f, id);
    enum sbx_code rc = sbx_fake_call(f, err, op, "%s", c ? c->state.name : id);

    *ret = c;
    if (rc)
        return rc;
    return c ? SBX_OK : sbx_err_set(err, SBX_NOT_FOUND, "no such container");
}

static enum sbx_code fake_start(struct sbx_runtime *rt, const char *id, struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    struct fake_container *c;
    enum sbx_code rc = on_container(f, "start", id, &c, err);

    if (rc || c->state.running)
        return rc;
    c->starts++;
    c->state.running = true;
    c->state.exit_code = 0;
    c->state.pid = f->pid;
    c->state.started_at = sbx_fake_printf(f, "2026-01-02T03:04:05.%09uZ", ++f->serial);
    return SBX_OK;
}

static enum sbx_code fake_stop(struct sbx_runtime *rt, const char *id, int timeout_s,
                               struct sbx_err *err)
{
    struct fake_container *c;
    enum sbx_code rc = on_container((struct fake *)rt, "stop", id, &c, err);

    (void)timeout_s;
    if (!rc && c->state.running)
        sbx_fake_die(rt, id, 143);
    return rc;
}

static enum sbx_code fake_remove(struct sbx_runtime *rt, const char *id, struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    struct fake_container *c;
    enum sbx_code rc = on_container(f, "remove", id, &c, err);

    if (rc == SBX_NOT_FOUND && !c)
        return SBX_OK;
    if (rc)
        return rc;
    for (struct fake_container **p = &f->containers; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            break;
        }
    return SBX_OK;
}

static enum sbx_code fake_inspect(struct sbx_runtime *rt, const char *id, struct sbx_arena *arena,
                                  struct sbx_container *ret, struct sbx_err *err)
{
    struct fake_container *c;
    enum sbx_code rc = on_container((struct fake *)rt, "inspect", id, &c, err);

    (void)arena;
    if (!rc)
        *ret = c->state;
    return rc;
}

static enum sbx_code fake_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                               struct sbx_container **ret, size_t *ret_n, struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    enum sbx_code rc = sbx_fake_call(f, err, "list", "%s", "");
    struct sbx_container *list;

    (void)arena;
    if (rc)
        return rc;
    *ret_n = sbx_fake_containers(rt);
    *ret = list = sbx_fake_alloc(f, *ret_n + 1, sizeof(*list));
    for (struct fake_container *c = f->containers; c; c = c->next)
        *list++ = c->state;
    return SBX_OK;
}

static enum sbx_code fake_commit(struct sbx_runtime *rt, const char *id, const char *reference,
                                 struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    struct fake_container *c = sbx_fake_find(f, id);
    enum sbx_code rc = sbx_fake_call(f, err, "commit", "%s %s", c ? c->state.name : id, reference);

    if (rc)
        return rc;
    if (!c)
        return sbx_err_set(err, SBX_NOT_FOUND, "no such container");
    sbx_fake_image(rt, &(struct sbx_image){ .reference = reference }, true);
    return SBX_OK;
}

static enum sbx_code fake_volume_ensure(struct sbx_runtime *rt, const char *name, int64_t size,
                                        bool *ret_sized, bool *ret_created, struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    enum sbx_code rc = sbx_fake_call(f, err, "volume_ensure", "%s %lld", name, (long long)size);
    struct fake_volume *v;

    if (rc)
        return rc;
    for (v = f->volumes; v && strcmp(v->name, name) != 0; v = v->next)
        ;
    *ret_created = !v;
    if (!v) {
        v = sbx_fake_alloc(f, 1, sizeof(*v));
        *v = (struct fake_volume){ f->volumes, sbx_fake_printf(f, "%s", name), size };
        f->volumes = v;
    }
    *ret_sized = v->size > 0;
    return SBX_OK;
}

static enum sbx_code fake_volume_remove(struct sbx_runtime *rt, const char *name,
                                        struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    enum sbx_code rc = sbx_fake_call(f, err, "volume_remove", "%s", name);

    if (rc)
        return rc;
    for (struct fake_volume **p = &f->volumes; *p; p = &(*p)->next)
        if (strcmp((*p)->name, name) == 0) {
            *p = (*p)->next;
            break;
        }
    return SBX_OK;
}

static enum sbx_code fake_volume_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                                      const char ***ret, size_t *ret_n, struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    enum sbx_code rc = sbx_fake_call(f, err, "volume_list", "%s", "");
    const char **list;

    (void)arena;
    if (rc)
        return rc;
    *ret_n = sbx_fake_volumes(rt);
    *ret = list = sbx_fake_alloc(f, *ret_n + 1, sizeof(*list));
    for (struct fake_volume *v = f->volumes; v; v = v->next)
        *list++ = v->name;
    return SBX_OK;
}

const struct sbx_runtime_ops sbx_runtime_fake = {
    .name = "fake",
    .kind = SBX_RUNTIME_FAKE,
    .open = fake_open,
    .free = fake_free,
    .image_ensure = fake_image_ensure,
    .image_load = fake_image_load,
    .image_list = fake_image_list,
    .image_remove = fake_image_remove,
    .create = fake_create,
    .start = fake_start,
    .stop = fake_stop,
    .remove = fake_remove,
    .inspect = fake_inspect,
    .list = fake_list,
    .exec = sbx_fake_exec,
    .copy_in = sbx_fake_copy_in,
    .copy_out = sbx_fake_copy_out,
    .commit = fake_commit,
    .volume_ensure = fake_volume_ensure,
    .volume_remove = fake_volume_remove,
    .volume_list = fake_volume_list,
};
