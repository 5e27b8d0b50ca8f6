/*
 * A tree on the disk, before it gets the name by which it is trusted; without waiting for all that others write,
 * as syncfs() does.
 *
 * ext4 has one journal, which takes all changes in their order. So when the content of the files is on the disk,
 * one commit of the journal puts there what was done to the tree before: names, sizes, modes. It comes with the
 * fsync() of a file that was made just now, and flushes the disk's own cache. Seen with 5,400 files of 180 MB, beside
 * a program that writes as fast as it can: 0.05 to 0.8 s, with syncfs() 2.0 to 3.2 s; on a quiet disk 0.04 to 0.2 s,
 * with syncfs() 0.01 to 0.3 s, with fsync() of each 5 s and more.
 *
 * Of other file systems this is not known: there few files are waited for one by one, many with syncfs().
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "cache.h"

#define ONE_BY_ONE 64 /* files and directories: past it waiting for each takes longer than for the file system */

enum how {
    BEGIN, /* to write the content of all files */
    WAIT,  /* until it is written */
    SYNC,  /* each with all that belongs to it */
};

static int pass(int dir, enum how how, size_t *left);

static int content(int fd, enum how how)
{
    const unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                         SYNC_FILE_RANGE_WAIT_AFTER;

    if (how == SYNC)
        return fsync(fd);
    return sync_file_range(fd, 0, 0, how == BEGIN ? SYNC_FILE_RANGE_WRITE : all);
}

/* Links, devices and what else has no content of its own come with their directory. */
static int one(int dir, const char *name, enum how how, size_t *left)
{
    SBX_AUTO_FD int fd = -1;
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
        return -1;
    if (!S_ISDIR(st.st_mode) && (!S_ISREG(st.st_mode) || (!st.st_size && how != SYNC)))
        return 0;
    fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    return S_ISDIR(st.st_mode) ? pass(fd, how, left) : content(fd, how);
}

/* All files below, and to SYNC the directories. -1: errno; E2BIG: more than *left. */
static int pass(int dir, enum how how, size_t *left)
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
            rc = one(dir, e->d_name, how, left);
        }
    }
    saved = errno;
    closedir(d);
    errno = saved;
    return rc || how != SYNC ? rc : fsync(dir);
}

/* Of an ext4 that has one the kernel says who writes it. */
static bool has_journal(int dir)
{
    char name[64], device[PATH_MAX], path[PATH_MAX + 64];
    struct statfs fs;
    struct stat st;

    if (fstatfs(dir, &fs) || fs.f_type != EXT4_SUPER_MAGIC || fstat(dir, &st))
        return false;
    snprintf(name, sizeof(name), "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
    if (!realpath(name, device))
        return false;
    snprintf(path, sizeof(path), "/sys/fs/ext4/%s/journal_task", strrchr(device, '/') + 1);
    return !access(path, F_OK);
}

static int commit(int dir)
{
    SBX_AUTO_FD int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    return fd < 0 ? -1 : fsync(fd);
}

int sbx_cache_sync_tree(int dir)
{
    size_t left = SIZE_MAX;

    if (has_journal(dir)) {
        if (!pass(dir, BEGIN, &left) && !pass(dir, WAIT, &left) && !commit(dir))
            return 0;
        if (errno != EACCES && errno != EPERM) /* the kernel tells of a failed write once only */
            return -1;
    }
    left = ONE_BY_ONE;
    if (pass(dir, BEGIN, &left)) /* many, or one that we may not open */
        return syncfs(dir);
    left = ONE_BY_ONE;
    return pass(dir, SYNC, &left);
}
