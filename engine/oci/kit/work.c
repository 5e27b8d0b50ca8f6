#include "work.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "sbx/auto.h"
#include "sbx/file.h"

/* Is the directory of this descriptor still the one of that name? */
static bool is_named(int fd, const char *path)
{
    struct stat a, b;

    return !fstat(fd, &a) && !lstat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* What commands left that were killed at work: nobody holds its lock. */
static void sweep(const char *kits)
{
    DIR *d = opendir(kits);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        SBX_AUTO_FD int fd = -1;

        if (strncmp(e->d_name, ".tmp-", 5) != 0)
            continue;
        fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) &&
            sbx_dir_remove(dirfd(d), e->d_name, NULL))
            break; /* another time */
    }
    if (d)
        closedir(d);
}

/* A new directory, locked. */
static enum sbx_code own(const char *kits, char **ret_tmp, int *ret_fd, struct sbx_err *err)
{
    for (;;) {
        SBX_AUTO_FREE char *tmp = NULL;
        SBX_AUTO_FD int fd = -1;

        if (asprintf(&tmp, "%s/.tmp-XXXXXX", kits) < 0)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (!mkdtemp(tmp))
            return sbx_err_errno(err, "make a directory in %s", kits);
        fd = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if ((fd < 0 && errno != ENOENT) || (fd >= 0 && flock(fd, LOCK_SH)))
            return sbx_err_errno(err, "open %s", tmp);
        if (fd < 0 || !is_named(fd, tmp))
            continue; /* somebody swept before we had the lock */
        *ret_tmp = SBX_TAKE(tmp);
        *ret_fd = sbx_take_fd(&fd);
        return SBX_OK;
    }
}

enum sbx_code kit_work_make(const char *cache, char **ret_dir, int *ret_fd, struct sbx_err *err)
{
    SBX_AUTO_FREE char *kits = NULL;
    enum sbx_code rc;

    if (asprintf(&kits, "%s/kits", cache) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_dir_make(kits, 0700, err);
    if (rc)
        return rc;
    sweep(kits);
    return own(kits, ret_dir, ret_fd, err);
}
