/* gate.json (docs/gate-config.md section 2): the plan's rules, the user's, the preset's. */
#include "sbx/plan.h"

#include "sbx/json.h"

#include <stdio.h>
#include <string.h>

#define TUNNELS 4096         /* N18: of one sandbox */
#define TUNNELS_PER_HOST 512 /* N18: to one destination */

static bool add_rule(json_t *rules, const char *id, enum sbx_decision decision, const char *pattern,
                     const char *source, const char *origin, bool consented)
{
    json_t *rule = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "id", id, "decision",
                             decision == SBX_ALLOW ? "allow" : "deny", "pattern", pattern, "source",
                             source, "origin", origin, "consented", consented);

    return !json_array_append_new(rules, rule);
}

static enum sbx_code add_preset(json_t *rules, const char *name, struct sbx_err *err)
{
    size_t n = 0;
    const char *const *patterns = sbx_policy_preset(name, &n);

    if (!patterns)
        return sbx_err_set(err, SBX_SCHEMA,
                           "preset \"%s\": not known; use allow-all, balanced or deny-all", name);
    for (size_t i = 0; i < n; i++) {
        char id[80], origin[80];

        snprintf(id, sizeof(id), "preset:%s:%zu", name, i + 1);
        snprintf(origin, sizeof(origin), "preset %s", name);
        if (!add_rule(rules, id, SBX_ALLOW, patterns[i], "preset", origin, false))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    return SBX_OK;
}

static enum sbx_code add_user(json_t *rules, const char *sandbox,
                              const struct sbx_user_policy *policy, struct sbx_err *err)
{
    for (size_t i = 0; i < policy->n_rules; i++) {
        const struct sbx_user_rule *u = &policy->rules[i];
        struct sbx_pattern pattern;
        char id[40], origin[40] = "user";
        enum sbx_code rc;

        if (u->sandbox && strcmp(u->sandbox, sandbox))
            continue;
        snprintf(id, sizeof(id), "user:%zu", i + 1);
        if (u->line)
            snprintf(origin, sizeof(origin), "user policy.yaml:%u", u->line);
        rc = sbx_pattern_parse(u->pattern, SBX_RULE_USER, &pattern, NULL, err);
        if (rc)
            return sbx_err_wrap(err, rc, "rule %zu of the user's policy", i + 1);
        if (!add_rule(rules, u->id ? u->id : id, u->decision, u->pattern, "user", origin, true))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    return SBX_OK;
}

static bool add_kits(json_t *rules, const struct sbx_plan *p, const struct sbx_user_policy *policy)
{
    for (size_t i = 0; i < p->n_rules; i++) {
        const struct sbx_plan_rule *r = &p->rules[i];
        bool consented = r->consented && sbx_plan_is_approved(policy->approvals, policy->n_approvals,
                                                              r->kit, sbx_plan_rule_digest(p, r),
                                                              r->pattern);
        char origin[160]; /* `at` begins with the kit's name: "kit hello/spec.yaml:12:5" */

        snprintf(origin, sizeof(origin), "kit %s", r->at ? r->at : r->kit);
        if (!add_rule(rules, r->id, r->decision, r->pattern, "kit", origin, consented))
            return false;
    }
    return true;
}

static json_t *hosts_json(const struct sbx_user_policy *policy)
{
    json_t *o = json_object();

    for (size_t i = 0; i < policy->n_hosts; i++)
        if (json_object_set_new(o, policy->hosts[i].name,
                                sbx_json_strings(policy->hosts[i].addresses))) {
            json_decref(o);
            return NULL;
        }
    return o;
}

enum sbx_code sbx_gate_config_json(const struct sbx_plan *p, const struct sbx_user_policy *policy,
                                   unsigned generation, json_t **ret, struct sbx_err *err)
{
    static const struct sbx_user_policy none;
    SBX_AUTO_JSON json_t *rules = json_array();
    json_t *out;
    enum sbx_code rc;

    if (!policy)
        policy = &none;
    rc = add_preset(rules, policy->preset ? policy->preset : "balanced", err);
    if (!rc)
        rc = add_user(rules, p->name, policy, err);
    if (rc)
        return sbx_err_wrap(err, rc, "gate configuration");
    if (!add_kits(rules, p, policy))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    out = json_pack("{s:i, s:s, s:i, s:O, s:o, s:o, s:{s:i, s:i}, s:n}", "version", 1, "sandbox",
                    p->name, "generation", (int)generation, "rules", rules, "hosts",
                    hosts_json(policy), "publicTestRanges", sbx_json_strings(policy->test_ranges),
                    "limits", "tunnels", TUNNELS, "tunnelsPerHost", TUNNELS_PER_HOST, "upstream");
    if (!out)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    *ret = out;
    return SBX_OK;
}
