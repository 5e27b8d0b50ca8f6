/**
 * @file
 * Network policy: patterns of hosts, ports and addresses, and the one matcher that the gate, the
 * command line, validation and the TCK share. Pure: no sockets, no resolver.
 * Source: kit specification v2 "permissions.network"; decisions S1 to S5, N1 to N3, N11.
 *
 * A request is judged twice: by name and port before anything is resolved (sbx_policy_judge), and by
 * the resolved address before it is dialled (sbx_policy_judge_address).
 */
#ifndef SBX_POLICY_H
#define SBX_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>

#include "sbx/err.h"

#define SBX_HOST_MAX 253     /* bytes of a name, RFC 1035 */
#define SBX_PATTERN_MAX 300  /* bytes of a pattern: a name, brackets and a port range */
#define SBX_RULES_MAX 20000  /* rules of one sandbox; a bound for hostile kits, not a need */

#define SBX_EXPLAIN_MAX 512  /* bytes of one line about a verdict, a name and two patterns long */

enum sbx_decision { SBX_DENY, SBX_ALLOW };

/** Who wrote a rule: kits never widen what only a user may open (N3, N11). */
enum sbx_rule_source { SBX_RULE_PRESET, SBX_RULE_USER, SBX_RULE_KIT };

enum sbx_host_kind { SBX_HOST_NAME, SBX_HOST_IPV4, SBX_HOST_IPV6 };

/** A host as a request names it, in canonical form. */
struct sbx_host {
    enum sbx_host_kind kind;
    char text[SBX_HOST_MAX + 3]; /**< lower case, A-labels, no trailing dot; IPv6 without brackets */
    struct in6_addr address;     /**< IPv4 as ::ffff:a.b.c.d; for the two address kinds */
};

/**
 * Parse a host as it stands on the wire (CONNECT line, URI, Host, SNI): strict, S4. Odd spellings of
 * addresses (127.1, 0x7f.1), NUL, blanks, empty labels, over-long names are SBX_SCHEMA.
 * @param text not NUL-terminated; IPv6 with or without brackets
 */
SBX_MUST_USE enum sbx_code sbx_host_parse(const char *text, size_t len, struct sbx_host *ret,
                                          struct sbx_err *err);
/**
 * "host:port", "[v6]:port", or a bare host with `default_port`. Port 1 to 65535, plain digits.
 * @param default_port 0: a port must be given (CONNECT)
 */
SBX_MUST_USE enum sbx_code sbx_target_parse(const char *text, size_t len, uint16_t default_port,
                                            struct sbx_host *ret, uint16_t *ret_port,
                                            struct sbx_err *err);

/** One parsed pattern: a value, copied freely. Opaque but for its size. */
struct sbx_pattern {
    uint8_t kind;          /* policy/pattern.c */
    uint8_t prefix_len;    /* CIDR, counted in IPv6 bits: IPv4's /8 is 104 */
    uint16_t port_lo, port_hi; /* 0, 65535: any */
    struct in6_addr address;
    char name[SBX_HOST_MAX + 3];
};

/**
 * Parse a pattern of a rule: `host`, `host:port`, `host:lo-hi`, `host:*`, `*.host`, `**.host`, address,
 * `[v6]:port`, CIDR (`10.0.0.0/8`, `10.0.0.0/8:443`), `localhost:port`, `host.docker.internal:port`.
 * Bare `**` only when source is not a kit. 127/8 and ::1 mean the host resource (N3).
 *
 * What never matches is SBX_OK with *ret_inert saying why and what to write: the spellings of S2 in a
 * kit, and what no rule opens (metadata, the gate, ranges without a meaning). In a user's rule or a
 * preset the spellings of S2 are errors.
 *
 * @param ret_inert may be NULL; static text, NULL when the pattern can match
 * @return SBX_OK or SBX_SCHEMA (err says what to write instead)
 */
SBX_MUST_USE enum sbx_code sbx_pattern_parse(const char *text, enum sbx_rule_source source,
                                             struct sbx_pattern *ret, const char **ret_inert,
                                             struct sbx_err *err);
/** The pattern alone, without source and consent: the host resource has all its names here. */
bool sbx_pattern_matches(const struct sbx_pattern *p, const struct sbx_host *host, uint16_t port);
/** Does every host:port that `inner` matches match `outer` too? (S9: injects covered by allows) */
bool sbx_pattern_covers(const struct sbx_pattern *outer, const struct sbx_pattern *inner);
/** Would a kit's allow rule with it need the user's consent: host resource, not public ranges (N11)? */
bool sbx_pattern_needs_consent(const struct sbx_pattern *p);

struct sbx_rule {
    enum sbx_decision decision;
    enum sbx_rule_source source;
    struct sbx_pattern pattern;
    const char *text;   /**< the pattern as written */
    const char *id;     /**< stable id in log and `policy ls` */
    const char *origin; /**< "kit hello", "preset balanced", "user" */
    bool consented;     /**< a kit's rule for host or private resources that the user approved (N11) */
};

struct sbx_policy; /* opaque: a set of rules with an index; immutable, shared by threads */

/** Fill a rule from text; `text`, `id` and `origin` are borrowed. SBX_OK or SBX_SCHEMA. */
SBX_MUST_USE enum sbx_code sbx_rule_init(struct sbx_rule *r, enum sbx_decision decision,
                                         enum sbx_rule_source source, const char *text,
                                         const char *id, const char *origin, struct sbx_err *err);

/**
 * Build a matcher from rules; strings are copied. Judging then costs about the same with 10 rules and with
 * 20,000, whatever they are.
 * @return SBX_OK, SBX_LIMIT or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_policy_new(const struct sbx_rule *rules, size_t n,
                                          struct sbx_policy **ret, struct sbx_err *err);
/**
 * Take these ranges for public too: test origins on documentation addresses (N3). Before first use;
 * a build without SBX_FAULTS ignores it. A range that is not a CIDR is SBX_SCHEMA.
 */
SBX_MUST_USE enum sbx_code sbx_policy_public_test_range(struct sbx_policy *p, const char *cidr,
                                                        struct sbx_err *err);
size_t sbx_policy_rules(const struct sbx_policy *p, const struct sbx_rule **ret); /**< as given */
void sbx_policy_free(struct sbx_policy *p);
SBX_DEFINE_AUTO_PTR(sbx_policy, sbx_policy_free);

/** The answer to one question. */
struct sbx_verdict {
    enum sbx_decision decision;
    const struct sbx_rule *rule; /**< of the policy; NULL: no rule applied */
    /**
     * Stable, static. Allowed: "rule", "public" (an address), "learn" (N13). Denied: "rule", "default-deny",
     * "consent" (only a kit's unapproved rule would allow it), else the class of the address:
     * "loopback", "metadata", "gate", "private", "link-local", "documentation", "translated",
     * "special".
     */
    const char *reason;
    bool host_resource;          /**< dial the host's 127.0.0.1:port (N2) */
};

/** Judge a name or literal address and port, before resolving. Deny wins (S5). */
struct sbx_verdict sbx_policy_judge(const struct sbx_policy *p, const struct sbx_host *host,
                                    uint16_t port);
/**
 * What becomes of a verdict of sbx_policy_judge() in a sandbox that learns (N13): a public host that no rule
 * speaks of passes. What is closed by a rule, by its kind or for want of consent stays closed.
 */
struct sbx_verdict sbx_policy_learn(const struct sbx_host *host, struct sbx_verdict verdict);
/**
 * Judge one resolved address of an allowed name (N3): public addresses pass; private, loopback,
 * link-local, special ones only where a rule names the address or a CIDR with it; metadata never;
 * a deny rule for the address always refuses.
 */
struct sbx_verdict sbx_policy_judge_address(const struct sbx_policy *p,
                                            const struct in6_addr *address, uint16_t port);
/** Could some rule allow this name on any port? (DNS: N6) */
bool sbx_policy_could_allow(const struct sbx_policy *p, const struct sbx_host *host);

/**
 * The allow rule that comes nearest to a request that no rule allows: other ports of the host, its domain,
 * a host beside it. For people; looks at every rule.
 * @param ret_why static text that goes behind the rule: "is for other ports"; may be NULL
 * @return NULL: none is near
 */
const struct sbx_rule *sbx_policy_nearest(const struct sbx_policy *p, const struct sbx_host *host,
                                          uint16_t port, const char **ret_why);

/** Class of an address, IPv4 as ::ffff:a.b.c.d: "public" or a reason of struct sbx_verdict. */
const char *sbx_address_class(const struct in6_addr *address);

/**
 * One line for a person: the 403 body, `policy check`, install failures. Names host, port, reason and
 * the rule to add (N6): `blocked: deb.example.com:443 (no allow rule); to allow it: sbx policy allow
 * network deb.example.com:443`. Always fits SBX_EXPLAIN_MAX.
 * @param p       may be NULL; else near misses among its rules are named (UP 13)
 * @param sandbox who asked: a rule for it alone is suggested; NULL: one for all
 */
void sbx_verdict_explain(const struct sbx_policy *p, const struct sbx_verdict *v, const char *sandbox,
                         const struct sbx_host *host, uint16_t port, char out[SBX_EXPLAIN_MAX]);

/**
 * The allow patterns of a preset: "allow-all", "balanced", "deny-all"; NULL: no such preset. Presets
 * only allow: a kit's allow list counts under each of them (N1).
 */
const char *const *sbx_policy_preset(const char *name, size_t *n);

#endif
