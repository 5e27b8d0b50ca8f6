/* One line about a verdict, the same wherever a person meets it. */
#include <stdio.h>
#include <string.h>

#include "index.h"

static const struct {
    const char *reason, *text;
} reasons[] = {
    { "default-deny", "no allow rule" },
    { "loopback", "this is the sandbox's own; the host's services are host.docker.internal:PORT" },
    { "metadata", "cloud metadata, which no rule opens" },
    { "gate", "the gate itself, which no rule opens" },
    { "translated", "an IPv6 form of an IPv4 address, which no rule opens" },
    { "special", "a special-purpose address, which no rule opens" },
};

static const char *reason_text(const char *reason)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(reasons); i++)
        if (!strcmp(reasons[i].reason, reason))
            return reasons[i].text;
    return reason;
}

/* A name cut to what a line holds; the longest legal one passes. */
static void target_text(const struct sbx_host *host, uint16_t port, char *out, size_t size)
{
    snprintf(out, size, host->kind == SBX_HOST_IPV6 ? "[%.253s]:%u" : "%.253s:%u", host->text, port);
}

/* An allow rule for the parent domain alone: the user may have meant its hosts too (UP 13). */
static const char *near_miss(const struct sbx_policy *p, const struct sbx_host *host, uint16_t port)
{
    const char *dot = host->kind == SBX_HOST_NAME ? strchr(host->text, '.') : NULL;
    struct rule_firsts first = RULE_FIRSTS_NONE;
    uint16_t allow;

    if (!p || !dot || !strcmp(host->text, HOST_RESOURCE)) /* that one no wildcard opens */
        return NULL;
    sbx_ports_first(&p->lists, sbx_index_place_name(p, dot + 1).all, port, &first);
    allow = first.rule[RULE_WIDE];
    return allow != NO_RULE && p->rules[allow].pattern.kind == PATTERN_NAME ? dot + 1 : NULL;
}

/* What is asked, and who asks. */
struct question {
    const struct sbx_policy *p;
    const struct sbx_verdict *v;
    const struct sbx_host *host;
    uint16_t port;
    const char *flag, *sandbox; /* " --sandbox " and the name, or twice "" */
};

/* Closed unless a rule names the address: the reason's text is the kind of address. */
static bool explain_address(const struct question *q, const char *target, char *out)
{
    const char *kind = q->v->reason;

    if (strcmp(kind, "private") && strcmp(kind, "link-local") && strcmp(kind, "documentation"))
        return false;
    if (q->host->kind == SBX_HOST_NAME)
        snprintf(out, SBX_EXPLAIN_MAX,
                 "blocked: %.160s (resolves to a %s address); to allow it, allow that address too: "
                 "sbx policy allow network ADDRESS:%u%s%.63s",
                 target, kind, q->port, q->flag, q->sandbox);
    else
        snprintf(out, SBX_EXPLAIN_MAX,
                 "blocked: %.160s (a %s address); to allow it: sbx policy allow network %.160s%s%.63s",
                 target, kind, target, q->flag, q->sandbox);
    return true;
}

static void explain_deny(const struct question *q, const char *target, char *out)
{
    const struct sbx_verdict *v = q->v;
    const char *parent;

    if (!strcmp(v->reason, "rule")) {
        snprintf(out, SBX_EXPLAIN_MAX, "blocked: %s (deny rule %.60s of %.60s)", target,
                 v->rule->text ? v->rule->text : "", v->rule->origin ? v->rule->origin : "?");
    } else if (!strcmp(v->reason, "consent")) {
        const char *rule = v->rule->text ? v->rule->text : target;

        snprintf(out, SBX_EXPLAIN_MAX,
                 "blocked: %.100s (asked for by %.60s, not approved); to approve: --approve %.60s, or "
                 "sbx policy allow network %.60s%s%.63s",
                 target, v->rule->origin ? v->rule->origin : "a kit", rule, rule, q->flag, q->sandbox);
    } else if (!strcmp(v->reason, "default-deny") && (parent = near_miss(q->p, q->host, q->port))) {
        snprintf(out, SBX_EXPLAIN_MAX,
                 "blocked: %.80s (no allow rule); to allow it: sbx policy allow network %.80s%s%.63s, or "
                 "*.%.80s for all hosts of that domain",
                 target, target, q->flag, q->sandbox, parent);
    } else if (!strcmp(v->reason, "default-deny")) {
        snprintf(out, SBX_EXPLAIN_MAX,
                 "blocked: %.160s (no allow rule); to allow it: sbx policy allow network %.160s%s%.63s",
                 target, target, q->flag, q->sandbox);
    } else if (!explain_address(q, target, out)) {
        snprintf(out, SBX_EXPLAIN_MAX, "blocked: %s (%s)", target, reason_text(v->reason));
    }
}

void sbx_verdict_explain(const struct sbx_policy *p, const struct sbx_verdict *v, const char *sandbox,
                         const struct sbx_host *host, uint16_t port, char out[SBX_EXPLAIN_MAX])
{
    struct question q = { p, v, host, port, sandbox ? " --sandbox " : "", sandbox ? sandbox : "" };
    char target[SBX_HOST_MAX + 12];

    target_text(host, port, target, sizeof(target));
    if (v->decision == SBX_DENY)
        explain_deny(&q, target, out);
    else if (v->rule)
        snprintf(out, SBX_EXPLAIN_MAX, "allowed: %s (rule %.60s of %.60s)", target,
                 v->rule->text ? v->rule->text : "", v->rule->origin ? v->rule->origin : "?");
    else
        snprintf(out, SBX_EXPLAIN_MAX, "allowed: %s%s", target,
                 strcmp(v->reason, "learn") ? "" : " (no rule; the sandbox was made with --learn, which records it)");
}
