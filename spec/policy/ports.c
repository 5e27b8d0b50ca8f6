/* Rules by port: cutting ports into spans, and looking one up. */
#include "ports.h"

static enum rule_sort sort_of(const struct sbx_rule *r)
{
    const struct sbx_pattern *x = &r->pattern;

    if (r->decision == SBX_DENY)
        return RULE_DENY;
    if (x->kind != PATTERN_HOST &&
        (x->kind != PATTERN_CIDR || !sbx_range_is_named(&x->address, x->prefix_len)))
        return RULE_WIDE;
    return r->source == SBX_RULE_KIT && !r->consented ? RULE_UNASKED : RULE_NAMED;
}

struct port_rule sbx_port_rule(const struct sbx_rule *r)
{
    return (struct port_rule){ r->pattern.port_lo, r->pattern.port_hi, (uint8_t)sort_of(r) };
}

static void add_port(struct port_set *set, unsigned port)
{
    set->bits[port / 64] |= 1ull << port % 64;
    set->words[port / 4096] |= 1ull << port / 64 % 64;
}

/* Of spans in their order, the last that begins at the port or before it; the first begins there at the latest. */
static const struct port_span *span_at(const struct port_span *v, uint32_t n, uint16_t port)
{
    while (n > 1) {
        uint32_t half = n / 2;

        v += v[half].lo <= port ? half : 0;
        n -= half;
    }
    return v;
}

/* Where spans begin: where a rule's ports begin or have ended. */
static uint32_t cut(const struct port_rule *rules, const uint16_t *which, uint32_t n,
                    struct port_list *list, struct port_span *out, struct port_set *cuts)
{
    uint32_t kept = 0;

    list->lo = UINT16_MAX;
    list->hi = 0;
    for (uint32_t k = 0; k < n; k++) {
        struct port_rule r = rules[which[k]];

        add_port(cuts, r.lo);
        if (r.hi < UINT16_MAX)
            add_port(cuts, r.hi + 1u);
        list->lo = r.lo < list->lo ? r.lo : list->lo;
        list->hi = r.hi > list->hi ? r.hi : list->hi;
    }
    for (unsigned i = 0; i < SBX_ARRAY_LEN(cuts->words); i++)
        for (; cuts->words[i]; cuts->words[i] &= cuts->words[i] - 1) {
            unsigned at = i * 64 + (unsigned)__builtin_ctzll(cuts->words[i]);

            for (; cuts->bits[at]; cuts->bits[at] &= cuts->bits[at] - 1)
                out[kept++] = (struct port_span){ (uint16_t)(at * 64 + (unsigned)__builtin_ctzll(
                                                                           cuts->bits[at])),
                                                  RULE_FIRSTS_NONE };
        }
    return kept - (out[kept - 1].lo > list->hi); /* behind all rules */
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

/* Rules come in their order: the first of a sort that reaches a span keeps it. */
static void fill(const struct port_rule *rules, const uint16_t *which, uint32_t n,
                 struct port_span *spans, uint32_t n_spans, uint32_t *skip, unsigned sort)
{
    for (uint32_t i = 0; i <= n_spans; i++)
        skip[i] = i;
    for (uint32_t k = 0; k < n; k++) {
        struct port_rule r = rules[which[k]];

        if (r.sort != sort)
            continue;
        for (uint32_t i = unfilled(skip, (uint32_t)(span_at(spans, n_spans, r.lo) - spans));
             i < n_spans && spans[i].lo <= r.hi; i = unfilled(skip, i)) {
            spans[i].first.rule[sort] = which[k];
            skip[i] = i + 1;
        }
    }
}

uint32_t sbx_ports_cut(const struct port_rule *rules, const uint16_t *which, uint32_t n,
                       struct port_list *list, struct port_span *out, uint32_t *skip,
                       struct port_set *cuts)
{
    uint32_t n_spans = cut(rules, which, n, list, out, cuts);
    unsigned sorts = 0;

    for (uint32_t k = 0; k < n; k++)
        sorts |= 1u << rules[which[k]].sort;
    for (unsigned sort = 0; sort < RULE_SORTS; sort++)
        if (sorts >> sort & 1)
            fill(rules, which, n, out, n_spans, skip, sort);
    return n_spans;
}

void sbx_ports_first(const struct port_lists *x, uint32_t list, uint16_t port,
                     struct rule_firsts *first)
{
    for (; list; list = x->v[list].up) {
        const struct port_list *l = &x->v[list];
        const struct port_span *s;

        if (port < l->lo || port > l->hi)
            continue;
        s = span_at(x->spans + l->spans, l[1].spans - l->spans, port);
        for (int sort = 0; sort < RULE_SORTS; sort++)
            if (s->first.rule[sort] < first->rule[sort])
                first->rule[sort] = s->first.rule[sort];
    }
}

void sbx_ports_each(const struct port_lists *x, uint32_t list, sbx_span_fn fn, void *data)
{
    for (; list; list = x->v[list].up) {
        const struct port_span *s = x->spans + x->v[list].spans,
                               *end = x->spans + x->v[list + 1].spans;

        for (; s < end; s++)
            fn(&s->first, s->lo, s + 1 < end ? s[1].lo - 1u : x->v[list].hi, data);
    }
}
