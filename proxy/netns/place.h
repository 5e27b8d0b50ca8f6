/**
 * @file
 * Where the doors are, inside every sandbox's network namespace. Two test ranges that no real host
 * has: 198.18.0.0/15 (RFC 2544) and 2001:2::/48 (RFC 5180).
 */
#ifndef SBX_NETNS_PLACE_H
#define SBX_NETNS_PLACE_H

#include <stdint.h>

#define SBX_GATE4 0xc6120001u /* 198.18.0.1, host order: every door's IPv4 address */
#define SBX_SELF4 0xc6120002u /* 198.18.0.2: the sandbox's own, so that AI_ADDRCONFIG finds one */
#define SBX_GATE6                                                                                  \
    {                                                                                              \
        {                                                                                          \
            {                                                                                      \
                0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1                                  \
            }                                                                                      \
        }                                                                                          \
    } /* 2001:2::1 */
#define SBX_SELF6                                                                                  \
    {                                                                                              \
        {                                                                                          \
            {                                                                                      \
                0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2                                  \
            }                                                                                      \
        }                                                                                          \
    } /* 2001:2::2 */

#define SBX_GATE_PORT 1 /* where the sockets are bound; programs connect to any other port */
#define SBX_DNS_PORT 53 /* what a resolver asks; rewritten to SBX_GATE_PORT and back */

#define SBX_TABLE 100       /* routing table whose default route is "local" */
#define SBX_PREF_MARK 32790 /* a lookup with SBX_MARK leaves table 100 out */
#define SBX_PREF_TCP 32800  /* after "main" (32766): routes of a nested bridge stay in force */
#define SBX_PREF_DNS 32801
#define SBX_PREF_NESTED_DNS 32802
#define SBX_MARK 1 /* lives for three rules of the prerouting chain; nothing trusts it */
#define SBX_LO 1   /* interface index of lo: the kernel's LOOPBACK_IFINDEX */

#endif
