/* policy allow, deny, rm: rules in policy.yaml, which running sandboxes follow at once. */
#include <string.h>

#include "out.h"
#include "policy_edit.h"
#include "policy_rules.h"
#include "sbx/plan.h"
#include "sbx/policy_json.h"
#include "verbs.h"

struct edit_opts {
    const char *sandbox;
    bool global;
    const char *protocol;
    struct sbx_texts resources, ids; /* rm */
};

static const struct sbx_opt rows[] = {
    SBX_TEXT(struct edit_opts, sandbox, "sandbox", 0, "NAME",
             "For this sandbox alone; without it for all"),
    SBX_SWITCH(struct edit_opts, global, "global", 'g', "For all sandboxes (the default)",
               .hidden = true),
    SBX_TEXT(struct edit_opts, protocol, "protocol", 0, "P", "tcp, which is what rules are for",
             .hidden = true),
    SBX_REFUSED("method", 0, SBX_OPT_TEXT, "M", "rules are for hosts and ports, not for methods"),
    SBX_REFUSED("path", 0, SBX_OPT_TEXT, "P", "rules are for hosts and ports, not for paths"),
    SBX_OPT_END
};
static const struct sbx_opt rm_rows[] = {
    SBX_LISTOF(struct edit_opts, resources, "resource", 0, "RESOURCE[,RESOURCE]",
               "Another spelling of the argument (repeatable)"),
    SBX_LISTOF(struct edit_opts, ids, "id", 0, "RULE",
               "Remove by id, as policy ls --wide shows it (repeatable)"),
    SBX_OPT_END
};
static const struct sbx_opt_group groups[] = { { .v = rows } };
static const struct sbx_opt_group rm_groups[] = { { .v = rm_rows }, { .v = rows } };

static const char *kit_words(struct sbx_cli *cli, const struct sbx_edit_change *c)
{
    return sbx_arena_printf(cli->arena, "kit %s", c->kit);
}

static const char *scope_words(struct sbx_cli *cli, const char *sandbox)
{
    return sandbox ? sbx_arena_printf(cli->arena, "sandbox %s", sandbox) : "all sandboxes";
}

static json_t *change_json(const struct sbx_edit *e, const struct sbx_edit_change *c,
                           const char *status)
{
    return json_pack("{s:s,s:s,s:[s],s:s,s:s,s:s}", "id", c->id, "decision",
                     sbx_decision_name(c->decision), "resources", c->resource, "scope",
                     c->kit       ? "kit"
                     : e->sandbox ? "sandbox"
                                  : "global",
                     "applies_to",
                     c->kit       ? kit_words(e->cli, c)
                     : e->sandbox ? e->sandbox
                                  : "all",
                     "status", status);
}

static enum sbx_code report(const struct sbx_edit *e, const char *done, struct sbx_err *err)
{
    struct sbx_cli *cli = e->cli;
    json_t *list;

    for (size_t i = 0; cli->format == SBX_FORMAT_TABLE && i < e->n; i++) {
        const struct sbx_edit_change *c = &e->v[i];
        const char *word = done ? done : e->decision == SBX_ALLOW ? "Allowed" : "Denied";

        if (c->covered_by)
            fprintf(cli->out, "Already covered: %s by rule %s (%s)\n", c->resource, c->id,
                    c->covered_by);
        else
            fprintf(cli->out, "%s: %s for %s (%s %s)\n", word, c->resource,
                    c->kit ? kit_words(cli, c) : scope_words(cli, e->sandbox),
                    c->kit ? "approval" : "rule", c->id);
    }
    if (cli->format == SBX_FORMAT_TABLE)
        return SBX_OK;
    list = json_array();
    for (size_t i = 0; i < e->n; i++)
        json_array_append_new(list, change_json(e, &e->v[i],
                                                done                 ? "removed"
                                                : e->v[i].covered_by ? "covered"
                                                                     : "added"));
    return sbx_out_value(cli, json_pack("{s:o}", "rules", list), err);
}

/* An allow rule under a deny rule does nothing: better said now than found out later. */
static void warn_denied(const struct sbx_edit *e, const struct sbx_session *s)
{
    SBX_AUTO_JSON json_t *config = NULL;
    SBX_AUTO_PTR(sbx_policy) p = NULL;
    const struct sbx_rule *v = NULL;
    size_t n;

    if (e->decision != SBX_ALLOW || sbx_rules_from(s, e->sandbox, &config, NULL) ||
        sbx_policy_from_json(json_object_get(config, "rules"), NULL, &p, NULL))
        return;
    n = sbx_policy_rules(p, &v);
    for (size_t i = 0; i < e->n; i++)
        for (size_t k = 0; k < n; k++)
            if (v[k].decision == SBX_DENY && sbx_pattern_covers(&v[k].pattern, &e->v[i].pattern)) {
                sbx_cli_note(e->cli, "warning: %s stays denied by rule %s (%s, %s): deny wins",
                             e->v[i].resource, v[k].id, v[k].text, v[k].origin);
                break;
            }
}

/* Save, then let every gate follow: lines of the file, which rules carry, may have moved. */
static enum sbx_code apply(struct sbx_edit *e, sbx_policy_edit_fn *fn, const char *done,
                           struct sbx_err *err)
{
    SBX_AUTO(sbx_session) before = { .quiet = true }, s = { .quiet = true, .told = true };
    struct sbx_err late = SBX_ERR_INIT;
    enum sbx_code rc = sbx_session_open(&before, e->cli, NULL, err), follow;
    json_t *known = NULL;

    if (!rc && e->sandbox && !done) { /* a name mistyped would be a rule that never counts */
        rc = sbx_sandbox_gate_config(before.engine, e->sandbox, &known, err);
        json_decref(known);
    }
    if (!rc)
        rc = sbx_user_policy_edit(e->cli, sbx_engine_paths(before.engine), fn, e, err);
    if (!rc)
        rc = sbx_session_open(&s, e->cli, NULL, err);
    if (rc)
        return rc;
    follow = sbx_sandbox_policy_refresh(s.engine, NULL, &late);
    warn_denied(e, &s);
    rc = report(e, done, err);
    if (follow)
        return sbx_err_set(err, follow, "the rules are saved, but %s", late.text);
    return rc;
}

/* UDP is closed always: a rule that closes it adds nothing, one that opens it cannot be had. */
static enum sbx_code check_protocol(const char *given, enum sbx_decision decision,
                                    struct sbx_err *err)
{
    if (!given || !strcmp(given, "tcp") ||
        (decision == SBX_DENY && (!strcmp(given, "tcp,udp") || !strcmp(given, "udp,tcp"))))
        return SBX_OK;
    if (!strcmp(given, "udp") || !strcmp(given, "tcp,udp") || !strcmp(given, "udp,tcp"))
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "--protocol %s: rules are for TCP; UDP never leaves a sandbox", given);
    return sbx_err_set(err, SBX_USAGE, "--protocol %s: want tcp", given);
}

static enum sbx_code change(struct sbx_cli *cli, enum sbx_decision decision, struct sbx_err *err)
{
    const struct edit_opts *o = cli->options;
    struct sbx_edit e = { .cli = cli, .sandbox = o->sandbox, .decision = decision };
    enum sbx_code rc = check_protocol(o->protocol, decision, err);

    if (!rc)
        rc = sbx_edit_take(&e, cli->args.v[0], err);

    if (!rc && o->sandbox && o->global)
        return sbx_err_set(err, SBX_USAGE, "--global and --sandbox contradict each other");
    return rc ? rc : apply(&e, sbx_edit_add, NULL, err);
}

static enum sbx_code allow(struct sbx_cli *cli, struct sbx_err *err)
{
    return change(cli, SBX_ALLOW, err);
}

static enum sbx_code deny(struct sbx_cli *cli, struct sbx_err *err)
{
    return change(cli, SBX_DENY, err);
}

static bool is_same(const struct sbx_policy_entry *r, const struct sbx_edit_change *c)
{
    struct sbx_pattern p;

    if (!c->resource)
        return !strcmp(r->id, c->id);
    if (!strcmp(r->resource, c->resource))
        return true;
    return !sbx_pattern_parse(r->resource, SBX_RULE_USER, &p, NULL, NULL) &&
           sbx_pattern_covers(&p, &c->pattern) && sbx_pattern_covers(&c->pattern, &p);
}

/* Why there is nothing to remove, and what to do instead. */
static enum sbx_code not_there(const struct sbx_edit *e, const struct sbx_policy_file *f,
                               const struct sbx_edit_change *c, struct sbx_err *err)
{
    const char *what = c->resource ? c->resource : c->id;

    for (size_t i = 0; i < f->n_rules; i++)
        if (is_same(&f->rules[i], c))
            return sbx_err_set(err, SBX_NOT_FOUND, "%s: there is a rule for %s, not for %s%s%s",
                               what, scope_words(e->cli, f->rules[i].sandbox),
                               scope_words(e->cli, e->sandbox),
                               f->rules[i].sandbox ? "; add --sandbox " : "; leave out --sandbox",
                               f->rules[i].sandbox ? f->rules[i].sandbox : "");
    return sbx_err_set(
        err, SBX_NOT_FOUND,
        "%s: you have no such rule; what a preset or a kit allows is closed with: sbx "
        "policy deny network RESOURCE",
        what);
}

/* What was asked for may be several: a rule of the user's, and approvals of more than one kit. */
static enum sbx_code drop_approvals(struct sbx_edit *e, struct sbx_policy_file *f, size_t k,
                                    const struct sbx_edit_change *asked, bool *found,
                                    struct sbx_err *err)
{
    struct sbx_arena *arena = e->cli->arena;
    size_t kept = 0;
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; i < f->n_approvals; i++) {
        const struct sbx_policy_approval *a = &f->approvals[i];
        struct sbx_edit_change one = { .decision = SBX_ALLOW };

        if (rc || (asked->resource ? !sbx_plan_is_approval(asked->resource, a->resource)
                                   : strcmp(asked->id, a->id) != 0)) {
            f->approvals[kept++] = *a;
            continue;
        }
        one.id = sbx_arena_strdup(arena, a->id);
        one.resource = sbx_arena_strdup(arena, a->resource);
        one.kit = sbx_arena_strdup(arena, a->kit);
        if (!one.id || !one.resource || !one.kit)
            rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        else if (*found)
            rc = sbx_edit_push(e, &one, err);
        else
            e->v[k] = one;
        *found = true;
    }
    f->n_approvals = kept;
    return rc;
}

static enum sbx_code drop(struct sbx_edit *e, struct sbx_policy_file *f, size_t k,
                          struct sbx_err *err)
{
    struct sbx_edit_change asked = e->v[k], *c = &e->v[k];
    enum sbx_code rc = SBX_OK;
    size_t kept = 0;
    bool found = false;

    for (size_t i = 0; i < f->n_rules; i++) {
        const struct sbx_policy_entry *r = &f->rules[i];

        if (!is_same(r, c) || (c->resource && !sbx_edit_same_scope(r->sandbox, e->sandbox)) ||
            (!c->resource && e->sandbox && !sbx_edit_same_scope(r->sandbox, e->sandbox))) {
            f->rules[kept++] = *r;
            continue;
        }
        found = true;
        c->decision = r->decision;
        c->id = sbx_arena_strdup(e->cli->arena, r->id);
        c->resource = sbx_arena_strdup(e->cli->arena, r->resource);
        if (!c->id || !c->resource)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    f->n_rules = kept;
    if (!e->sandbox)
        rc = drop_approvals(e, f, k, &asked, &found, err);
    return rc || found ? rc : not_there(e, f, c, err);
}

static enum sbx_code remove_rules(struct sbx_policy_file *f, struct sbx_arena *arena, void *data,
                                  struct sbx_err *err)
{
    struct sbx_edit *e = data;
    size_t n = e->n; /* what is found beside is appended */
    enum sbx_code rc = SBX_OK;

    (void)arena;
    for (size_t k = 0; !rc && k < n; k++)
        rc = drop(e, f, k, err);
    return rc;
}

static enum sbx_code rm(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct edit_opts *o = cli->options;
    struct sbx_edit e = { .cli = cli, .sandbox = o->sandbox, .decision = SBX_DENY };
    enum sbx_code rc = check_protocol(o->protocol, SBX_DENY, err);

    if (rc)
        return rc;
    if (!cli->args.n && !o->resources.n && !o->ids.n)
        return sbx_err_set(err, SBX_USAGE, "which rule? Name its RESOURCE, or give --id");
    if (cli->args.n)
        rc = sbx_edit_take(&e, cli->args.v[0], err);
    for (size_t i = 0; !rc && i < o->resources.n; i++)
        rc = sbx_edit_take(&e, o->resources.v[i], err);
    for (size_t i = 0; !rc && i < o->ids.n; i++)
        rc = sbx_edit_push(&e, &(struct sbx_edit_change){ .id = o->ids.v[i] }, err);
    return rc ? rc : apply(&e, remove_rules, "Removed", err);
}

#define RESOURCES                                                                                    \
    "RESOURCE is a host (any port), HOST:PORT, HOST:LOW-HIGH, *.DOMAIN (one label), **.DOMAIN (any " \
    "number),\n"                                                                                     \
    "an address or a range such as 10.0.0.0/8:443; localhost:PORT is this machine's. Several with "  \
    "commas.\n"                                                                                      \
    "Running sandboxes follow at once, and an open connection without right is closed.\n"

static const struct sbx_verb v_allow = {
    .name = "network",
    .summary = "Let sandboxes reach hosts",
    .args = "RESOURCE[,RESOURCE...]",
    .about = RESOURCES "A deny rule wins over every allow rule.",
    .example = "sbx policy allow network 'api.example.com:443,*.cdn.example.com'\n"
               "sbx policy allow network localhost:5432 --sandbox my-sandbox",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct edit_opts),
    .min = 1,
    .max = 1,
    .run = allow,
};
static const struct sbx_verb v_deny = {
    .name = "network",
    .summary = "Keep sandboxes from hosts, whatever allows them",
    .args = "RESOURCE[,RESOURCE...]",
    .about = RESOURCES "A deny rule wins over every allow rule, a kit's too.",
    .example = "sbx policy deny network '**.example.com' --sandbox my-sandbox",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct edit_opts),
    .min = 1,
    .max = 1,
    .run = deny,
};
static const struct sbx_verb v_rm = {
    .name = "network",
    .summary = "Remove rules of your own",
    .args = "[RESOURCE[,RESOURCE...]]",
    .about =
        "Removes the allow and deny rules with this RESOURCE: those for all sandboxes, or with "
        "--sandbox those\n"
        "for that one alone. All are removed or none. Rules of presets and kits stay: use "
        "policy deny.\n"
        "What you approved of kits (--approve) is taken back with it, for all sandboxes; --id takes "
        "one of them.",
    .example = "sbx policy rm network api.example.com:443\n"
               "sbx policy rm network --id r-0123456789ab",
    .groups = rm_groups,
    .n_groups = SBX_ARRAY_LEN(rm_groups),
    .size = sizeof(struct edit_opts),
    .max = 1,
    .run = rm,
};
static const struct sbx_verb *const allow_subs[] = { &v_allow }, *const deny_subs[] = { &v_deny },
                                    *const rm_subs[] = { &v_rm };

const struct sbx_verb sbx_verb_policy_allow = {
    .name = "allow", .summary = "Add a rule that allows", .sub = allow_subs, .n_sub = 1
};
const struct sbx_verb sbx_verb_policy_deny = {
    .name = "deny", .summary = "Add a rule that denies", .sub = deny_subs, .n_sub = 1
};
const struct sbx_verb sbx_verb_policy_rm = {
    .name = "rm", .summary = "Remove a rule of your own", .sub = rm_subs, .n_sub = 1
};
