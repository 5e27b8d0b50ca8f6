/* Patterns of rules: parsing, matching one alone, one covering another. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "policy_int.h"

static const char inert_all[] = "a kit cannot open every host; name the hosts";
static const char inert_star[] = "\"*\" alone matches nothing; name the hosts, or write "
                                 "\"*.example.com\" for the hosts of a domain";
static const char inert_wildcard[] = "a wildcard counts only as the whole first label: write "
                                     "\"*.example.com\" or \"**.example.com\", or list the hosts";
static const char inert_never[] = "no rule opens this address: it serves cloud metadata or the "
                                  "gate, or has no meaning on a network";

struct parts {
    const char *host; /* brackets included */
    size_t len;
    const char *prefix; /* digits behind "/", or NULL */
    size_t prefix_len;
};

static enum sbx_code parse_ports(const char *text, size_t len, struct sbx_pattern *p,
                                 struct sbx_err *err)
{
    const char *dash = memchr(text, '-', len);
    size_t first = dash ? (size_t)(dash - text) : len;
    unsigned lo, hi;

    if (len == 1 && text[0] == '*')
        return SBX_OK;
    lo = sbx_port_parse(text, first);
    hi = dash ? sbx_port_parse(dash + 1, len - first - 1) : lo;
    if (!lo || !hi)
        return sbx_err_set(err, SBX_SCHEMA, "port \"%.*s\": write a number from 1 to 65535, a range "
                                            "like 8000-8999, or leave it out for any port",
                           (int)(len < 40 ? len : 40), text);
    if (lo > hi)
        return sbx_err_set(err, SBX_SCHEMA, "port range %u-%u: write the lower port first", lo, hi);
    p->port_lo = (uint16_t)lo;
    p->port_hi = (uint16_t)hi;
    return SBX_OK;
}

/* Where the port's colon is: behind "]" or "/", else the only one; NULL: no port. */
static const char *find_colon(const char *text)
{
    const char *from = text[0] == '[' ? strchr(text, ']') : NULL, *slash = strchr(text, '/');
    const char *colon;

    if (slash && (!from || slash > from))
        return strchr(slash, ':');
    if (from)
        return from[1] == ':' ? from + 1 : NULL;
    colon = strchr(text, ':');
    return colon && !strchr(colon + 1, ':') ? colon : NULL;
}

static enum sbx_code split(const char *text, struct parts *ret, struct sbx_pattern *p,
                           struct sbx_err *err)
{
    const char *colon = find_colon(text);
    size_t len = colon ? (size_t)(colon - text) : strlen(text);
    const char *slash = memchr(text, '/', len);

    *ret = (struct parts){ .host = text, .len = slash ? (size_t)(slash - text) : len };
    if (slash) {
        ret->prefix = slash + 1;
        ret->prefix_len = len - ret->len - 1;
    }
    /* "[fd00::/8]:443" */
    if (slash && text[0] == '[' && ret->prefix_len && ret->prefix[ret->prefix_len - 1] == ']') {
        ret->host++;
        ret->len--;
        ret->prefix_len--;
    }
    return colon ? parse_ports(colon + 1, strlen(colon + 1), p, err) : SBX_OK;
}

/* ASCII that cannot be an address: most rules, told without parsing them twice. */
static bool is_plain_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] == ':' || text[i] == '[' || (unsigned char)text[i] >= 0x80)
            return false;
    return !sbx_name_is_numeric(text, len);
}

/* Addresses in any spelling that inet_aton knows (S4): 127.1, 0x7f.1, 2130706433. */
static bool parse_address(const char *text, size_t len, struct in6_addr *ret)
{
    struct sbx_host host;
    struct in_addr v4;
    char copy[64];

    if (is_plain_name(text, len))
        return false;
    if (!sbx_host_parse(text, len, &host, NULL)) {
        *ret = host.address;
        return host.kind != SBX_HOST_NAME;
    }
    if (len >= sizeof(copy) || !sbx_name_is_numeric(text, len))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (!inet_aton(copy, &v4))
        return false;
    *ret = sbx_address_map_v4(&v4);
    return true;
}

static enum sbx_code parse_prefix(const struct parts *x, bool v4, struct sbx_pattern *p,
                                  struct sbx_err *err)
{
    unsigned bits = 0, max = v4 ? 32 : 128;
    size_t i;

    for (i = 0; i < x->prefix_len && i < 3; i++) {
        if (x->prefix[i] < '0' || x->prefix[i] > '9')
            break;
        bits = bits * 10 + (unsigned)(x->prefix[i] - '0');
    }
    if (!x->prefix_len || i != x->prefix_len || bits > max || (i > 1 && x->prefix[0] == '0'))
        return sbx_err_set(err, SBX_SCHEMA, "prefix \"/%.*s\": write a number from 0 to %u",
                           (int)(x->prefix_len < 40 ? x->prefix_len : 40), x->prefix, max);
    p->prefix_len = (uint8_t)(v4 ? bits + 96 : bits);
    return SBX_OK;
}

static enum sbx_code parse_cidr(const struct parts *x, struct sbx_pattern *p, const char **inert,
                                struct sbx_err *err)
{
    bool v4 = sbx_address_is_v4(&p->address);
    enum sbx_code rc;

    p->kind = PATTERN_CIDR;
    p->prefix_len = 128;
    rc = x->prefix ? parse_prefix(x, v4, p, err) : SBX_OK;
    if (rc)
        return rc;
    if (sbx_address_classify(&p->address).open == OPEN_HOST && p->prefix_len >= 96 + 8) {
        p->kind = PATTERN_HOST;
        return SBX_OK;
    }
    sbx_address_mask(&p->address, p->prefix_len);
    if (sbx_range_never_opens(&p->address, p->prefix_len))
        *inert = inert_never; /* still a pattern: as a deny rule it is true, if needless */
    return SBX_OK;
}

static enum sbx_code parse_name(const char *text, size_t len, uint8_t kind, struct sbx_pattern *p,
                                const char **inert, struct sbx_err *err)
{
    enum sbx_code rc = sbx_name_canonical(text, len, p->name, err);

    if (rc)
        return rc;
    if (sbx_name_is_numeric(p->name, strlen(p->name)))
        return sbx_err_set(err, SBX_SCHEMA, "a wildcard or prefix before a number; for a range of "
                                            "addresses write a CIDR like 10.0.0.0/8");
    p->kind = kind;
    if (kind != PATTERN_NAME)
        return SBX_OK;
    if (!strcmp(p->name, "localhost") || !strcmp(p->name, HOST_RESOURCE)) {
        p->kind = PATTERN_HOST;
        return SBX_OK;
    }
    if (sbx_name_never(p->name))
        *inert = inert_never;
    return SBX_OK;
}

/* Spellings that the public format accepts and that match nothing (S2): a user is told at once. */
static enum sbx_code never_matches(const char *why, enum sbx_rule_source source,
                                   struct sbx_pattern *p, const char **inert, struct sbx_err *err)
{
    if (source != SBX_RULE_KIT)
        return sbx_err_set(err, SBX_SCHEMA, "%s",
                           why == inert_star ? "\"*\" alone matches nothing; write \"**\" for every "
                                               "host, or \"*.example.com\""
                                             : why);
    p->kind = PATTERN_INERT;
    *inert = why;
    return SBX_OK;
}

static enum sbx_code parse_host(const struct parts *x, enum sbx_rule_source source,
                                struct sbx_pattern *p, const char **inert, struct sbx_err *err)
{
    const char *h = x->host;
    size_t n = x->len;

    if (n == 2 && !memcmp(h, "**", 2)) {
        if (source == SBX_RULE_KIT)
            return never_matches(inert_all, source, p, inert, err);
        p->kind = PATTERN_ALL;
        return SBX_OK;
    }
    if (n == 1 && h[0] == '*')
        return never_matches(inert_star, source, p, inert, err);
    if (n > 2 && !memcmp(h, "*.", 2) && !memchr(h + 2, '*', n - 2))
        return parse_name(h + 2, n - 2, PATTERN_ONE, p, inert, err);
    if (n > 3 && !memcmp(h, "**.", 3) && !memchr(h + 3, '*', n - 3))
        return parse_name(h + 3, n - 3, PATTERN_MORE, p, inert, err);
    if (memchr(h, '*', n))
        return never_matches(inert_wildcard, source, p, inert, err);
    if (parse_address(h, n, &p->address))
        return parse_cidr(x, p, inert, err);
    if (memchr(h, ':', n) || (n && h[0] == '['))
        return sbx_err_set(err, SBX_SCHEMA, "not an IPv6 address; with a port write [fd00::1]:443");
    return parse_name(h, n, PATTERN_NAME, p, inert, err);
}

static enum sbx_code parse(const char *text, enum sbx_rule_source source, struct sbx_pattern *p,
                           const char **inert, struct sbx_err *err)
{
    struct parts x;
    enum sbx_code rc;

    if (!*text)
        return sbx_err_set(err, SBX_SCHEMA, "empty; write a host like \"example.com:443\"");
    if (strlen(text) > SBX_PATTERN_MAX)
        return sbx_err_set(err, SBX_SCHEMA, "longer than %d bytes", SBX_PATTERN_MAX);
    if (strstr(text, "://"))
        return sbx_err_set(err, SBX_SCHEMA, "a URL; write the host and port alone, like "
                                            "\"example.com:443\"");
    rc = split(text, &x, p, err);
    if (!rc)
        rc = parse_host(&x, source, p, inert, err);
    if (!rc && x.prefix && p->kind != PATTERN_CIDR && p->kind != PATTERN_HOST)
        rc = sbx_err_set(err, SBX_SCHEMA, "\"/\" belongs to an address range like 10.0.0.0/8; rules "
                                          "have no paths");
    return rc;
}

enum sbx_code sbx_pattern_parse(const char *text, enum sbx_rule_source source,
                                struct sbx_pattern *ret, const char **ret_inert,
                                struct sbx_err *err)
{
    struct sbx_pattern p = { .port_hi = 65535 };
    const char *inert = NULL;
    enum sbx_code rc = parse(text, source, &p, &inert, err);

    if (rc)
        return sbx_err_wrap(err, rc, "network rule \"%.*s\"", SBX_PATTERN_MAX, text);
    *ret = p;
    if (ret_inert)
        *ret_inert = inert;
    return SBX_OK;
}

bool sbx_ports_match(const struct sbx_pattern *p, uint16_t port)
{
    return port >= p->port_lo && port <= p->port_hi;
}

/* Is `name` below `domain`? With `one`, by a single label. */
static bool is_below(const char *name, const char *domain, bool one)
{
    size_t n = strlen(name), d = strlen(domain);

    if (n < d + 2 || name[n - d - 1] != '.' || strcmp(name + n - d, domain))
        return false;
    return !one || !memchr(name, '.', n - d - 1);
}

static bool is_host_resource(const struct sbx_host *host)
{
    if (host->kind != SBX_HOST_NAME)
        return sbx_address_classify(&host->address).open == OPEN_HOST;
    return !strcmp(host->text, HOST_RESOURCE) || !strcmp(host->text, "localhost");
}

bool sbx_pattern_matches(const struct sbx_pattern *p, const struct sbx_host *host, uint16_t port)
{
    bool name = host->kind == SBX_HOST_NAME;

    if (!sbx_ports_match(p, port))
        return false;
    switch ((enum pattern_kind)p->kind) {
    case PATTERN_NAME:
        return name && !strcmp(host->text, p->name);
    case PATTERN_ONE:
    case PATTERN_MORE:
        return name && is_below(host->text, p->name, p->kind == PATTERN_ONE);
    case PATTERN_ALL:
        return true;
    case PATTERN_CIDR:
        return !name && sbx_address_in(&host->address, &p->address, p->prefix_len);
    case PATTERN_HOST:
        return is_host_resource(host);
    case PATTERN_INERT:
        break;
    }
    return false;
}

static bool covers_name(const struct sbx_pattern *outer, const struct sbx_pattern *inner)
{
    bool same = !strcmp(outer->name, inner->name);

    switch ((enum pattern_kind)outer->kind) {
    case PATTERN_NAME:
        return inner->kind == PATTERN_NAME && same;
    case PATTERN_ONE:
        return inner->kind == PATTERN_NAME ? is_below(inner->name, outer->name, true)
                                           : inner->kind == PATTERN_ONE && same;
    case PATTERN_MORE:
        return is_below(inner->name, outer->name, false) || (same && inner->kind != PATTERN_NAME);
    default:
        return false;
    }
}

bool sbx_pattern_covers(const struct sbx_pattern *outer, const struct sbx_pattern *inner)
{
    if (outer->port_lo > inner->port_lo || outer->port_hi < inner->port_hi)
        return false;
    switch ((enum pattern_kind)inner->kind) {
    case PATTERN_NAME:
    case PATTERN_ONE:
    case PATTERN_MORE:
        return outer->kind == PATTERN_ALL || covers_name(outer, inner);
    case PATTERN_ALL:
    case PATTERN_HOST:
        return outer->kind == inner->kind;
    case PATTERN_CIDR:
        if (outer->kind == PATTERN_ALL)
            return !sbx_pattern_needs_consent(inner);
        return outer->kind == PATTERN_CIDR && outer->prefix_len <= inner->prefix_len &&
               sbx_address_in(&inner->address, &outer->address, outer->prefix_len);
    case PATTERN_INERT:
        break;
    }
    return false;
}

bool sbx_pattern_needs_consent(const struct sbx_pattern *p)
{
    if (p->kind == PATTERN_HOST)
        return true;
    return p->kind == PATTERN_CIDR && sbx_range_is_named(&p->address, p->prefix_len) &&
           sbx_range_touches_special(&p->address, p->prefix_len);
}
