/**
 * @file
 * Inside spec/policy: kinds of patterns, classes of addresses, the index.
 */
#ifndef SBX_POLICY_INT_H
#define SBX_POLICY_INT_H

#include "sbx/policy.h"

#define HOST_RESOURCE "host.docker.internal" /* the name under which a sandbox asks for its host */

enum pattern_kind {
    PATTERN_INERT, /* accepted, matches nothing; 0, so that a zeroed pattern is harmless */
    PATTERN_NAME,
    PATTERN_ONE,   /* *.name: one label more */
    PATTERN_MORE,  /* **.name: one label or more */
    PATTERN_ALL,   /* ** */
    PATTERN_CIDR,  /* one address is a CIDR of 128 bits */
    PATTERN_HOST,  /* the host resource */
};

enum openness {
    OPEN_PUBLIC, /* any rule that names the host */
    OPEN_NAMED,  /* only a rule that names the address or a range with it */
    OPEN_HOST,   /* loopback: only the host resource */
    OPEN_NEVER,
};

/** Class of an address. `name` is stable text; never NULL. */
struct address_class {
    const char *name;
    enum openness open;
};
struct address_class sbx_address_classify(const struct in6_addr *a);
/** Is any address of the range not public? */
bool sbx_range_touches_special(const struct in6_addr *a, unsigned prefix_len);
/** Are all its addresses of classes that no rule opens? */
bool sbx_range_never_opens(const struct in6_addr *a, unsigned prefix_len);
/**
 * Does a range name private addresses, or is it wider than any private range is? 0.0.0.0/0 means "the
 * internet" and must not open what lies behind the host.
 */
bool sbx_range_is_named(const struct in6_addr *a, unsigned prefix_len);
bool sbx_address_in(const struct in6_addr *a, const struct in6_addr *range, unsigned prefix_len);
bool sbx_address_is_v4(const struct in6_addr *a);
void sbx_address_mask(struct in6_addr *a, unsigned prefix_len);
struct in6_addr sbx_address_map_v4(const struct in_addr *v4);

/** Names that no rule opens (GC B5 and the gate itself): the reason, or NULL. */
const char *sbx_name_never(const char *name);
/** localhost and its subdomains: the sandbox's own. */
bool sbx_name_is_localhost(const char *name);

/** A DNS name: lower case, A-labels, checked. `text` may hold UTF-8. */
enum sbx_code sbx_name_canonical(const char *text, size_t len, char out[SBX_HOST_MAX + 3],
                                 struct sbx_err *err);
/** Does the last label look like a number, so that some resolver might take the name for one? */
bool sbx_name_is_numeric(const char *text, size_t len);
/** Port of plain digits without leading zero, 1 to 65535; 0: not one. */
unsigned sbx_port_parse(const char *text, size_t len);
bool sbx_ports_match(const struct sbx_pattern *p, uint16_t port);

#endif
