/**
 * @file
 * Inside spec/policy: rules by port. Ports are cut into spans in which always the same rules count, so that a verdict costs
 * a search among spans however many rules a kit writes for one host.
 */
#ifndef SBX_POLICY_PORTS_H
#define SBX_POLICY_PORTS_H

#include "policy_int.h"

/* Rules are known by their place; the one that a verdict names is the first of its sort. */
enum rule_sort {
    RULE_DENY,
    RULE_NAMED, /* an allow that names the host resource, or addresses closely enough for private ones */
    RULE_UNASKED, /* the same of a kit, without the user's consent */
    RULE_WIDE,    /* any other allow */
    RULE_SORTS
};
#define NO_RULE UINT16_MAX /* behind every rule: the first of two is the lesser */

struct rule_firsts {
    uint16_t rule[RULE_SORTS];
};
#define RULE_FIRSTS_NONE                                                                           \
    {                                                                                              \
        {                                                                                          \
            NO_RULE, NO_RULE, NO_RULE, NO_RULE                                                     \
        }                                                                                          \
    }

struct port_span {
    uint16_t lo; /* it ends where the next one begins */
    struct rule_firsts first;
};

/* The rules of one node of the index. */
struct port_list {
    uint32_t spans;  /* where its own begin; they end where those of the next list do */
    uint32_t up;     /* the list of the next node above; 0: none */
    uint16_t lo, hi; /* ports outside have no rule */
};

struct port_lists {
    struct port_list *v; /* the first has no spans, and behind the last is where its spans end */
    struct port_span *spans;
};

#define PORT_SPANS_OF(n) (2 * (n)) /* `n` rules need no more */

/* What a list is made of: the same as its rule, close together. */
struct port_rule {
    uint16_t lo, hi;
    uint8_t sort;
};
struct port_rule sbx_port_rule(const struct sbx_rule *r);

/* A set of ports, empty between two uses: `words` has a bit for each 64 of `bits` that are not all 0. */
struct port_set {
    uint64_t words[16], bits[1024];
};

/**
 * Cut the ports of the rules `which`, in their order.
 * @param skip PORT_SPANS_OF(n) + 1
 * @return spans put at `out`
 */
uint32_t sbx_ports_cut(const struct port_rule *rules, const uint16_t *which, uint32_t n,
                       struct port_list *list, struct port_span *out, uint32_t *skip,
                       struct port_set *cuts);
/** Bring in what counts for a port, of this list and those above it. */
void sbx_ports_first(const struct port_lists *x, uint32_t list, uint16_t port,
                     struct rule_firsts *first);

typedef void (*sbx_span_fn)(const struct rule_firsts *first, unsigned lo, unsigned hi, void *data);
/** All their spans. */
void sbx_ports_each(const struct port_lists *x, uint32_t list, sbx_span_fn fn, void *data);

#endif
