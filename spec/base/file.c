#include "sbx/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define READ_STEP 65536     /* bytes read at once where the size is not known before (/proc), or does not matter */
#define TEMPORARY_TRIES 100 /* random names tried; a second one is as good as never needed */

int sbx_write_all(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

static enum sbx_code not_regular(struct sbx_err *err, const char *path, mode_t mode)
{
    return sbx_err_set(err, SBX_IO, "%s: %s, not a regular file", path,
                       S_ISDIR(mode)    ? "is a directory"
                       : S_ISFIFO(mode) ? "is a FIFO"
                       : S_ISSOCK(mode) ? "is a socket"
                                        : "is a device");
}

/*
 * Looked at before it is opened, since opening alone can have effects (a FIFO wakes its writer, a
 * tape rewinds); O_NONBLOCK and the second look are for a file that changed in between.
 */
static enum sbx_code open_regular(int dirfd, const char *path, struct stat *st, int *ret,
                                  struct sbx_err *err)
{
    int fd;

    if (fstatat(dirfd, path, st, 0))
        return sbx_err_errno(err, "%s", path);
    if (!S_ISREG(st->st_mode))
        return not_regular(err, path, st->st_mode);
    fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sbx_err_errno(err, "%s", path);
    *ret = fd;
    if (fstat(fd, st))
        return sbx_err_errno(err, "%s", path);
    if (!S_ISREG(st->st_mode))
        return not_regular(err, path, st->st_mode);
    return SBX_OK;
}

static enum sbx_code too_large(struct sbx_err *err, const char *path, size_t max)
{
    return sbx_err_set(err, SBX_LIMIT, "%s: larger than %zu bytes", path, max);
}

/*
 * Read to the end; one byte is asked for past the bound so that "just fits" is told from "more".
 * `expected` bytes are probably there.
 */
static enum sbx_code read_all(int fd, const char *path, size_t expected, struct sbx_buf *out,
                              struct sbx_err *err)
{
    size_t want = expected ? expected + 1 : READ_STEP;

    for (;;) {
        size_t left = out->max - out->len, step = left < want ? left : want;
        char past, *room = step ? sbx_buf_room(out, step) : &past;
        ssize_t n;

        if (!room)
            return sbx_err_set(err, SBX_NO_MEMORY, "%s: no memory", path);
        n = read(fd, room, step ? step : 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sbx_err_errno(err, "%s", path);
        if (!n)
            return SBX_OK;
        if (!step)
            return too_large(err, path, out->max);
        sbx_buf_commit(out, (size_t)n);
        want = (size_t)n < want ? want - (size_t)n : READ_STEP;
    }
}

enum sbx_code sbx_file_read(int dirfd, const char *path, struct sbx_buf *out, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    size_t before = out->len;
    struct stat st;
    enum sbx_code rc;

    rc = open_regular(dirfd, path, &st, &fd, err);
    if (rc)
        return rc;
    if ((size_t)st.st_size > out->max - out->len)
        return too_large(err, path, out->max);
    if (!sbx_buf_room(out, 0)) /* for the NUL of an empty file */
        return sbx_err_set(err, SBX_NO_MEMORY, "%s: no memory", path);
    rc = read_all(fd, path, (size_t)st.st_size, out, err);
    if (rc) {
        out->len = before;
        out->ptr[before] = '\0';
    }
    return rc;
}

enum sbx_code sbx_fd_read(int fd, const char *name, struct sbx_buf *out, struct sbx_err *err)
{
    size_t expected = 0;
    struct stat st;

    if (fstat(fd, &st))
        return sbx_err_errno(err, "%s", name);
    if (S_ISREG(st.st_mode)) {
        if (lseek(fd, 0, SEEK_SET) < 0)
            return sbx_err_errno(err, "%s", name);
        expected = (size_t)st.st_size;
    }
    if (expected > out->max - out->len)
        return too_large(err, name, out->max);
    return read_all(fd, name, expected, out, err);
}

enum sbx_code sbx_file_stream(int dirfd, const char *path, size_t max, sbx_file_sink *sink,
                              void *context, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    size_t total = 0;
    struct stat st;
    enum sbx_code rc = open_regular(dirfd, path, &st, &fd, err);

    while (!rc) {
        char piece[READ_STEP];
        ssize_t n = read(fd, piece, sizeof(piece));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sbx_err_errno(err, "%s", path);
        if (!n)
            break;
        if ((size_t)n > max - total)
            return too_large(err, path, max);
        total += (size_t)n;
        rc = sink(context, piece, (size_t)n, err);
    }
    return rc;
}

/* "dir/name" -> ("dir", "name"); dir is a copy, name points into path. */
static enum sbx_code split(const char *path, char **ret_dir, const char **ret_name,
                           struct sbx_err *err)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");

    *ret_name = slash ? slash + 1 : path;
    *ret_dir = dir;
    return dir ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "%s: no memory", path);
}

/* A new file beside the one it will replace. */
static int open_temporary(int dir, const char *base, char *name, size_t size)
{
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        unsigned long long salt = 0;
        int fd;

        if (getrandom(&salt, sizeof(salt), 0) != (ssize_t)sizeof(salt))
            return -1;
        snprintf(name, size, ".%.200s.%016llx.new", base, salt);
        fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static int fill(int fd, const void *data, size_t len, mode_t mode)
{
    if (sbx_write_all(fd, data, len) || fchmod(fd, mode))
        return -1;
    return fsync(fd);
}

enum sbx_code sbx_file_write(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
                             struct sbx_err *err)
{
    SBX_AUTO_FD int dir = -1;
    SBX_AUTO_FD int fd = -1;
    SBX_AUTO_FREE char *parent = NULL;
    char temporary[256];
    const char *base;
    enum sbx_code rc;
    int saved;

    rc = split(path, &parent, &base, err);
    if (rc)
        return rc;
    dir = openat(dirfd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return sbx_err_errno(err, "write %s: %s", path, parent);
    fd = open_temporary(dir, base, temporary, sizeof(temporary));
    if (fd < 0)
        return sbx_err_errno(err, "write %s", path);
    if (!fill(fd, data, len, mode) && !renameat(dir, temporary, dir, base)) {
        if (fsync(dir) && errno != EINVAL) /* EINVAL: a file system that cannot */
            return sbx_err_errno(err, "write %s", path);
        return SBX_OK;
    }
    saved = errno;
    unlinkat(dir, temporary, 0);
    errno = saved;
    return sbx_err_errno(err, "write %s", path);
}

/* One level; what is made gets its mode whatever the umask is. */
static int make_level(const char *path, mode_t mode)
{
    struct stat st;

    if (!mkdir(path, mode))
        return chmod(path, mode);
    if (errno != EEXIST)
        return -1;
    if (stat(path, &st))
        return -1;
    if (S_ISDIR(st.st_mode))
        return 0;
    errno = ENOTDIR;
    return -1;
}

enum sbx_code sbx_dir_make(const char *path, mode_t mode, struct sbx_err *err)
{
    SBX_AUTO_FREE char *copy = strdup(path);

    if (!copy)
        return sbx_err_set(err, SBX_NO_MEMORY, "%s: no memory", path);
    if (!*copy)
        return sbx_err_set(err, SBX_FAILED, "make a directory: the path is empty");
    for (char *p = copy + 1; *p; p++) {
        if (*p != '/' || p[-1] == '/')
            continue;
        *p = '\0';
        if (make_level(copy, mode))
            return sbx_err_errno(err, "make directory %s", copy);
        *p = '/';
    }
    if (make_level(copy, mode))
        return sbx_err_errno(err, "make directory %s", path);
    return SBX_OK;
}
