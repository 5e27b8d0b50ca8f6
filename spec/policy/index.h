/**
 * @file
 * Inside spec/policy: the rules and the index over them.
 */
#ifndef SBX_POLICY_INDEX_H
#define SBX_POLICY_INDEX_H

#include "policy_int.h"
#include "sbx/arena.h"

#define MANY_WORDS 64     /* 4,096 bits: a look-up by port for nothing is rare */
#define MANY_RULES 8      /* of one host part; from then on those for one port are found by it */
#define TEST_RANGES_MAX 8 /* ranges of a test build; tests use two, one a family */

struct index_node {
    uint64_t hash;
    uint32_t next; /* rule of the same bucket */
};

/* One hash table over all rules. */
struct index {
    struct index_node *nodes; /* parallel to the rules */
    uint32_t *buckets;
};

struct sbx_policy {
    struct sbx_arena *arena; /* holds this struct too */
    struct sbx_rule *rules;
    size_t n;
    struct index hosts; /* by the host part alone */
    struct index ports; /* the same, but of a host part with many rules those for one port by that port too */
    size_t mask;        /* of both */
    uint64_t many[MANY_WORDS]; /* a bit for the hash of each such host part */
    uint8_t prefixes[130]; /* the distinct prefix lengths in use */
    size_t n_prefixes;
    struct sbx_pattern test_ranges[TEST_RANGES_MAX];
    size_t n_test_ranges;
};

typedef void (*sbx_visit_fn)(const struct sbx_rule *r, void *data);

/* Every rule whose host part fits, without some that are for one other port than `port` alone; 0: all of them. Which ports,
 * source and decision are the visitor's. */
void sbx_index_name(const struct sbx_policy *p, const char *name, uint16_t port, sbx_visit_fn fn, void *data);
void sbx_index_address(const struct sbx_policy *p, const struct in6_addr *a, uint16_t port, sbx_visit_fn fn,
                       void *data);
void sbx_index_host(const struct sbx_policy *p, uint16_t port, sbx_visit_fn fn, void *data);
void sbx_index_all(const struct sbx_policy *p, uint16_t port, sbx_visit_fn fn, void *data);

#endif
