/**
 * @file
 * Inside spec/policy: the rules and the index over them.
 */
#ifndef SBX_POLICY_INDEX_H
#define SBX_POLICY_INDEX_H

#include "crowd.h"

#define MANY_WORDS 64     /* 4,096 bits: few host parts are taken for one with many rules by chance */
#define MANY_RULES 8      /* of one host part; with more they are found by port */
#define TEST_RANGES_MAX 8 /* ranges of a test build; tests use two, one a family */

struct index_node {
    uint64_t hash;
    uint32_t next; /* rule of the same bucket */
};


struct sbx_policy {
    struct sbx_arena *arena; /* holds this struct too */
    struct sbx_rule *rules;
    size_t n;
    struct index_node *nodes; /* parallel to the rules: a hash table by the host part */
    uint32_t *buckets;
    size_t mask;
    struct crowds crowds;      /* host parts with many rules, which are not in the table */
    uint64_t many[MANY_WORDS]; /* a bit for the hash of each of them */
    uint8_t prefixes[130]; /* the distinct prefix lengths in use */
    size_t n_prefixes;
    struct sbx_pattern test_ranges[TEST_RANGES_MAX];
    size_t n_test_ranges;
};

/*
 * Rules whose host part fits: at least the first deny, allow and allow without consent of each host part that count for
 * the port. Port 0: of these three sorts some rule of each host part, for all ports that the sort has there. Which ports,
 * source and decision are the visitor's.
 */
void sbx_index_name(const struct sbx_policy *p, const char *name, uint16_t port, sbx_visit_fn fn, void *data);
void sbx_index_address(const struct sbx_policy *p, const struct in6_addr *a, uint16_t port, sbx_visit_fn fn,
                       void *data);
void sbx_index_host(const struct sbx_policy *p, uint16_t port, sbx_visit_fn fn, void *data);
void sbx_index_all(const struct sbx_policy *p, uint16_t port, sbx_visit_fn fn, void *data);

#endif
