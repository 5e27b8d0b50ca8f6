#include "policy_rules.h"

#include "session.h"
#include "userfiles.h"

enum sbx_code sbx_rules_of(struct sbx_cli *cli, const char *sandbox, json_t **ret,
                           struct sbx_err *err)
{
    static const struct sbx_plan nothing = { .name = "" };
    SBX_AUTO(sbx_paths) paths = { 0 };
    SBX_AUTO(sbx_session) s = { .quiet = true };
    struct sbx_user_files files = { .policy = { .preset = NULL } };
    enum sbx_code rc;

    if (sandbox) {
        rc = sbx_session_open(&s, cli, NULL, err);
        return rc ? rc : sbx_sandbox_gate_config(s.engine, sandbox, ret, err);
    }
    rc = sbx_paths_init(cli->global.app, &paths, err);
    if (!rc)
        rc = sbx_user_files_read(cli, &paths, &files, err);
    return rc ? rc : sbx_gate_config_json(&nothing, &files.policy, 1, ret, err);
}
