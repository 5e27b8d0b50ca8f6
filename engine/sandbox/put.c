/*
 * Files that mean nothing after a power failure (marks, pids, what is written anew at each start):
 * replaced atomically, so that readers see the old or the new one, but not synced to the disk. A
 * create has some twenty of them, and each sync would cost it milliseconds.
 */
#include "box.h"

#include "sbx/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum sbx_code sbx_put(struct sbx_box *box, const char *path, const void *data, size_t len,
                      mode_t mode, struct sbx_err *err)
{
    char temp[512];
    SBX_AUTO_FD int fd = -1;

    if (snprintf(temp, sizeof(temp), "%s.%d.new", path, (int)getpid()) >= (int)sizeof(temp))
        return sbx_err_set(err, SBX_LIMIT, "%s: path too long", path);
    unlinkat(box->dirfd, temp, 0);
    fd = openat(box->dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sbx_err_errno(err, "%s/%s", box->dir, path);
    if (sbx_write_all(fd, data, len) || fchmod(fd, mode) ||
        renameat(box->dirfd, temp, box->dirfd, path)) {
        sbx_err_errno(err, "%s/%s", box->dir, path);
        unlinkat(box->dirfd, temp, 0);
        return SBX_IO;
    }
    return SBX_OK;
}
