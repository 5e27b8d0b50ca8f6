/* DNS messages. See dnsmsg.h. */
#include "dnsmsg.h"

#include <stdio.h>
#include <string.h>

#define HEADER 12
#define NAME_MAX_WIRE 255 /* RFC 1035, 3.1 */

#define OPT 41            /* RFC 6891: its owner is the root */
#define OPT_LEN 11
#define EDNS_SIZE 1232    /* what fits a packet everywhere */

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
    ret->class = (uint16_t)(msg[end + 2] << 8 | msg[end + 3]);
    ret->question_end = end + 4;
    /* Nothing but OPT follows the question of a plain query; behind it may be signatures. */
    ret->edns = !msg[6] && !msg[7] && !msg[8] && !msg[9] && (msg[10] || msg[11]) &&
                len - ret->question_end >= OPT_LEN && !msg[end + 4] && !msg[end + 5] &&
                msg[end + 6] == OPT;
    return SBX_DNS_QUERY;
}

int sbx_dns_put_name(struct sbx_dns_data *d, const char *name)
{
    d->len = 0;
    while (*name) {
        size_t n = strcspn(name, ".");

        if (!n || n > 63 || d->len + 1 + n + 1 > NAME_MAX_WIRE)
            return -1;
        d->bytes[d->len++] = (uint8_t)n;
        memcpy(d->bytes + d->len, name, n);
        d->len += n;
        name += n + (name[n] == '.');
    }
    d->bytes[d->len++] = 0;
    return 0;
}

static uint8_t *put16(uint8_t *p, unsigned v)
{
    *p++ = (uint8_t)(v >> 8);
    *p++ = (uint8_t)v;
    return p;
}

static uint8_t *put_record(uint8_t *p, const struct sbx_dns_query *q,
                           const struct sbx_dns_data *data)
{
    p = put16(p, 0xc000 | HEADER); /* the name of the question */
    p = put16(p, q->type);
    p = put16(p, q->class);
    p = put16(p, 0);
    p = put16(p, SBX_DNS_TTL);
    p = put16(p, (unsigned)data->len);
    memcpy(p, data->bytes, data->len);
    return p + data->len;
}

static uint8_t *put_opt(uint8_t *p)
{
    memset(p, 0, OPT_LEN);
    p[2] = OPT;
    put16(p + 3, EDNS_SIZE);
    return p + OPT_LEN;
}

size_t sbx_dns_reply(const uint8_t *msg, const struct sbx_dns_query *q, enum sbx_dns_code code,
                     const struct sbx_dns_data *data, uint8_t *out)
{
    size_t len = q->question_end ? q->question_end : HEADER;
    uint8_t *p = out + len;

    memcpy(out, msg, len);
    out[2] = (uint8_t)(0x80 | (msg[2] & 0x79)); /* an answer; opcode and RD as asked */
    out[3] = (uint8_t)(0x80 | code);            /* recursion is on offer: some resolvers insist */
    memset(out + 4, 0, 8);
    out[5] = len > HEADER;
    if (data) {
        out[7] = 1;
        p = put_record(p, q, data);
    }
    if (q->edns) {
        out[11] = 1;
        p = put_opt(p);
    }
    return (size_t)(p - out);
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
