#include <string.h>

#include "out.h"
#include "policy_rules.h"
#include "sbx/policy_json.h"
#include "verbs.h"

#define RULES_SHOWN_MAX 1000000 /* rows: SBX_RULES_MAX rules each of 50 sandboxes */

struct ls_opts {
    bool wide;
    const char *source, *decision, *type, *via, *protocol;
    bool inactive;
};

static const char *const sources[] = { "local", "org", "kit", NULL };
static const char *const decisions[] = { "allow", "deny", NULL };
static const char *const vias[] = { "default", "added", "provisioned", "approval", NULL };
static const char *const protocols[] = { "tcp", "udp", NULL };
static const char *const types[] = { "all", "network", "http", "filesystem", NULL };

static const struct sbx_opt rows[] = {
    SBX_SWITCH(struct ls_opts, wide, "wide", 0, "One row a rule, with its origin"),
    SBX_TEXT(struct ls_opts, source, "source", 0, "SOURCE",
             "Only of local (presets and your own) or kit", .choices = sources),
    SBX_TEXT(struct ls_opts, decision, "decision", 0, "DECISION", "Only allow or deny",
             .choices = decisions),
    SBX_TEXT(struct ls_opts, type, "type", 0, "TYPE", "all, network (there are no others)",
             .choices = types, .hidden = true),
    SBX_TEXT(struct ls_opts, via, "created-via", 0, "HOW",
             "Only default (presets), added (your own), provisioned (kits) or approval",
             .choices = vias),
    SBX_TEXT(struct ls_opts, protocol, "protocol", 0, "P", "tcp: all are; udp: none is",
             .choices = protocols, .hidden = true),
    SBX_SWITCH(struct ls_opts, inactive, "include-inactive", 0, "Accepted: all are shown always",
               .hidden = true),
    SBX_OPT_END
};
static const struct sbx_opt_group groups[] = { { .v = rows } };

/* One rule to show. Text is the arena's. */
struct shown {
    const char *id, *policy, *applies_to, *resource, *origin, *status;
    enum sbx_decision decision;
    enum sbx_rule_source source;
    const char *digest; /* of an approval: the kit's; NULL: a rule */
};

struct listing {
    struct sbx_cli *cli;
    const struct sbx_session *session;
    struct shown *v;
    size_t n, cap;
};

static bool wanted(const struct ls_opts *o, const struct shown *r)
{
    const char *source = r->source == SBX_RULE_KIT ? "kit" : "local";
    const char *via = r->digest                      ? "approval"
                      : r->source == SBX_RULE_KIT    ? "provisioned"
                      : r->source == SBX_RULE_PRESET ? "default"
                                                     : "added";

    return (!o->source || !strcmp(o->source, source)) &&
           (!o->decision || !strcmp(o->decision, sbx_decision_name(r->decision))) &&
           (!o->type || !strcmp(o->type, "all") || !strcmp(o->type, "network")) &&
           (!o->via || !strcmp(o->via, via)) && (!o->protocol || !strcmp(o->protocol, "tcp"));
}

static enum sbx_code push(struct listing *l, const struct shown *r, struct sbx_err *err)
{
    if (!wanted(l->cli->options, r))
        return SBX_OK;
    if (l->n == RULES_SHOWN_MAX)
        return sbx_err_set(err, SBX_LIMIT, "over %d rules; name a sandbox", RULES_SHOWN_MAX);
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 256;
        struct shown *v = sbx_arena_array(l->cli->arena, cap, sizeof(*v));

        if (!v)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (l->n)
            memcpy(v, l->v, l->n * sizeof(*v));
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = *r;
    return SBX_OK;
}

/* "kit hello/spec.yaml:12:5" is of the policy "kit hello". */
static const char *policy_name(struct sbx_arena *arena, const struct sbx_rule *r)
{
    if (r->source == SBX_RULE_USER)
        return "user";
    return sbx_arena_memdup(arena, r->origin, strcspn(r->origin, "/"));
}

static const char *scope_of(const struct sbx_user_files *files, const struct sbx_rule *r,
                            const char *sandbox)
{
    if (r->source == SBX_RULE_KIT)
        return sandbox;
    for (size_t i = 0; r->source == SBX_RULE_USER && i < files->file.n_rules; i++)
        if (!strcmp(files->file.rules[i].id, r->id) && files->file.rules[i].sandbox)
            return files->file.rules[i].sandbox;
    return "all";
}

static enum sbx_code push_rule(struct listing *l, const struct sbx_rule *r, const char *sandbox,
                               struct sbx_err *err)
{
    struct sbx_arena *arena = l->cli->arena;
    struct shown one = {
        .id = sbx_arena_strdup(arena, r->id),
        .policy = policy_name(arena, r),
        .applies_to = scope_of(&l->session->files, r, sandbox),
        .resource = sbx_arena_strdup(arena, r->text),
        .origin = sbx_arena_strdup(arena, r->origin),
        .status = sbx_rule_status(r),
        .decision = r->decision,
        .source = r->source,
    };

    return one.id && one.policy && one.resource && one.origin
               ? push(l, &one, err)
               : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

/* The rules of one gate.json; only the kits' where the others are shown already. */
static enum sbx_code push_config(struct listing *l, const char *sandbox, bool kits_only,
                                 struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *config = NULL;
    SBX_AUTO_PTR(sbx_policy) p = NULL;
    const struct sbx_rule *v = NULL;
    size_t n;
    enum sbx_code rc = sbx_rules_from(l->session, sandbox, &config, err);

    if (!rc)
        rc = sbx_policy_from_json(json_object_get(config, "rules"), NULL, &p, err);
    if (rc)
        return rc;
    n = sbx_policy_rules(p, &v);
    for (size_t i = 0; !rc && i < n; i++)
        if (!kits_only || v[i].source == SBX_RULE_KIT)
            rc = push_rule(l, &v[i], sandbox, err);
    return rc;
}

/* A rule for one sandbox is in no list of all: taken from the file. */
static enum sbx_code push_scoped(struct listing *l, struct sbx_err *err)
{
    const struct sbx_user_files *files = &l->session->files;
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < files->file.n_rules; i++) {
        const struct sbx_policy_entry *e = &files->file.rules[i];
        struct shown one = {
            .id = e->id,
            .policy = "user",
            .applies_to = e->sandbox,
            .resource = e->resource,
            .origin = sbx_arena_printf(l->cli->arena, "user policy.yaml:%u", e->at.line),
            .status = "active",
            .decision = e->decision,
            .source = SBX_RULE_USER,
        };

        if (e->sandbox)
            rc = push(l, &one, err);
    }
    return rc;
}

/* What the user approved of kits, for every sandbox that is made with them. */
static enum sbx_code push_approvals(struct listing *l, struct sbx_err *err)
{
    const struct sbx_user_files *files = &l->session->files;
    struct sbx_arena *arena = l->cli->arena;
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < files->file.n_approvals; i++) {
        const struct sbx_policy_approval *a = &files->file.approvals[i];
        struct shown one = {
            .id = a->id,
            .policy = "approvals",
            .resource = a->resource,
            .digest = a->digest,
            .applies_to = sbx_arena_printf(arena, "kit %s", a->kit),
            .origin = sbx_arena_printf(arena, "user policy.yaml:%u (kit %s@%.19s)", a->at.line,
                                       a->kit, a->digest),
            .status = "approved",
            .decision = SBX_ALLOW,
            .source = SBX_RULE_USER,
        };

        rc = one.applies_to && one.origin ? push(l, &one, err)
                                          : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    return rc;
}

static enum sbx_code push_all(struct listing *l, struct sbx_err *err)
{
    const char *const *names = NULL;
    size_t n = 0;
    enum sbx_code rc = push_config(l, NULL, false, err);

    if (!rc)
        rc = push_scoped(l, err);
    if (!rc)
        rc = push_approvals(l, err);
    if (!rc)
        rc = sbx_sandbox_names(l->session->engine, l->cli->arena, &names, &n, err);
    for (size_t i = 0; !rc && i < n; i++) {
        struct sbx_err one = SBX_ERR_INIT;

        if (push_config(l, names[i], true, &one) == SBX_NO_MEMORY)
            rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        /* one that is being made or was left half-made has no rules to show */
    }
    return rc;
}

static json_t *shown_json(const struct shown *r)
{
    const char *scope = r->digest ? "kit" : strcmp(r->applies_to, "all") ? "sandbox" : "global";

    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:[s],s:s,s:s,s:s,s:s,s:b,s:s*}", "id", r->id,
                     "name", r->id, "policy_name", r->policy, "scope", scope, "applies_to",
                     r->applies_to, "decision", sbx_decision_name(r->decision), "resources",
                     r->resource, "resource_type", "network", "origin",
                     sbx_rule_source_name(r->source), "declared_at", r->origin, "status", r->status,
                     "editable", (int)(r->source == SBX_RULE_USER), "kit_digest", r->digest);
}

static enum sbx_code as_value(const struct listing *l, struct sbx_err *err)
{
    json_t *all = json_array();

    for (size_t i = 0; i < l->n; i++)
        if (json_array_append_new(all, shown_json(&l->v[i]))) {
            json_decref(all);
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        }
    return sbx_out_value(l->cli, json_pack("{s:o}", "rules", all), err);
}

static enum sbx_code as_wide(const struct listing *l, struct sbx_err *err)
{
    static const char *const head[] = { "RULE",     "SOURCE",   "APPLIES TO", "TYPE",
                                        "DECISION", "RESOURCE", "STATUS",     "ORIGIN" };
    struct sbx_columns c = { .arena = l->cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };

    for (size_t i = 0; i < l->n; i++) {
        const struct shown *r = &l->v[i];
        const char *cells[] = { r->id,
                                r->source == SBX_RULE_KIT ? "kit" : "local",
                                r->applies_to,
                                "network",
                                sbx_decision_name(r->decision),
                                r->resource,
                                r->status,
                                r->origin };

        if (sbx_columns_add(&c, cells, err))
            return SBX_NO_MEMORY;
    }
    sbx_columns_print(&c, l->cli->out);
    return SBX_OK;
}

static bool same_policy(const struct shown *a, const struct shown *b)
{
    return a->source == b->source && !strcmp(a->policy, b->policy) &&
           !strcmp(a->applies_to, b->applies_to);
}

/* "network: 42 allow, 1 deny" of the policy that row `first` begins; 0 when an earlier row did. */
static bool summary(const struct listing *l, size_t first, char *out, size_t size)
{
    size_t allow = 0, deny = 0, approval = 0;
    int len;

    for (size_t i = 0; i < l->n; i++) {
        if (!same_policy(&l->v[i], &l->v[first]))
            continue;
        if (i < first)
            return false;
        *(l->v[i].decision == SBX_ALLOW ? &allow : &deny) += 1;
        approval += !strcmp(l->v[i].status, "needs-approval");
    }
    len = snprintf(out, size, "network: %zu allow, %zu deny", allow, deny);
    if (approval)
        snprintf(out + len, size - (size_t)len, " (%zu not approved)", approval);
    return true;
}

static enum sbx_code as_table(const struct listing *l, struct sbx_err *err)
{
    static const char *const head[] = { "POLICY", "SOURCE", "APPLIES TO", "SUMMARY" };
    struct sbx_columns c = { .arena = l->cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };
    const struct ls_opts *o = l->cli->options;
    const char *closed[] = { "preset deny-all", "local", "all", "network: 0 allow, 0 deny" };
    char text[120];

    if (!strcmp(l->session->files.policy.preset, "deny-all") && !o->decision && !o->via &&
        (!o->source || !strcmp(o->source, "local")) && sbx_columns_add(&c, closed, err))
        return SBX_NO_MEMORY;
    for (size_t i = 0; i < l->n; i++) {
        const struct shown *r = &l->v[i];
        const char *cells[] = { r->policy, r->source == SBX_RULE_KIT ? "kit" : "local",
                                r->applies_to, text };

        if (i && same_policy(r, &l->v[i - 1])) /* rows of one policy mostly stand together */
            continue;
        if (summary(l, i, text, sizeof(text)) && sbx_columns_add(&c, cells, err))
            return SBX_NO_MEMORY;
    }
    sbx_columns_print(&c, l->cli->out);
    return SBX_OK;
}

static enum sbx_code ls(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct ls_opts *o = cli->options;
    const char *sandbox = cli->args.n ? cli->args.v[0] : NULL;
    SBX_AUTO(sbx_session) s = { .quiet = true };
    struct listing l = { .cli = cli, .session = &s };
    enum sbx_code rc = sbx_session_open(&s, cli, NULL, err);

    if (!rc)
        rc = sandbox ? push_config(&l, sandbox, false, err) : push_all(&l, err);
    if (rc)
        return rc;
    if (cli->format != SBX_FORMAT_TABLE)
        return as_value(&l, err);
    return o->wide ? as_wide(&l, err) : as_table(&l, err);
}

const struct sbx_verb sbx_verb_policy_ls = {
    .name = "ls",
    .summary = "List rules: of the preset, your own, and those of kits",
    .args = "[SANDBOX]",
    .about =
        "Without SANDBOX the rules for all, then those of each sandbox and its kits; with it "
        "what its gate\n"
        "has. One row a policy with the number of its rules; --wide shows the rules, and where "
        "each stands:\n"
        "the line of your policy.yaml, or the kit with file and line. \"approvals\" is what you "
        "approved of kits\n"
        "(--approve): it counts for every sandbox made with that kit as it was, until policy rm.",
    .example = "sbx policy ls --wide my-sandbox\n"
               "sbx policy ls --json --source kit",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct ls_opts),
    .max = 1,
    .words = SBX_WORDS_SANDBOX,
    .run = ls,
};
