/* What scalars stand for, and values as JSON. */
#include "doc.h"

static void plain_scalars_resolve_as_the_reference_does(void **state)
{
    static const struct { const char *text; enum sbx_yaml_type type; } rows[] = {
        { "", SBX_YAML_NULL }, { "~", SBX_YAML_NULL }, { "NULL", SBX_YAML_NULL },
        { "nULL", SBX_YAML_STR }, { "! ~", SBX_YAML_NULL }, { "'null'", SBX_YAML_STR },
        { "true", SBX_YAML_BOOL }, { "FALSE", SBX_YAML_BOOL }, { "tRue", SBX_YAML_STR },
        { "yes", SBX_YAML_STR }, { "5", SBX_YAML_INT }, { "+5", SBX_YAML_INT },
        { "0x1F", SBX_YAML_INT }, { "0b11", SBX_YAML_INT }, { "0o17", SBX_YAML_INT },
        { "017", SBX_YAML_INT }, { "1_000", SBX_YAML_INT }, { "1__0", SBX_YAML_INT },
        { "1_", SBX_YAML_INT }, { "_1", SBX_YAML_STR }, { "08", SBX_YAML_FLOAT },
        { "1.5", SBX_YAML_FLOAT }, { ".5", SBX_YAML_FLOAT }, { "5.", SBX_YAML_FLOAT },
        { ".", SBX_YAML_STR }, { "1e3", SBX_YAML_FLOAT }, { "1e", SBX_YAML_STR },
        { ".inf", SBX_YAML_FLOAT }, { "-.INF", SBX_YAML_FLOAT }, { ".nan", SBX_YAML_FLOAT },
        { "1:30", SBX_YAML_STR }, { "2020-01-01", SBX_YAML_TIMESTAMP },
        { "2020-1-1", SBX_YAML_TIMESTAMP }, { "20-01-01", SBX_YAML_STR },
        { "2020-01-01T10:00:00Z", SBX_YAML_TIMESTAMP }, { "2020-01-01 10:00:00", SBX_YAML_TIMESTAMP },
        { "2020-01-01T10:00", SBX_YAML_STR }, { "'5'", SBX_YAML_STR }, { "\"5\"", SBX_YAML_STR },
        { "!!str 5", SBX_YAML_STR }, { "!!int '5'", SBX_YAML_INT }, { "!!float 5", SBX_YAML_FLOAT },
        { "!custom 5", SBX_YAML_OTHER }, { "0x", SBX_YAML_STR }, { "-", SBX_YAML_SEQ },
        { "99999999999999999999", SBX_YAML_FLOAT }, { "|\n  5", SBX_YAML_STR },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[200];

        snprintf(text, sizeof(text), strcmp(rows[i].text, "-") ? "k: %s\n" : "k:\n%s\n", rows[i].text);
        DOC d = parse(text);
        assert_int_equal(d.rc, SBX_OK);
        if (value_of(&d)->type != rows[i].type)
            fail_msg("%s is %s", rows[i].text, sbx_yaml_type_name(value_of(&d)));
    }
}

static void integers_are_read_and_floats_are_cut(void **state)
{
    static const struct { const char *text; bool ok; int64_t value; bool cut; } rows[] = {
        { "5", true, 5, false }, { "-5", true, -5, false }, { "010", true, 8, false },
        { "0777", true, 511, false }, { "08", true, 8, true }, { "0x1F", true, 31, false },
        { "-0x1F", true, -31, false }, { "0b101", true, 5, false }, { "0o17", true, 15, false },
        { "1_000", true, 1000, false }, { "1.5", true, 1, true }, { "-1.9", true, -1, true },
        { "1e3", true, 1000, true }, { "8080.0", true, 8080, true },
        { "9223372036854775807", true, INT64_MAX, false },
        { "-9223372036854775808", true, INT64_MIN, false }, { "9223372036854775808", false, 0, false },
        { "1e30", false, 0, false }, { ".nan", false, 0, false }, { ".inf", false, 0, false },
        { "'5'", false, 0, false }, { "!!int '5'", true, 5, false }, { "true", false, 0, false },
        { "2020-01-01", false, 0, false }, { "", false, 0, false }, { "[1]", false, 0, false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[100];
        int64_t value = 0;
        bool cut, ok;

        snprintf(text, sizeof(text), "k: %s", rows[i].text);
        DOC d = parse(text);
        ok = sbx_yaml_int(value_of(&d), &value, &cut);
        if (ok != rows[i].ok || (ok && (value != rows[i].value || cut != rows[i].cut)))
            fail_msg("%s: %d %lld %d", rows[i].text, ok, (long long)value, cut);
    }
}

static void booleans_are_words_even_in_quotes(void **state)
{
    static const struct { const char *text; bool ok, value, word; } rows[] = {
        { "true", true, true, false }, { "False", true, false, false }, { "yes", true, true, true },
        { "\"yes\"", true, true, true }, { "'on'", true, true, true }, { "N", true, false, true },
        { "off", true, false, true }, { "\"true\"", false, false, false }, { "1", false, false, false },
        { "tRue", false, false, false }, { "yES", false, false, false }, { "{}", false, false, false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[100];
        bool value = false, word = false, ok;

        snprintf(text, sizeof(text), "k: %s", rows[i].text);
        DOC d = parse(text);
        ok = sbx_yaml_bool(value_of(&d), &value, &word);
        if (ok != rows[i].ok || (ok && (value != rows[i].value || word != rows[i].word)))
            fail_msg("%s: %d %d %d", rows[i].text, ok, value, word);
    }
}

static void floats_take_integers_too(void **state)
{
    double value;

    (void)state;
    DOC d = parse("a: 2\nb: 1_0.5\nc: '1'\nd: -.inf\ne: .nan\nf: true\n");
    assert_true(sbx_yaml_float(sbx_yaml_get(d.root, "a"), &value) && value == 2);
    assert_true(sbx_yaml_float(sbx_yaml_get(d.root, "b"), &value) && value == 10.5);
    assert_false(sbx_yaml_float(sbx_yaml_get(d.root, "c"), &value));
    assert_true(sbx_yaml_float(sbx_yaml_get(d.root, "d"), &value) && isinf(value) && value < 0);
    assert_true(sbx_yaml_float(sbx_yaml_get(d.root, "e"), &value) && isnan(value));
    assert_false(sbx_yaml_float(sbx_yaml_get(d.root, "f"), &value));
}

static void strings_keep_the_text_as_written(void **state)
{
    static const struct { const char *text, *want; } rows[] = {
        { "1.20", "1.20" }, { "0644", "0644" }, { "yes", "yes" }, { "2020-01-01", "2020-01-01" },
        { "~", "" }, { "!custom z", "z" }, { "!!binary aGk=", "hi" }, { "!!binary 'a G k ='", "hi" },
        { "!!binary aGk", NULL }, { "!!binary AAAA", NULL }, { "\"a\\0b\"", NULL }, { "[a]", NULL },
        { "\"a\\u00e9\"", "a\303\251" }, { ">-\n  a\n  b", "a b" }, { "|\n  a\n", "a\n" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[100];
        const char *got;

        snprintf(text, sizeof(text), "k: %s\n", rows[i].text);
        DOC d = parse(text);
        got = sbx_yaml_string(d.arena, value_of(&d));
        if (rows[i].want ? !got || strcmp(got, rows[i].want) : got != NULL)
            fail_msg("%s: %s", rows[i].text, got ? got : "(none)");
    }
}

static void values_become_json(void **state)
{
    static const struct { const char *text, *want; } rows[] = {
        { "[1, 010, 0x10, 1.5, 1e3]", "[1,8,16,1.5,1000.0]" },
        { "[yes, true, ~, '1']", "[\"yes\",true,null,\"1\"]" },
        { "{a: {b: [c]}}", "{\"a\":{\"b\":[\"c\"]}}" },
        { "2020-01-01", "\"2020-01-01T00:00:00Z\"" },
        { "2020-1-2T3:04:05.5+02:00", "\"2020-01-02T03:04:05.5+02:00\"" },
        { "{1: a}", NULL }, { "{~: a}", NULL }, { ".nan", NULL }, { "!!binary '!'", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        json_t *value = NULL;
        char text[100];

        snprintf(text, sizeof(text), "k: %s\n", rows[i].text);
        DOC d = parse(text);
        if (!rows[i].want) {
            assert_int_equal(sbx_yaml_json(d.arena, value_of(&d), &value, &err), SBX_SCHEMA);
            assert_int_equal(err.at.line, 1);
            continue;
        }
        assert_int_equal(sbx_yaml_json(d.arena, value_of(&d), &value, &err), SBX_OK);
        SBX_AUTO_FREE char *got = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        json_decref(value);
        assert_string_equal(got, rows[i].want);
    }
}

static void json_has_a_depth(void **state)
{
    char text[300] = "k: ";
    json_t *value = NULL;

    (void)state;
    memset(text + 3, '[', 70);
    memset(text + 73, ']', 70);
    DOC d = parse(text);
    assert_int_equal(d.rc, SBX_OK);
    assert_int_equal(sbx_yaml_json(d.arena, value_of(&d), &value, NULL), SBX_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_scalars_resolve_as_the_reference_does),
        cmocka_unit_test(integers_are_read_and_floats_are_cut),
        cmocka_unit_test(booleans_are_words_even_in_quotes),
        cmocka_unit_test(floats_take_integers_too),
        cmocka_unit_test(strings_keep_the_text_as_written),
        cmocka_unit_test(values_become_json),
        cmocka_unit_test(json_has_a_depth),
    };

    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
