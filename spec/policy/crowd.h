/**
 * @file
 * Inside spec/policy: host parts with many rules.
 */
#ifndef SBX_POLICY_CROWD_H
#define SBX_POLICY_CROWD_H

#include "policy_int.h"
#include "sbx/arena.h"

#define SORTS_OF_RULE 3 /* denies, allows, allows that lack consent: a verdict needs the first of each */

/** A rule whose host part fits, for the ports `lo` to `hi`. */
typedef void (*sbx_visit_fn)(const struct sbx_rule *r, uint16_t lo, uint16_t hi, void *data);

/* Ports for which the same rules count. */
struct port_span {
    const struct sbx_rule *first[SORTS_OF_RULE]; /* NULL: none */
    uint16_t lo, hi;
};

/* Ports with some rule of one sort, as one range where they follow each other. */
struct port_run { uint16_t lo, hi; };
struct port_runs {
    const struct sbx_rule *rule; /* one of the sort */
    struct port_run *v;
    uint32_t n;
};

struct crowd {
    uint64_t hash;
    const struct sbx_pattern *part; /* of one of its rules: what they all have in common */
    struct port_span *spans;        /* from port 0 to the last, without gaps */
    uint32_t n;
    struct port_runs runs[SORTS_OF_RULE];
};

struct crowds {
    struct crowd *v; /* by hash */
    size_t n;
    uint32_t *table; /* from a hash to 1 more than the place in `v`; 0: free. Open addressing */
    size_t mask;
};

/** Of the rules `which`, `n` of them in their order; `hashes` is parallel to all rules. False: no memory. */
bool sbx_crowds_make(struct crowds *x, struct sbx_arena *arena, const struct sbx_rule *rules,
                     const uint64_t *hashes, const uint32_t *which, size_t n);
/** The first with this hash, others may follow it; NULL: none. */
const struct crowd *sbx_crowds_first(const struct crowds *x, uint64_t hash);
/** What counts for a port; 0: a rule of each sort with all ports of the sort. */
void sbx_crowd_visit(const struct crowd *c, uint16_t port, sbx_visit_fn fn, void *data);

#endif
