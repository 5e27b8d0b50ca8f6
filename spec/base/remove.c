/*
 * rm -rf for trees that someone else filled: a sandbox's root file system may hold symlinks to
 * anywhere, directories 100,000 levels deep, and forgotten mounts of the user's own files.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sbx/file.h"

struct level {
    dev_t dev;
    ino_t ino;
    char *name; /* of the directory below this one that is being emptied */
};

struct walk {
    int fd; /* the directory at hand; only one is open however deep the tree is */
    struct level *v;
    size_t len, cap;
    char failed[256]; /* name of the entry that failed */
};

static void walk_release(struct walk *w)
{
    for (size_t i = 0; i < w->len; i++)
        free(w->v[i].name);
    free(w->v);
    if (w->fd >= 0)
        close(w->fd);
}
SBX_DEFINE_AUTO(walk, walk_release);

/* Opens a directory below `dir` unless it is a symlink or a mount point (a bind mount too). */
static int open_below(int dir, const char *name)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
    struct stat above, here;

    if (fd >= 0 || errno != ENOSYS)
        return fd;
    /* before Linux 5.6: another device is all that can be seen */
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(dir, &above) || fstat(fd, &here) || above.st_dev != here.st_dev)) {
        close(fd);
        errno = EXDEV;
        return -1;
    }
    return fd;
}

/* A directory without rights for its owner (Go's module cache is 0555): give them. */
static int unlock(int dir, const char *name)
{
    SBX_AUTO_FD int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char link[64];

    if (fd < 0)
        return -1;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return chmod(link, 0700);
}

static int push(struct walk *w, const char *name)
{
    struct stat st;
    char *copy;

    if (w->len == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 16;
        struct level *v = realloc(w->v, cap * sizeof(*v));

        if (!v)
            return -1;
        w->v = v;
        w->cap = cap;
    }
    copy = strdup(name);
    if (!copy || fstat(w->fd, &st)) {
        free(copy);
        return -1;
    }
    w->v[w->len++] = (struct level){ st.st_dev, st.st_ino, copy };
    return 0;
}

static int descend(struct walk *w, const char *name)
{
    int fd = open_below(w->fd, name);

    if (fd < 0 && errno == EACCES && !unlock(w->fd, name))
        fd = open_below(w->fd, name);
    if (fd < 0)
        return -1;
    if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) && errno == EACCES)
        fchmod(fd, 0700); /* a failure shows at the first unlink */
    if (push(w, name)) {
        close(fd);
        return -1;
    }
    close(w->fd);
    w->fd = fd;
    return 0;
}

/* Back to the parent, if it still is the one we came from, and remove the emptied directory. */
static int ascend(struct walk *w)
{
    struct level *top = &w->v[w->len - 1];
    int fd = openat(w->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return -1;
    close(w->fd);
    w->fd = fd;
    if (fstat(fd, &st))
        return -1;
    if (st.st_dev != top->dev || st.st_ino != top->ino) {
        errno = ESTALE; /* someone moves directories under our feet */
        return -1;
    }
    snprintf(w->failed, sizeof(w->failed), "%s", top->name);
    if (unlinkat(fd, top->name, AT_REMOVEDIR) && errno != ENOENT)
        return -1;
    free(top->name);
    w->len--;
    return 0;
}

/* 1: stepped into `name`; 0: it is gone; -1: errno. */
static int remove_entry(struct walk *w, const char *name)
{
    struct stat st;

    snprintf(w->failed, sizeof(w->failed), "%s", name);
    if (!unlinkat(w->fd, name, 0) || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    if (fstatat(w->fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -1;
    if (!S_ISDIR(st.st_mode)) {
        errno = EPERM;
        return -1;
    }
    return descend(w, name) ? -1 : 1;
}

/* Empties the directory at hand as far as its first subdirectory. Results as remove_entry(). */
static int empty_here(struct walk *w)
{
    int copy = openat(w->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *e;
    int got = 0, saved;

    if (!d) {
        if (copy >= 0)
            close(copy);
        return -1;
    }
    while (!got && (errno = 0, e = readdir(d))) {
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            got = remove_entry(w, e->d_name);
    }
    if (!got && errno)
        got = -1;
    saved = errno;
    closedir(d);
    errno = saved;
    return got;
}

static int remove_tree(struct walk *w, const char *name)
{
    int got = remove_entry(w, name);

    while (got >= 0 && w->len) {
        got = empty_here(w);
        if (!got)
            got = ascend(w);
    }
    return got;
}

enum sbx_code sbx_dir_remove(int dirfd, const char *path, struct sbx_err *err)
{
    SBX_AUTO(walk) w = { .fd = -1 };
    SBX_AUTO_FREE char *copy = strdup(path);
    char *name, *slash;
    size_t len = strlen(path);

    if (!copy)
        return sbx_err_set(err, SBX_NO_MEMORY, "remove %s: no memory", path);
    while (len > 1 && copy[len - 1] == '/')
        copy[--len] = '\0';
    slash = strrchr(copy, '/');
    name = slash ? slash + 1 : copy;
    if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
        return sbx_err_set(err, SBX_FAILED, "remove \"%s\": name the directory itself", path);
    if (slash)
        *slash = '\0';
    w.fd = openat(dirfd, !slash ? "." : *copy ? copy : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w.fd < 0 && errno == ENOENT)
        return SBX_OK;
    if (w.fd < 0)
        return sbx_err_errno(err, "remove %s", path);
    if (!remove_tree(&w, name))
        return SBX_OK;
    if (errno == EXDEV)
        return sbx_err_set(err, SBX_BUSY, "remove %s: %s is a mount point", path, w.failed);
    return sbx_err_errno(err, "remove %s: %s", path, w.failed);
}
