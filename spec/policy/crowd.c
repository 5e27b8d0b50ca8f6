/*
 * Host parts with many rules. Their ports are cut into spans in which always the same rules count, so that a
 * verdict costs a search among spans however many rules a kit writes for one host.
 */
#include "crowd.h"

#include <stdlib.h>
#include <string.h>

struct member {
    uint64_t hash;
    const struct sbx_rule *rule;
};

/* Same host part: 0. */
static int compare_parts(const struct sbx_pattern *a, const struct sbx_pattern *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind != PATTERN_CIDR)
        return strcmp(a->name, b->name);
    if (a->prefix_len != b->prefix_len)
        return a->prefix_len < b->prefix_len ? -1 : 1;
    return memcmp(&a->address, &b->address, sizeof(a->address));
}

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    order = compare_parts(&x->rule->pattern, &y->rule->pattern);
    return order ? order : (x->rule > y->rule) - (x->rule < y->rule);
}

static bool same_part(const struct member *a, const struct member *b)
{
    return a->hash == b->hash && !compare_parts(&a->rule->pattern, &b->rule->pattern);
}

static int compare_ports(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

enum sort_of_rule { SORT_DENY, SORT_ALLOW, SORT_UNCONSENTED };

static enum sort_of_rule sort_of(const struct sbx_rule *r)
{
    if (r->decision == SBX_DENY)
        return SORT_DENY;
    return r->source == SBX_RULE_KIT && !r->consented ? SORT_UNCONSENTED : SORT_ALLOW;
}

/* The next span from `i` on that the sort has not filled yet; `skip` leads over those that it has. */
static uint32_t unfilled(uint32_t *skip, uint32_t i)
{
    uint32_t to = i;

    while (skip[to] != to)
        to = skip[to];
    while (skip[i] != to) {
        uint32_t next = skip[i];

        skip[i] = to;
        i = next;
    }
    return to;
}

static uint32_t span_at(const struct port_span *v, uint32_t n, uint32_t port)
{
    uint32_t lo = 0, hi = n;

    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (v[mid].lo <= port)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Rules come in their order: the first of a sort that reaches a span keeps it. */
static void fill(struct crowd *c, const struct member *m, size_t n, uint32_t *skip,
                 enum sort_of_rule sort)
{
    for (uint32_t i = 0; i <= c->n; i++)
        skip[i] = i;
    for (size_t k = 0; k < n; k++) {
        const struct sbx_pattern *x = &m[k].rule->pattern;

        if (sort_of(m[k].rule) != sort)
            continue;
        for (uint32_t i = unfilled(skip, span_at(c->spans, c->n, x->port_lo));
             i < c->n && c->spans[i].lo <= x->port_hi; i = unfilled(skip, i)) {
            c->spans[i].first[sort] = m[k].rule;
            skip[i] = i + 1;
        }
    }
}

/* Where spans begin: at 0, and where a rule's range begins or has ended. */
static uint32_t cut(const struct member *m, size_t n, uint32_t *cuts)
{
    uint32_t len = 0, kept = 0;

    cuts[len++] = 0;
    for (size_t k = 0; k < n; k++) {
        cuts[len++] = m[k].rule->pattern.port_lo;
        cuts[len++] = m[k].rule->pattern.port_hi + 1u;
    }
    qsort(cuts, len, sizeof(*cuts), compare_ports);
    for (uint32_t i = 0; i < len; i++)
        if (cuts[i] <= UINT16_MAX && (!kept || cuts[i] != cuts[kept - 1]))
            cuts[kept++] = cuts[i];
    return kept;
}

static bool make_runs(const struct crowd *c, struct sbx_arena *arena, enum sort_of_rule sort,
                      struct port_runs *ret)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->n; i++)
        n += c->spans[i].first[sort] && (!i || !c->spans[i - 1].first[sort]);
    ret->v = sbx_arena_array(arena, n, sizeof(*ret->v));
    if (!ret->v)
        return false;
    for (uint32_t i = 0; i < c->n; i++) {
        const struct port_span *s = &c->spans[i];

        if (!s->first[sort])
            continue;
        if (!i || !s[-1].first[sort])
            ret->v[ret->n++].lo = s->lo;
        ret->v[ret->n - 1].hi = s->hi;
        ret->rule = s->first[sort];
    }
    return true;
}

static bool make_spans(struct crowd *c, struct sbx_arena *arena, const struct member *m, size_t n,
                       uint32_t *scratch)
{
    c->n = cut(m, n, scratch);
    c->spans = sbx_arena_array(arena, c->n, sizeof(*c->spans));
    if (!c->spans)
        return false;
    for (uint32_t i = 0; i < c->n; i++) {
        c->spans[i].lo = (uint16_t)scratch[i];
        c->spans[i].hi = (uint16_t)(i + 1 < c->n ? scratch[i + 1] - 1 : UINT16_MAX);
    }
    for (int sort = 0; sort < SORTS_OF_RULE; sort++)
        fill(c, m, n, scratch, sort);
    for (int sort = 0; sort < SORTS_OF_RULE; sort++)
        if (!make_runs(c, arena, sort, &c->runs[sort]))
            return false;
    return true;
}

static bool make_crowds(struct crowds *x, struct sbx_arena *arena, const struct member *m, size_t n,
                        uint32_t *scratch)
{
    size_t end, parts = 1;

    for (size_t i = 1; i < n; i++)
        parts += !same_part(&m[i], &m[i - 1]);
    x->v = sbx_arena_array(arena, parts, sizeof(*x->v));
    if (!x->v)
        return false;
    for (size_t begin = 0; begin < n; begin = end, x->n++) {
        const struct sbx_pattern *part = &m[begin].rule->pattern;

        for (end = begin + 1; end < n && same_part(&m[end], &m[begin]); end++)
            ;
        x->v[x->n] = (struct crowd){ .hash = m[begin].hash, .part = part };
        if (!make_spans(&x->v[x->n], arena, m + begin, end - begin, scratch))
            return false;
    }
    return true;
}

/* From a hash to the first crowd with it. */
static bool make_table(struct crowds *x, struct sbx_arena *arena)
{
    size_t slots = 4;

    while (slots < 2 * x->n)
        slots *= 2;
    x->mask = slots - 1;
    x->table = sbx_arena_array(arena, slots, sizeof(*x->table));
    for (size_t i = 0; x->table && i < x->n; i++) {
        size_t at = (x->v[i].hash ^ x->v[i].hash >> 32) & x->mask;

        if (i && x->v[i].hash == x->v[i - 1].hash)
            continue;
        while (x->table[at])
            at = (at + 1) & x->mask;
        x->table[at] = (uint32_t)i + 1;
    }
    return x->table != NULL;
}

bool sbx_crowds_make(struct crowds *x, struct sbx_arena *arena, const struct sbx_rule *rules,
                     const uint64_t *hashes, const uint32_t *which, size_t n)
{
    SBX_AUTO_FREE struct member *m = n ? calloc(n, sizeof(*m)) : NULL;
    SBX_AUTO_FREE uint32_t *scratch = n ? calloc(2 * n + 2, sizeof(*scratch)) : NULL;

    *x = (struct crowds){ .v = NULL };
    if (!n)
        return true;
    if (!m || !scratch)
        return false;
    for (size_t i = 0; i < n; i++)
        m[i] = (struct member){ hashes[which[i]], &rules[which[i]] };
    qsort(m, n, sizeof(*m), compare_members);
    return make_crowds(x, arena, m, n, scratch) && make_table(x, arena);
}

const struct crowd *sbx_crowds_first(const struct crowds *x, uint64_t hash)
{
    if (!x->n)
        return NULL;
    for (size_t at = (hash ^ hash >> 32) & x->mask; x->table[at]; at = (at + 1) & x->mask)
        if (x->v[x->table[at] - 1].hash == hash)
            return &x->v[x->table[at] - 1];
    return NULL;
}

void sbx_crowd_visit(const struct crowd *c, uint16_t port, sbx_visit_fn fn, void *data)
{
    const struct port_span *s = port ? &c->spans[span_at(c->spans, c->n, port)] : NULL;

    for (size_t i = 0; i < SORTS_OF_RULE; i++) {
        for (uint32_t k = 0; !s && k < c->runs[i].n; k++)
            fn(c->runs[i].rule, c->runs[i].v[k].lo, c->runs[i].v[k].hi, data);
        if (s && s->first[i])
            fn(s->first[i], s->lo, s->hi, data);
    }
}
