/**
 * @file
 * The normal form of a sandbox's namespace (network.md 3): what every sandbox sees, whatever made
 * it.
 */
#ifndef SBX_NETNS_NORMAL_H
#define SBX_NETNS_NORMAL_H

#include <stdbool.h>

#include "netlink.h"

/** Does this kernel have IPv6 at all? */
bool sbx_normal_ipv6(void);

/**
 * Write the sysctls; where /proc/sys cannot be written (a holder container) the values must be
 * right already, and the error names the one that is not.
 */
SBX_MUST_USE enum sbx_code sbx_normal_sysctls(bool ipv6, struct sbx_err *err);

/** lo up, its extra addresses, table 100, policy rules: built into `nl`, for one send. */
void sbx_normal_build(struct sbx_nl *nl, bool ipv6);
/** Build and apply. What is there already is fine. */
SBX_MUST_USE enum sbx_code sbx_normal_apply(bool ipv6, struct sbx_err *err);

#endif
