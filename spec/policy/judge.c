/* Verdicts: what the rules and the classes of addresses say together. */
#include <string.h>

#include "index.h"

/* What was found among the rules that fit; the first of each sort in the order of the rules. */
struct search {
    uint16_t port;
    bool need_consent; /* a kit's allow counts only with consent (N11) */
    bool named_only;   /* allows must name the address: no `**`, no range wider than private ones */
    const struct sbx_rule *deny, *allow, *unconsented;
};

static void keep_first(const struct sbx_rule **slot, const struct sbx_rule *r)
{
    if (!*slot || r < *slot)
        *slot = r;
}

static void consider(const struct sbx_rule *r, uint16_t lo, uint16_t hi, void *data)
{
    struct search *s = data;

    if (s->port < lo || s->port > hi)
        return;
    if (r->decision == SBX_DENY) {
        keep_first(&s->deny, r);
        return;
    }
    if (s->named_only && r->pattern.kind != PATTERN_HOST &&
        (r->pattern.kind != PATTERN_CIDR ||
         !sbx_range_is_named(&r->pattern.address, r->pattern.prefix_len)))
        return;
    if (s->need_consent && r->source == SBX_RULE_KIT && !r->consented)
        keep_first(&s->unconsented, r);
    else
        keep_first(&s->allow, r);
}

static struct sbx_verdict deny(const char *reason, const struct sbx_rule *r)
{
    return (struct sbx_verdict){ .decision = SBX_DENY, .rule = r, .reason = reason };
}

static struct sbx_verdict conclude(const struct search *s, const char *otherwise)
{
    if (s->deny)
        return deny("rule", s->deny);
    if (s->allow)
        return (struct sbx_verdict){ .decision = SBX_ALLOW, .rule = s->allow, .reason = "rule" };
    if (s->unconsented)
        return deny("consent", s->unconsented);
    return deny(otherwise, NULL);
}

static struct sbx_verdict judge_host_resource(const struct sbx_policy *p, uint16_t port,
                                              const char *otherwise)
{
    struct search s = { .port = port, .need_consent = true, .named_only = true };
    struct sbx_verdict v;

    sbx_index_host(p, port, consider, &s);
    sbx_index_name(p, HOST_RESOURCE, port, consider, &s); /* denies of wider patterns count */
    v = conclude(&s, otherwise);
    v.host_resource = v.decision == SBX_ALLOW;
    return v;
}

static bool is_test_range(const struct sbx_policy *p, const struct in6_addr *a)
{
    for (size_t i = 0; i < p->n_test_ranges; i++)
        if (sbx_address_in(a, &p->test_ranges[i].address, p->test_ranges[i].prefix_len))
            return true;
    return false;
}

/* `literal`: the request named the address itself, so that a rule must allow even a public one. */
static struct sbx_verdict judge_address(const struct sbx_policy *p, const struct in6_addr *a,
                                        uint16_t port, bool literal)
{
    struct address_class class = sbx_address_classify(a);
    struct search s = { .port = port };
    struct sbx_verdict v;

    if (class.open == OPEN_NAMED && is_test_range(p, a))
        class = (struct address_class){ "public", OPEN_PUBLIC };
    if (class.open == OPEN_NEVER || (class.open == OPEN_HOST && literal))
        return deny(class.name, NULL);
    if (class.open == OPEN_HOST)
        return judge_host_resource(p, port, class.name);
    s.need_consent = s.named_only = class.open == OPEN_NAMED;
    sbx_index_address(p, a, port, consider, &s);
    sbx_index_all(p, port, consider, &s);
    if (class.open == OPEN_NAMED)
        return conclude(&s, class.name);
    v = conclude(&s, "default-deny");
    if (!literal && v.decision == SBX_DENY && !v.rule)
        v = (struct sbx_verdict){ .decision = SBX_ALLOW, .reason = "public" };
    return v;
}

/* The names of this machine, as the sandbox knows them. */
static bool is_ours(const char *name)
{
    static const char suffix[] = "docker.internal";
    size_t len = strlen(name), n = sizeof(suffix) - 1;

    return len >= n && strcmp(name + len - n, suffix) == 0 && (len == n || name[len - n - 1] == '.');
}

struct sbx_verdict sbx_policy_learn(const struct sbx_host *host, struct sbx_verdict v)
{
    if (host->kind != SBX_HOST_NAME || is_ours(host->text) || v.decision != SBX_DENY || v.rule ||
        strcmp(v.reason, "default-deny") != 0)
        return v;
    return (struct sbx_verdict){ .decision = SBX_ALLOW, .reason = "learn" };
}

struct sbx_verdict sbx_policy_judge_address(const struct sbx_policy *p,
                                            const struct in6_addr *address, uint16_t port)
{
    return judge_address(p, address, port, false);
}

struct sbx_verdict sbx_policy_judge(const struct sbx_policy *p, const struct sbx_host *host,
                                    uint16_t port)
{
    struct search s = { .port = port };
    const char *never;

    if (host->kind != SBX_HOST_NAME)
        return judge_address(p, &host->address, port, true);
    never = sbx_name_never(host->text);
    if (never)
        return deny(never, NULL);
    if (sbx_name_is_localhost(host->text))
        return deny("loopback", NULL);
    if (!strcmp(host->text, HOST_RESOURCE))
        return judge_host_resource(p, port, "default-deny");
    sbx_index_name(p, host->text, port, consider, &s);
    return conclude(&s, "default-deny");
}

/* Ports that stay allowed: 65536 bits are little to walk, and this is asked once a new name. */
struct ports {
    bool host;
    uint8_t allow[8192], deny[8192];
};

static void mark(uint8_t *bits, unsigned lo, unsigned hi)
{
    for (unsigned i = lo; i <= hi; i++) {
        if (i % 8 == 0 && i + 7 <= hi) {
            bits[i / 8] = 0xff;
            i += 7;
        } else {
            bits[i / 8] |= (uint8_t)(1u << i % 8);
        }
    }
}

static void collect(const struct sbx_rule *r, uint16_t lo, uint16_t hi, void *data)
{
    struct ports *x = data;

    if (r->decision == SBX_DENY)
        mark(x->deny, lo, hi);
    else if (!x->host || (r->pattern.kind == PATTERN_HOST &&
                          (r->source != SBX_RULE_KIT || r->consented)))
        mark(x->allow, lo, hi);
}

bool sbx_policy_could_allow(const struct sbx_policy *p, const struct sbx_host *host)
{
    struct ports x = { .host = false };

    if (host->kind != SBX_HOST_NAME || sbx_name_never(host->text) ||
        sbx_name_is_localhost(host->text))
        return false; /* an address needs no name to be resolved */
    x.host = !strcmp(host->text, HOST_RESOURCE);
    if (x.host)
        sbx_index_host(p, 0, collect, &x);
    sbx_index_name(p, host->text, 0, collect, &x);
    x.deny[0] |= 1; /* port 0 is none */
    for (size_t i = 0; i < sizeof(x.allow); i++)
        if (x.allow[i] & ~x.deny[i])
            return true;
    return false;
}
