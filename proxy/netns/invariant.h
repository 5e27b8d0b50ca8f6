/**
 * @file
 * What must hold before a single rule is written, at every start (network.md 1): this is not the
 * namespace we came from, and nothing leads out of it.
 */
#ifndef SBX_NETNS_INVARIANT_H
#define SBX_NETNS_INVARIANT_H

#include <stdbool.h>
#include <stdint.h>

#include "sbx/err.h"

struct nlmsghdr;

/** A network namespace, two ways: neither alone is enough (inodes are reused, cookies are new). */
struct sbx_ns {
    uint64_t inode;  /**< of /proc/thread-self/ns/net */
    uint64_t cookie; /**< SO_NETNS_COOKIE; never reused while the kernel runs */
};

/** Read those of the current namespace. SBX_UNSUPPORTED before Linux 5.14. */
SBX_MUST_USE enum sbx_code sbx_ns_read(struct sbx_ns *ret, struct sbx_err *err);

/** SBX_DENIED when `now` is `before`. */
SBX_MUST_USE enum sbx_code sbx_ns_differs(const struct sbx_ns *before, const struct sbx_ns *now,
                                          struct sbx_err *err);

/**
 * The current namespace has exactly the link lo, no address but lo's and ours, and no route, policy
 * rule or nf_tables table but the kernel's and ours. SBX_DENIED says what else there is.
 * @param ret_again our table is there already: an earlier helper was here
 */
SBX_MUST_USE enum sbx_code sbx_ns_closed(bool *ret_again, struct sbx_err *err);

/* One message of each dump, for sbx_ns_closed() and its tests. `ctx` is an unsigned that counts lo
 * for links and our table for tables; NULL otherwise. */
enum sbx_code sbx_ns_check_link(const struct nlmsghdr *h, void *ctx, struct sbx_err *err);
enum sbx_code sbx_ns_check_addr(const struct nlmsghdr *h, void *ctx, struct sbx_err *err);
enum sbx_code sbx_ns_check_route(const struct nlmsghdr *h, void *ctx, struct sbx_err *err);
enum sbx_code sbx_ns_check_rule(const struct nlmsghdr *h, void *ctx, struct sbx_err *err);
enum sbx_code sbx_ns_check_table(const struct nlmsghdr *h, void *ctx, struct sbx_err *err);

#endif
