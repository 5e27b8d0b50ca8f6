/**
 * @file
 * DNS messages (RFC 1035), as much as refusing takes: the question of a query, and its answer.
 */
#ifndef SBX_GATE_DNSMSG_H
#define SBX_GATE_DNSMSG_H

#include <stddef.h>
#include <stdint.h>

#define SBX_DNS_QUERY_MAX 512 /* bytes; a query holds one name and a few options */
#define SBX_DNS_NAME_TEXT (4 * 255 + 1)

struct sbx_dns_query {
    uint16_t type;
    size_t question_end;          /**< offset behind the question; 0: there is none to repeat */
    char name[SBX_DNS_NAME_TEXT]; /**< printable: other bytes as \ddd */
};

enum sbx_dns_kind {
    SBX_DNS_DROP,      /**< too short, or itself an answer: no reply at all */
    SBX_DNS_MALFORMED, /**< FORMERR */
    SBX_DNS_OTHER,     /**< not a standard query: NOTIMP */
    SBX_DNS_QUERY,
};

/** Take a query apart. */
enum sbx_dns_kind sbx_dns_parse(const uint8_t *msg, size_t len, struct sbx_dns_query *ret);
/** Write the refusal of it; `out` has SBX_DNS_QUERY_MAX bytes. Its length, never more than `len`. */
size_t sbx_dns_refuse(const uint8_t *msg, const struct sbx_dns_query *q, enum sbx_dns_kind kind,
                      uint8_t *out);
/** "A", "AAAA" ... or "TYPE65"; the buffer is used for the latter. */
const char *sbx_dns_type_name(uint16_t type, char buf[12]);

#endif
