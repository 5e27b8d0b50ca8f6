/* Hosts and targets as they stand on the wire: strict, so that no resolver sees an odd spelling. */
#include <arpa/inet.h>
#include <idn2.h>
#include <stdio.h>
#include <string.h>

#include "policy_int.h"
#include "sbx/text.h"

#define LABEL_MAX 63     /* bytes, RFC 1035 */
#define IDNA_IN_MAX 1024 /* bytes of UTF-8 that may become a name of SBX_HOST_MAX */

static bool is_alnum(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static enum sbx_code bad_character(unsigned char c, struct sbx_err *err)
{
    char text[8];

    snprintf(text, sizeof(text), c >= ' ' && c < 0x7f ? "\"%c\"" : "0x%02x", c);
    return sbx_err_set(err, SBX_SCHEMA, "a host name with %s; write letters, digits, \"-\", \"_\" and dots", text);
}

static enum sbx_code check_label(const char *label, size_t len, struct sbx_err *err)
{
    if (!len)
        return sbx_err_set(err, SBX_SCHEMA, "a host name with an empty label");
    if (len > LABEL_MAX)
        return sbx_err_set(err, SBX_SCHEMA, "a label of %zu bytes; at most %d", len, LABEL_MAX);
    if (label[0] == '-' || label[len - 1] == '-')
        return sbx_err_set(err, SBX_SCHEMA, "a label that begins or ends with \"-\"");
    for (size_t i = 0; i < len; i++)
        if (!is_alnum((unsigned char)label[i]) && label[i] != '-' && label[i] != '_')
            return bad_character((unsigned char)label[i], err);
    return SBX_OK;
}

/* `name` is lower-case ASCII without a final dot. */
static enum sbx_code check_name(const char *name, size_t len, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (size_t from = 0, i = 0; i <= len && !rc; i++) {
        if (i < len && name[i] != '.')
            continue;
        rc = check_label(name + from, i - from, err);
        from = i + 1;
    }
    return rc;
}

static enum sbx_code copy_ascii(const char *text, size_t len, char *out, struct sbx_err *err)
{
    if (len && text[len - 1] == '.')
        len--;
    if (!len)
        return sbx_err_set(err, SBX_SCHEMA, "an empty host name");
    if (len > SBX_HOST_MAX)
        return sbx_err_set(err, SBX_SCHEMA, "a host name of %zu bytes; at most %d", len,
                           SBX_HOST_MAX);
    for (size_t i = 0; i < len; i++)
        out[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
    out[len] = '\0';
    return check_name(out, len, err);
}

static enum sbx_code to_a_labels(const char *text, size_t len, char *out, struct sbx_err *err)
{
    char copy[IDNA_IN_MAX + 1];
    uint8_t *ascii = NULL;
    enum sbx_code rc;
    int got;

    if (len > IDNA_IN_MAX)
        return sbx_err_set(err, SBX_SCHEMA, "a host name of %zu bytes", len);
    if (memchr(text, '\0', len) || !sbx_utf8_valid(text, len))
        return sbx_err_set(err, SBX_SCHEMA, "a host name that is not UTF-8");
    memcpy(copy, text, len);
    copy[len] = '\0';
    got = idn2_lookup_u8((const uint8_t *)copy, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    if (got == IDN2_MALLOC)
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    if (got != IDN2_OK)
        return sbx_err_set(err, SBX_SCHEMA, "not an international domain name: %s",
                           idn2_strerror(got));
    rc = copy_ascii((const char *)ascii, strlen((const char *)ascii), out, err);
    idn2_free(ascii);
    return rc;
}

enum sbx_code sbx_name_canonical(const char *text, size_t len, char out[SBX_HOST_MAX + 3],
                                 struct sbx_err *err)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] >= 0x80)
            return to_a_labels(text, len, out, err);
    return copy_ascii(text, len, out, err);
}

bool sbx_name_is_numeric(const char *text, size_t len)
{
    const char *hex = "0123456789abcdefABCDEF";
    const char *last;
    size_t n, i;

    if (len && text[len - 1] == '.')
        len--;
    last = len ? memrchr(text, '.', len) : NULL;
    last = last ? last + 1 : text;
    n = len - (size_t)(last - text);
    for (i = 0; i < n && last[i] >= '0' && last[i] <= '9'; i++)
        ;
    if (n && i == n)
        return true;
    if (n < 2 || last[0] != '0' || (last[1] != 'x' && last[1] != 'X'))
        return false;
    for (i = 2; i < n && last[i] && strchr(hex, last[i]); i++)
        ;
    return i == n;
}

static enum sbx_code parse_v6(const char *text, size_t len, struct sbx_host *ret,
                              struct sbx_err *err)
{
    char copy[INET6_ADDRSTRLEN];

    if (len && text[0] == '[') {
        if (text[len - 1] != ']')
            return sbx_err_set(err, SBX_SCHEMA, "\"[\" without \"]\"");
        text++;
        len -= 2;
    }
    if (len >= sizeof(copy) || memchr(text, '\0', len))
        return sbx_err_set(err, SBX_SCHEMA, "not an IPv6 address");
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (inet_pton(AF_INET6, copy, &ret->address) != 1)
        return sbx_err_set(err, SBX_SCHEMA, "not an IPv6 address");
    if (sbx_address_is_v4(&ret->address)) { /* judged as what it embeds */
        ret->kind = SBX_HOST_IPV4;
        inet_ntop(AF_INET, ret->address.s6_addr + 12, ret->text, sizeof(ret->text));
    } else {
        ret->kind = SBX_HOST_IPV6;
        inet_ntop(AF_INET6, &ret->address, ret->text, sizeof(ret->text));
    }
    return SBX_OK;
}

static enum sbx_code parse_v4(const char *text, size_t len, struct sbx_host *ret,
                              struct sbx_err *err)
{
    char copy[INET_ADDRSTRLEN];
    struct in_addr v4;

    if (len < sizeof(copy) && !memchr(text, '\0', len)) {
        memcpy(copy, text, len);
        copy[len] = '\0';
        if (inet_pton(AF_INET, copy, &v4) == 1) {
            ret->kind = SBX_HOST_IPV4;
            ret->address = sbx_address_map_v4(&v4);
            memcpy(ret->text, copy, len + 1);
            return SBX_OK;
        }
    }
    return sbx_err_set(err, SBX_SCHEMA, "numeric host: write an IPv4 address as four decimal "
                                        "numbers without leading zeros");
}

enum sbx_code sbx_host_parse(const char *text, size_t len, struct sbx_host *ret,
                             struct sbx_err *err)
{
    struct sbx_host h = { .kind = SBX_HOST_NAME };
    enum sbx_code rc;

    if (!len)
        return sbx_err_set(err, SBX_SCHEMA, "an empty host name");
    if (memchr(text, ':', len) || text[0] == '[')
        rc = parse_v6(text, len, &h, err);
    else if (sbx_name_is_numeric(text, len))
        rc = parse_v4(text, len, &h, err);
    else
        rc = sbx_name_canonical(text, len, h.text, err);
    /* full-width digits and the like become ASCII only now */
    if (!rc && h.kind == SBX_HOST_NAME && sbx_name_is_numeric(h.text, strlen(h.text)))
        rc = sbx_err_set(err, SBX_SCHEMA, "numeric host");
    if (!rc)
        *ret = h;
    return rc;
}

unsigned sbx_port_parse(const char *text, size_t len)
{
    unsigned port = 0;

    if (!len || len > 5 || text[0] == '0')
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    return port <= 65535 ? port : 0;
}

enum sbx_code sbx_target_parse(const char *text, size_t len, uint16_t default_port,
                               struct sbx_host *ret, uint16_t *ret_port, struct sbx_err *err)
{
    const char *end = len && text[0] == '[' ? memchr(text, ']', len) : NULL;
    size_t host_len = end ? (size_t)(end - text) + 1 : len;
    const char *colon = memchr(end ? end : text, ':', end ? len - host_len + 1 : len);
    unsigned port = default_port;
    enum sbx_code rc;

    if (colon) {
        host_len = (size_t)(colon - text);
        port = sbx_port_parse(colon + 1, len - host_len - 1);
        if (!end && memchr(colon + 1, ':', len - host_len - 1))
            return sbx_err_set(err, SBX_SCHEMA,
                               "more than one \":\"; write an IPv6 address in brackets, "
                               "[fd00::1]:443");
        if (!port)
            return sbx_err_set(err, SBX_SCHEMA, "the port is not a number from 1 to 65535");
    } else if (!port) {
        return sbx_err_set(err, SBX_SCHEMA, "the port is missing");
    }
    rc = sbx_host_parse(text, host_len, ret, err);
    if (!rc)
        *ret_port = (uint16_t)port;
    return rc;
}
