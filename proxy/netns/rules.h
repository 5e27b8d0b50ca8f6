/**
 * @file
 * The nf_tables rules: which packets become a door's, and what the rest hears.
 */
#ifndef SBX_NETNS_RULES_H
#define SBX_NETNS_RULES_H

#include "netlink.h"

/**
 * Build the whole table "inet sbx" as one transaction.
 * @param ipv6 false: the kernel has no IPv6; its rules are left out
 * @param again the table exists and is replaced; this costs the kernel 10 to 30 ms
 */
void sbx_rules_build(struct sbx_nl *nl, bool ipv6, bool again);

/** Build and load into the current namespace: all or nothing. */
SBX_MUST_USE enum sbx_code sbx_rules_load(bool ipv6, bool again, struct sbx_err *err);

#endif
