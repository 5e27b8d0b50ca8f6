/* Locks are flocks of files: the kernel lets go of them when a process dies, whatever way. */
#include "box.h"

#include "sbx/file.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define POLL_MS 20        /* between two tries; the kernel has no timed flock */
#define SAY_AFTER_MS 1000 /* then the user is told what is waited for */

static enum sbx_code open_lock(const char *path, int *ret, struct sbx_err *err)
{
    *ret = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return *ret < 0 ? sbx_err_errno(err, "lock %s", path) : SBX_OK;
}

/* Does the path still name the file that we hold? A remover may have taken it away. */
static bool still_there(int fd, const char *path)
{
    struct stat held, named;

    return !fstat(fd, &held) && !stat(path, &named) && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

static enum sbx_code wait_for(struct sbx_engine *e, int fd, int how, const char *what,
                              struct sbx_err *err)
{
    int64_t began = sbx_now_ms();
    bool said = false;

    while (flock(fd, how | LOCK_NB)) {
        enum sbx_code rc = sbx_interrupted(e, err);

        if (errno != EWOULDBLOCK && errno != EINTR && !rc)
            return sbx_err_errno(err, "lock %s", what);
        if (rc)
            return rc;
        if (!said && sbx_now_ms() - began > SAY_AFTER_MS) {
            sbx_event_send(e, SBX_EVENT_NOTE, NULL, "Waiting for another sbx command on %s", what);
            said = true;
        }
        poll(NULL, 0, POLL_MS);
    }
    return SBX_OK;
}

static enum sbx_code take(struct sbx_engine *e, const char *path, int how, const char *what,
                          int *ret, struct sbx_err *err)
{
    for (;;) {
        SBX_AUTO_FD int fd = -1;
        enum sbx_code rc = open_lock(path, &fd, err);

        if (!rc)
            rc = wait_for(e, fd, how, what, err);
        if (rc)
            return rc;
        if (still_there(fd, path)) {
            *ret = sbx_take_fd(&fd);
            return SBX_OK;
        }
    }
}

static enum sbx_code lock_path(struct sbx_engine *e, const char *name, char *path, size_t size,
                               struct sbx_err *err)
{
    if (snprintf(path, size, "%s/locks/%s", e->paths.state, name) >= (int)size)
        return sbx_err_set(err, SBX_FAILED, "%s: path too long", e->paths.state);
    return SBX_OK;
}

enum sbx_code sbx_lock_app(struct sbx_engine *e, bool exclusive, int *ret, struct sbx_err *err)
{
    char path[4096];
    enum sbx_code rc;

    if (snprintf(path, sizeof(path), "%s/app.lock", e->paths.state) >= (int)sizeof(path))
        return sbx_err_set(err, SBX_FAILED, "%s: path too long", e->paths.state);
    rc = sbx_dir_make(e->paths.state, 0700, err);
    if (rc)
        return sbx_err_wrap(err, rc, "state directory");
    return take(e, path, exclusive ? LOCK_EX : LOCK_SH, e->paths.app, ret, err);
}

enum sbx_code sbx_lock_name(struct sbx_engine *e, const char *name, int *ret, struct sbx_err *err)
{
    char path[4096];
    enum sbx_code rc = lock_path(e, "", path, sizeof(path), err);

    if (!rc)
        rc = sbx_dir_make(path, 0700, err);
    if (!rc)
        rc = lock_path(e, name, path, sizeof(path), err);
    return rc ? rc : take(e, path, LOCK_EX, name, ret, err);
}

bool sbx_lock_held(struct sbx_engine *e, const char *name)
{
    char path[4096];
    SBX_AUTO_FD int fd = -1;

    if (lock_path(e, name, path, sizeof(path), NULL))
        return false;
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

void sbx_lock_drop(struct sbx_engine *e, const char *name)
{
    char path[4096];

    if (!lock_path(e, name, path, sizeof(path), NULL))
        unlink(path);
}
