/**
 * @file
 * The sockets that the gate serves, and the state in which they wait for one.
 */
#ifndef SBX_NETNS_DOORS_H
#define SBX_NETNS_DOORS_H

#include <stdbool.h>

#include "sbx/err.h"

/**
 * One TCP listener a family and one UDP socket for DNS, bound where the rules send packets.
 * They stay bound for as long as this process lives, so nothing inside can take their ports.
 */
struct sbx_doors {
    int tcp4, tcp6, udp4; /* tcp6 is -1 on a kernel without IPv6 */
};
#define SBX_DOORS_INIT { -1, -1, -1 }

/** Make and bind them in the current namespace, refusing. Needs CAP_NET_ADMIN (IP_TRANSPARENT). */
SBX_MUST_USE enum sbx_code sbx_doors_open(bool ipv6, struct sbx_doors *ret, struct sbx_err *err);

/** A gate is here: listen. Needs no capability. */
SBX_MUST_USE enum sbx_code sbx_doors_serve(const struct sbx_doors *doors, struct sbx_err *err);

/** No gate: connections are reset and questions refused at once, waiting ones too. */
void sbx_doors_refuse(const struct sbx_doors *doors);

#endif
