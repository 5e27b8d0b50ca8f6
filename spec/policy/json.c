#include "sbx/policy_json.h"

#include <stdlib.h>
#include <string.h>

#include "policy_int.h"

static const char *const decisions[] = { [SBX_DENY] = "deny", [SBX_ALLOW] = "allow" };
static const char *const sources[] = {
    [SBX_RULE_PRESET] = "preset", [SBX_RULE_USER] = "user", [SBX_RULE_KIT] = "kit"
};

const char *sbx_decision_name(enum sbx_decision d)
{
    return decisions[d];
}

const char *sbx_rule_source_name(enum sbx_rule_source s)
{
    return sources[s];
}

json_t *sbx_rule_json(const struct sbx_rule *r)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "id", r->id ? r->id : "", "decision",
                     decisions[r->decision], "pattern", r->text ? r->text : "", "source",
                     sources[r->source], "origin", r->origin ? r->origin : "", "consented",
                     r->consented);
}

json_t *sbx_rules_json(const struct sbx_rule *rules, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < n; i++) {
        if (!json_array_append_new(list, sbx_rule_json(&rules[i])))
            continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

static int find(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return (int)i;
    return -1;
}

/* Fields of one rule as they stand in the JSON. */
struct fields {
    const char *id, *decision, *pattern, *source, *origin;
    int consented;
};

/* JSON_STRICT refuses unknown keys, and jansson's own text names the key or the wrong type. */
static enum sbx_code unpack(const json_t *value, struct fields *f, struct sbx_err *err)
{
    json_error_t why;

    if (json_unpack_ex((json_t *)value, &why, JSON_STRICT, "{s:s, s:s, s:s, s:s, s:s, s:b}", "id",
                       &f->id, "decision", &f->decision, "pattern", &f->pattern, "source",
                       &f->source, "origin", &f->origin, "consented", &f->consented))
        return sbx_err_set(err, SBX_SCHEMA, "%s", why.text);
    return *f->id ? SBX_OK : sbx_err_set(err, SBX_SCHEMA, "the id is empty");
}

static enum sbx_code read_rule(const json_t *value, struct sbx_rule *r, struct sbx_err *err)
{
    struct fields f = { 0 };
    enum sbx_code rc = unpack(value, &f, err);
    int decision, source;

    if (rc)
        return rc;
    decision = find(decisions, SBX_ARRAY_LEN(decisions), f.decision);
    source = find(sources, SBX_ARRAY_LEN(sources), f.source);
    if (decision < 0)
        return sbx_err_set(err, SBX_SCHEMA, "decision \"%s\" is neither allow nor deny", f.decision);
    if (source < 0)
        return sbx_err_set(err, SBX_SCHEMA, "source \"%s\" is not preset, user or kit", f.source);
    rc = sbx_rule_init(r, (enum sbx_decision)decision, (enum sbx_rule_source)source, f.pattern, f.id,
                       f.origin, err);
    r->consented = f.consented != 0;
    return rc;
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum sbx_code check_ids(const struct sbx_rule *rules, size_t n, struct sbx_err *err)
{
    SBX_AUTO_FREE const char **ids = calloc(n ? n : 1, sizeof(*ids));

    if (!ids)
        return sbx_err_set(err, SBX_NO_MEMORY, "rules: no memory");
    for (size_t i = 0; i < n; i++)
        ids[i] = rules[i].id;
    qsort(ids, n, sizeof(*ids), compare_ids);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(ids[i - 1], ids[i]))
            return sbx_err_set(err, SBX_SCHEMA, "rules: the id \"%s\" is given twice", ids[i]);
    return SBX_OK;
}

static enum sbx_code add_ranges(struct sbx_policy *p, const json_t *ranges, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;
    const json_t *one;
    size_t i;

    if (ranges && !json_is_array(ranges))
        return sbx_err_set(err, SBX_SCHEMA, "publicTestRanges: not a list");
    json_array_foreach (ranges, i, one) {
        if (!json_is_string(one))
            return sbx_err_set(err, SBX_SCHEMA, "publicTestRanges[%zu]: not a string", i);
        rc = sbx_policy_public_test_range(p, json_string_value(one), err);
        if (rc)
            return rc;
    }
    return SBX_OK;
}

enum sbx_code sbx_policy_from_json(const json_t *rules, const json_t *ranges,
                                   struct sbx_policy **ret, struct sbx_err *err)
{
    size_t n = json_array_size(rules);
    SBX_AUTO_FREE struct sbx_rule *list = NULL;
    SBX_AUTO_PTR(sbx_policy) p = NULL;
    enum sbx_code rc = SBX_OK;

    if (!json_is_array(rules))
        return sbx_err_set(err, SBX_SCHEMA, "rules: not a list");
    if (n > SBX_RULES_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%zu network rules; at most %d", n, SBX_RULES_MAX);
    list = calloc(n ? n : 1, sizeof(*list));
    if (!list)
        return sbx_err_set(err, SBX_NO_MEMORY, "rules: no memory");
    for (size_t i = 0; i < n; i++) {
        rc = read_rule(json_array_get(rules, i), &list[i], err);
        if (rc)
            return sbx_err_wrap(err, rc, "rules[%zu]", i);
    }
    rc = check_ids(list, n, err);
    if (!rc)
        rc = sbx_policy_new(list, n, &p, err);
    if (!rc)
        rc = add_ranges(p, ranges, err);
    if (!rc)
        *ret = SBX_TAKE(p);
    return rc;
}
