/* Where the decision log of a sandbox lies: log/ while there is one, logs/ afterwards. */
#include "net.h"

#include "sbx/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define LOG_MODE 0600
#define LOG_ROTATE (32 << 20) /* bytes; as the gate does itself while it runs */

/* The log before is kept, the one before that is not. */
static void rotate(int dir)
{
    struct stat st;

    if (!fstatat(dir, "log.jsonl", &st, AT_SYMLINK_NOFOLLOW) && st.st_size > LOG_ROTATE &&
        renameat(dir, "log.jsonl", dir, "log.jsonl.1"))
        return; /* the gate says what it cannot write */
}

enum sbx_code sbx_logs_open(struct sbx_box *box, uid_t gate, int *ret_dir, int *ret_log,
                            struct sbx_err *err)
{
    SBX_AUTO_FD int dir = -1;
    struct stat st;
    int log;

    if (mkdirat(box->dirfd, "log", 0700) && errno != EEXIST)
        return sbx_err_errno(err, "%s/log", box->dir);
    dir = openat(box->dirfd, "log", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir < 0 || (gate && fchown(dir, gate, (gid_t)-1))) /* it rotates as who it is */
        return sbx_err_errno(err, "%s/log", box->dir);
    rotate(dir);
    log = openat(dir, "log.jsonl", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                 LOG_MODE);
    if (log < 0)
        return sbx_err_errno(err, "%s/log/log.jsonl", box->dir);
    if (fstat(log, &st) || !S_ISREG(st.st_mode)) {
        close(log);
        return sbx_err_set(err, SBX_FAILED, "%s/log/log.jsonl is not a file", box->dir);
    }
    *ret_dir = sbx_take_fd(&dir);
    *ret_log = log;
    return SBX_OK;
}

/* The decisions stay readable until the name is used again. */
void sbx_logs_keep(struct sbx_box *box)
{
    char dir[4096], to[4200];

    if (snprintf(dir, sizeof(dir), "%s/logs", box->e->paths.state) >= (int)sizeof(dir) ||
        sbx_dir_make(dir, 0700, NULL))
        return;
    snprintf(to, sizeof(to), "%s/%s.jsonl", dir, box->name);
    if (renameat(box->dirfd, "log/log.jsonl", AT_FDCWD, to))
        unlink(to);
    snprintf(to, sizeof(to), "%s/%s.jsonl.1", dir, box->name);
    if (renameat(box->dirfd, "log/log.jsonl.1", AT_FDCWD, to))
        unlink(to);
}

enum sbx_code sbx_sandbox_log_path(struct sbx_engine *e, const char *name, struct sbx_arena *arena,
                                   const char **ret, struct sbx_err *err)
{
    const char *paths[2];
    struct stat st;
    enum sbx_code rc = sbx_name_check(name, err);

    if (rc)
        return rc;
    paths[0] = sbx_arena_printf(arena, "%s/sandboxes/%s/log/log.jsonl", e->paths.state, name);
    paths[1] = sbx_arena_printf(arena, "%s/logs/%s.jsonl", e->paths.state, name);
    for (size_t i = 0; i < 2; i++)
        if (paths[i] && !lstat(paths[i], &st)) {
            *ret = paths[i];
            return SBX_OK;
        }
    return sbx_err_set(err, SBX_NOT_FOUND, "no log of a sandbox %s: sandbox not found", name);
}
