/**
 * @file
 * The DNS doors, UDP and TCP: every query is refused and logged in this version. Private to doors.c.
 */
#ifndef SBX_GATE_DNS_H
#define SBX_GATE_DNS_H

#include "gate.h"

struct sbx_dns;

/** @param udp_fd taken; -1: no UDP door */
SBX_MUST_USE enum sbx_code sbx_dns_open(struct sbx_gate *g, int udp_fd, struct sbx_dns **ret,
                                        struct sbx_err *err);
void sbx_dns_close(struct sbx_dns *d); /**< NULL is fine. */
void sbx_dns_accept(struct sbx_dns *d, int fd); /**< a TCP connection; takes it */

#endif
