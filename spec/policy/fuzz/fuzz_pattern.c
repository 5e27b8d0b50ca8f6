/* "PATTERN\nTARGET": what the index says and what the pattern alone says must agree. */
#include <stdlib.h>
#include <string.h>

#include "sbx/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(struct sbx_rule *rule, const char *target)
{
    struct sbx_policy *p = NULL;
    struct sbx_host host;
    uint16_t port;

    if (sbx_target_parse(target, strlen(target), 443, &host, &port, NULL))
        return;
    if (sbx_policy_new(rule, 1, &p, NULL))
        abort();
    /* a deny rule that fits always decides, unless the target is closed before any rule */
    rule->decision = SBX_DENY;
    if (sbx_policy_judge(p, &host, port).decision == SBX_ALLOW &&
        !sbx_pattern_matches(&rule->pattern, &host, port))
        abort();
    sbx_policy_could_allow(p, &host);
    sbx_policy_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *line;
    struct sbx_rule rule;
    struct sbx_err err;

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    line = strchr(text, '\n');
    if (line)
        *line++ = '\0';
    for (int source = SBX_RULE_PRESET; source <= SBX_RULE_KIT; source++) {
        if (sbx_rule_init(&rule, SBX_ALLOW, (enum sbx_rule_source)source, text, "id", "fuzz", &err))
            continue;
        if (!sbx_pattern_covers(&rule.pattern, &rule.pattern) && source != SBX_RULE_KIT)
            abort(); /* a user's pattern is never inert in that sense */
        sbx_pattern_needs_consent(&rule.pattern);
        if (line)
            compare(&rule, line);
    }
    free(text);
    return 0;
}
