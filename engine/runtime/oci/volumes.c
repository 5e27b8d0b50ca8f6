#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "oci.h"
#include "sbx/file.h"
#include "sbx/tree.h"

#define VOLUME_UID 1000 /* the agent's user (decision F8) */
#define VOLUME_MODE 0755
#define NEW_MARK "new" /* beside data/ until the volume was filled for the first time */

/* Descriptor of STATE/volumes. */
static enum sbx_code open_volumes(struct oci *o, int *ret, struct sbx_err *err)
{
    SBX_AUTO_FREE char *path = NULL;
    enum sbx_code rc;

    if (asprintf(&path, "%s/volumes", o->state) < 0) {
        path = NULL;
        return oci_no_memory(err);
    }
    rc = sbx_dir_make(path, 0700, err);
    if (rc)
        return rc;
    *ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret < 0 ? sbx_err_errno(err, "open %s", path) : SBX_OK;
}

/* Made under another name and renamed: a volume that has its name is whole. */
static enum sbx_code make(int volumes, const char *full, bool *ret_created, struct sbx_err *err)
{
    char tmp[300], name[320];
    int mark;
    enum sbx_code rc;

    snprintf(tmp, sizeof(tmp), ".%.250s.%d", full, (int)getpid());
    rc = sbx_dir_remove(volumes, tmp, err);
    if (rc)
        return rc;
    snprintf(name, sizeof(name), "%s/data", tmp);
    if (mkdirat(volumes, tmp, 0700) || mkdirat(volumes, name, 0700))
        return sbx_err_errno(err, "make volume");
    snprintf(name, sizeof(name), "%s/" NEW_MARK, tmp);
    mark = openat(volumes, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (mark < 0)
        return sbx_err_errno(err, "make volume");
    close(mark);
    *ret_created = renameat(volumes, tmp, volumes, full) == 0;
    if (*ret_created)
        return SBX_OK;
    if (errno == EEXIST || errno == ENOTEMPTY) /* somebody was faster */
        return sbx_dir_remove(volumes, tmp, err);
    return sbx_err_errno(err, "make volume");
}

enum sbx_code oci_volume_ensure(struct sbx_runtime *rt, const char *name, int64_t size,
                                bool *ret_sized, bool *ret_created, struct sbx_err *err)
{
    struct oci *o = (struct oci *)rt;
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_FD int volumes = -1;
    const char *full = arena ? sbx_name_full(arena, o->app, name) : NULL;
    bool created = false;
    enum sbx_code rc;

    if (!full)
        return oci_no_memory(err);
    rc = open_volumes(o, &volumes, err);
    if (!rc && faccessat(volumes, full, F_OK, AT_SYMLINK_NOFOLLOW))
        rc = make(volumes, full, &created, err);
    if (rc)
        return rc;
    if (ret_created)
        *ret_created = created;
    if (ret_sized)
        *ret_sized = size == 0; /* a directory has no bound of its own */
    return SBX_OK;
}

enum sbx_code oci_volume_remove(struct sbx_runtime *rt, const char *name, struct sbx_err *err)
{
    struct oci *o = (struct oci *)rt;
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_FD int volumes = -1;
    const char *full = arena ? sbx_name_full(arena, o->app, name) : NULL;
    enum sbx_code rc;

    if (!full)
        return oci_no_memory(err);
    rc = open_volumes(o, &volumes, err);
    return rc ? rc : sbx_dir_remove(volumes, full, err);
}

/* Name without the app, or NULL if it is another app's. */
static const char *own_name(struct oci *o, struct sbx_arena *arena, const char *full)
{
    const char *prefix = sbx_name_full(arena, o->app, "");
    size_t n = prefix ? strlen(prefix) : 0;

    return n && strncmp(full, prefix, n) == 0 ? full + n : NULL;
}

enum sbx_code oci_volume_list(struct sbx_runtime *rt, struct sbx_arena *arena, const char ***ret,
                              size_t *ret_n, struct sbx_err *err)
{
    struct oci *o = (struct oci *)rt;
    const char **list = NULL, **grown;
    int fd = -1;
    enum sbx_code rc = open_volumes(o, &fd, err);
    DIR *d = rc ? NULL : fdopendir(fd);
    struct dirent *e;
    size_t n = 0;

    if (!rc && !d) {
        close(fd);
        return sbx_err_errno(err, "read volumes");
    }
    while (!rc && (e = readdir(d))) {
        const char *name = e->d_name[0] == '.' ? NULL : own_name(o, arena, e->d_name);

        if (!name)
            continue;
        grown = sbx_arena_array(arena, n + 2, sizeof(*grown));
        if (!grown) {
            rc = oci_no_memory(err);
            break;
        }
        if (n)
            memcpy(grown, list, n * sizeof(*grown));
        list = grown;
        list[n++] = sbx_arena_strdup(arena, name);
    }
    if (d)
        closedir(d);
    if (rc)
        return rc;
    *ret = list ? list : sbx_arena_array(arena, 1, sizeof(*list));
    *ret_n = n;
    return *ret ? SBX_OK : oci_no_memory(err);
}

/* ---- first use ---- */

/* By way of a tar in a file without a name: one set of rules for owners, modes, links. */
static enum sbx_code copy_tree(int volume, int source, int data, struct sbx_err *err)
{
    SBX_AUTO_FD int tar = openat(volume, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    struct sbx_pack what = { .dir = source };
    struct sbx_unpack how = { .root = data };
    enum sbx_code rc;

    if (tar < 0)
        return sbx_err_errno(err, "make a temporary file");
    rc = sbx_tree_pack(&what, sbx_tree_to_fd, &tar, err);
    if (!rc && lseek(tar, 0, SEEK_SET))
        return sbx_err_errno(err, "copy");
    return rc ? rc : sbx_tree_unpack(&how, sbx_tree_from_fd, &tar, err);
}

enum sbx_code oci_volume_fill(const char *path, int source, unsigned mode, int uid,
                              struct sbx_err *err)
{
    SBX_AUTO_FD int volume = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), data = -1;
    uid_t owner = uid ? (uid_t)uid : VOLUME_UID;
    enum sbx_code rc = SBX_OK;

    if (volume < 0)
        return sbx_err_errno(err, "open");
    if (faccessat(volume, NEW_MARK, F_OK, 0))
        return SBX_OK;
    data = openat(volume, "data", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (data < 0)
        return sbx_err_errno(err, "open");
    if (source >= 0)
        rc = copy_tree(volume, source, data, err);
    if (rc)
        return rc;
    if (fchown(data, owner, owner) || fchmod(data, mode ? mode : VOLUME_MODE))
        return sbx_err_errno(err, "set owner and mode");
    if (unlinkat(volume, NEW_MARK, 0))
        return sbx_err_errno(err, "finish");
    return SBX_OK;
}
