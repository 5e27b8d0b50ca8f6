/* The set of rules. */
#include "index.h"

#include <string.h>

/* Rules of one kit come behind each other, and say where they come from in the same words. */
static const char *copy_origin(struct sbx_policy *p, size_t i, const char *origin)
{
    const char *last = i ? p->rules[i - 1].origin : NULL;

    return last && origin && !strcmp(last, origin) ? last : sbx_arena_strdup(p->arena, origin);
}

static bool copy_rules(struct sbx_policy *p, const struct sbx_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sbx_rule *r = &p->rules[i];

        *r = rules[i];
        r->text = sbx_arena_strdup(p->arena, rules[i].text);
        r->id = sbx_arena_strdup(p->arena, rules[i].id);
        r->origin = copy_origin(p, i, rules[i].origin);
        if ((rules[i].text && !r->text) || (rules[i].id && !r->id) ||
            (rules[i].origin && !r->origin))
            return false;
    }
    return true;
}

enum sbx_code sbx_policy_new(const struct sbx_rule *rules, size_t n, struct sbx_policy **ret,
                             struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = NULL;
    struct sbx_policy *p;

    if (n > SBX_RULES_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%zu network rules; at most %d", n, SBX_RULES_MAX);
    arena = sbx_arena_new();
    p = arena ? sbx_arena_alloc(arena, sizeof(*p)) : NULL;
    if (!p)
        return sbx_err_set(err, SBX_NO_MEMORY, "network rules: no memory");
    p->arena = arena;
    p->n = n;
    p->rules = sbx_arena_array(arena, n, sizeof(*p->rules));
    if (!p->rules || !copy_rules(p, rules, n) || !sbx_index_make(p))
        return sbx_err_set(err, SBX_NO_MEMORY, "network rules: no memory");
    arena = NULL; /* the policy owns it, being in it */
    *ret = p;
    return SBX_OK;
}

void sbx_policy_free(struct sbx_policy *p)
{
    if (p)
        sbx_arena_free(p->arena);
}

size_t sbx_policy_rules(const struct sbx_policy *p, const struct sbx_rule **ret)
{
    *ret = p->rules;
    return p->n;
}

enum sbx_code sbx_policy_public_test_range(struct sbx_policy *p, const char *cidr,
                                           struct sbx_err *err)
{
    struct sbx_pattern range;
    enum sbx_code rc = sbx_pattern_parse(cidr, SBX_RULE_USER, &range, NULL, err);

    if (rc)
        return sbx_err_wrap(err, rc, "public test range");
    if (range.kind != PATTERN_CIDR)
        return sbx_err_set(err, SBX_SCHEMA, "public test range \"%s\": not a CIDR", cidr);
#ifdef SBX_FAULTS
    if (p->n_test_ranges == SBX_ARRAY_LEN(p->test_ranges))
        return sbx_err_set(err, SBX_LIMIT, "more than %zu public test ranges", p->n_test_ranges);
    p->test_ranges[p->n_test_ranges++] = range;
#else
    (void)p;
#endif
    return SBX_OK;
}

enum sbx_code sbx_rule_init(struct sbx_rule *r, enum sbx_decision decision,
                            enum sbx_rule_source source, const char *text, const char *id,
                            const char *origin, struct sbx_err *err)
{
    *r = (struct sbx_rule){
        .decision = decision, .source = source, .text = text, .id = id, .origin = origin
    };
    return sbx_pattern_parse(text, source, &r->pattern, NULL, err);
}
