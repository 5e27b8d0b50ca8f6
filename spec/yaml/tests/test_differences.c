/*
 * Where libyaml and the public reference's parser read one text differently. What we decided to follow is
 * asserted, and what libyaml forces is listed: a new version of it that changes a row fails here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/json.h"
#include "sbx/yaml.h"

enum reader { SAME, LIBYAML_ALONE_READS_IT, LIBYAML_ALONE_REFUSES_IT, READ_OTHERWISE };

static const struct {
    const char *text;
    enum reader who;
    const char *json;    /* what it is to us; NULL: refused */
    const char *problem; /* then a part of the message */
} rows[] = {
    /* followed: libyaml alone would read it */
    { "%YAML 1.2\n---\nk: v\n", SAME, NULL, "incompatible YAML document" },
    { "%YAML 1.1\n---\nk: v\n", SAME, "{\"k\":\"v\"}", NULL },
    /* forced by libyaml */
    { "k: \"\\/\"\n", LIBYAML_ALONE_READS_IT, "{\"k\":\"/\"}", NULL },
    { "k: \"\\'\"\n", LIBYAML_ALONE_REFUSES_IT, NULL, "unknown escape character" },
    { "k: [a?b]\n", LIBYAML_ALONE_READS_IT, "{\"k\":[\"a?b\"]}", NULL },
    { "{k: v?}\n", LIBYAML_ALONE_READS_IT, "{\"k\":\"v?\"}", NULL },
    { "k: [!!str, a]\n", LIBYAML_ALONE_READS_IT, "{\"k\":[\"\",\"a\"]}", NULL },
    { "k: !tag,x y\n", LIBYAML_ALONE_REFUSES_IT, NULL, "tag" },
    { "k: {a:}\n", LIBYAML_ALONE_REFUSES_IT, NULL, "unexpected ':'" },
    { "k: {a:,}\n", LIBYAML_ALONE_REFUSES_IT, NULL, "unexpected ':'" },
    { "a: x\n\xef\xbb\xbf# c\nb: y\n", READ_OTHERWISE, "{\"a\":\"x\",\"b\":\"y\"}", NULL }, /* the mark is skipped, */
    { "a: x\n\xef\xbb\xbf" "b: y\n", READ_OTHERWISE, NULL, "expected key" }, /* and counts as a column */
    /* beside them: read alike */
    { "\xef\xbb\xbfk: v\n", SAME, "{\"k\":\"v\"}", NULL },
    { "k: \"\\x07\"\n", SAME, "{\"k\":\"\\u0007\"}", NULL },
    { "k: {a: }\n", SAME, "{\"k\":{\"a\":null}}", NULL },
    { "k: {a:b}\n", SAME, "{\"k\":{\"a:b\":null}}", NULL },
    { "k: [a, b,]\n", SAME, "{\"k\":[\"a\",\"b\"]}", NULL },
    { "k: [a,,b]\n", SAME, NULL, "node content" },
    { "k: !!set {a, b}\n", SAME, "{\"k\":{\"a\":null,\"b\":null}}", NULL },
};

static void check(size_t i)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(1000);
    SBX_AUTO_JSON json_t *json = NULL;
    const struct sbx_yaml_node *root = NULL;
    enum sbx_code rc;

    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    rc = sbx_yaml_parse(arena, "f", rows[i].text, strlen(rows[i].text), &diags, &root);
    if (rows[i].json) {
        assert_int_equal(rc, SBX_OK);
        assert_int_equal(sbx_yaml_json(arena, root, &json, NULL), SBX_OK);
        assert_int_equal(sbx_json_canonical(json, &text), SBX_OK);
        assert_string_equal(text.ptr, rows[i].json);
        return;
    }
    assert_int_equal(rc, SBX_SYNTAX);
    assert_non_null(strstr(diags.v[0].message, rows[i].problem));
}

static void what_libyaml_reads_otherwise_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        print_message("%s", rows[i].text);
        check(i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_libyaml_reads_otherwise_is_known) };

    return cmocka_run_group_tests_name("yaml differences", tests, NULL, NULL);
}
