/**
 * @file
 * DNS messages (RFC 1035), as much as the gate's answers take: the question of a query, and replies
 * with one record or none.
 */
#ifndef SBX_GATE_DNSMSG_H
#define SBX_GATE_DNSMSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SBX_DNS_QUERY_MAX 512 /* bytes; a query holds one name and a few options */
#define SBX_DNS_NAME_TEXT (4 * 255 + 1)
#define SBX_DNS_DATA_MAX 256  /* bytes of a record: an address or a name */
#define SBX_DNS_REPLY_MAX (SBX_DNS_QUERY_MAX + 12 + SBX_DNS_DATA_MAX + 11) /* record, OPT */
#define SBX_DNS_TTL 60        /* seconds; the address stays, but a resolver may be asked for another */

enum { SBX_DNS_A = 1, SBX_DNS_PTR = 12, SBX_DNS_AAAA = 28, SBX_DNS_SVCB = 64, SBX_DNS_HTTPS = 65 };

enum sbx_dns_code {
    SBX_DNS_NOERROR, SBX_DNS_FORMERR, SBX_DNS_SERVFAIL, SBX_DNS_NXDOMAIN, SBX_DNS_NOTIMP,
    SBX_DNS_REFUSED,
};

struct sbx_dns_query {
    uint16_t type, class;
    bool edns;                    /**< it carries an OPT record: so does the reply (RFC 6891) */
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
/** The data of the one record of a reply; its type and class are the question's. */
struct sbx_dns_data {
    size_t len;
    uint8_t bytes[SBX_DNS_DATA_MAX];
};

/** A name as data. 0, or -1: not a name of at most 253 bytes with labels of at most 63. */
int sbx_dns_put_name(struct sbx_dns_data *d, const char *name);
/**
 * Write a reply; `out` has SBX_DNS_REPLY_MAX bytes.
 * @param data NULL: no record; such a reply is never longer than the query
 * @return its length
 */
size_t sbx_dns_reply(const uint8_t *msg, const struct sbx_dns_query *q, enum sbx_dns_code code,
                     const struct sbx_dns_data *data, uint8_t *out);
/** "A", "AAAA" ... or "TYPE65"; the buffer is used for the latter. */
const char *sbx_dns_type_name(uint16_t type, char buf[12]);

#endif
