/* What was fetched: shown, checked, removed. */
#include "verbs.h"

static const struct sbx_verb *const subs[] = { &sbx_verb_cache_ls, &sbx_verb_cache_prune,
                                               &sbx_verb_cache_verify };

const struct sbx_verb sbx_verb_cache = {
    .name = "cache",
    .summary = "Show and clean what was fetched",
    .sub = subs,
    .n_sub = SBX_ARRAY_LEN(subs),
};
