/* Questions to a configuration, and the watch on its file. See config.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "sbx/file.h"

#define FILE_NAME "gate.json"

static int compare_name(const void *key, const void *item)
{
    return strcmp(key, ((const struct sbx_config_host *)item)->name);
}

const struct sbx_addresses *sbx_config_find(const struct sbx_config *c, const char *name)
{
    const struct sbx_config_host *h = c->nhosts ? bsearch(name, c->hosts, c->nhosts,
                                                          sizeof(*c->hosts), compare_name)
                                                : NULL;

    return h ? &h->addresses : NULL;
}

struct sbx_verdict sbx_config_judge(const struct sbx_config *c, const struct sbx_host *host,
                                    uint16_t port)
{
    struct sbx_verdict v = sbx_policy_judge(c->policy, host, port);

    return c->learn ? sbx_policy_learn(host, v) : v;
}

bool sbx_config_could_allow(const struct sbx_config *c, const struct sbx_host *host)
{
    return sbx_policy_could_allow(c->policy, host) ||
           (c->learn && sbx_config_judge(c, host, 443).decision == SBX_ALLOW);
}

bool sbx_watch_changed(const struct sbx_watch *w)
{
    struct stat now;

    if (fstatat(w->dirfd, FILE_NAME, &now, AT_SYMLINK_NOFOLLOW))
        return w->seen.st_ino != 0;
    return now.st_ino != w->seen.st_ino || now.st_dev != w->seen.st_dev ||
           now.st_size != w->seen.st_size || now.st_mtim.tv_sec != w->seen.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != w->seen.st_mtim.tv_nsec ||
           now.st_ctim.tv_sec != w->seen.st_ctim.tv_sec ||
           now.st_ctim.tv_nsec != w->seen.st_ctim.tv_nsec;
}

enum sbx_code sbx_watch_read(struct sbx_watch *w, struct sbx_config **ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_GATE_CONFIG_MAX);
    SBX_AUTO_FD int fd = openat(w->dirfd, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    enum sbx_code rc;

    memset(&w->seen, 0, sizeof(w->seen));
    if (fd < 0)
        return sbx_err_errno(err, "open " FILE_NAME);
    if (fstat(fd, &w->seen))
        return sbx_err_errno(err, "stat " FILE_NAME);
    if (!S_ISREG(w->seen.st_mode))
        return sbx_err_set(err, SBX_SCHEMA, FILE_NAME ": not a file");
    rc = sbx_fd_read(fd, FILE_NAME, &text, err);
    if (rc)
        return rc;
    return sbx_config_parse(text.len ? text.ptr : "", text.len, ret, err);
}
