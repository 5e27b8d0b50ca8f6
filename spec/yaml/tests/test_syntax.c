/* Texts that are not YAML: where, in the parser's words, and what to write instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/yaml.h"

static const struct {
    const char *text;
    unsigned line, column;
    const char *problem, *hint; /* parts of them */
} rows[] = {
    { "setup:\n\tinstall: []\n", 2, 1, "cannot start any token", "indent with spaces" },
    { "a:\n  b:\n\t- c\n", 3, 1, "cannot start any token", "indent with spaces" },
    { "a: |\n\tb\n", 2, 1, "tab character", "indent with spaces" },
    { "a: b: c\n", 1, 5, "mapping values are not allowed", "\": \" may not stand in a plain one" },
    { "- a: b: c\n", 1, 7, "mapping values are not allowed", "quotes" },
    { "a: b\n  c: d\n", 2, 4, "mapping values are not allowed", "indent this line like the keys around it" },
    { "a: x\n b: y\n", 2, 3, "mapping values are not allowed", "indent this line" },
    { "a:\n  b: x\n c: y\n", 3, 2, "did not find expected key", "indent this line like the keys" },
    { "a:\n  - b\n - c\n", 3, 2, "did not find expected key", "indent the items of a list alike" },
    { "a: b\n- c\n", 2, 1, "did not find expected key", "below their key" },
    { "a: \"b\" c\n", 1, 8, "did not find expected key", "the whole value in quotes" },
    { "a: 'it's'\n", 1, 8, "did not find expected key", "the whole value in quotes" },
    { "a: {b: c}}\n", 1, 10, "did not find expected key", "remove what stands behind it" },
    { "a: @b\n", 1, 4, "cannot start any token", "no plain one begins with this character" },
    { "a: `b`\n", 1, 4, "cannot start any token", "in quotes" },
    { "a: %b\n", 1, 4, "cannot start any token", "in quotes" },
    { "a:\n  - *.example.com\n", 2, 6, "while scanning an alias", "\"*\" at its start means an alias" },
    { "a: & b\n", 1, 5, "while scanning an anchor", "\"&\" at its start means an anchor" },
    { "a: !b!c d\n", 1, 4, "undefined tag handle", "\"!\" at its start means a tag" },
    { "a: - b\n", 1, 4, "block sequence entries", "begin the list on the next line" },
    { "a: \"b\nc: d\n", 3, 1, "unexpected end of stream", "close the quotes" },
    { "a: \"\\d\"\n", 1, 5, "unknown escape", "write \\\\ for a backslash" },
    { "a: [b\n", 2, 1, "expected ',' or ']'", "close the list" },
    { "a: {b: c\n", 2, 1, "expected ',' or '}'", "close the mapping" },
    { "a: [${{ kit.args.v }}]\n", 1, 6, "expected ',' or ']'", "write \"${{ ... }}\" in quotes" },
    { "a: [b,,c]\n", 1, 7, "expected node content", "remove one of the commas" },
    { "a: {b:}\n", 1, 6, "unexpected ':'", "a space behind the colon" },
    { "a:b\nc: d\n", 2, 2, "mapping values are not allowed", "the line before it" },
    { "z: y\na:b\nc: d\n", 3, 1, "could not find expected ':'", "with a space behind the colon" },
    { "a: >b\n  c\n", 1, 5, "comment or line break", "begin the text on the next line" },
    { "a: b\x07\n", 1, 5, "control characters are not allowed", "escape in double quotes" },
    { "a: \xff\n", 1, 4, "UTF-8", "save the file as UTF-8" },
    { "%YAML 1.2\n---\na: b\n", 1, 1, "only version 1.1 is read", "drop the %YAML line" },
};

static void a_slip_is_told_with_what_to_write_instead(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO(sbx_diags) diags = { 0 };
        SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
        const struct sbx_yaml_node *root = NULL;
        const struct sbx_diag *d;

        assert_int_equal(sbx_diags_init(&diags), SBX_OK);
        assert_int_equal(sbx_yaml_parse(arena, "f", rows[i].text, strlen(rows[i].text), &diags, &root),
                         SBX_SYNTAX);
        assert_int_equal(diags.len, 1);
        d = diags.v;
        if (d->pos.line != rows[i].line || d->pos.column != rows[i].column ||
            !strstr(d->message, rows[i].problem) || !d->hint || !strstr(d->hint, rows[i].hint))
            fail_msg("%s\nis told as %u:%u: %s; %s", rows[i].text, d->pos.line, d->pos.column, d->message,
                     d->hint ? d->hint : "(nothing)");
    }
}

/* The parser's own words stay: people search for them. */
static void the_line_where_it_began_is_named(void **state)
{
    static const char text[] = "a: \"b\nc: d\n";
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const struct sbx_yaml_node *root = NULL;

    (void)state;
    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    assert_int_equal(sbx_yaml_parse(arena, "f", text, strlen(text), &diags, &root), SBX_SYNTAX);
    assert_string_equal(diags.v[0].message, "found unexpected end of stream (while scanning a quoted scalar "
                                            "that starts on line 1)");
}

/* No byte positions there: nothing is guessed. */
static void utf_16_gets_no_hint(void **state)
{
    static const char text[] = "\xff\xfe" "a\0:\0 \0@\0\n";
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const struct sbx_yaml_node *root = NULL;

    (void)state;
    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    assert_int_equal(sbx_yaml_parse(arena, "f", text, sizeof(text), &diags, &root), SBX_SYNTAX);
    assert_null(diags.v[0].hint);
    assert_int_equal(diags.v[0].pos.line, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slip_is_told_with_what_to_write_instead),
        cmocka_unit_test(the_line_where_it_began_is_named),
        cmocka_unit_test(utf_16_gets_no_hint),
    };

    return cmocka_run_group_tests_name("yaml syntax", tests, NULL, NULL);
}
