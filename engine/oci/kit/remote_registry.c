#include <string.h>

#include "remote.h"

struct repository {
    struct kit_remote rm;
    struct sbx_registry *r;
    char *registry, *name;
};

#define R(remote) ((struct repository *)(remote))

static enum sbx_code manifest(struct kit_remote *rm, const char *reference, struct sbx_arena *arena,
                              struct sbx_oci_doc *ret, struct sbx_err *err)
{
    return sbx_registry_manifest(R(rm)->r, rm->repository, reference, arena, ret, err);
}

static enum sbx_code look(struct kit_remote *rm, const char *reference, struct sbx_arena *arena,
                          struct sbx_oci_doc *ret, struct sbx_err *err)
{
    return sbx_registry_look(R(rm)->r, rm->repository, reference, arena, ret, err);
}

static enum sbx_code push_manifest(struct kit_remote *rm, const char *tag, const char *type,
                                   const char *text, size_t len, struct sbx_err *err)
{
    return sbx_registry_push_manifest(R(rm)->r, rm->repository, tag, type, text, len, err);
}

static enum sbx_code pull_blob(struct kit_remote *rm, const char *digest, int64_t size,
                               struct sbx_cache *cache, struct sbx_err *err)
{
    return sbx_registry_pull_blob(R(rm)->r, rm->repository, digest, size, cache, err);
}

static enum sbx_code push_blob(struct kit_remote *rm, const char *digest, int64_t size, int fd,
                               struct sbx_err *err)
{
    enum sbx_code rc;

    sbx_registry_stop_by(R(rm)->r, rm->stop);
    rc = sbx_registry_push_blob(R(rm)->r, rm->repository, digest, size, fd, NULL, err);
    sbx_registry_stop_by(R(rm)->r, NULL);
    return rc;
}

static enum sbx_code mount_blob(struct kit_remote *rm, const char *digest, const char *from,
                                bool *ret, struct sbx_err *err)
{
    return sbx_registry_mount_blob(R(rm)->r, rm->repository, digest, from, ret, err);
}

static enum sbx_code tags(struct kit_remote *rm, struct sbx_arena *arena, const char *const **ret,
                          size_t *ret_n, struct sbx_err *err)
{
    return sbx_registry_tags(R(rm)->r, rm->repository, arena, ret, ret_n, err);
}

static enum sbx_code referrers(struct kit_remote *rm, const char *digest, struct sbx_arena *arena,
                               struct sbx_oci_doc *ret, struct sbx_err *err)
{
    return sbx_registry_referrers(R(rm)->r, rm->repository, digest, arena, ret, err);
}

static enum sbx_code remove_one(struct kit_remote *rm, const char *reference, struct sbx_err *err)
{
    return sbx_registry_delete(R(rm)->r, rm->repository, reference, err);
}

static enum sbx_code wrap(struct sbx_registry *r, const char *registry, const char *name,
                          struct kit_remote **ret, struct sbx_err *err);

static enum sbx_code twin(const struct kit_remote *rm, struct kit_remote **ret, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_registry) r = NULL;
    enum sbx_code rc = sbx_registry_twin(((const struct repository *)rm)->r, &r, err);

    return rc ? rc : wrap(SBX_TAKE(r), rm->registry, rm->repository, ret, err);
}

static void registry_free(struct kit_remote *rm)
{
    sbx_registry_close(R(rm)->r);
    free(R(rm)->registry);
    free(R(rm)->name);
    free(rm);
}

static const struct kit_remote_ops ops = {
    .name = "registry",
    .manifest = manifest,
    .look = look,
    .push_manifest = push_manifest,
    .pull_blob = pull_blob,
    .push_blob = push_blob,
    .mount = mount_blob,
    .tags = tags,
    .referrers = referrers,
    .remove = remove_one,
    .twin = twin,
    .free = registry_free,
};

/* Steals `r`. */
static enum sbx_code wrap(struct sbx_registry *r, const char *registry, const char *name,
                          struct kit_remote **ret, struct sbx_err *err)
{
    struct repository *o = calloc(1, sizeof(*o));

    if (!o) {
        sbx_registry_close(r);
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    o->rm.ops = &ops;
    o->r = r;
    o->rm.registry = o->registry = strdup(registry);
    o->rm.repository = o->name = strdup(name);
    if (!o->registry || !o->name) {
        registry_free(&o->rm);
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    *ret = &o->rm;
    return SBX_OK;
}

enum sbx_code kit_remote_open_registry(const struct sbx_kit_io *io, const struct sbx_place *p,
                                       enum kit_use use, struct kit_remote **ret,
                                       struct sbx_err *err)
{
    const struct sbx_registry_opts opts = { .host = p->registry,
                                            .plain_http = io->plain_http,
                                            .plain_too = io->plain_too,
                                            .direct = use != KIT_READ,
                                            .limit_ms = io->limit_ms,
                                            .progress = io->progress };
    SBX_AUTO_PTR(sbx_registry) r = NULL;
    enum sbx_code rc = sbx_registry_open(&opts, &r, err);

    return rc ? rc : wrap(SBX_TAKE(r), p->registry, p->repository, ret, err);
}
