/**
 * @file
 * The sockets that the gate serves, and the state in which they wait for one.
 */
#ifndef SBX_NETNS_DOORS_H
#define SBX_NETNS_DOORS_H

#include <stdbool.h>
#include <stddef.h>

#include "sbx/err.h"

/**
 * One TCP listener a family and one UDP socket for DNS, bound where the rules send packets.
 * They stay bound, and listen, for as long as this process lives, so nothing inside can take their ports.
 */
struct sbx_doors {
    int tcp4, tcp6, udp4; /* tcp6 is -1 on a kernel without IPv6 */
};
#define SBX_DOORS_INIT                                                                             \
    {                                                                                              \
        -1, -1, -1                                                                                 \
    }

/** Make and bind them in the current namespace, and listen. Needs CAP_NET_ADMIN (IP_TRANSPARENT). */
SBX_MUST_USE enum sbx_code sbx_doors_open(bool ipv6, struct sbx_doors *ret, struct sbx_err *err);

/** No gate: reset the connections that wait, within reason; where more are left a listener stays readable. */
void sbx_doors_refuse(const struct sbx_doors *doors);

#define SBX_DNS_QUESTION_MAX 512 /* bytes; RFC 1035 4.2.1. Longer ones are cut, and fail too */

/** No gate, and udp4 is readable: answer one question with SERVFAIL, so that no resolver waits. */
void sbx_doors_refuse_dns(const struct sbx_doors *doors);

/** Turn a question into that answer, in place. @return its length; 0: not a question */
size_t sbx_dns_fail(unsigned char *message, size_t len);

#endif
