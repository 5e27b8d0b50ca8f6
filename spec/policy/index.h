/**
 * @file
 * Inside spec/policy: the rules, and where a host stands among them.
 *
 * The hosts that fit a pattern are a range of leaves: a domain's names follow each other, as the addresses of a network
 * do. Over the leaves stands a binary tree. A pattern lies at the few nodes that make up its range, so that the way up
 * from a leaf meets all patterns that fit, in at most a node a level: 17 with 20,000 rules, however deep a kit nests them.
 */
#ifndef SBX_POLICY_INDEX_H
#define SBX_POLICY_INDEX_H

#include "ports.h"
#include "sbx/arena.h"

#define TEST_RANGES_MAX 8 /* ranges of a test build; tests use two, one a family */

/* A name that rules speak of. */
struct index_name {
    const char *text;
    uint32_t hash;
    uint32_t self,
        below;    /* lists of rules for it, and for what is below it but below no other name here */
    uint32_t one; /* of `*.name` */
};

__extension__ typedef unsigned __int128 address_key; /* an address as a number */

struct sbx_policy {
    struct sbx_arena *arena; /* holds this struct too */
    struct sbx_rule *rules;
    size_t n;
    struct port_lists lists;
    struct index_name *names; /* the first is the root, above all others */
    uint16_t *slots;          /* a hash table of names with open addressing; 0: free */
    size_t mask;
    address_key *starts; /* of ranges of addresses with the same rules: IPv4's, then IPv6's */
    uint32_t *ranges;    /* parallel: the list of each */
    size_t n_v4, n_starts;
    struct sbx_pattern test_ranges[TEST_RANGES_MAX];
    size_t n_test_ranges;
};

/* The lists for a host. */
struct index_place {
    uint32_t one; /* of `*.parent`, whose hosts are no range */
    uint32_t all; /* of all other patterns */
};
struct index_place sbx_index_place_name(const struct sbx_policy *p, const char *name);
struct index_place sbx_index_place_address(const struct sbx_policy *p, const struct in6_addr *a);

bool sbx_index_make(struct sbx_policy *p); /**< False: no memory. */

/* For making it. */
uint16_t *sbx_index_slot(const struct sbx_policy *p, const char *name,
                         uint32_t *ret_hash); /**< its own or a free one */
uint16_t sbx_index_above(const struct sbx_policy *p,
                         const char *name); /**< the nearest of the names it is below */
address_key sbx_address_key(const struct in6_addr *a);
size_t sbx_index_start(const struct sbx_policy *p, address_key key,
                       bool v4); /**< the range with an address */

#endif
