/* A bounded walk that never follows symlinks and never opens anything but directories. */
#include "workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define WALK_DEPTH_MAX 200 /* open directories at once; deeper ones are left out and said so */

struct walk {
    size_t left;
    bool (*found)(void *ctx, const char *path);
    void *ctx;
    bool whole, stop;
    char path[4096];
};

static void enter(struct walk *w, int dirfd, const char *name, size_t len, unsigned depth);

static bool is_socket(const struct dirent *d, int dirfd)
{
    struct stat st;

    if (d->d_type != DT_UNKNOWN)
        return d->d_type == DT_SOCK;
    return !fstatat(dirfd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(st.st_mode);
}

static bool is_directory(const struct dirent *d, int dirfd)
{
    struct stat st;

    if (d->d_type != DT_UNKNOWN)
        return d->d_type == DT_DIR;
    return !fstatat(dirfd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

static void entry(struct walk *w, const struct dirent *d, int dirfd, size_t len, unsigned depth)
{
    int n = snprintf(w->path + len, sizeof(w->path) - len, "/%s", d->d_name);

    if (n < 0 || (size_t)n >= sizeof(w->path) - len) {
        w->whole = false;
        return;
    }
    if (is_socket(d, dirfd))
        w->stop |= !w->found(w->ctx, w->path);
    else if (is_directory(d, dirfd))
        enter(w, dirfd, d->d_name, len + (size_t)n, depth + 1);
    w->path[len] = '\0';
}

/* A directory that we may not read, nobody of ours hands on: the container's root may. Look no more. */
static void enter(struct walk *w, int dirfd, const char *name, size_t len, unsigned depth)
{
    int fd = depth > WALK_DEPTH_MAX
                 ? -1
                 : openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir) {
        w->whole = false;
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *d; !w->stop && (d = readdir(dir));) {
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
            continue;
        if (!w->left) {
            w->whole = false;
            w->stop = true;
            break;
        }
        w->left--;
        entry(w, d, fd, len, depth);
    }
    closedir(dir);
}

enum sbx_code sbx_walk_sockets(int fd, const char *path, size_t max,
                               bool (*found)(void *ctx, const char *path), void *ctx,
                               bool *ret_whole, struct sbx_err *err)
{
    struct walk w = { .left = max, .found = found, .ctx = ctx, .whole = true };
    SBX_AUTO_FD int top = -1;
    struct stat st;

    *ret_whole = true;
    if (fstat(fd, &st))
        return sbx_err_errno(err, "%s", path);
    if (!S_ISDIR(st.st_mode))
        return SBX_OK;
    if (strlen(path) >= sizeof(w.path))
        return sbx_err_set(err, SBX_LIMIT, "%s: path too long", path);
    top = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0) /* below it some may be left out; all of it may not */
        return sbx_err_errno(err, "cannot be searched for sockets");
    strcpy(w.path, path);
    enter(&w, top, ".", strlen(path), 0);
    *ret_whole = w.whole;
    return SBX_OK;
}
