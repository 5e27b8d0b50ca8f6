/* The set of rules and its index: one hash table over names, suffixes and address ranges. */
#include "index.h"

#include <stdlib.h>
#include <string.h>

#define NO_RULE UINT32_MAX
#define FNV_START 0xcbf29ce484222325u
#define FNV_STEP 0x100000001b3u
#define MIX_STEP 0x9e3779b97f4a7c15u
#define HASH_ALL 1u  /* of `**`, and of the host resource: a name or range hashes to them by chance only, */
#define HASH_HOST 2u /* and the kind is compared */

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

static uint64_t mix(uint64_t h, uint64_t v)
{
    __extension__ unsigned __int128 wide = (unsigned __int128)(h ^ v) * MIX_STEP;

    return (uint64_t)wide ^ (uint64_t)(wide >> 64); /* what varies may be the highest byte alone */
}

/* An address is looked up once for each prefix length in use: in two steps, not in 17. */
static uint64_t hash_range(const struct in6_addr *a, unsigned len)
{
    uint64_t half[2];

    memcpy(half, a, sizeof(half));
    return mix(mix(mix(FNV_START, len), half[0]), half[1]);
}

/* Names and suffixes of the same text share a chain; the kind is compared. */
static uint64_t hash_pattern(const struct sbx_pattern *p)
{
    switch (p->kind) {
    case PATTERN_CIDR:
        return hash_range(&p->address, p->prefix_len);
    case PATTERN_ALL:
        return HASH_ALL;
    case PATTERN_HOST:
        return HASH_HOST;
    default:
        return hash_name(p->name, strlen(p->name));
    }
}

static uint32_t *bucket(const struct sbx_policy *p, uint64_t hash)
{
    return &p->buckets[(hash ^ hash >> 32) & p->mask];
}

/* What a look-up asks for: a host part by its hash, and what is compared then. */
struct key {
    uint64_t hash;
    unsigned kinds;               /* bits of enum */
    const char *name;             /* of names */
    const struct in6_addr *range; /* of addresses, masked */
    unsigned len;
};

static bool fits(const struct sbx_pattern *x, const struct key *k)
{
    if (!(k->kinds >> x->kind & 1))
        return false;
    if (x->kind == PATTERN_CIDR)
        return x->prefix_len == k->len && !memcmp(&x->address, k->range, sizeof(*k->range));
    return !k->name || !strcmp(x->name, k->name);
}

static bool has_many(const struct sbx_policy *p, uint64_t hash)
{
    return p->many[hash >> 58] >> (hash >> 52 & 63) & 1;
}

static void visit_crowds(const struct sbx_policy *p, const struct key *k, uint16_t port,
                         sbx_visit_fn fn, void *data)
{
    const struct crowd *c = sbx_crowds_first(&p->crowds, k->hash), *end = p->crowds.v + p->crowds.n;

    for (; c && c < end && c->hash == k->hash; c++)
        if (fits(c->part, k))
            sbx_crowd_visit(c, port, fn, data);
}

static void visit(const struct sbx_policy *p, const struct key *k, uint16_t port, sbx_visit_fn fn, void *data)
{
    if (has_many(p, k->hash)) {
        visit_crowds(p, k, port, fn, data);
        return;
    }
    for (uint32_t i = *bucket(p, k->hash); i != NO_RULE; i = p->nodes[i].next) {
        const struct sbx_pattern *x = &p->rules[i].pattern;

        if (p->nodes[i].hash == k->hash && fits(x, k))
            fn(&p->rules[i], x->port_lo, x->port_hi, data);
    }
}

void sbx_index_name(const struct sbx_policy *p, const char *name, uint16_t port, sbx_visit_fn fn, void *data)
{
    struct key k = { .hash = FNV_START, .name = name };
    uint64_t h = FNV_START;
    const char *first = strchr(name, '.'); /* one label is before it */

    sbx_index_all(p, port, fn, data);
    for (size_t i = strlen(name); i-- > 0;) {
        if (name[i] == '.') {
            k = (struct key){ .hash = h, .name = name + i + 1, .kinds = 1u << PATTERN_MORE };
            if (name + i == first)
                k.kinds |= 1u << PATTERN_ONE;
            visit(p, &k, port, fn, data);
        }
        h = hash_byte(h, (unsigned char)name[i]);
    }
    k = (struct key){ .hash = h, .name = name, .kinds = 1u << PATTERN_NAME };
    visit(p, &k, port, fn, data);
}

void sbx_index_address(const struct sbx_policy *p, const struct in6_addr *a, uint16_t port, sbx_visit_fn fn,
                       void *data)
{
    bool v4 = sbx_address_is_v4(a);

    for (size_t i = 0; i < p->n_prefixes; i++) {
        unsigned len = p->prefixes[i];
        struct in6_addr masked = *a;
        struct key k = { .range = &masked, .len = len, .kinds = 1u << PATTERN_CIDR };

        if (v4 && len < 96)
            continue;
        sbx_address_mask(&masked, len);
        k.hash = hash_range(&masked, len);
        visit(p, &k, port, fn, data);
    }
}

void sbx_index_host(const struct sbx_policy *p, uint16_t port, sbx_visit_fn fn, void *data)
{
    visit(p, &(struct key){ .hash = HASH_HOST, .kinds = 1u << PATTERN_HOST }, port, fn, data);
}

void sbx_index_all(const struct sbx_policy *p, uint16_t port, sbx_visit_fn fn, void *data)
{
    visit(p, &(struct key){ .hash = HASH_ALL, .kinds = 1u << PATTERN_ALL }, port, fn, data);
}

static void note_prefix(struct sbx_policy *p, uint8_t len)
{
    if (!memchr(p->prefixes, len, p->n_prefixes))
        p->prefixes[p->n_prefixes++] = len;
}

static void put(struct sbx_policy *p, size_t i, uint64_t hash)
{
    uint32_t *head = bucket(p, hash);

    p->nodes[i] = (struct index_node){ hash, *head };
    *head = (uint32_t)i;
}

/* The look at the chain ends with MANY_RULES, so that making the index costs no more either. */
static bool is_one_of_many(const struct sbx_policy *p, uint64_t hash)
{
    unsigned same = 0;

    for (uint32_t i = *bucket(p, hash); i != NO_RULE && same < MANY_RULES; i = p->nodes[i].next)
        same += p->nodes[i].hash == hash;
    return same == MANY_RULES;
}

/* Hashes of all rules; which host parts have many of them. */
static void find_crowds(struct sbx_policy *p, uint64_t *hashes)
{
    for (size_t i = 0; i <= p->mask; i++)
        p->buckets[i] = NO_RULE;
    for (size_t i = 0; i < p->n; i++) {
        const struct sbx_pattern *x = &p->rules[i].pattern;

        hashes[i] = hash_pattern(x);
        if (x->kind == PATTERN_INERT)
            continue;
        if (x->kind == PATTERN_CIDR)
            note_prefix(p, x->prefix_len);
        if (has_many(p, hashes[i]))
            continue;
        if (is_one_of_many(p, hashes[i]))
            p->many[hashes[i] >> 58] |= 1ull << (hashes[i] >> 52 & 63);
        else
            put(p, i, hashes[i]);
    }
}

/* From the last rule to the first, each put at the head: chains keep the order of the rules. */
static bool build_index(struct sbx_policy *p)
{
    SBX_AUTO_FREE uint64_t *hashes = calloc(p->n + 1, sizeof(*hashes));
    SBX_AUTO_FREE uint32_t *crowd = calloc(p->n + 1, sizeof(*crowd));
    size_t n = 0;

    p->nodes = sbx_arena_array(p->arena, p->n, sizeof(*p->nodes));
    p->buckets = sbx_arena_array(p->arena, p->mask + 1, sizeof(*p->buckets));
    if (!p->nodes || !p->buckets || !hashes || !crowd)
        return false;
    find_crowds(p, hashes);
    for (size_t i = 0; i <= p->mask; i++)
        p->buckets[i] = NO_RULE;
    for (size_t i = p->n; i-- > 0;)
        if (p->rules[i].pattern.kind != PATTERN_INERT && !has_many(p, hashes[i]))
            put(p, i, hashes[i]);
    for (size_t i = 0; i < p->n; i++)
        if (p->rules[i].pattern.kind != PATTERN_INERT && has_many(p, hashes[i]))
            crowd[n++] = (uint32_t)i;
    return sbx_crowds_make(&p->crowds, p->arena, p->rules, hashes, crowd, n);
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
    if (!p->rules || !copy_rules(p, rules, n) || !build_index(p))
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
