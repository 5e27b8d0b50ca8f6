#include "backend.h"

#include <string.h>

static const struct sbx_runtime_ops *const backends[] = {
    [SBX_RUNTIME_DOCKER] = &sbx_runtime_docker,
    [SBX_RUNTIME_OCI] = &sbx_runtime_oci,
    [SBX_RUNTIME_FAKE] = &sbx_runtime_fake,
};

static enum sbx_code open_one(enum sbx_runtime_kind kind, const struct sbx_runtime_config *config,
                              struct sbx_runtime **ret, struct sbx_err *err)
{
    const struct sbx_runtime_ops *ops = (size_t)kind < SBX_ARRAY_LEN(backends) ? backends[kind]
                                                                               : NULL;
    struct sbx_runtime *rt = NULL;
    enum sbx_code rc;

    if (!ops)
        return sbx_err_set(err, SBX_UNSUPPORTED, "this build has no such container runtime");
    rc = ops->open(config, &rt, err);
    if (rc)
        return sbx_err_wrap(err, rc, "%s runtime", ops->name);
    rt->ops = ops;
    rt->interrupt_fd = -1;
    rt->info.kind = kind;
    rt->info.name = ops->name;
    *ret = rt;
    return SBX_OK;
}

/* A DOCKER_HOST that we refuse stays an error: the user named that Engine, so taking another
 * runtime in silence would make containers where nobody looks for them. */
static enum sbx_code open_auto(const struct sbx_runtime_config *config, struct sbx_runtime **ret,
                               struct sbx_err *err)
{
    struct sbx_err first = SBX_ERR_INIT, second = SBX_ERR_INIT;
    enum sbx_code rc = open_one(SBX_RUNTIME_DOCKER, config, ret, &first);

    if (rc == SBX_OK)
        return SBX_OK;
    if (rc == SBX_UNSUPPORTED || rc == SBX_NO_MEMORY)
        return sbx_err_set(err, rc, "%s", first.text);
    rc = open_one(SBX_RUNTIME_OCI, config, ret, &second);
    if (rc == SBX_OK)
        return SBX_OK;
    return sbx_err_set(err, SBX_UNAVAILABLE, "no container runtime works: %s; %s", first.text,
                       second.text);
}

enum sbx_code sbx_runtime_open(enum sbx_runtime_kind kind, const struct sbx_runtime_config *config,
                               struct sbx_runtime **ret, struct sbx_err *err)
{
    if (!config || !ret)
        return sbx_err_set(err, SBX_FAILED, "open runtime: nothing given");
    if (kind == SBX_RUNTIME_AUTO)
        return open_auto(config, ret, err);
    return open_one(kind, config, ret, err);
}

void sbx_runtime_close(struct sbx_runtime *rt)
{
    if (rt)
        rt->ops->free(rt);
}

void sbx_runtime_interrupt_by(struct sbx_runtime *rt, int fd) { rt->interrupt_fd = fd; }

const struct sbx_runtime_info *sbx_runtime_info(const struct sbx_runtime *rt) { return &rt->info; }
