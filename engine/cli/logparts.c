/* The two files of a decision log. The gate may rotate them at any moment. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "logview.h"
#include "sbx/auto.h"

#define TRIES 10 /* a rotation takes 32 MiB of records: once is rare, twice in a row is not to be */

/* The directory is the gate's: what is no file there is not read. NULL with errno; ENOENT: none. */
static FILE *open_part(const char *path, struct stat *st)
{
    SBX_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    FILE *f;

    if (fd < 0)
        return NULL;
    if (fstat(fd, st) || !S_ISREG(st->st_mode)) {
        errno = EINVAL;
        return NULL;
    }
    f = fdopen(fd, "r");
    if (f)
        fd = -1;
    return f;
}

FILE *sbx_log_open_part(const char *path, bool older, struct stat *ret_st)
{
    SBX_AUTO_FREE char *text = NULL;

    return asprintf(&text, older ? "%s.1" : "%s", path) < 0 ? NULL : open_part(text, ret_st);
}

/* Newest first: what was rotated in between is then met twice, and not missed. */
static bool open_both(const char *path, FILE *ret[SBX_LOG_PARTS], bool *moved)
{
    struct stat st[SBX_LOG_PARTS] = { 0 };

    for (int i = SBX_LOG_PARTS - 1; i >= 0; i--) {
        ret[i] = sbx_log_open_part(path, i == 0, &st[i]);
        if (!ret[i] && errno != ENOENT) /* no file: nothing was asked yet */
            return false;
    }
    *moved = ret[0] && ret[1] && st[0].st_ino == st[1].st_ino;
    return true;
}

void sbx_log_close(FILE *parts[SBX_LOG_PARTS])
{
    for (int i = 0; i < SBX_LOG_PARTS; i++) {
        if (parts[i])
            fclose(parts[i]);
        parts[i] = NULL;
    }
}

enum sbx_code sbx_log_open(const char *path, FILE *ret[SBX_LOG_PARTS], struct sbx_err *err)
{
    bool moved = true;

    for (int i = 0; moved && i < TRIES; i++) {
        sbx_log_close(ret);
        if (!open_both(path, ret, &moved)) {
            enum sbx_code rc = sbx_err_errno(err, "read %s", path);

            sbx_log_close(ret);
            return rc;
        }
    }
    return SBX_OK;
}
