/* The kits' network rules, with stable ids. */
#include "build.h"

#include <string.h>
#include <strings.h>

#include "sbx/digest.h"

/* The same text, or the same resource in another spelling (localhost:80 is host.docker.internal:80). */
bool sbx_plan_is_approval(const char *given, const char *pattern)
{
    struct sbx_pattern a, b;

    if (!strcasecmp(given, pattern))
        return true;
    return !sbx_pattern_parse(given, SBX_RULE_USER, &a, NULL, NULL) &&
           !sbx_pattern_parse(pattern, SBX_RULE_KIT, &b, NULL, NULL) &&
           sbx_pattern_covers(&a, &b) && sbx_pattern_covers(&b, &a);
}

bool sbx_plan_is_approved(const struct sbx_approval *v, size_t n, const char *kit,
                          const char *digest, const char *pattern)
{
    for (size_t i = 0; digest && i < n; i++)
        if (!strcmp(v[i].digest, digest) && !strcmp(v[i].kit, kit) &&
            sbx_plan_is_approval(v[i].pattern, pattern))
            return true;
    return false;
}

const char *sbx_plan_rule_digest(const struct sbx_plan *p, const struct sbx_plan_rule *r)
{
    if (r->kit_digest)
        return r->kit_digest;
    for (size_t i = 0; r->kit && i < p->n_kits; i++)
        if (!strcmp(p->kits[i].name, r->kit))
            return p->kits[i].digest;
    return NULL;
}

static const char *kit_digest(const struct sbx_planner *b, const char *kit)
{
    for (size_t i = 0; i < b->a->kits.len; i++)
        if (!strcmp(b->a->kits.v[i].name, kit))
            return b->a->kits.v[i].digest;
    return NULL;
}

/*
 * Of those with this name that the base extends; NULL: there is none. They may change while the digest of who
 * extends them does not. Of several with one name, rules do not tell which one they are from: all count.
 */
static const char *parents_digest(struct sbx_planner *b, const char *kit)
{
    const char *digest = NULL, *own = kit_digest(b, kit);

    for (size_t i = 0; i < b->a->parents.len; i++) {
        const struct sbx_kit_ref *parent = &b->a->parents.v[i];
        const char *before = digest ? digest : own, *both;
        char sum[SBX_DIGEST_TEXT_SIZE];

        if (strcmp(parent->name, kit) || !parent->digest)
            continue;
        digest = parent->digest;
        if (!before)
            continue;
        both = sbx_build_fmt(b, "%s\n%s", before, parent->digest);
        if (!both || sbx_digest(both, strlen(both), sum))
            b->no_memory = true;
        else
            digest = sbx_build_str(b, sum);
    }
    return digest ? sbx_build_str(b, digest) : NULL;
}

static bool approved(const struct sbx_planner *b, const struct sbx_plan_rule *r,
                     const char *pattern)
{
    for (const char *const *a = b->o->approve; a && *a; a++)
        if (sbx_plan_is_approval(*a, pattern))
            return true;
    return sbx_plan_is_approved(b->o->approvals, b->o->n_approvals, r->kit,
                                r->kit_digest ? r->kit_digest : kit_digest(b, r->kit), pattern);
}

/* Numbers count per kit, over allow first and deny after it. */
static unsigned next_number(const struct sbx_planner *b, const char *kit)
{
    unsigned n = 1;

    for (size_t i = 0; i < b->p->n_rules; i++)
        if (b->p->rules[i].kit && !strcmp(b->p->rules[i].kit, kit))
            n++;
    return n;
}

/* Loading the kit said so already. */
static bool is_told(const struct sbx_diags *diags, struct sbx_pos pos)
{
    for (size_t i = 0; i < diags->len; i++) {
        const struct sbx_diag *d = &diags->v[i];

        if (!strcmp(d->code, "pattern-never-matches") && d->pos.line == pos.line &&
            d->pos.column == pos.column && d->pos.file && pos.file &&
            !strcmp(d->pos.file, pos.file))
            return true;
    }
    return false;
}

static void remark(struct sbx_planner *b, const struct sbx_plan_rule *r, struct sbx_pos pos)
{
    if (r->inert && is_told(b->diags, pos))
        return;
    if (r->inert)
        sbx_diags_add(b->diags, SBX_WARNING, "inert-rule", pos, "permissions.network", r->inert,
                      "kit %s: the rule \"%s\" never matches", r->kit, r->pattern);
    else if (r->needs_consent && !r->consented && r->decision == SBX_ALLOW)
        sbx_diags_add(b->diags, SBX_WARNING, "consent-needed", pos, "permissions.network",
                      sbx_build_fmt(b, "to allow it, add --approve %s", r->pattern),
                      "kit %s wants to reach \"%s\" on this machine or its private network", r->kit,
                      r->pattern);
}

static enum sbx_code add(struct sbx_planner *b, const struct sbx_strs *list, size_t i,
                         enum sbx_decision decision)
{
    const struct sbx_origin *at = &list->at[i];
    const char *kit = sbx_build_kit(b, at);
    struct sbx_plan_rule *r = &b->p->rules[b->p->n_rules];
    struct sbx_pattern pattern;
    enum sbx_code rc;

    if (!kit)
        return SBX_NO_MEMORY;
    *r = (struct sbx_plan_rule){ .decision = decision, .kit = kit, .at = sbx_build_at(b, at) };
    r->pattern = sbx_build_str(b, list->v[i]);
    r->id = sbx_build_fmt(b, "kit:%s:%u", kit, next_number(b, kit));
    rc = sbx_pattern_parse(list->v[i], SBX_RULE_KIT, &pattern, &r->inert, b->err);
    if (rc)
        return sbx_err_wrap(b->err, rc, "permissions.network of kit %s", kit);
    r->needs_consent = !r->inert && sbx_pattern_needs_consent(&pattern);
    r->kit_digest = r->needs_consent ? parents_digest(b, kit) : NULL;
    r->consented = r->needs_consent && approved(b, r, list->v[i]);
    b->p->n_rules++;
    remark(b, r, at->pos);
    return SBX_OK;
}

static enum sbx_code refuse_approval(const struct sbx_planner *b, const char *given)
{
    SBX_AUTO(sbx_buf) list = SBX_BUF_INIT(300); /* a longer one is cut */

    for (size_t i = 0; i < b->p->n_rules; i++) {
        const struct sbx_plan_rule *r = &b->p->rules[i];

        if (r->decision != SBX_ALLOW)
            continue;
        if (r->inert && sbx_plan_is_approval(given, r->pattern))
            return sbx_err_set(b->err, SBX_USAGE, "--approve %s: nothing can allow this: %s", given,
                               r->inert);
        if (r->needs_consent && sbx_buf_addf(&list, "%s%s", list.len ? ", " : "", r->pattern))
            break;
    }
    if (!list.len)
        return sbx_err_set(b->err, SBX_USAGE,
                           "--approve %s: no kit here asks for anything that needs approval",
                           given);
    return sbx_err_set(b->err, SBX_USAGE, "--approve %s: no kit here asks for it; they ask for: %s",
                       given, list.ptr);
}

/* An approval that meets no rule is a slip: the user believes that something is open now. */
static enum sbx_code check_approvals(const struct sbx_planner *b)
{
    for (const char *const *a = b->o->approve; a && *a; a++) {
        bool met = false;

        for (size_t i = 0; i < b->p->n_rules && !met; i++)
            met = b->p->rules[i].decision == SBX_ALLOW && !b->p->rules[i].inert &&
                  sbx_plan_is_approval(*a, b->p->rules[i].pattern);
        if (!met)
            return refuse_approval(b, *a);
    }
    return SBX_OK;
}

enum sbx_code sbx_build_rules(struct sbx_planner *b)
{
    size_t n = b->a->allow.len + b->a->deny.len;
    enum sbx_code rc = SBX_OK;

    if (n > SBX_RULES_MAX)
        return sbx_err_set(b->err, SBX_LIMIT, "permissions.network: %zu rules, at most %d", n,
                           SBX_RULES_MAX);
    b->p->rules = sbx_build_array(b, n, sizeof(*b->p->rules));
    if (!b->p->rules)
        return SBX_OK;
    for (size_t i = 0; !rc && i < b->a->allow.len; i++)
        rc = add(b, &b->a->allow, i, SBX_ALLOW);
    for (size_t i = 0; !rc && i < b->a->deny.len; i++)
        rc = add(b, &b->a->deny, i, SBX_DENY);
    return rc || b->no_memory ? rc : check_approvals(b);
}
