#include "session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "remote.h"

static enum sbx_code policy_now(void *ctx, struct sbx_arena *arena, struct sbx_user_policy *ret,
                                struct sbx_err *err)
{
    const struct sbx_session *s = ctx;

    return sbx_user_policy_now(sbx_engine_paths(s->engine), arena, ret, err);
}

enum sbx_code sbx_session_open(struct sbx_session *s, struct sbx_cli *cli,
                               const struct sbx_runtime_opts *runtime, struct sbx_err *err)
{
    struct sbx_engine_config config = {
        .app = cli->global.app,
        .docker_host = getenv("DOCKER_HOST"),
        .oci_runtime = runtime ? runtime->oci_runtime : NULL,
        .event = sbx_progress_event,
        .policy_read = policy_now,
        .ctx = s,
        .interrupt_fd = sbx_interrupt_fd(),
        .debug = cli->global.debug,
    };
    SBX_AUTO(sbx_paths) paths = { 0 };
    enum sbx_code rc;

    s->cli = cli;
    s->fancy = sbx_tty_draws() && cli->format != SBX_FORMAT_JSON;
    s->width = sbx_tty_size(NULL).cols;
    rc = sbx_paths_init(cli->global.app, &paths, err);
    if (!rc)
        rc = s->told ? sbx_user_files_again(cli, &paths, &s->files, err)
                     : sbx_user_files_read(cli, &paths, &s->files, err);
    if (rc)
        return rc;
    rc = sbx_cli_registries(cli, &s->files.settings, err);
    if (rc)
        return rc;
    config.policy = &s->files.policy;
    return sbx_engine_open(&config, &s->engine, err);
}

void sbx_session_close(struct sbx_session *s)
{
    if (s->cli)
        sbx_progress_end(s);
    sbx_engine_close(s->engine);
}
