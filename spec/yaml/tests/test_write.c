/* Strings and keys as YAML: in the style that reads best, and read as they were. */
#include "doc.h"

static const struct {
    const char *text, *want;
} written[] = {
    { "", "\"\"" },
    { "text", "text" },
    { "a b", "a b" },
    { "it's", "it's" },
    { "a#b", "a#b" },
    { "h:80", "h:80" },
    { "-a", "-a" },
    { "Bearer %s", "Bearer %s" },
    { "true", "\"true\"" },
    { "No", "\"No\"" },
    { "y", "\"y\"" },
    { "~", "\"~\"" },
    { "1.20", "\"1.20\"" },
    { "0x1F", "\"0x1F\"" },
    { "1:30", "\"1:30\"" },
    { "1_000", "\"1_000\"" },
    { "2020-01-01", "\"2020-01-01\"" },
    { "<<", "\"<<\"" },
    { "0644", "\"0644\"" },
    { "${{ kit.args.v }}", "\"${{ kit.args.v }}\"" },
    { "%s", "'%s'" },
    { "a: b", "'a: b'" },
    { "a #b", "'a #b'" },
    { " a", "' a'" },
    { "a:", "'a:'" },
    { "- a", "'- a'" },
    { "-", "'-'" },
    { "?", "'?'" },
    { "*.x", "'*.x'" },
    { "[a]", "'[a]'" },
    { "'a'", "'''a'''" },
    { "---", "'---'" },
    { "@a", "'@a'" },
    { "`a", "'`a'" },
    { "a\tb", "\"a\\tb\"" },
    { "\x01\"\\", "\"\\x01\\\"\\\\\"" },
    { "café \U0001f600", "café \U0001f600" },
    { "\u2028", "\"\\u2028\"" },
    { "\ufeff", "\"\\uFEFF\"" },
    { "\xc2\x85", "\"\\x85\"" },
    { "a\nb\n", "|\n    a\n    b" },
    { "a\nb", "|-\n    a\n    b" },
    { "a\n\n", "|+\n    a\n" },
    { "a\n\nb\n", "|\n    a\n\n    b" },
    { "\n", "|2+\n" },
    { " a\nb\n", "|2\n     a\n    b" },
    { "a\n\tb\n", "|\n    a\n    \tb" },
    { "a \nb\n", "\"a \\nb\\n\"" },
    { "a\r\nb", "\"a\\r\\nb\"" },
};

static void strings_are_written_in_the_style_that_reads_best(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(written); i++) {
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1000);

        assert_int_equal(sbx_buf_adds(&out, "k:\n  - "), SBX_OK);
        assert_int_equal(sbx_yaml_write_text(&out, written[i].text, 4), SBX_OK);
        assert_string_equal(out.ptr + 7, written[i].want);
        assert_int_equal(sbx_buf_adds(&out, "\n  - end\n"), SBX_OK);
        DOC d = parse(out.ptr);
        assert_int_equal(d.rc, SBX_OK);
        assert_int_equal(value_of(&d)->items[0]->type, SBX_YAML_STR);
        assert_string_equal(value_of(&d)->items[0]->text, written[i].text);
        assert_string_equal(value_of(&d)->items[1]->text, "end");
    }
}

static void check_written(const char *text)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1000);

    assert_int_equal(sbx_buf_adds(&out, "k: "), SBX_OK);
    assert_int_equal(sbx_yaml_write_text(&out, text, 2), SBX_OK);
    assert_int_equal(sbx_buf_adds(&out, "\nl: end\n"), SBX_OK);
    DOC d = parse(out.ptr);
    if (d.rc || value_of(&d)->type != SBX_YAML_STR || strcmp(value_of(&d)->text, text) ||
        strcmp(sbx_yaml_get(d.root, "l")->text, "end"))
        fail_msg("\"%s\" was written as\n%s", text, out.ptr);
}

static void every_short_text_is_read_as_it_was_written(void **state)
{
    static const char signs[] = "a1 \n\t:-#'\"\\|>{[,]}&*!%@`?~=.<\x7f";
    const size_t n = sizeof(signs) - 1;

    (void)state;
    for (size_t i = 0; i < n * n * n; i++) {
        const char text[] = { signs[i % n], signs[i / n % n], signs[i / n / n], '\0' };

        check_written(text);
        check_written(text + 1);
        check_written(text + 2);
    }
}

static void keys_stand_in_an_order_for_people(void **state)
{
    static const char *const sorted[] = { "",  "_x",  "2",  "10",  "A",   "A2", "A10",  "B",   "Z",
                                          "a", "a_b", "a1", "a1b", "a1_", "a2", "a10", "ab" };

    (void)state;
    for (size_t i = 0; i + 1 < SBX_ARRAY_LEN(sorted); i++) {
        if (sbx_yaml_key_order(sorted[i], sorted[i + 1]) >= 0 ||
            sbx_yaml_key_order(sorted[i + 1], sorted[i]) <= 0)
            fail_msg("\"%s\" and \"%s\"", sorted[i], sorted[i + 1]);
        assert_int_equal(sbx_yaml_key_order(sorted[i], sorted[i]), 0);
    }
}

static void long_keys_are_written_so_that_they_are_read(void **state)
{
    static const struct { char c; size_t len; } rows[] = { { 'k', 500 }, { 'k', 2000 }, { '\x19', 300 } };
    char key[2001];

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) { /* \x19 is written with four bytes */
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(10000);

        memset(key, rows[i].c, rows[i].len);
        key[rows[i].len] = 0;
        assert_int_equal(sbx_yaml_write_key(&out, key, 0), SBX_OK);
        assert_int_equal(sbx_buf_adds(&out, " v\n"), SBX_OK);
        DOC d = parse(out.ptr);
        assert_int_equal(d.rc, SBX_OK);
        assert_string_equal(sbx_yaml_get(d.root, key)->text, "v");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_written_in_the_style_that_reads_best),
        cmocka_unit_test(every_short_text_is_read_as_it_was_written),
        cmocka_unit_test(keys_stand_in_an_order_for_people),
        cmocka_unit_test(long_keys_are_written_so_that_they_are_read),
    };

    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
