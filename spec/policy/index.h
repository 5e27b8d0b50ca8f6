/**
 * @file
 * Inside spec/policy: the rules and the index over them.
 */
#ifndef SBX_POLICY_INDEX_H
#define SBX_POLICY_INDEX_H

#include "policy_int.h"
#include "sbx/arena.h"

#define TEST_RANGES_MAX 8 /* ranges of a test build; tests use two, one a family */

struct index_node {
    uint64_t hash;
    uint32_t next; /* rule of the same bucket, or of the same list */
};

struct sbx_policy {
    struct sbx_arena *arena; /* holds this struct too */
    struct sbx_rule *rules;
    struct index_node *nodes; /* parallel to rules */
    size_t n;
    uint32_t *buckets;
    size_t mask;
    uint32_t all, host; /* lists of `**` and of host resource rules */
    uint8_t prefixes[130]; /* the distinct prefix lengths in use */
    size_t n_prefixes;
    struct sbx_pattern test_ranges[TEST_RANGES_MAX];
    size_t n_test_ranges;
};

typedef void (*sbx_visit_fn)(const struct sbx_rule *r, void *data);

/* Every rule whose host part fits; ports, source and decision are the visitor's. */
void sbx_index_name(const struct sbx_policy *p, const char *name, sbx_visit_fn fn, void *data);
void sbx_index_address(const struct sbx_policy *p, const struct in6_addr *a, sbx_visit_fn fn,
                       void *data);
void sbx_index_host(const struct sbx_policy *p, sbx_visit_fn fn, void *data);
void sbx_index_all(const struct sbx_policy *p, sbx_visit_fn fn, void *data);

#endif
