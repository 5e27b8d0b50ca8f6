/* Attached execs and runs, each a locked file: a process that dies is none any more. */
#include "box.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

enum sbx_code sbx_session_begin(struct sbx_box *box, int *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    char path[64];
    static unsigned serial;

    if (mkdirat(box->dirfd, "sessions", 0700) && errno != EEXIST)
        return sbx_err_errno(err, "%s/sessions", box->dir);
    snprintf(path, sizeof(path), "sessions/%d-%u", (int)getpid(), ++serial);
    fd = openat(box->dirfd, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
        return sbx_err_errno(err, "%s/%s", box->dir, path);
    *ret = sbx_take_fd(&fd);
    return SBX_OK;
}

size_t sbx_sessions(const char *path)
{
    SBX_AUTO_FREE char *sessions = NULL;
    DIR *dir = asprintf(&sessions, "%s/sessions", path) < 0 ? NULL : opendir(sessions);
    size_t n = 0;

    for (struct dirent *d; dir && (d = readdir(dir));) {
        SBX_AUTO_FD int fd = -1;

        if (d->d_name[0] == '.')
            continue;
        fd = openat(dirfd(dir), d->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
            continue;
        if (flock(fd, LOCK_EX | LOCK_NB))
            n++;
        else
            unlinkat(dirfd(dir), d->d_name, 0);
    }
    if (dir)
        closedir(dir);
    return n;
}
