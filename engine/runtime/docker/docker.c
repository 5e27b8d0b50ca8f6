#include "../backend.h"

static enum sbx_code docker_open(const struct sbx_runtime_config *config,
                                 struct sbx_runtime **ret, struct sbx_err *err)
{
    (void)config;
    (void)ret;
    return sbx_err_set(err, SBX_UNAVAILABLE, "not part of this build yet");
}

const struct sbx_runtime_ops sbx_runtime_docker = {
    .name = "docker",
    .kind = SBX_RUNTIME_DOCKER,
    .open = docker_open,
};
