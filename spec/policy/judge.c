/* Verdicts: what the rules and the classes of addresses say together. */
#include <string.h>

#include "index.h"

/* What was asked, and the rules that count. */
struct search {
    const struct sbx_policy *p;
    bool
        named; /* allows must name the address, a kit's with consent (N11): no `**`, no range wider than private ones */
    struct rule_firsts first;
};

/* The first rule of some sorts, bits of enum; NULL: none. */
static const struct sbx_rule *first_of(const struct search *s, unsigned sorts)
{
    unsigned first = NO_RULE;

    for (int sort = 0; sort < RULE_SORTS; sort++)
        if (sorts >> sort & 1 && s->first.rule[sort] < first)
            first = s->first.rule[sort];
    return first == NO_RULE ? NULL : &s->p->rules[first];
}

static void look(struct search *s, struct index_place at, uint16_t port)
{
    s->first = (struct rule_firsts)RULE_FIRSTS_NONE;
    sbx_ports_first(&s->p->lists, at.one, port, &s->first);
    sbx_ports_first(&s->p->lists, at.all, port, &s->first);
}

static struct sbx_verdict deny(const char *reason, const struct sbx_rule *r)
{
    return (struct sbx_verdict){ .decision = SBX_DENY, .rule = r, .reason = reason };
}

static struct sbx_verdict conclude(const struct search *s, const char *otherwise)
{
    const unsigned named = 1u << RULE_NAMED, unasked = 1u << RULE_UNASKED, wide = 1u << RULE_WIDE;
    const struct sbx_rule *r;

    if ((r = first_of(s, 1u << RULE_DENY)))
        return deny("rule", r);
    if ((r = first_of(s, s->named ? named : named | unasked | wide)))
        return (struct sbx_verdict){ .decision = SBX_ALLOW, .rule = r, .reason = "rule" };
    if ((r = first_of(s, unasked)))
        return deny("consent", r);
    return deny(otherwise, NULL);
}

static struct sbx_verdict judge_host_resource(const struct sbx_policy *p, uint16_t port,
                                              const char *otherwise)
{
    struct search s = { .p = p, .named = true };
    struct sbx_verdict v;

    look(&s, sbx_index_place_name(p, HOST_RESOURCE), port);
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
    struct search s = { .p = p };
    struct sbx_verdict v;

    if (class.open == OPEN_NAMED && is_test_range(p, a))
        class = (struct address_class){ "public", OPEN_PUBLIC };
    if (class.open == OPEN_NEVER || (class.open == OPEN_HOST && literal))
        return deny(class.name, NULL);
    if (class.open == OPEN_HOST)
        return judge_host_resource(p, port, class.name);
    s.named = class.open == OPEN_NAMED;
    look(&s, sbx_index_place_address(p, a), port);
    if (s.named)
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

    return len >= n && strcmp(name + len - n, suffix) == 0 &&
           (len == n || name[len - n - 1] == '.');
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
    struct search s = { .p = p };
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
    look(&s, sbx_index_place_name(p, host->text), port);
    return conclude(&s, "default-deny");
}

/* Ports that stay allowed: 65536 bits are little to walk, and this is asked once a new name. */
struct ports {
    enum rule_sort allows;
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

static void collect(const struct rule_firsts *first, unsigned lo, unsigned hi, void *data)
{
    struct ports *x = data;

    if (first->rule[RULE_DENY] != NO_RULE)
        mark(x->deny, lo, hi);
    else if (first->rule[x->allows] != NO_RULE)
        mark(x->allow, lo, hi);
}

bool sbx_policy_could_allow(const struct sbx_policy *p, const struct sbx_host *host)
{
    struct ports x = { .allows = RULE_WIDE };
    struct index_place at;

    if (host->kind != SBX_HOST_NAME || sbx_name_never(host->text) ||
        sbx_name_is_localhost(host->text))
        return false; /* an address needs no name to be resolved */
    if (!strcmp(host->text, HOST_RESOURCE))
        x.allows = RULE_NAMED;
    at = sbx_index_place_name(p, host->text);
    sbx_ports_each(&p->lists, at.one, collect, &x);
    sbx_ports_each(&p->lists, at.all, collect, &x);
    x.deny[0] |= 1; /* port 0 is none */
    for (size_t i = 0; i < sizeof(x.allow); i++)
        if (x.allow[i] & ~x.deny[i])
            return true;
    return false;
}
