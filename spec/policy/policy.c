/* The set of rules and its index: one hash table over names, suffixes and address ranges. */
#include "index.h"

#include <string.h>

#define NO_RULE UINT32_MAX
#define FNV_START 0xcbf29ce484222325u
#define FNV_STEP 0x100000001b3u

/* Hashed from the last byte to the first, so that one pass gives the hash of every parent domain. */
static uint64_t hash_byte(uint64_t h, unsigned char c)
{
    return (h ^ c) * FNV_STEP;
}

static uint64_t hash_name(const char *name, size_t len)
{
    uint64_t h = FNV_START;

    while (len)
        h = hash_byte(h, (unsigned char)name[--len]);
    return h;
}

static uint64_t hash_range(const struct in6_addr *a, unsigned len)
{
    uint64_t h = hash_byte(FNV_START, (unsigned char)len);

    for (size_t i = 0; i < 16; i++)
        h = hash_byte(h, a->s6_addr[i]);
    return h;
}

/* Names and suffixes of the same text share a chain; the kind is compared. */
static uint64_t hash_pattern(const struct sbx_pattern *p)
{
    if (p->kind == PATTERN_CIDR)
        return hash_range(&p->address, p->prefix_len);
    return hash_name(p->name, strlen(p->name));
}

static uint32_t *bucket(const struct sbx_policy *p, uint64_t hash)
{
    return &p->buckets[(hash ^ hash >> 32) & p->mask];
}

static void visit(const struct sbx_policy *p, uint32_t first, sbx_visit_fn fn, void *data)
{
    for (uint32_t i = first; i != NO_RULE; i = p->nodes[i].next)
        fn(&p->rules[i], data);
}

static void visit_names(const struct sbx_policy *p, uint64_t hash, const char *name, unsigned kinds,
                        sbx_visit_fn fn, void *data)
{
    for (uint32_t i = *bucket(p, hash); i != NO_RULE; i = p->nodes[i].next) {
        const struct sbx_pattern *x = &p->rules[i].pattern;

        if (p->nodes[i].hash == hash && kinds >> x->kind & 1 && !strcmp(x->name, name))
            fn(&p->rules[i], data);
    }
}

void sbx_index_name(const struct sbx_policy *p, const char *name, sbx_visit_fn fn, void *data)
{
    uint64_t h = FNV_START;
    bool parent = false; /* the dot at hand is the first of the name: one label before it */

    visit(p, p->all, fn, data);
    for (size_t i = strlen(name); i-- > 0;) {
        if (name[i] == '.') {
            parent = !memchr(name, '.', i);
            visit_names(p, h, name + i + 1, 1u << PATTERN_MORE | (unsigned)parent << PATTERN_ONE, fn,
                        data);
        }
        h = hash_byte(h, (unsigned char)name[i]);
    }
    visit_names(p, h, name, 1u << PATTERN_NAME, fn, data);
}

void sbx_index_address(const struct sbx_policy *p, const struct in6_addr *a, sbx_visit_fn fn,
                       void *data)
{
    bool v4 = sbx_address_is_v4(a);

    for (size_t k = 0; k < p->n_prefixes; k++) {
        unsigned len = p->prefixes[k];
        struct in6_addr masked = *a;
        uint64_t hash;

        if (v4 && len < 96)
            continue;
        sbx_address_mask(&masked, len);
        hash = hash_range(&masked, len);
        for (uint32_t i = *bucket(p, hash); i != NO_RULE; i = p->nodes[i].next) {
            const struct sbx_pattern *x = &p->rules[i].pattern;

            if (x->kind == PATTERN_CIDR && x->prefix_len == len &&
                !memcmp(&x->address, &masked, sizeof(masked)))
                fn(&p->rules[i], data);
        }
    }
}

void sbx_index_host(const struct sbx_policy *p, sbx_visit_fn fn, void *data)
{
    visit(p, p->host, fn, data);
}

void sbx_index_all(const struct sbx_policy *p, sbx_visit_fn fn, void *data)
{
    visit(p, p->all, fn, data);
}

static void note_prefix(struct sbx_policy *p, uint8_t len)
{
    if (!memchr(p->prefixes, len, p->n_prefixes))
        p->prefixes[p->n_prefixes++] = len;
}

/* From the last rule to the first, each put at the head: chains keep the order of the rules. */
static void build_index(struct sbx_policy *p)
{
    p->all = p->host = NO_RULE;
    for (size_t i = 0; i <= p->mask; i++)
        p->buckets[i] = NO_RULE;
    for (size_t i = p->n; i-- > 0;) {
        const struct sbx_pattern *x = &p->rules[i].pattern;
        uint32_t *head = NULL;

        if (x->kind == PATTERN_ALL) {
            head = &p->all;
        } else if (x->kind == PATTERN_HOST) {
            head = &p->host;
        } else if (x->kind != PATTERN_INERT) {
            p->nodes[i].hash = hash_pattern(x);
            head = bucket(p, p->nodes[i].hash);
        }
        if (!head)
            continue;
        p->nodes[i].next = *head;
        *head = (uint32_t)i;
        if (x->kind == PATTERN_CIDR)
            note_prefix(p, x->prefix_len);
    }
}

static bool copy_rules(struct sbx_policy *p, const struct sbx_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sbx_rule *r = &p->rules[i];

        *r = rules[i];
        r->text = sbx_arena_strdup(p->arena, rules[i].text);
        r->id = sbx_arena_strdup(p->arena, rules[i].id);
        r->origin = sbx_arena_strdup(p->arena, rules[i].origin);
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
    size_t buckets = 16;

    if (n > SBX_RULES_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%zu network rules; at most %d", n, SBX_RULES_MAX);
    while (buckets < 2 * n)
        buckets *= 2;
    arena = sbx_arena_new();
    p = arena ? sbx_arena_alloc(arena, sizeof(*p)) : NULL;
    if (!p)
        return sbx_err_set(err, SBX_NO_MEMORY, "network rules: no memory");
    p->arena = arena;
    p->n = n;
    p->mask = buckets - 1;
    p->rules = sbx_arena_array(arena, n, sizeof(*p->rules));
    p->nodes = sbx_arena_array(arena, n, sizeof(*p->nodes));
    p->buckets = sbx_arena_array(arena, buckets, sizeof(*p->buckets));
    if (!p->rules || !p->nodes || !p->buckets || !copy_rules(p, rules, n))
        return sbx_err_set(err, SBX_NO_MEMORY, "network rules: no memory");
    build_index(p);
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
