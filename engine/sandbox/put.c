/*
 * Files that mean nothing after a power failure (marks, pids, what is written anew at each start), and
 * those of a create until it is done: replaced atomically, so that readers see the old or the new one,
 * but not synced to the disk. A create has some thirty of them, and each sync costs milliseconds.
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

/* What a sandbox consists of after a power failure, once its create is done. Directories come last. */
static const char *const kept[] = { "plan.json", "ca/key.pem", "ca/cert.pem", SBX_ROOTS_FILE,
                                    "records.jsonl", "sandbox.json", "ca", "." };

/*
 * All data is on its way, then there, before the first sync: so that one commits everything to a file
 * system's journal, and the others find nothing left to do.
 */
enum sbx_code sbx_put_settle(struct sbx_box *box, struct sbx_err *err)
{
    int fds[SBX_ARRAY_LEN(kept)];
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; i < SBX_ARRAY_LEN(kept); i++) {
        fds[i] = openat(box->dirfd, kept[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fds[i] >= 0)
            sync_file_range(fds[i], 0, 0, SYNC_FILE_RANGE_WRITE);
        else if (!rc && errno != ENOENT)
            rc = sbx_err_errno(err, "%s/%s", box->dir, kept[i]);
    }
    for (size_t i = 0; i < SBX_ARRAY_LEN(kept); i++)
        if (fds[i] >= 0)
            sync_file_range(fds[i], 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    for (size_t i = 0; i < SBX_ARRAY_LEN(kept); i++) {
        if (fds[i] < 0)
            continue;
        if (!rc && fsync(fds[i]) && errno != EINVAL) /* EINVAL: a file system that cannot */
            rc = sbx_err_errno(err, "%s/%s", box->dir, kept[i]);
        close(fds[i]);
    }
    return rc;
}
