/* The file of a secret. See broker.h. */
#include "broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sbx/auto.h"
#include "secrets.h"

static enum sbx_code check(const struct stat *st, struct sbx_err *err)
{
    if (!S_ISREG(st->st_mode))
        return sbx_err_set(err, SBX_SCHEMA, "not a regular file");
    if (st->st_uid != geteuid())
        return sbx_err_set(err, SBX_SCHEMA, "belongs to another user");
    if (st->st_mode & 077)
        return sbx_err_set(err, SBX_SCHEMA, "other users can reach it: chmod 600 it");
    return SBX_OK;
}

/* One line; its end does not count. */
static enum sbx_code read_value(int fd, char *to, size_t *ret, struct sbx_err *err)
{
    size_t len = 0;
    ssize_t n = 1;

    while (n && len < SBX_GATE_SECRET_MAX + 2) {
        n = read(fd, to + len, SBX_GATE_SECRET_MAX + 2 - len);
        if (n < 0 && errno != EINTR)
            return sbx_err_errno(err, "read");
        len += n > 0 ? (size_t)n : 0;
    }
    if (len && to[len - 1] == '\n')
        len--;
    if (len && to[len - 1] == '\r')
        len--;
    *ret = len;
    return SBX_OK;
}

/* "value NAME\n" and the value. */
static enum sbx_code compose(int fd, const char *name, char *msg, size_t *ret, struct sbx_err *err)
{
    size_t head = (size_t)snprintf(msg, SBX_BROKER_MESSAGE_MAX, "value %s\n", name), len = 0;
    struct sbx_slice said_name, said_value;
    enum sbx_code rc = read_value(fd, msg + head, &len, err);

    if (!rc && sbx_secret_read(msg, head + len, &said_name, &said_value)) /* as the gate will */
        rc = sbx_err_set(err, SBX_SCHEMA, "must be one line of 1 to %d bytes without control "
                         "characters, and no blanks around it", SBX_GATE_SECRET_MAX);
    *ret = head + len;
    return rc;
}

size_t sbx_broker_read(int dirfd, const char *name, char *msg, struct stat *ret_seen,
                       struct sbx_err *err)
{
    SBX_AUTO_FD int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    enum sbx_code rc = SBX_OK;
    size_t len = 0;

    memset(ret_seen, 0, sizeof(*ret_seen));
    if (fd < 0 && errno != ENOENT) {
        rc = sbx_err_errno(err, "open");
        if (fstatat(dirfd, name, ret_seen, AT_SYMLINK_NOFOLLOW)) /* else it would be told at each look */
            memset(ret_seen, 0, sizeof(*ret_seen));
    }
    if (fd >= 0 && fstat(fd, ret_seen))
        rc = sbx_err_errno(err, "stat");
    else if (fd >= 0)
        rc = check(ret_seen, err);
    if (fd >= 0 && !rc)
        rc = compose(fd, name, msg, &len, err);
    if (rc)
        sbx_err_wrap(err, rc, "secret %s", name);
    if (fd >= 0 && !rc)
        return len;
    explicit_bzero(msg, SBX_BROKER_MESSAGE_MAX);
    return (size_t)snprintf(msg, SBX_BROKER_MESSAGE_MAX, "gone %s\n", name);
}
