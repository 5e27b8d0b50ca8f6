/* The first 48 of the 98 cases of arguments: one text through the scanner of references. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../args.h"

#define MALFORMED "!malformed"
#define UNTERMINATED "!unterminated"

static const struct {
    int number;
    const char *text, *want; /* NULL: unchanged; "?": left, and the name is unknown */
} scans[] = {
    { 1, "${{ kit.args.v }}", "1.20" },
    { 2, "${{kit.args.v}}", "1.20" },
    { 3, "${{\n\tkit.args.v\r\n}}", "1.20" },
    { 4, "${{\xc2\xa0kit.args.v\xe2\x80\x83}}", "1.20" },
    { 5, "${{\xef\xbb\xbfkit.args.v }}", NULL },
    { 6, "a${{ kit.args.v }}b${{ kit.args.v }}c", "a1.20b1.20c" },
    { 7, "${{ kit.args.v }}${{ kit.args.v }}", "1.201.20" },
    { 8, "$${{ kit.args.v }}", "${{ kit.args.v }}" },
    { 9, "$$${{ kit.args.v }}", "$${{ kit.args.v }}" },
    { 10, "$$$${{ kit.args.v }}", "$$${{ kit.args.v }}" },
    { 11, "$ ${{ kit.args.v }}", "$ 1.20" },
    { 12, "${{ kit.args.v }}$${{ kit.args.v }}", "1.20${{ kit.args.v }}" },
    { 13, "${{${{ kit.args.v }}", "${{1.20" },
    { 14, "${{ foo ${{ kit.args.v }} }}", "${{ foo 1.20 }}" },
    { 15, "${{ x }}${{ kit.args.v }}", "${{ x }}1.20" },
    { 16, "${{ github.sha }}", NULL },
    { 17, "$${{ github.sha }}", "${{ github.sha }}" },
    { 18, "${{ kit.args }}", NULL },
    { 19, "${{ kit.arg.v }}", NULL },
    { 20, "${{ Kit.args.v }}", NULL },
    { 21, "${{ kit . args . v }}", NULL },
    { 22, "${{ kit.env.v }}", NULL },
    { 23, "${{ kit.args. }}", MALFORMED },
    { 24, "${{ kit.args. v }}", MALFORMED },
    { 25, "${{ kit.args.v.x }}", MALFORMED },
    { 26, "${{ kit.args.1v }}", MALFORMED },
    { 27, "${{ kit.args.-v }}", MALFORMED },
    { 28, "${{ kit.args.a-b }}", "H" },
    { 29, "${{ kit.args._u }}", "U" },
    { 30, "${{ kit.args.caf\xc3\xa9 }}", MALFORMED },
    { 31, "${{ kit.args.v | upper }}", MALFORMED },
    { 32, "${{ kit.args.v", UNTERMINATED },
    { 33, "${{ kit.args.v } }", UNTERMINATED },
    { 34, "${{ kit.args.a ${{ kit.args.v }}", MALFORMED },
    { 35, "${{", NULL },
    { 36, "$${{", "${{" },
    { 37, "$${{ kit.args.", "${{ kit.args." },
    { 38, "${{{ kit.args.v }}}", NULL },
    { 39, "${{ kit.args.v }}}", "1.20}" },
    { 40, "${ { kit.args.v }}", NULL },
    { 41, "{{ kit.args.v }}", NULL },
    { 42, "\\${{ kit.args.v }}", "\\1.20" },
    { 43, "${{ kit.args.V }}", "?V" },
    { 44, "${{ kit.args.nope }}", "?nope" },
    { 45, "${{ kit.args.e }}", "" },
    { 46, "${{ kit.args.d }}${{ kit.args.v }}", "x$1.20" },
    { 47, "${{ kit.args.d }}{{ x", "x${{ x" },
    { 48, "${{ kit.args.r }}", "${{ kit.args.v }}" },
    /* and what the neighbours of these do */
    { 100, "", NULL },
    { 101, "$", NULL },
    { 102, "${{\xe2\x80\x8bkit.args.v}}", NULL }, /* zero-width space is none */
    { 103, "${{\xe3\x80\x80kit.args.v\xc2\x85}}", "1.20" },
    { 104, "${{ kit.args.v }}\xff", "1.20\xff" },
    { 105, "${{ kit.args.v", UNTERMINATED },
    { 106, "$${{$${{", "${{${{" },
};

static char unknown[64];

static const char *find_value(void *data, const char *name, size_t len)
{
    static const char *const values[][2] = {
        { "v", "1.20" }, { "e", "" },    { "d", "x$" }, { "r", "${{ kit.args.v }}" },
        { "a-b", "H" },  { "_u", "U" },
    };

    (void)data;
    for (size_t i = 0; i < SBX_ARRAY_LEN(values); i++)
        if (strlen(values[i][0]) == len && !memcmp(values[i][0], name, len))
            return values[i][1];
    snprintf(unknown, sizeof(unknown), "%.*s", (int)len, name);
    return NULL;
}

static void check_scan(size_t i)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1000);
    struct sbx_err err = SBX_ERR_INIT;
    const char *want = scans[i].want;
    bool changed = false;
    enum sbx_code rc;

    unknown[0] = '\0';
    rc = sbx_args_expand(scans[i].text, strlen(scans[i].text), find_value, NULL, &out, &changed,
                         &err);
    if (want && *want == '!') {
        assert_int_equal(rc, SBX_SYNTAX);
        assert_non_null(strstr(err.text, want + 1));
        return;
    }
    assert_int_equal(rc, SBX_OK);
    if (!want || *want == '?') {
        assert_false(changed);
        assert_string_equal(out.ptr ? out.ptr : "", scans[i].text);
        assert_string_equal(unknown, want ? want + 1 : "");
        return;
    }
    assert_true(changed);
    assert_string_equal(out.ptr ? out.ptr : "", want);
}

static void references_are_found_replaced_and_refused(void **state)
{
    bool seen[49] = { false };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(scans); i++) {
        print_message("case %d\n", scans[i].number);
        check_scan(i);
        if (scans[i].number < 49)
            seen[scans[i].number] = true;
    }
    for (int i = 1; i < 49; i++)
        assert_true(seen[i]);
}

static void a_long_bad_reference_is_cut_between_characters(void **state)
{
    char text[300] = "${{ kit.args.";
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1000);
    struct sbx_err err = SBX_ERR_INIT;
    bool changed = false;

    (void)state;
    for (int i = 0; i < 60; i++)
        strcat(text, "\xc3\xa9");
    strcat(text, " }}");
    assert_int_equal(sbx_args_expand(text, strlen(text), find_value, NULL, &out, &changed, &err),
                     SBX_SYNTAX);
    assert_non_null(strstr(err.text, "\xc3\xa9\xe2\x80\xa6\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_are_found_replaced_and_refused),
        cmocka_unit_test(a_long_bad_reference_is_cut_between_characters),
    };

    return cmocka_run_group_tests_name("kit args: references", tests, NULL, NULL);
}
