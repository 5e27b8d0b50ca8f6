#include "approvals.h"

#include <string.h>

struct remember {
    const struct sbx_plan *plan;
    const char *const *approve;
};

static bool is_meant(const struct sbx_plan_rule *r, const char *const *approve)
{
    if (!r->needs_consent || r->decision != SBX_ALLOW)
        return false;
    for (; approve && *approve; approve++)
        if (sbx_plan_is_approval(*approve, r->pattern))
            return true;
    return false;
}

static bool is_there(const struct sbx_policy_file *f, const struct sbx_policy_approval *a)
{
    for (size_t i = 0; i < f->n_approvals; i++)
        if (!strcmp(f->approvals[i].digest, a->digest) && !strcmp(f->approvals[i].kit, a->kit) &&
            sbx_plan_is_approval(f->approvals[i].resource, a->resource))
            return true;
    return false;
}

static enum sbx_code add(struct sbx_policy_file *f, struct sbx_arena *arena, void *data,
                         struct sbx_err *err)
{
    const struct remember *m = data;
    const struct sbx_plan *p = m->plan;
    struct sbx_policy_approval *v = sbx_arena_array(arena, f->n_approvals + p->n_rules, sizeof(*v));

    if (!v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (f->n_approvals)
        memcpy(v, f->approvals, f->n_approvals * sizeof(*v));
    f->approvals = v;
    for (size_t i = 0; i < p->n_rules; i++) {
        const struct sbx_plan_rule *r = &p->rules[i];
        struct sbx_policy_approval one = { .kit = r->kit,
                                           .resource = r->pattern,
                                           .digest = sbx_plan_rule_digest(p, r) };

        if (one.digest && is_meant(r, m->approve) && !is_there(f, &one))
            v[f->n_approvals++] = one;
    }
    return SBX_OK;
}

enum sbx_code sbx_approvals_remember(struct sbx_cli *cli, const struct sbx_paths *paths,
                                     const struct sbx_plan *plan, const char *const *approve,
                                     struct sbx_err *err)
{
    struct remember m = { plan, approve };
    bool any = false;

    for (size_t i = 0; !any && i < plan->n_rules; i++)
        any = is_meant(&plan->rules[i], approve);
    return any ? sbx_user_policy_edit(cli, paths, add, &m, err) : SBX_OK;
}

enum sbx_code sbx_approvals_assume(struct sbx_arena *arena, const struct sbx_user_policy *policy,
                                   const struct sbx_plan *plan, struct sbx_user_policy *ret,
                                   struct sbx_err *err)
{
    struct sbx_approval *v = sbx_arena_array(arena, policy->n_approvals + plan->n_rules + 1,
                                             sizeof(*v));

    if (!v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    *ret = *policy;
    if (policy->n_approvals)
        memcpy(v, policy->approvals, policy->n_approvals * sizeof(*v));
    ret->approvals = v;
    for (size_t i = 0; i < plan->n_rules; i++) {
        const struct sbx_plan_rule *r = &plan->rules[i];
        const char *digest = sbx_plan_rule_digest(plan, r);

        if (r->consented && digest)
            v[ret->n_approvals++] = (struct sbx_approval){ r->kit, digest, r->pattern };
    }
    return SBX_OK;
}
