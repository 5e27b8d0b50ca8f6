/* Many rules: the index over them, presets, bounds. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "sbx/policy.h"

static unsigned next(unsigned *x) /* the same numbers each time */
{
    *x = *x * 1103515245u + 12345u;
    return *x >> 16;
}

static const char *random_name(unsigned *x, char out[100])
{
    static const char *const labels[] = { "a", "b", "cc", "ab" };
    const char *a = labels[next(x) % 4], *b = labels[next(x) % 4], *c = labels[next(x) % 4];

    snprintf(out, 100, "%s.%s.%s%u", a, b, c, next(x) % 40);
    return out;
}

static void random_rule(unsigned *x, struct sbx_rule *r)
{
    static const char *const prefixes[] = { "", "*.", "**." };
    const char *prefix = prefixes[next(x) % 3];
    char name[100], text[200];

    random_name(x, name);
    snprintf(text, sizeof(text), "%s%s:%u", prefix, name, next(x) % 3 + 1);
    assert_int_equal(sbx_rule_init(r, next(x) % 4 ? SBX_ALLOW : SBX_DENY, SBX_RULE_USER, text, "",
                                   "", NULL), SBX_OK);
    r->text = NULL;
}

/* The plain definition: every rule tried in turn, deny first. */
static const struct sbx_rule *try_all(const struct sbx_rule *rules, size_t n,
                                      const struct sbx_host *host, uint16_t port)
{
    const struct sbx_rule *first[2] = { NULL, NULL };

    for (size_t k = n; k-- > 0;)
        if (sbx_pattern_matches(&rules[k].pattern, host, port))
            first[rules[k].decision] = &rules[k];
    return first[SBX_DENY] ? first[SBX_DENY] : first[SBX_ALLOW];
}

static void the_index_agrees_with_trying_every_rule(void **state)
{
    enum { N = 3000, ASKED = 2000 };
    SBX_AUTO_FREE struct sbx_rule *rules = calloc(N, sizeof(*rules));
    SBX_AUTO_PTR(sbx_policy) p = NULL;
    const struct sbx_rule *all;
    unsigned x = 12345, matched = 0;

    (void)state;
    for (size_t i = 0; i < N; i++)
        random_rule(&x, &rules[i]);
    assert_int_equal(sbx_policy_new(rules, N, &p, NULL), SBX_OK);
    sbx_policy_rules(p, &all);
    for (size_t i = 0; i < ASKED; i++) {
        uint16_t port = (uint16_t)(next(&x) % 3 + 1);
        const struct sbx_rule *want;
        char name[100], text[200];
        struct sbx_host host;

        random_name(&x, name);
        snprintf(text, sizeof(text), "%s%s", next(&x) % 2 ? "a.b." : "", name);
        assert_int_equal(sbx_host_parse(text, strlen(text), &host, NULL), SBX_OK);
        want = try_all(rules, N, &host, port);
        assert_ptr_equal(sbx_policy_judge(p, &host, port).rule, want ? all + (want - rules) : NULL);
        matched += want != NULL;
    }
    assert_in_range(matched, 50, ASKED - 50); /* both outcomes were tried */
}

static void too_many_rules_are_refused(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_policy *p = NULL;

    (void)state;
    assert_int_equal(sbx_policy_new(NULL, SBX_RULES_MAX + 1, &p, &err), SBX_LIMIT);
    assert_string_equal(err.text, "20001 network rules; at most 20000");
    assert_int_equal(sbx_policy_new(NULL, 0, &p, &err), SBX_OK);
    sbx_policy_free(p);
    sbx_policy_free(NULL);
}

static void presets_parse_and_say_what_they_should(void **state)
{
    static const char *const names[] = { "allow-all", "balanced", "deny-all" };
    static const char *const closed[] = { "example.com", "bucket.s3.amazonaws.com",
                                          "me.blob.core.windows.net", "storage.googleapis.com" };
    size_t n = 0;

    (void)state;
    assert_null(sbx_policy_preset("open", &n));
    for (size_t k = 0; k < SBX_ARRAY_LEN(names); k++) {
        const char *const *list = sbx_policy_preset(names[k], &n);

        assert_non_null(list);
        for (size_t i = 0; i < n; i++) {
            struct sbx_pattern a;
            const char *inert = NULL;

            assert_int_equal(sbx_pattern_parse(list[i], SBX_RULE_PRESET, &a, &inert, NULL), SBX_OK);
            assert_null(inert);
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(list[i], list[j]);
            for (size_t j = 0; j < SBX_ARRAY_LEN(closed) && k == 1; j++) {
                struct sbx_host host;

                assert_int_equal(sbx_host_parse(closed[j], strlen(closed[j]), &host, NULL), SBX_OK);
                assert_false(sbx_pattern_matches(&a, &host, 443));
            }
        }
    }
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index_agrees_with_trying_every_rule),
        cmocka_unit_test(too_many_rules_are_refused),
        cmocka_unit_test(presets_parse_and_say_what_they_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
