#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "oci.h"
#include "sbx/file.h"

/* What is asked for and cannot be had is refused by name before anything is made (decision F12). */
static enum sbx_code check(const struct sbx_container_spec *s, struct sbx_err *err)
{
    struct {
        const char *name;
        bool wanted;
    } limits[] = {
        { "memory", s->memory > 0 },
        { "cpu", s->cpus > 0 },
        { "pids", true },
    };

    if (s->gpus && *s->gpus)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "GPUs cannot be given to a sandbox by the oci "
                           "runtime: use --runtime docker");
    if (s->netns == SBX_NETNS_CONTAINER)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "the oci runtime cannot join another container's network");
    for (size_t i = 0; i < SBX_ARRAY_LEN(limits); i++)
        if (limits[i].wanted && !oci_cgroup_has(limits[i].name))
            return sbx_err_set(err, SBX_UNSUPPORTED,
                               "no limit on %s can be kept: this machine has no writable cgroup "
                               "controller \"%s\"",
                               limits[i].name, limits[i].name);
    if (s->cpus > 0 && !oci_cgroup_file("cpu", "cpu.cfs_quota_us"))
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "no limit on cpu can be kept: this kernel has no CFS bandwidth control");
    return SBX_OK;
}

/* Short names: overlayfs takes one page of options, and layers may be 128. */
static enum sbx_code link_layers(int dir, const struct sbx_store_image *image, struct sbx_err *err)
{
    if (mkdirat(dir, "l", 0700))
        return sbx_err_errno(err, "make l");
    if (!image->n_layers && mkdirat(dir, "l/0", 0755)) /* an image from scratch */
        return sbx_err_errno(err, "make l/0");
    for (size_t i = 0; i < image->n_layers; i++) {
        char name[32];

        snprintf(name, sizeof(name), "l/%zu", i);
        if (symlinkat(image->layers[i], dir, name))
            return sbx_err_errno(err, "link layer %zu", i);
    }
    return SBX_OK;
}

/* The root's own owner and mode are the image's. */
static enum sbx_code make_upper(int dir, const struct sbx_store_image *image, struct sbx_err *err)
{
    static const char *const names[] = { "upper", "work", "rootfs" };
    SBX_AUTO_FD int fd = -1;
    struct stat st;

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++)
        if (mkdirat(dir, names[i], 0700))
            return sbx_err_errno(err, "make %s", names[i]);
    fd = openat(dir, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return sbx_err_errno(err, "open upper");
    if (!image->n_layers || stat(image->layers[image->n_layers - 1], &st))
        return fchmod(fd, 0755) ? sbx_err_errno(err, "chmod upper") : SBX_OK;
    if (fchown(fd, st.st_uid, st.st_gid) || fchmod(fd, st.st_mode & 07777))
        return sbx_err_errno(err, "owner and mode of upper");
    return SBX_OK;
}

static enum sbx_code fill(int dir, const struct oci *o, const struct sbx_container_spec *spec,
                          const char *id, const struct sbx_store_image *image, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *json = oci_spec_json(spec, id, sbx_name_app(o->app), image);
    SBX_AUTO_FREE char *text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
    enum sbx_code rc;

    if (!text)
        return sbx_err_set(err, SBX_SCHEMA, "the container's settings are not all UTF-8");
    rc = link_layers(dir, image, err);
    if (!rc)
        rc = make_upper(dir, image, err);
    return rc ? rc : box_created(dir, text, err);
}

static enum sbx_code make_id(const char *full, char id[OCI_ID_MAX], struct sbx_err *err)
{
    unsigned char r[OCI_ID_RANDOM / 2];
    int n = snprintf(id, OCI_ID_MAX, "%s.", full);

    if (getrandom(r, sizeof(r), 0) != sizeof(r))
        return sbx_err_errno(err, "random");
    for (size_t i = 0; i < sizeof(r); i++)
        snprintf(id + n + 2 * i, 3, "%02x", r[i]);
    return SBX_OK;
}

static enum sbx_code make(struct oci *o, const char *full, const struct sbx_container_spec *spec,
                          const struct sbx_store_image *image, char **ret_id, struct sbx_err *err)
{
    SBX_AUTO_FD int dir = -1, lock = -1;
    char id[OCI_ID_MAX];
    enum sbx_code rc = oci_lock(o, &lock, err);

    if (!rc)
        rc = box_sweep(o, err);
    if (!rc)
        rc = make_id(full, id, err);
    if (rc)
        return rc;
    if (mkdirat(o->containers, full, 0700)) {
        if (errno == EEXIST)
            return sbx_err_set(err, SBX_EXISTS, "a container of that name exists");
        return sbx_err_errno(err, "make %s/containers/%s", o->state, full);
    }
    dir = openat(o->containers, full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = dir < 0 ? sbx_err_errno(err, "open") : fill(dir, o, spec, id, image, err);
    if (!rc)
        *ret_id = strdup(id);
    if (!rc && !*ret_id)
        rc = oci_no_memory(err);
    if (rc && sbx_dir_remove(o->containers, full, NULL))
        return rc; /* the next command removes it */
    return rc;
}

enum sbx_code oci_create(struct sbx_runtime *rt, const struct sbx_container_spec *spec,
                         char **ret_id, struct sbx_err *err)
{
    struct oci *o = (struct oci *)rt;
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_store *store = oci_store(o, err);
    struct sbx_store_image image;
    SBX_AUTO_FD int hold = -1;
    const char *full;
    enum sbx_code rc;

    if (!store)
        return SBX_IO;
    full = arena ? sbx_name_full(arena, o->app, spec->name) : NULL;
    if (!full)
        return oci_no_memory(err);
    rc = check(spec, err);
    if (!rc)
        rc = sbx_store_hold(store, &hold, err); /* the image stays until spec.json pins it */
    if (!rc)
        rc = sbx_store_find(store, spec->image, arena, &image, err);
    return rc ? rc : make(o, full, spec, &image, ret_id, err);
}
