#include "box.h"

#include <string.h>

enum sbx_code sbx_engine_open(const struct sbx_engine_config *config, struct sbx_engine **ret,
                              struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_engine) e = calloc(1, sizeof(*e));
    enum sbx_code rc;

    if (!e)
        return sbx_out_of_memory(err);
    e->config = *config;
    rc = sbx_paths_init(config->app, &e->paths, err);
    if (rc)
        return rc;
    e->docker_host = config->docker_host ? strdup(config->docker_host) : NULL;
    e->oci_runtime = config->oci_runtime ? strdup(config->oci_runtime) : NULL;
    if ((config->docker_host && !e->docker_host) || (config->oci_runtime && !e->oci_runtime))
        return sbx_out_of_memory(err);
    *ret = SBX_TAKE(e);
    return SBX_OK;
}

void sbx_engine_close(struct sbx_engine *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < SBX_ARRAY_LEN(e->runtimes); i++)
        sbx_runtime_close(e->runtimes[i]);
    sbx_paths_release(&e->paths);
    free(e->docker_host);
    free(e->oci_runtime);
    free(e);
}

void sbx_engine_interrupt_by(struct sbx_engine *e, int fd)
{
    e->config.interrupt_fd = fd;
    for (size_t i = 0; i < SBX_ARRAY_LEN(e->runtimes); i++)
        if (e->runtimes[i])
            sbx_runtime_interrupt_by(e->runtimes[i], fd);
}

const struct sbx_paths *sbx_engine_paths(const struct sbx_engine *e)
{
    return &e->paths;
}

void sbx_engine_use_runtime(struct sbx_engine *e, struct sbx_runtime *rt)
{
    sbx_runtime_close(e->runtimes[SBX_RUNTIME_FAKE]);
    e->runtimes[SBX_RUNTIME_FAKE] = rt;
}

enum sbx_code sbx_engine_open_runtime(struct sbx_engine *e, enum sbx_runtime_kind kind,
                                      struct sbx_runtime **ret, struct sbx_err *err)
{
    char seccomp[4096];
    struct sbx_runtime_config config = {
        .app = e->paths.app,
        .state_dir = e->paths.state,
        .cache_dir = e->paths.cache,
        .docker_host = e->docker_host,
        .oci_runtime = e->oci_runtime,
        .seccomp = seccomp,
        .debug = e->config.debug,
    };
    enum sbx_code rc;

    if (snprintf(seccomp, sizeof(seccomp), "%s/seccomp.json", e->paths.share) >=
        (int)sizeof(seccomp))
        return sbx_err_set(err, SBX_FAILED, "%s: path too long", e->paths.share);
    rc = sbx_runtime_open(kind, &config, ret, err);
    if (!rc)
        sbx_runtime_interrupt_by(*ret, e->config.interrupt_fd);
    return rc;
}

enum sbx_code sbx_engine_runtime(struct sbx_engine *e, enum sbx_runtime_kind kind,
                                 struct sbx_runtime **ret, struct sbx_err *err)
{
    struct sbx_runtime *rt;
    enum sbx_runtime_kind real;
    enum sbx_code rc;

    if (e->runtimes[kind]) {
        *ret = e->runtimes[kind];
        return SBX_OK;
    }
    rc = sbx_engine_open_runtime(e, kind, &rt, err);
    if (rc)
        return rc;
    real = sbx_runtime_info(rt)->kind;
    if (e->runtimes[real]) { /* auto found one that is open */
        sbx_runtime_close(rt);
        rt = e->runtimes[real];
    }
    e->runtimes[real] = rt;
    *ret = rt;
    return SBX_OK;
}
