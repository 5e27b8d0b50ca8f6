/* The rows of all verbs; each is defined in its own file. */
#ifndef SBX_CLI_VERBS_H
#define SBX_CLI_VERBS_H

#include "cli.h"

extern const struct sbx_verb sbx_verb_run, sbx_verb_create, sbx_verb_exec, sbx_verb_ls,
    sbx_verb_inspect, sbx_verb_stop, sbx_verb_start, sbx_verb_rm, sbx_verb_reset, sbx_verb_plan,
    sbx_verb_policy, sbx_verb_policy_set_default, sbx_verb_policy_init, sbx_verb_policy_reset,
    sbx_verb_policy_ls, sbx_verb_policy_log, sbx_verb_policy_check, sbx_verb_policy_explain,
    sbx_verb_policy_suggest, sbx_verb_policy_allow, sbx_verb_policy_deny, sbx_verb_policy_rm,
    sbx_verb_ports, sbx_verb_port, sbx_verb_kit, sbx_verb_kit_validate, sbx_verb_kit_inspect,
    sbx_verb_kit_migrate, sbx_verb_kit_schema, sbx_verb_kit_push, sbx_verb_kit_pull,
    sbx_verb_kit_resolve, sbx_verb_kit_pack, sbx_verb_kit_attach, sbx_verb_kit_delete,
    sbx_verb_template, sbx_verb_cache, sbx_verb_cache_ls, sbx_verb_cache_prune,
    sbx_verb_cache_verify, sbx_verb_login, sbx_verb_logout, sbx_verb_version, sbx_verb_completion,
    sbx_verb_complete, sbx_verb_help;

/* A verb that users of sbx may type and that is not built (decision C4). */
#define SBX_NOT_BUILT(n, why)                                                                      \
    {                                                                                              \
        .name = n, .summary = why, .not_built = why                                                \
    }

#endif
