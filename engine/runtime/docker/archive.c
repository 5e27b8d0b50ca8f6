#include "docker.h"

#include "sbx/file.h"

/* Archives in and out. The Engine confines both to the container's root. */

enum sbx_code docker_copy_in(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                             struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    const char *name = docker_container(d, &c, id), *at = docker_escape(&c, path, "/");
    const struct docker_extra extra = { .upload = true, .fd = fd, .stream = true };
    enum sbx_code rc;

    if (!name || !at)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = docker_send(d, &c, err, "PUT", NULL, &extra, "/containers/%s/archive?path=%s", name, at);
    if (rc)
        return rc;
    return c.status >= 400 ? docker_failed(&c, err) : SBX_OK;
}

static enum sbx_code write_out(void *ctx, const char *data, size_t len, struct sbx_err *err)
{
    return sbx_write_all(*(int *)ctx, data, len) ? sbx_err_errno(err, "write") : SBX_OK;
}

enum sbx_code docker_copy_out(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                              struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    const char *name = docker_container(d, &c, id), *at = docker_escape(&c, path, "/");
    const struct docker_extra extra = { .sink = write_out, .ctx = &fd, .stream = true };
    enum sbx_code rc;

    if (!name || !at)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = docker_send(d, &c, err, "GET", NULL, &extra, "/containers/%s/archive?path=%s", name, at);
    if (rc)
        return rc;
    return c.status >= 400 ? docker_failed(&c, err) : SBX_OK;
}
