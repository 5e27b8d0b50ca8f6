/**
 * @file
 * The DNS doors, UDP and TCP, and what they answer. No query ever leaves: a name that some rule could
 * allow gets a synthetic address (names.h), any other is refused and logged.
 */
#ifndef SBX_GATE_DNS_H
#define SBX_GATE_DNS_H

#include "dnsmsg.h"
#include "gate.h"

struct sbx_dns;

/** Answer one query; `out` has SBX_DNS_REPLY_MAX bytes. Its length; 0: no reply at all. */
size_t sbx_dns_answer(struct sbx_gate *g, const uint8_t *msg, size_t len, uint8_t *out);
/** @param udp_fd taken; -1: no UDP door */
SBX_MUST_USE enum sbx_code sbx_dns_open(struct sbx_gate *g, int udp_fd, struct sbx_dns **ret,
                                        struct sbx_err *err);
void sbx_dns_close(struct sbx_dns *d); /**< NULL is fine. */
void sbx_dns_accept(struct sbx_dns *d, int fd); /**< a TCP connection; takes it */

#endif
