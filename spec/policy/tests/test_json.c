#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sbx/json.h"
#include "sbx/policy_json.h"

#define RULE                                                                                       \
    "{\"id\":\"kit:hello:1\",\"decision\":\"allow\",\"pattern\":\"api.example.com:443\","          \
    "\"source\":\"kit\",\"origin\":\"kit hello\",\"consented\":false}"

static void rules_go_through_json_unchanged(void **state)
{
    SBX_AUTO_JSON json_t *in = json_loads("[" RULE "]", 0, NULL), *out = NULL;
    SBX_AUTO_PTR(sbx_policy) p = NULL;
    const struct sbx_rule *rules;
    struct sbx_host host;

    (void)state;
    assert_int_equal(sbx_policy_from_json(in, NULL, &p, NULL), SBX_OK);
    assert_int_equal(sbx_policy_rules(p, &rules), 1);
    assert_int_equal(rules[0].source, SBX_RULE_KIT);
    out = sbx_rules_json(rules, 1);
    assert_true(json_equal(in, out));
    assert_int_equal(sbx_host_parse("api.example.com", 15, &host, NULL), SBX_OK);
    assert_string_equal(sbx_policy_judge(p, &host, 443).rule->id, "kit:hello:1");
}

static void wrong_rules_are_refused_by_name(void **state)
{
    static const struct {
        const char *rules, *ranges, *want;
    } rows[] = {
        { "{}", NULL, "rules: not a list" },
        { "[5]", NULL, "rules[0]: " },
        { "[{}]", NULL, "rules[0]: Object item not found: id" },
        { "[" RULE "," RULE "]", NULL, "the id \"kit:hello:1\" is given twice" },
        { "[{\"id\":\"a\",\"decision\":\"maybe\",\"pattern\":\"x\",\"source\":\"kit\",\"origin\":"
          "\"\",\"consented\":false}]", NULL, "decision \"maybe\" is neither" },
        { "[{\"id\":\"a\",\"decision\":\"deny\",\"pattern\":\"x\",\"source\":\"org\",\"origin\":"
          "\"\",\"consented\":false}]", NULL, "source \"org\"" },
        { "[{\"id\":\"a\",\"decision\":\"deny\",\"pattern\":\"x..y\",\"source\":\"kit\",\"origin\":"
          "\"\",\"consented\":false}]", NULL, "network rule \"x..y\": a host name with an empty" },
        { "[{\"id\":\"\",\"decision\":\"deny\",\"pattern\":\"x\",\"source\":\"kit\",\"origin\":"
          "\"\",\"consented\":false}]", NULL, "the id is empty" },
        { "[{\"id\":\"a\",\"decision\":\"deny\",\"pattern\":\"x\",\"source\":\"kit\",\"origin\":"
          "\"\",\"consented\":false,\"more\":1}]", NULL, "more" },
        { "[{\"id\":\"a\",\"decision\":\"deny\",\"pattern\":\"x\",\"source\":\"kit\",\"origin\":"
          "\"\",\"consented\":1}]", NULL, "rules[0]: " },
        { "[]", "{}", "publicTestRanges: not a list" },
        { "[]", "[1]", "publicTestRanges[0]: not a string" },
        { "[]", "[\"x.com\"]", "public test range \"x.com\": not a CIDR" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_JSON json_t *rules = json_loads(rows[i].rules, 0, NULL), *ranges = NULL;
        struct sbx_err err = SBX_ERR_INIT;
        struct sbx_policy *p = NULL;

        assert_non_null(rules);
        if (rows[i].ranges)
            ranges = json_loads(rows[i].ranges, 0, NULL);
        assert_int_equal(sbx_policy_from_json(rules, ranges, &p, &err), SBX_SCHEMA);
        assert_null(p);
        if (!strstr(err.text, rows[i].want))
            fail_msg("row %zu: %s", i, err.text);
    }
}

static void a_list_too_long_is_refused(void **state)
{
    SBX_AUTO_JSON json_t *rules = json_array();
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_policy *p = NULL;

    (void)state;
    for (int i = 0; i <= SBX_RULES_MAX; i++)
        json_array_append_new(rules, json_integer(i));
    assert_int_equal(sbx_policy_from_json(rules, NULL, &p, &err), SBX_LIMIT);
    assert_non_null(strstr(err.text, "network rules; at most"));
}

static void words_are_those_of_the_files(void **state)
{
    (void)state;
    assert_string_equal(sbx_decision_name(SBX_ALLOW), "allow");
    assert_string_equal(sbx_decision_name(SBX_DENY), "deny");
    assert_string_equal(sbx_rule_source_name(SBX_RULE_PRESET), "preset");
    assert_string_equal(sbx_rule_source_name(SBX_RULE_USER), "user");
    assert_string_equal(sbx_rule_source_name(SBX_RULE_KIT), "kit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_go_through_json_unchanged),
        cmocka_unit_test(wrong_rules_are_refused_by_name),
        cmocka_unit_test(a_list_too_long_is_refused),
        cmocka_unit_test(words_are_those_of_the_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
