/**
 * @file
 * Expressions of an nf_tables rule, one function each. A rule is a row of them between
 * sbx_rule_begin() and sbx_rule_end(). Inside; for rules.c.
 */
#ifndef SBX_NETNS_EXPR_H
#define SBX_NETNS_EXPR_H

#include <linux/netfilter/nf_tables.h>

#include "netlink.h"

#define SBX_NFT_TABLE "sbx"

void sbx_nft_message(struct sbx_nl *nl, const char *what, uint16_t type, uint16_t flags);

void sbx_rule_begin(struct sbx_nl *nl, const char *what, const char *chain);
void sbx_rule_end(struct sbx_nl *nl);

/* Matches: the rule goes on only where the packet is so. */
void sbx_on_meta(struct sbx_nl *nl, uint32_t key, enum nft_cmp_ops op, uint8_t value);
void sbx_on_bytes(struct sbx_nl *nl, enum nft_payload_bases base, uint32_t offset,
                  const void *value, uint32_t len);
void sbx_on_port(struct sbx_nl *nl, uint32_t offset, uint16_t port);
void sbx_on_other_link(struct sbx_nl *nl, uint32_t index); /* iif != index */
void sbx_on_local(struct sbx_nl *nl);                      /* fib daddr . mark type local */
void sbx_on_forwardable(struct sbx_nl *nl);                /* fib daddr . mark oif exists */

/* Statements. */
void sbx_do_accept(struct sbx_nl *nl);
void sbx_do_drop(struct sbx_nl *nl);
void sbx_do_mark(struct sbx_nl *nl, uint32_t mark);
void sbx_do_reset(struct sbx_nl *nl); /* reject with tcp reset */
void sbx_do_tproxy(struct sbx_nl *nl, uint8_t family, const void *addr, uint32_t len,
                   uint16_t port);
/** Write a port at `offset` of the UDP header and mend the checksum. */
void sbx_do_udp_port(struct sbx_nl *nl, uint32_t offset, uint16_t port);

#endif
