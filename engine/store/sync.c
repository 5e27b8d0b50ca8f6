/* A tree of the cache on the disk, before it gets the name by which it is trusted. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cache.h"

#define ONE_BY_ONE 64 /* files and directories: past it waiting for each takes longer than for the file system */

static int pass(int dir, bool wait, size_t *left);

/* Links and what else has no content of its own come with their directory. */
static int one(int dir, const char *name, bool wait, size_t *left)
{
    SBX_AUTO_FD int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 && errno == ELOOP)
        return 0;
    if (fd < 0 || fstat(fd, &st))
        return -1;
    if (S_ISDIR(st.st_mode))
        return pass(fd, wait, left);
    if (!S_ISREG(st.st_mode))
        return 0;
    return wait ? fsync(fd) : sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

/* Begin to write all files, or wait for all and for the directories. -1: errno; E2BIG: more than *left. */
static int pass(int dir, bool wait, size_t *left)
{
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    DIR *d = again < 0 ? NULL : fdopendir(again);
    struct dirent *e;
    int saved;

    if (!d) {
        if (again >= 0)
            close(again);
        return -1;
    }
    while (!rc && (e = readdir(d))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (!*left) {
            errno = E2BIG;
            rc = -1;
        } else {
            --*left;
            rc = one(dir, e->d_name, wait, left);
        }
    }
    saved = errno;
    closedir(d);
    errno = saved;
    return rc || !wait ? rc : fsync(dir);
}

int sbx_cache_sync_tree(int dir)
{
    size_t left = ONE_BY_ONE;

    if (pass(dir, false, &left)) /* many, or one that we may not open */
        return syncfs(dir);
    left = ONE_BY_ONE;
    return pass(dir, true, &left);
}
