#include "verbs.h"

static const struct sbx_verb n_inspect = SBX_NOT_BUILT(
                                 "inspect", "not built yet; use policy ls --wide"),
                             n_profile = SBX_NOT_BUILT("profile", "not built");

static const struct sbx_verb *const subs[] = {
    &sbx_verb_policy_set_default,
    &sbx_verb_policy_init,
    &sbx_verb_policy_reset,
    &sbx_verb_policy_ls,
    &sbx_verb_policy_log,
    &sbx_verb_policy_check,
    &sbx_verb_policy_explain,
    &sbx_verb_policy_suggest,
    &sbx_verb_policy_allow,
    &sbx_verb_policy_deny,
    &sbx_verb_policy_rm,
    &n_inspect,
    &n_profile,
};

const struct sbx_verb sbx_verb_policy = {
    .name = "policy",
    .summary = "Which hosts sandboxes may reach, and what was asked",
    .sub = subs,
    .n_sub = SBX_ARRAY_LEN(subs),
};
