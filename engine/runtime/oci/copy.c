#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "oci.h"
#include "sbx/file.h"
#include "sbx/tree.h"

/*
 * Both ways go by descriptors below /proc/PID/root with openat2(RESOLVE_IN_ROOT): the kernel walks
 * as a process inside would (mounts and tmpfs included) and never outside that root, whatever
 * symlinks and renames happen meanwhile.
 */

enum sbx_code oci_copy_in(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                          struct sbx_err *err)
{
    SBX_AUTO(box) b = BOX_INIT;
    SBX_AUTO_FD int root = -1;
    enum sbx_code rc = box_running((struct oci *)rt, id, &b, err);
    struct sbx_unpack how = { .below = path };

    if (!rc)
        rc = oci_root_open(&b, &root, NULL, err);
    how.root = root;
    return rc ? rc : sbx_tree_unpack(&how, sbx_tree_from_fd, &fd, err);
}

/* "/a/b/" -> "/a" and "b"; the last name is taken as it is, a symlink too. */
static enum sbx_code split(const char *path, char *parent, size_t size, const char **ret_name,
                           struct sbx_err *err)
{
    size_t len = (size_t)snprintf(parent, size, "%s", path);
    char *slash;

    if (len >= size)
        return sbx_err_set(err, SBX_LIMIT, "path of more than %zu bytes", size - 1);
    while (len && parent[len - 1] == '/')
        parent[--len] = '\0';
    slash = strrchr(parent, '/');
    *ret_name = slash ? slash + 1 : parent;
    if (slash)
        *slash = '\0';
    if (strcmp(*ret_name, ".") == 0 || strcmp(*ret_name, "..") == 0 || !slash)
        return sbx_err_set(err, SBX_SCHEMA, "a path must end with a name");
    return SBX_OK;
}

enum sbx_code oci_copy_out(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                           struct sbx_err *err)
{
    SBX_AUTO(box) b = BOX_INIT;
    SBX_AUTO_FD int root = -1, dir = -1, file = -1;
    char parent[4096];
    struct sbx_pack what = { 0 };
    enum sbx_code rc = box_running((struct oci *)rt, id, &b, err);

    if (!rc)
        rc = oci_root_open(&b, &root, NULL, err);
    if (!rc && strspn(path, "/") == strlen(path))
        parent[0] = '\0'; /* all of it */
    else if (!rc)
        rc = split(path, parent, sizeof(parent), &what.only, err);
    if (rc)
        return rc;
    dir = sbx_open_in_root(root, parent, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return sbx_err_errno(err, "%s", path);
    if (what.only) {
        file = openat(dir, what.only, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (file < 0)
            return sbx_err_errno(err, "%s", path);
    }
    what.dir = dir;
    return sbx_tree_pack(&what, sbx_tree_to_fd, &fd, err);
}

enum sbx_code oci_commit(struct sbx_runtime *rt, const char *id, const char *reference,
                         struct sbx_err *err)
{
    struct oci *o = (struct oci *)rt;
    struct sbx_store *store = oci_store(o, err);
    SBX_AUTO_FREE char *upper = NULL;
    SBX_AUTO(box) b = BOX_INIT;
    enum sbx_code rc;

    if (!store)
        return SBX_IO;
    rc = box_lock(o, id, &b, err);
    if (rc)
        return rc;
    if (asprintf(&upper, "%s/upper", b.path) < 0) {
        upper = NULL;
        return oci_no_memory(err);
    }
    if (b.pid)
        oci_cgroup_freeze(b.id, true); /* a tree that changes gives a torn image */
    rc = sbx_store_commit(store, box_text(&b, "image"), upper, reference, err);
    if (b.pid)
        oci_cgroup_freeze(b.id, false);
    return rc;
}
