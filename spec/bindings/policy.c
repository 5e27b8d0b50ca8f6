/* policy.yaml: reading it. */
#include "approvals.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sbx/digest.h"

#define ID_DIGITS 12 /* of the digest: two of 20,000 rules agree by chance once in a million files */

struct raw_rule {
    struct sbx_origin at;
    const char *decision, *resource, *id, *sandbox;
};

struct raw {
    const char *preset;
    bool initialized;
    SBX_LIST(raw_rule) rules;
    SBX_LIST(sbx_raw_approval) approvals;
};

static const struct sbx_field rule_fields[] = {
    { .key = "decision", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw_rule, decision),
      .doc = "allow or deny." },
    { .key = "resource", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw_rule, resource),
      .doc = "Host, port, wildcard or address range, like example.com:443." },
    { .key = "id", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw_rule, id),
      .doc = "Name of the rule in logs and for removing it." },
    { .key = "sandbox", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw_rule, sandbox),
      .doc = "The one sandbox that it counts for." },
};
static const struct sbx_block rule_block = {
    "policy.rules[]", sizeof(struct raw_rule), offsetof(struct raw_rule, at), -1, rule_fields,
    SBX_ARRAY_LEN(rule_fields), NULL
};

static const struct sbx_field fields[] = {
    { .key = "preset", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw, preset),
      .doc = "allow-all, balanced or deny-all." },
    { .key = "initialized", .type = SBX_FIELD_BOOL, .offset = offsetof(struct raw, initialized),
      .doc = "Whether policy init was run." },
    { .key = "rules", .type = SBX_FIELD_LIST, .offset = offsetof(struct raw, rules),
      .block = &rule_block, .doc = "The user's rules." },
    { .key = "approvals", .type = SBX_FIELD_LIST, .offset = offsetof(struct raw, approvals),
      .block = &sbx_approval_block,
      .doc = "What kits may reach of this machine and its private network." },
};
static const struct sbx_block block = {
    "policy", sizeof(struct raw), -1, -1, fields, SBX_ARRAY_LEN(fields), NULL
};

bool sbx_policy_is_preset(const char *name)
{
    size_t n;

    return sbx_policy_preset(name, &n) != NULL;
}

const char *sbx_policy_rule_id(const struct sbx_policy_entry *e, struct sbx_arena *arena)
{
    char digest[SBX_DIGEST_TEXT_SIZE];
    const char *text = sbx_arena_printf(arena, "%d\n%s\n%s", e->decision, e->resource,
                                        e->sandbox ? e->sandbox : "");

    if (!text || sbx_digest(text, strlen(text), digest))
        return NULL;
    return sbx_arena_printf(arena, "r-%.*s", ID_DIGITS, strchr(digest, ':') + 1);
}

bool sbx_bindings_is_plain(const char *text, size_t max)
{
    static const char ok[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_+";

    return *text && strlen(text) <= max && strspn(text, ok) == strlen(text);
}

static void check_resource(struct sbx_decoder *d, const struct raw_rule *r)
{
    struct sbx_err err = SBX_ERR_INIT;
    const char *inert = NULL;
    struct sbx_pattern p;

    if (!r->resource)
        sbx_bindings_report(d, SBX_ERROR, NULL, r->at.pos, "rules", "add resource: example.com:443",
                            "a rule without a resource");
    else if (sbx_pattern_parse(r->resource, SBX_RULE_USER, &p, &inert, &err))
        sbx_bindings_report(d, SBX_ERROR, &r->resource, r->at.pos, "rules", NULL, "%s", err.text);
    else if (inert && r->decision && strcmp(r->decision, "deny") != 0) /* a denial of it is kept */
        sbx_bindings_report(d, SBX_WARNING, &r->resource, r->at.pos, "rules", inert,
                            "never matches a request (%.200s)", r->resource);
}

static void check_rule(struct sbx_decoder *d, const struct raw_rule *r)
{
    static const char *const decisions[] = { "allow", "deny", NULL };

    if (!r->decision)
        sbx_bindings_report(d, SBX_ERROR, NULL, r->at.pos, "rules", "add decision: allow or deny",
                            "a rule without a decision");
    else
        sbx_bindings_word(d, &r->decision, "rules.decision", decisions);
    check_resource(d, r);
    if (r->id && !sbx_bindings_is_plain(r->id, SBX_RULE_ID_MAX))
        sbx_bindings_report(d, SBX_ERROR, &r->id, r->at.pos, "rules.id",
                            "use 1 to 64 letters, digits, \".\", \"-\", \"_\"", "not an id (%.80s)",
                            r->id);
    if (r->sandbox && !sbx_bindings_is_plain(r->sandbox, 63))
        sbx_bindings_report(d, SBX_ERROR, &r->sandbox, r->at.pos, "rules.sandbox",
                            "name a sandbox as sbx ls shows it", "not a sandbox's name (%.80s)",
                            r->sandbox);
}

static void check(struct sbx_decoder *d, void *base)
{
    static const char *const presets[] = { "allow-all", "balanced", "deny-all", NULL };
    struct raw *raw = base;

    if (raw->preset)
        sbx_bindings_word(d, &raw->preset, "preset", presets);
    for (size_t i = 0; i < raw->rules.len; i++)
        check_rule(d, &raw->rules.v[i]);
    for (size_t i = 0; i < raw->approvals.len; i++)
        sbx_approval_check(d, &raw->approvals.v[i]);
}

static enum sbx_code convert_approvals(const struct raw *raw, struct sbx_arena *arena,
                                       struct sbx_policy_file *f)
{
    enum sbx_code rc = SBX_OK;

    f->approvals = sbx_arena_array(arena, raw->approvals.len, sizeof(*f->approvals));
    if (!f->approvals)
        return SBX_NO_MEMORY;
    for (; !rc && f->n_approvals < raw->approvals.len; f->n_approvals++)
        rc = sbx_approval_convert(&raw->approvals.v[f->n_approvals], arena,
                                  &f->approvals[f->n_approvals]);
    return rc;
}

static enum sbx_code convert(const struct raw *raw, struct sbx_arena *arena,
                             struct sbx_policy_file *f)
{
    f->initialized = raw->initialized;
    f->preset = raw->preset ? raw->preset : "balanced";
    f->rules = sbx_arena_array(arena, raw->rules.len, sizeof(*f->rules));
    if (!f->rules)
        return SBX_NO_MEMORY;
    f->n_rules = raw->rules.len;
    for (size_t i = 0; i < raw->rules.len; i++) {
        const struct raw_rule *r = &raw->rules.v[i];
        struct sbx_policy_entry *e = &f->rules[i];

        *e = (struct sbx_policy_entry){
            .decision = strcmp(r->decision, "allow") ? SBX_DENY : SBX_ALLOW,
            .resource = r->resource, .id = r->id, .sandbox = r->sandbox, .at = r->at.pos,
        };
        if (!e->id)
            e->id = sbx_policy_rule_id(e, arena);
        if (!e->id)
            return SBX_NO_MEMORY;
    }
    return convert_approvals(raw, arena, f);
}

int sbx_bindings_compare_ids(const void *a, const void *b)
{
    const struct sbx_numbered *x = a, *y = b;
    int order = strcmp(x->id, y->id);

    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static bool same_rule(const struct sbx_policy_entry *a, const struct sbx_policy_entry *b)
{
    return a->decision == b->decision && !strcmp(a->resource, b->resource) &&
           (a->sandbox == b->sandbox ||
            (a->sandbox && b->sandbox && !strcmp(a->sandbox, b->sandbox)));
}

/* The same rule twice counts once; two rules may not share an id. */
static enum sbx_code settle_ids(struct sbx_policy_file *f, struct sbx_diags *diags)
{
    SBX_AUTO_FREE struct sbx_numbered *sorted = calloc(f->n_rules ? f->n_rules : 1, sizeof(*sorted));
    SBX_AUTO_FREE bool *drop = calloc(f->n_rules ? f->n_rules : 1, sizeof(*drop));
    size_t kept = 0;

    if (!sorted || !drop)
        return SBX_NO_MEMORY;
    for (size_t i = 0; i < f->n_rules; i++)
        sorted[i] = (struct sbx_numbered){ f->rules[i].id, i };
    qsort(sorted, f->n_rules, sizeof(*sorted), sbx_bindings_compare_ids);
    for (size_t i = 1; i < f->n_rules; i++) {
        const struct sbx_policy_entry *e = &f->rules[sorted[i].index],
                                      *first = &f->rules[sorted[i - 1].index];

        if (strcmp(first->id, e->id))
            continue;
        drop[sorted[i].index] = same_rule(first, e);
        sbx_diags_add(diags, same_rule(first, e) ? SBX_WARNING : SBX_ERROR, "same-rule", e->at,
                      "rules", same_rule(first, e) ? "remove it" : "give one of them another id",
                      same_rule(first, e) ? "the same rule as line %u (%s)"
                                          : "the id of line %u is given again (%s)",
                      first->at.line, same_rule(first, e) ? e->resource : e->id);
    }
    for (size_t i = 0; i < f->n_rules; i++)
        if (!drop[i])
            f->rules[kept++] = f->rules[i];
    f->n_rules = kept;
    return SBX_OK;
}

enum sbx_code sbx_policy_file_load(const char *path, struct sbx_arena *arena,
                                   struct sbx_diags *diags, struct sbx_policy_file *ret,
                                   struct sbx_err *err)
{
    struct raw raw = { .preset = NULL };
    struct sbx_policy_file f = { .head = NULL };
    size_t before = diags->errors;
    enum sbx_code rc = sbx_bindings_read(path, &block, &raw, check, arena, &f.head, diags, err);

    if (rc)
        return rc;
    rc = convert(&raw, arena, &f);
    if (!rc)
        rc = settle_ids(&f, diags);
    if (!rc)
        rc = sbx_approvals_settle(&f, diags);
    if (rc)
        return sbx_err_set(err, SBX_NO_MEMORY, "%s: no memory", path);
    if (diags->errors > before)
        return sbx_err_set(err, SBX_SCHEMA, "%s: two rules have the same id", path);
    *ret = f;
    return SBX_OK;
}
