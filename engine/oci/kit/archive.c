/*
 * An OCI archive: a layout in one tar file, as `kit pack` and other tools write it. It is unpacked below the cache for
 * as long as it is read; of what is in it only a layout's own files are taken.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout.h"
#include "sbx/file.h"
#include "tar.h"
#include "work.h"

#define READ_SIZE 262144 /* bytes at once */
#define BLOBS "blobs/sha256/"

static enum sbx_code read_file(void *ctx, void *to, size_t len, size_t *ret_n, struct sbx_err *err)
{
    for (*ret_n = 0; *ret_n < len;) {
        ssize_t n = read(*(int *)ctx, (char *)to + *ret_n, len - *ret_n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sbx_err_errno(err, "read");
        if (!n)
            break;
        *ret_n += (size_t)n;
    }
    return SBX_OK;
}

/* The name that a layout gives it; NULL: it is not one of a layout's files. */
static const char *wanted(const struct tar_entry *e)
{
    const char *name = e->name + (strncmp(e->name, "./", 2) ? 0 : 2);
    const char *hex = name + strlen(BLOBS);

    if (e->type != '0')
        return NULL;
    if (!strcmp(name, "oci-layout") || !strcmp(name, "index.json"))
        return name;
    return !strncmp(name, BLOBS, strlen(BLOBS)) && strlen(hex) == 64 &&
                   strspn(hex, "0123456789abcdef") == 64
               ? name
               : NULL;
}

static enum sbx_code take(struct tar_in *t, const char *name, int dir, char *data,
                          struct sbx_err *err)
{
    SBX_AUTO_FD int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    enum sbx_code rc = SBX_OK;
    size_t n = 1;

    if (fd < 0)
        return sbx_err_errno(err, "write %s", name); /* "File exists": it is there twice */
    while (!rc && n) {
        rc = tar_data(t, data, READ_SIZE, &n, err);
        if (!rc && n && sbx_write_all(fd, data, n))
            rc = sbx_err_errno(err, "write %s", name);
    }
    return rc;
}

static enum sbx_code unpack(int file, int dir, struct sbx_err *err)
{
    struct tar_in t = { .read = read_file, .ctx = &file };
    SBX_AUTO_FREE struct tar_entry *e = malloc(sizeof(*e));
    SBX_AUTO_FREE char *data = malloc(READ_SIZE);
    bool more = true;
    enum sbx_code rc = SBX_OK;

    if (!e || !data)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (mkdirat(dir, "blobs", 0700) || mkdirat(dir, "blobs/sha256", 0700))
        return sbx_err_errno(err, "make a directory to unpack it");
    while (!rc) {
        const char *name;

        rc = tar_next(&t, e, &more, err);
        if (rc || !more)
            break;
        name = wanted(e); /* what it leaves is skipped by the next turn */
        if (name)
            rc = take(&t, name, dir, data, err);
    }
    return rc == SBX_SYNTAX ? sbx_err_wrap(err, rc, "not a whole OCI archive (a tar file, not compressed)")
                            : rc;
}

enum sbx_code layout_unpack_archive(const char *file, const char *cache, char **ret_dir, int *ret_lock,
                                    struct sbx_err *err)
{
    SBX_AUTO_FD int fd = open(file, O_RDONLY | O_CLOEXEC), lock = -1;
    SBX_AUTO_FREE char *tmp = NULL;
    enum sbx_code rc = fd < 0 ? sbx_err_errno(err, "%s", file)
                              : kit_work_make(cache, &tmp, &lock, err);

    if (!rc)
        rc = unpack(fd, lock, err);
    if (!rc) {
        *ret_dir = SBX_TAKE(tmp);
        *ret_lock = sbx_take_fd(&lock);
        return SBX_OK;
    }
    if (tmp)
        (void)!sbx_dir_remove(AT_FDCWD, tmp, NULL); /* else `cache prune` removes it */
    return sbx_err_wrap(err, rc, "%s", file);
}
