/* The rule that a person may have thought would allow it. */
#include <string.h>

#include "index.h"

/* How near a rule is, the nearest first; each with what keeps it from matching. */
enum nearness { NEAR_PORT, NEAR_DOMAIN, NEAR_BELOW, NEAR_DEPTH, NEAR_SIBLING, FAR };

static const char *const why[] = {
    [NEAR_PORT] = "is for other ports",
    [NEAR_DOMAIN] = "is for the domain itself, not for hosts below it",
    [NEAR_BELOW] = "is for hosts below the name, not for the name itself",
    [NEAR_DEPTH] = "is for one label only; ** is for any number",
    [NEAR_SIBLING] = "is for another host of the domain",
};

static bool is_below(const char *name, const char *parent)
{
    size_t n = strlen(name), m = strlen(parent);

    return n > m + 1 && name[n - m - 1] == '.' && !strcmp(name + n - m, parent);
}

/* Both directly under one domain of two labels or more: "a.example.com" and "b.example.com". */
static bool siblings(const char *a, const char *b)
{
    const char *x = strchr(a, '.'), *y = strchr(b, '.');

    return x && y && strchr(x + 1, '.') && !strcmp(x, y);
}

static enum nearness judge_name(const struct sbx_pattern *p, const char *host)
{
    if (p->kind == PATTERN_NAME && is_below(host, p->name))
        return NEAR_DOMAIN;
    if ((p->kind == PATTERN_ONE || p->kind == PATTERN_MORE) && !strcmp(host, p->name))
        return NEAR_BELOW;
    if (p->kind == PATTERN_ONE && is_below(host, p->name))
        return NEAR_DEPTH;
    return p->kind == PATTERN_NAME && siblings(host, p->name) ? NEAR_SIBLING : FAR;
}

static enum nearness judge(const struct sbx_pattern *p, const struct sbx_host *host, uint16_t port)
{
    struct sbx_pattern any = *p;

    any.port_lo = 0;
    any.port_hi = 65535;
    if (sbx_pattern_matches(&any, host, port))
        return NEAR_PORT;
    return host->kind == SBX_HOST_NAME && sbx_ports_match(p, port) ? judge_name(p, host->text) : FAR;
}

const struct sbx_rule *sbx_policy_nearest(const struct sbx_policy *p, const struct sbx_host *host,
                                          uint16_t port, const char **ret_why)
{
    const struct sbx_rule *rules = NULL, *best = NULL;
    size_t n = sbx_policy_rules(p, &rules);
    enum nearness nearest = FAR;

    for (size_t i = 0; i < n; i++) {
        enum nearness one = FAR;

        if (rules[i].decision == SBX_ALLOW && !sbx_pattern_matches(&rules[i].pattern, host, port))
            one = judge(&rules[i].pattern, host, port);
        if (one >= nearest)
            continue;
        nearest = one;
        best = &rules[i];
    }
    if (best && ret_why)
        *ret_why = why[nearest];
    return best;
}
