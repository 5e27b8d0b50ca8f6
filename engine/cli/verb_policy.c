#include "verbs.h"

static const struct sbx_verb n_allow = SBX_NOT_BUILT(
                                 "allow", "not built yet; write the rule into policy.yaml"),
                             n_deny = SBX_NOT_BUILT(
                                 "deny", "not built yet; write the rule into policy.yaml"),
                             n_inspect = SBX_NOT_BUILT("inspect", "not built yet; use policy ls"),
                             n_profile = SBX_NOT_BUILT("profile", "not built"),
                             n_rm = SBX_NOT_BUILT(
                                 "rm", "not built yet; take the rule out of policy.yaml");

static const struct sbx_verb *const subs[] = {
    &sbx_verb_policy_set_default,
    &sbx_verb_policy_init,
    &sbx_verb_policy_reset,
    &sbx_verb_policy_ls,
    &sbx_verb_policy_log,
    &sbx_verb_policy_check,
    &n_allow,
    &n_deny,
    &n_inspect,
    &n_profile,
    &n_rm,
};

const struct sbx_verb sbx_verb_policy = {
    .name = "policy",
    .summary = "Which hosts sandboxes may reach, and what was asked",
    .sub = subs,
    .n_sub = SBX_ARRAY_LEN(subs),
};
