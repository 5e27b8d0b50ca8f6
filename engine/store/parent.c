#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "place.h"

#define RACES_MAX 32 /* retries when somebody renames directories under a resolution (EAGAIN) */

bool sbx_is_whiteout(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

int sbx_make_whiteout(int dir, const char *name)
{
    return mknodat(dir, name, S_IFCHR, makedev(0, 0));
}

int sbx_make_opaque(int dir) { return fsetxattr(dir, "trusted.overlay.opaque", "y", 1, 0); }

int sbx_open_in_root(int root, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
        .mode = mode,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    long fd = -1;

    for (int i = 0; i < RACES_MAX; i++) {
        fd = syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return (int)fd;
}

static int open_dir(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A directory where a whiteout stood hides what lower layers have there. */
static int dir_over_whiteout(int at, const char *name)
{
    struct stat st;
    int fd;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) || !sbx_is_whiteout(&st)) {
        errno = ENOTDIR;
        return -1;
    }
    if (unlinkat(at, name, 0) || mkdirat(at, name, 0755))
        return -1;
    fd = open_dir(at, name);
    if (fd >= 0 && sbx_make_opaque(fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* One step down in a layer; made if missing, as the Engine does. */
static int step_in_layer(int at, const char *name)
{
    int fd = open_dir(at, name);

    if (fd >= 0)
        return fd;
    if (errno == ENOENT) {
        if (mkdirat(at, name, 0755))
            return -1;
        fd = open_dir(at, name);
        if (fd >= 0)
            fchmod(fd, 0755); /* whatever the umask */
        return fd;
    }
    return errno == ENOTDIR || errno == ELOOP ? dir_over_whiteout(at, name) : -1;
}

static enum sbx_code walk_layer(struct sbx_place *p, char *path, int *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = open_dir(p->how->root, ".");
    char *rest = path, *name;

    if (fd < 0)
        return sbx_err_errno(err, "open directory");
    while ((name = strsep(&rest, "/"))) {
        int next = *name ? step_in_layer(fd, name) : dup(fd);

        if (next < 0 && (errno == ENOTDIR || errno == ELOOP))
            return sbx_err_set(err, SBX_SCHEMA, "its parent \"%s\" is not a directory", name);
        if (next < 0)
            return sbx_err_errno(err, "open directory %s", name);
        close(fd);
        fd = next;
    }
    *ret = sbx_take_fd(&fd);
    return SBX_OK;
}

/* In a living tree: resolve each prefix inside the root, making what is missing. */
static enum sbx_code walk_tree(struct sbx_place *p, char *path, int *ret, struct sbx_err *err)
{
    char full[8192];
    const char *below = p->how->below ? p->how->below : "";
    size_t len = (size_t)snprintf(full, sizeof(full), "%s", below);
    SBX_AUTO_FD int fd = sbx_open_in_root(p->how->root, below, O_RDONLY | O_DIRECTORY, 0);
    char *rest = path, *name;

    if (fd < 0)
        return sbx_err_errno(err, "open %s", below);
    while ((name = strsep(&rest, "/"))) {
        int next;

        if (!*name)
            continue;
        len += (size_t)snprintf(full + len, sizeof(full) - len, "/%s", name);
        if (len >= sizeof(full))
            return sbx_err_set(err, SBX_LIMIT, "path too long");
        next = sbx_open_in_root(p->how->root, full, O_RDONLY | O_DIRECTORY, 0);
        if (next < 0 && errno == ENOENT) {
            if (mkdirat(fd, name, 0755) && errno != EEXIST)
                return sbx_err_errno(err, "make directory %s", full);
            next = sbx_open_in_root(p->how->root, full, O_RDONLY | O_DIRECTORY, 0);
        }
        if (next < 0)
            return sbx_err_errno(err, "open directory %s", full);
        close(fd);
        fd = next;
    }
    *ret = sbx_take_fd(&fd);
    return SBX_OK;
}

enum sbx_code sbx_place_parent(struct sbx_place *p, const char *path, size_t len, int *ret,
                               struct sbx_err *err)
{
    char copy[sizeof(p->parent)];
    enum sbx_code rc;
    int fd = -1;

    if (p->parent_fd >= 0 && strlen(p->parent) == len && memcmp(p->parent, path, len) == 0) {
        *ret = p->parent_fd;
        return SBX_OK;
    }
    memcpy(copy, path, len);
    copy[len] = '\0';
    rc = p->how->layer ? walk_layer(p, copy, &fd, err) : walk_tree(p, copy, &fd, err);
    if (rc)
        return rc;
    if (p->parent_fd >= 0)
        close(p->parent_fd);
    p->parent_fd = *ret = fd;
    memcpy(p->parent, path, len);
    p->parent[len] = '\0';
    return SBX_OK;
}
