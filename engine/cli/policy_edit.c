/* Rules of the user's policy.yaml: read from words, added. See policy_edit.h. */
#include "policy_edit.h"

#include "approvals.h"

#include <string.h>

bool sbx_edit_same_scope(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

enum sbx_code sbx_edit_push(struct sbx_edit *e, const struct sbx_edit_change *c,
                            struct sbx_err *err)
{
    if (e->n == e->cap) {
        size_t cap = e->cap ? e->cap * 2 : 16;
        struct sbx_edit_change *v = sbx_arena_array(e->cli->arena, cap, sizeof(*v));

        if (!v)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (e->n)
            memcpy(v, e->v, e->n * sizeof(*v));
        e->v = v;
        e->cap = cap;
    }
    e->v[e->n++] = *c;
    return SBX_OK;
}

static enum sbx_code take_resource(struct sbx_edit *e, const char *text, struct sbx_err *err)
{
    struct sbx_edit_change c = { .resource = text, .decision = e->decision };
    const char *inert = NULL;

    if (!*text)
        return sbx_err_set(err, SBX_USAGE, "an empty resource between commas");
    if (strstr(text, "://"))
        return sbx_err_set(err, SBX_USAGE, "%s: write HOST:PORT, without a scheme and a path",
                           text);
    if (sbx_pattern_parse(text, SBX_RULE_USER, &c.pattern, &inert, err))
        return sbx_err_wrap(err, SBX_USAGE, "%s", text);
    if (inert && e->decision == SBX_ALLOW)
        return sbx_err_set(err, SBX_USAGE, "%s: no rule can allow this: %s", text, inert);
    return sbx_edit_push(e, &c, err);
}

/* "a, b,c" */
enum sbx_code sbx_edit_take(struct sbx_edit *e, const char *list, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (const char *p = list; !rc; p++) {
        size_t len = strcspn(p, ","), skip = strspn(p, " \t");
        char *one;

        skip = skip > len ? len : skip;
        one = sbx_arena_memdup(e->cli->arena, p + skip, len - skip);
        if (!one)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        for (size_t n = strlen(one); n && (one[n - 1] == ' ' || one[n - 1] == '\t');)
            one[--n] = '\0';
        rc = take_resource(e, one, err);
        p += len;
        if (!*p)
            break;
    }
    return rc;
}

/* A wider rule of the user's says it already; presets and kits may change under it. */
static const struct sbx_policy_entry *
covering(const struct sbx_policy_file *f, const struct sbx_edit *e, const struct sbx_edit_change *c)
{
    for (size_t i = 0; i < f->n_rules; i++) {
        const struct sbx_policy_entry *r = &f->rules[i];
        struct sbx_pattern p;

        if (r->decision != e->decision ||
            (r->sandbox && !sbx_edit_same_scope(r->sandbox, e->sandbox)) ||
            sbx_pattern_parse(r->resource, SBX_RULE_USER, &p, NULL, NULL))
            continue;
        if (sbx_pattern_covers(&p, &c->pattern) || !strcmp(r->resource, c->resource))
            return r;
    }
    return NULL;
}

enum sbx_code sbx_edit_add(struct sbx_policy_file *f, struct sbx_arena *arena, void *data,
                           struct sbx_err *err)
{
    struct sbx_edit *e = data;
    struct sbx_policy_entry *v = sbx_arena_array(arena, f->n_rules + e->n, sizeof(*v));

    if (!v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (f->n_rules)
        memcpy(v, f->rules, f->n_rules * sizeof(*v));
    f->rules = v;
    for (size_t i = 0; i < e->n; i++) {
        struct sbx_edit_change *c = &e->v[i];
        const struct sbx_policy_entry *by = covering(f, e, c);
        struct sbx_policy_entry one = { .decision = e->decision,
                                        .resource = c->resource,
                                        .sandbox = e->sandbox };

        one.id = by ? by->id : sbx_policy_rule_id(&one, e->cli->arena);
        c->id = sbx_arena_strdup(e->cli->arena, one.id);
        c->covered_by = by ? sbx_arena_strdup(e->cli->arena, by->resource) : NULL;
        if (!c->id || (by && !c->covered_by))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (!by)
            v[f->n_rules++] = one;
    }
    return SBX_OK;
}

/* ---- rules that come with a new sandbox ---- */

enum sbx_code sbx_new_rules_check(struct sbx_new_rules *r, struct sbx_cli *cli,
                                  const struct sbx_texts *allow, const struct sbx_texts *deny,
                                  struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    r->cli = cli;
    r->allow = (struct sbx_edit){ .cli = cli, .decision = SBX_ALLOW };
    r->deny = (struct sbx_edit){ .cli = cli, .decision = SBX_DENY };
    for (size_t i = 0; !rc && i < allow->n; i++)
        rc = sbx_edit_take(&r->allow, allow->v[i], err);
    if (rc)
        return sbx_err_wrap(err, rc, "--allow-network");
    for (size_t i = 0; !rc && i < deny->n; i++)
        rc = sbx_edit_take(&r->deny, deny->v[i], err);
    return rc ? sbx_err_wrap(err, rc, "--deny-network") : SBX_OK;
}

enum sbx_code sbx_new_rules_write(void *data, const struct sbx_plan *plan, struct sbx_err *err)
{
    struct sbx_new_rules *r = data;
    const char *sandbox = sbx_arena_strdup(r->cli->arena, plan->name);
    struct sbx_edit *both[] = { &r->deny, &r->allow };
    enum sbx_code rc = sandbox ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");

    for (size_t i = 0; !rc && i < SBX_ARRAY_LEN(both); i++) {
        both[i]->sandbox = sandbox;
        if (both[i]->n)
            rc = sbx_user_policy_edit(r->cli, r->paths, sbx_edit_add, both[i], err);
        if (!rc && both[i]->n)
            r->written = sandbox;
    }
    return rc ? rc : sbx_approvals_remember(r->cli, r->paths, plan, r->approve, err);
}
