#include "oci.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include "sbx/file.h"

enum sbx_code oci_no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

struct sbx_store *oci_store(struct oci *o, struct sbx_err *err)
{
    if (!o->store && sbx_store_open(o->state, o->cache, &o->store, err))
        return NULL;
    return o->store;
}

static void oci_free(struct sbx_runtime *rt)
{
    struct oci *o = (struct oci *)rt;

    if (!o)
        return;
    sbx_store_close(o->store);
    if (o->containers >= 0)
        close(o->containers);
    free(o->app);
    free(o->state);
    free(o->cache);
    free(o->seccomp);
    free(o->program);
    free(o->version);
    free(o);
}

static char *copy(const char *text) { return strdup(text ? text : ""); }

static enum sbx_code fill(struct oci *o, const struct sbx_runtime_config *config,
                          struct sbx_err *err)
{
    SBX_AUTO_FREE char *path = NULL;
    enum sbx_code rc;

    o->app = copy(config->app);
    o->state = copy(config->state_dir);
    o->cache = copy(config->cache_dir);
    o->seccomp = copy(config->seccomp);
    if (!o->app || !o->state || !o->cache || !o->seccomp ||
        asprintf(&path, "%s/containers", config->state_dir) < 0) {
        path = NULL;
        return oci_no_memory(err);
    }
    rc = sbx_dir_make(path, 0700, err);
    if (rc)
        return rc;
    o->containers = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (o->containers < 0)
        return sbx_err_errno(err, "open %s", path);
    return oci_probe(config, &o->program, &o->version, err);
}

/* Capabilities that a privileged container is meant to have and we could give. */
static bool has_all_caps(void)
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 0)
            return false;
    return true;
}

/* pidfds as namespaces to enter came last (5.8), openat2 before (5.6). */
static enum sbx_code check_kernel(struct sbx_err *err)
{
    struct utsname u;
    int major, minor;

    if (uname(&u) || sscanf(u.release, "%d.%d", &major, &minor) != 2)
        return sbx_err_set(err, SBX_UNSUPPORTED, "unknown kernel version");
    if (major < 5 || (major == 5 && minor < 8))
        return sbx_err_set(err, SBX_UNSUPPORTED, "needs Linux 5.8 or newer, this is %.60s",
                           u.release);
    return SBX_OK;
}

static enum sbx_code oci_open(const struct sbx_runtime_config *config, struct sbx_runtime **ret,
                              struct sbx_err *err)
{
    struct oci *o;
    enum sbx_code rc;

    if (!config->state_dir || *config->state_dir != '/' || !config->cache_dir ||
        *config->cache_dir != '/')
        return sbx_err_set(err, SBX_FAILED, "state and cache directories must be absolute");
    if (geteuid() != 0)
        return sbx_err_set(err, SBX_UNAVAILABLE,
                           "works as root only for now: use sudo, or Docker Engine");
    rc = check_kernel(err);
    if (rc)
        return rc;
    o = calloc(1, sizeof(*o));
    if (!o)
        return oci_no_memory(err);
    o->containers = -1;
    rc = fill(o, config, err);
    if (rc) {
        oci_free(&o->rt);
        return rc;
    }
    o->rt.info = (struct sbx_runtime_info){
        .version = o->version,
        .netns_by_path = true,
        .can_enter = true,
        .privileged = has_all_caps(),
    };
    *ret = &o->rt;
    return SBX_OK;
}

const struct sbx_runtime_ops sbx_runtime_oci = {
    .name = "oci",
    .kind = SBX_RUNTIME_OCI,
    .open = oci_open,
    .free = oci_free,
    .image_ensure = oci_image_ensure,
    .image_load = oci_image_load,
    .image_list = oci_image_list,
    .image_remove = oci_image_remove,
    .create = oci_create,
    .start = oci_start,
    .stop = oci_stop,
    .remove = oci_remove,
    .inspect = oci_inspect,
    .list = oci_list,
    .exec = oci_exec,
    .copy_in = oci_copy_in,
    .copy_out = oci_copy_out,
    .commit = oci_commit,
    .volume_ensure = oci_volume_ensure,
    .volume_remove = oci_volume_remove,
    .volume_list = oci_volume_list,
};
