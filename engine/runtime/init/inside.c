#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "sbx/file.h"

#define PARENT_MODE 0755
#define TEMP_TRIES 16 /* random names; one is as good as always enough */

int sbx_inside_open(int root, const char *path, unsigned flags)
{
    struct open_how how = { .flags = flags | O_CLOEXEC,
                            .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

    return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static enum sbx_code check_path(const char *path, struct sbx_err *err)
{
    size_t len = strlen(path);

    if (path[0] != '/')
        return sbx_err_set(err, SBX_USAGE, "not an absolute path");
    if (len >= PATH_MAX)
        return sbx_err_set(err, SBX_LIMIT, "path of %zu bytes", len);
    for (const char *p = path; (p = strstr(p, "/..")); p += 3)
        if (p[3] == '/' || !p[3])
            return sbx_err_set(err, SBX_USAGE, "\"..\" in a path");
    return SBX_OK;
}

/* mkdir of one component in `parent`, owned by `owner`. One that exists is fine. */
static enum sbx_code make_one(int parent, const char *name, const struct sbx_owner *owner,
                              struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;

    if (mkdirat(parent, name, PARENT_MODE))
        return errno == EEXIST ? SBX_OK : sbx_err_errno(err, "make directory %s", name);
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fchown(fd, owner->uid, owner->gid) || fchmod(fd, PARENT_MODE))
        return sbx_err_errno(err, "set the owner of directory %s", name);
    return SBX_OK;
}

/* Open the directory `path`, making what is missing of it. `path` is cut at each "/" and mended. */
static enum sbx_code open_dir(int root, char *path, const struct sbx_owner *parents, int *ret,
                              struct sbx_err *err)
{
    int parent = sbx_inside_open(root, "/", O_PATH | O_DIRECTORY);
    char *p = path, *end;

    while (parent >= 0 && *(p += strspn(p, "/"))) {
        enum sbx_code rc = SBX_OK;
        char cut;
        int fd;

        end = p + strcspn(p, "/");
        cut = *end;
        *end = '\0';
        fd = sbx_inside_open(root, path, O_PATH | O_DIRECTORY);
        if (fd < 0 && errno == ENOENT && parents) {
            rc = make_one(parent, p, parents, err);
            fd = rc ? -1 : sbx_inside_open(root, path, O_PATH | O_DIRECTORY);
        }
        if (fd < 0 && !rc)
            rc = sbx_err_errno(err, "directory %s", path);
        close(parent);
        parent = fd;
        *end = cut;
        if (rc)
            return rc;
        p = end;
    }
    if (parent < 0)
        return sbx_err_errno(err, "open /");
    *ret = parent;
    return SBX_OK;
}

enum sbx_code sbx_inside_find(int root, const char *path, const struct sbx_owner *parents,
                              struct sbx_spot *ret, struct sbx_err *err)
{
    char dir[PATH_MAX];
    enum sbx_code rc = check_path(path, err);
    const char *slash;

    if (rc)
        return rc;
    slash = strrchr(path, '/');
    if (!slash[1] || !strcmp(slash, "/."))
        return sbx_err_set(err, SBX_USAGE, "names a directory");
    memcpy(dir, path, (size_t)(slash - path) + 1);
    dir[slash - path + 1] = '\0';
    rc = open_dir(root, dir, parents, &ret->dir, err);
    if (!rc)
        ret->name = slash + 1;
    return rc;
}

static void temp_name(char *out, size_t size)
{
    unsigned long long r = 0;

    if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
        r = (unsigned long long)getpid() << 32 | (unsigned long long)clock();
    snprintf(out, size, ".sbx-%016llx", r);
}

static bool exists(const struct sbx_spot *s)
{
    struct stat st;

    return fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

enum sbx_code sbx_new_file_open(int root, const char *path, struct sbx_owner owner, mode_t mode,
                                bool if_missing, struct sbx_new_file *ret, struct sbx_err *err)
{
    enum sbx_code rc = sbx_inside_find(root, path, &owner, &ret->spot, err);

    if (rc || (if_missing && exists(&ret->spot)))
        return rc;
    for (int i = 0; i < TEMP_TRIES && ret->fd < 0; i++) {
        temp_name(ret->temp, sizeof(ret->temp));
        ret->fd = openat(ret->spot.dir, ret->temp,
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (ret->fd < 0 && errno != EEXIST)
            break;
    }
    if (ret->fd < 0) {
        ret->temp[0] = '\0';
        return sbx_err_errno(err, "make a file");
    }
    if (fchown(ret->fd, owner.uid, owner.gid) || fchmod(ret->fd, mode & 07777))
        return sbx_err_errno(err, "set owner and mode");
    return SBX_OK;
}

/* The target is a mount point: rename cannot replace it, so its file gets the content. */
static enum sbx_code write_over(struct sbx_new_file *f, struct sbx_err *err)
{
    SBX_AUTO_FD int to = openat(f->spot.dir, f->spot.name,
                                O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_TRUNC);
    off_t at = 0;
    ssize_t n;

    if (to < 0)
        return sbx_err_errno(err, "open the mounted file");
    while ((n = sendfile(to, f->fd, &at, 1 << 20)) > 0)
        ;
    return n < 0 ? sbx_err_errno(err, "write over the mounted file") : SBX_OK;
}

enum sbx_code sbx_new_file_commit(struct sbx_new_file *f, struct sbx_err *err)
{
    if (f->fd < 0)
        return SBX_OK;
    if (!renameat(f->spot.dir, f->temp, f->spot.dir, f->spot.name)) {
        f->temp[0] = '\0';
        return SBX_OK;
    }
    return errno == EBUSY ? write_over(f, err) : sbx_err_errno(err, "put the file in place");
}

void sbx_new_file_release(struct sbx_new_file *f)
{
    if (f->temp[0])
        unlinkat(f->spot.dir, f->temp, 0);
    f->temp[0] = '\0';
    sbx_auto_fd_(&f->fd);
    f->fd = -1;
    sbx_spot_release(&f->spot);
    f->spot.dir = -1;
}

enum sbx_code sbx_inside_mkdir(int root, const char *path, struct sbx_owner owner, mode_t mode,
                               bool if_missing, enum sbx_done *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_spot) spot = SBX_SPOT_INIT;
    SBX_AUTO_FD int fd = -1;
    enum sbx_code rc = sbx_inside_find(root, path, &owner, &spot, err);
    bool made;

    if (rc)
        return rc;
    made = mkdirat(spot.dir, spot.name, 0700) == 0;
    if (!made && errno != EEXIST)
        return sbx_err_errno(err, "make the directory");
    /* A symlink to a directory is one, as for mkdir -p: it stays inside anyway. */
    fd = made ? openat(spot.dir, spot.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
              : sbx_inside_open(root, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return sbx_err_errno(err, "open the directory");
    *ret = !made && if_missing ? SBX_DONE_KEPT : SBX_DONE_OK;
    if (*ret == SBX_DONE_OK && (fchown(fd, owner.uid, owner.gid) || fchmod(fd, mode & 07777)))
        return sbx_err_errno(err, "set owner and mode");
    return SBX_OK;
}

enum sbx_code sbx_inside_link(int root, const char *path, const char *target,
                              struct sbx_owner owner, struct sbx_err *err)
{
    SBX_AUTO(sbx_spot) spot = SBX_SPOT_INIT;
    enum sbx_code rc = sbx_inside_find(root, path, &owner, &spot, err);
    char temp[32];

    if (rc)
        return rc;
    temp_name(temp, sizeof(temp));
    if (symlinkat(target, spot.dir, temp))
        return sbx_err_errno(err, "make a symlink");
    if (fchownat(spot.dir, temp, owner.uid, owner.gid, AT_SYMLINK_NOFOLLOW) ||
        renameat(spot.dir, temp, spot.dir, spot.name)) {
        rc = sbx_err_errno(err, "put the symlink in place");
        unlinkat(spot.dir, temp, 0);
    }
    return rc;
}

enum sbx_code sbx_inside_remove(int root, const char *path, struct sbx_err *err)
{
    SBX_AUTO(sbx_spot) spot = SBX_SPOT_INIT;
    SBX_AUTO_FD int dir = -1;
    enum sbx_code rc = sbx_inside_find(root, path, NULL, &spot, err);

    if (rc == SBX_NOT_FOUND)
        return SBX_OK;
    if (rc)
        return rc;
    dir = openat(spot.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return sbx_err_errno(err, "open the directory");
    return sbx_dir_remove(dir, spot.name, err);
}
