/* DNS messages. See dnsmsg.h. */
#include "dnsmsg.h"

#include <stdio.h>
#include <string.h>

#define HEADER 12
#define NAME_MAX_WIRE 255 /* RFC 1035, 3.1 */

enum { FORMERR = 1, NOTIMP = 4, REFUSED = 5 };

static char *put_byte(char *p, uint8_t b)
{
    if (b > 0x20 && b < 0x7f && b != '.' && b != '\\') {
        *p++ = (char)b;
        return p;
    }
    return p + sprintf(p, "\\%03u", b);
}

/* The name at `at`, without compression (a first question cannot point back). Its end, or 0. */
static size_t read_name(const uint8_t *msg, size_t len, size_t at, char *text)
{
    size_t start = at;
    char *p = text;

    while (at < len && msg[at]) {
        uint8_t n = msg[at++];

        if (n > 63 || at + n > len || at + n - start > NAME_MAX_WIRE - 1)
            return 0;
        if (p > text)
            *p++ = '.';
        for (; n; n--)
            p = put_byte(p, msg[at++]);
    }
    if (at >= len)
        return 0;
    if (p == text)
        *p++ = '.';
    *p = '\0';
    return at + 1;
}

enum sbx_dns_kind sbx_dns_parse(const uint8_t *msg, size_t len, struct sbx_dns_query *ret)
{
    size_t end;

    memset(ret, 0, sizeof(*ret));
    if (len < HEADER || len > SBX_DNS_QUERY_MAX || (msg[2] & 0x80))
        return SBX_DNS_DROP;
    if (msg[2] & 0x78)
        return SBX_DNS_OTHER;
    if (msg[4] || msg[5] != 1)
        return SBX_DNS_MALFORMED;
    end = read_name(msg, len, HEADER, ret->name);
    if (!end || len - end < 4) {
        ret->name[0] = '\0';
        return SBX_DNS_MALFORMED;
    }
    ret->type = (uint16_t)(msg[end] << 8 | msg[end + 1]);
    ret->question_end = end + 4;
    return SBX_DNS_QUERY;
}

size_t sbx_dns_refuse(const uint8_t *msg, const struct sbx_dns_query *q, enum sbx_dns_kind kind,
                      uint8_t *out)
{
    size_t len = q->question_end ? q->question_end : HEADER;

    memset(out, 0, HEADER);
    memcpy(out, msg, len > HEADER ? len : 2);
    out[2] = (uint8_t)(0x80 | (msg[2] & 0x79)); /* an answer; opcode and RD as asked */
    out[3] = kind == SBX_DNS_QUERY ? REFUSED : kind == SBX_DNS_OTHER ? NOTIMP : FORMERR;
    out[4] = 0;
    out[5] = len > HEADER;
    memset(out + 6, 0, 6);
    return len;
}

const char *sbx_dns_type_name(uint16_t type, char buf[12])
{
    static const struct {
        uint16_t type;
        const char *name;
    } names[] = {
        { 1, "A" },      { 2, "NS" },    { 5, "CNAME" },  { 6, "SOA" },     { 10, "NULL" },
        { 12, "PTR" },   { 15, "MX" },   { 16, "TXT" },   { 28, "AAAA" },   { 33, "SRV" },
        { 64, "SVCB" },  { 65, "HTTPS" }, { 252, "AXFR" }, { 255, "ANY" },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].type == type)
            return names[i].name;
    snprintf(buf, 12, "TYPE%u", type);
    return buf;
}
