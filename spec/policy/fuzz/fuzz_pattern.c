/* "PATTERN\n...\nTARGET": what the index says and what each pattern alone says must agree. */
#include <stdlib.h>
#include <string.h>

#include "sbx/policy.h"

#define RULES_MAX 64 /* lines; more find nothing new */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first deny rule that fits always decides, unless the target is closed before any rule. */
static void compare(const struct sbx_rule *rules, size_t n, const char *target)
{
    struct sbx_policy *p = NULL;
    const struct sbx_rule *own;
    struct sbx_verdict v;
    struct sbx_host host;
    size_t first = 0;
    uint16_t port;

    if (sbx_target_parse(target, strlen(target), 443, &host, &port, NULL))
        return;
    if (sbx_policy_new(rules, n, &p, NULL))
        abort();
    while (first < n && !sbx_pattern_matches(&rules[first].pattern, &host, port))
        first++;
    v = sbx_policy_judge(p, &host, port);
    sbx_policy_rules(p, &own);
    if (v.decision == SBX_ALLOW)
        abort();
    if (v.rule ? v.rule != own + first : first < n && !strcmp(v.reason, "default-deny"))
        abort();
    if (sbx_policy_could_allow(p, &host))
        abort();
    sbx_policy_free(p);
}

/* One pattern, for whoever writes it; a user's is kept, if one may. */
static bool parse(const char *text, struct sbx_rule *ret)
{
    struct sbx_err err;
    bool some = false;

    for (int source = SBX_RULE_PRESET; source <= SBX_RULE_KIT; source++) {
        struct sbx_rule rule;

        if (sbx_rule_init(&rule, SBX_DENY, (enum sbx_rule_source)source, text, "id", "fuzz", &err))
            continue;
        if (!sbx_pattern_covers(&rule.pattern, &rule.pattern) && source != SBX_RULE_KIT)
            abort(); /* a user's pattern is never inert in that sense */
        sbx_pattern_needs_consent(&rule.pattern);
        if (!some || source == SBX_RULE_USER)
            *ret = rule;
        some = true;
    }
    return some;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sbx_rule rules[RULES_MAX];
    char *text = malloc(size + 1), *line, *end;
    size_t n = 0;

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    for (line = text; (end = strchr(line, '\n')) && n < RULES_MAX; line = end + 1) {
        *end = '\0';
        n += parse(line, &rules[n]);
    }
    if (n)
        compare(rules, n, line);
    else
        parse(text, &rules[0]);
    free(text);
    return 0;
}
