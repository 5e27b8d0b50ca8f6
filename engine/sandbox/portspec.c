/* "[[HOST_IP:]HOST_PORT:]SANDBOX_PORT[/PROTOCOL]" (sbx-cli, "port publish"). */
#include "sbx/sandbox.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Plain digits; "" and "0" mean any where that is allowed. */
static bool read_port(const char *text, size_t len, bool any, uint16_t *ret)
{
    unsigned n = 0;

    if (len > 5 || (!len && !any))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        n = n * 10 + (unsigned)(text[i] - '0');
    }
    *ret = (uint16_t)n;
    return n <= 65535 && (n || any);
}

static enum sbx_code wrong(const char *text, const char *why, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_USAGE,
                       "port \"%.100s\": %s; write [[HOST_IP:]HOST_PORT:]SANDBOX_PORT[/PROTOCOL], "
                       "PROTOCOL tcp4, tcp6, tcp, udp4, udp6 or udp",
                       text, why);
}

static enum sbx_code read_protocol(const char *text, const char *protocol,
                                   struct sbx_port_spec *ret, struct sbx_err *err)
{
    static const char *const names[] = { [SBX_PORT_TCP] = "tcp", [SBX_PORT_TCP4] = "tcp4",
                                         [SBX_PORT_TCP6] = "tcp6", [SBX_PORT_UDP] = "udp",
                                         [SBX_PORT_UDP4] = "udp4", [SBX_PORT_UDP6] = "udp6" };

    for (size_t i = SBX_PORT_TCP; i < SBX_ARRAY_LEN(names); i++)
        if (!strcasecmp(protocol, names[i])) {
            ret->protocol = (enum sbx_port_protocol)i;
            return SBX_OK;
        }
    return wrong(text, "no such protocol", err);
}

/* "127.0.0.1", "[::1]" */
static enum sbx_code read_ip(const char *text, const char *ip, size_t len,
                             struct sbx_port_spec *ret, struct sbx_err *err)
{
    bool brackets = len > 2 && ip[0] == '[' && ip[len - 1] == ']';
    unsigned char bytes[16];
    int family = brackets ? AF_INET6 : AF_INET;

    if (brackets) {
        ip++;
        len -= 2;
    }
    if (!len || len >= sizeof(ret->host_ip))
        return wrong(text, "no address", err);
    memcpy(ret->host_ip, ip, len);
    ret->host_ip[len] = '\0';
    if (inet_pton(family, ret->host_ip, bytes) != 1)
        return wrong(text, "not an address of this machine (IPv6 in brackets)", err);
    inet_ntop(family, bytes, ret->host_ip, sizeof(ret->host_ip));
    if (ret->protocol == SBX_PORT_ANY)
        ret->protocol = brackets ? SBX_PORT_TCP6 : SBX_PORT_TCP4;
    if (ret->protocol == SBX_PORT_TCP) /* the address says which of the two */
        ret->protocol = brackets ? SBX_PORT_TCP6 : SBX_PORT_TCP4;
    if (ret->protocol == SBX_PORT_UDP)
        ret->protocol = brackets ? SBX_PORT_UDP6 : SBX_PORT_UDP4;
    if (brackets != (ret->protocol == SBX_PORT_TCP6 || ret->protocol == SBX_PORT_UDP6))
        return wrong(text, "address and protocol are of different families", err);
    return SBX_OK;
}

enum sbx_code sbx_port_spec_parse(const char *text, struct sbx_port_spec *ret, struct sbx_err *err)
{
    const char *slash = strchr(text, '/');
    size_t len = slash ? (size_t)(slash - text) : strlen(text);
    const char *last = memrchr(text, ':', len), *first = NULL;
    const char *inside = last ? last + 1 : text;
    struct sbx_port_spec s = { .protocol = SBX_PORT_ANY };
    enum sbx_code rc = slash ? read_protocol(text, slash + 1, &s, err) : SBX_OK;

    if (rc)
        return rc;
    if (memchr(inside, '-', len - (size_t)(inside - text)))
        return wrong(text, "ranges are not taken, give each port", err);
    if (!read_port(inside, len - (size_t)(inside - text), false, &s.sandbox_port))
        return wrong(text, "no sandbox port from 1 to 65535", err);
    if (last) {
        size_t before = (size_t)(last - text);

        first = memrchr(text, ':', before);
        if (first && memchr(first, ']', before - (size_t)(first - text)))
            return wrong(text, "a host port belongs behind the address", err);
        if (!read_port(first ? first + 1 : text,
                       before - (first ? (size_t)(first + 1 - text) : 0), true, &s.host_port))
            return wrong(text, "no host port from 1 to 65535", err);
    }
    if (first)
        rc = read_ip(text, text, (size_t)(first - text), &s, err);
    if (!rc)
        *ret = s;
    return rc;
}
