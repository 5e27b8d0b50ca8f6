/* The shape of a SARIF log, and carets below source lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "sbx/diag.h"
#include "sbx/json.h"

static const char *text_at(const json_t *j, const char *path)
{
    char key[40];

    for (size_t len; *path; path += len + (path[len] == '.')) {
        len = strcspn(path, ".");
        snprintf(key, sizeof(key), "%.*s", (int)len, path);
        j = json_is_array(j) ? json_array_get(j, (size_t)atoi(key)) : json_object_get(j, key);
        assert_non_null(j);
        if (!path[len])
            break;
    }
    return json_string_value(j);
}

static json_int_t number_at(json_t *j, const char *result, const char *key)
{
    json_t *v = NULL, *region;

    assert_int_equal(json_unpack(j, "{s:[{s:o}]}", "runs", "results", &v), 0);
    v = json_array_get(v, (size_t)atoi(result));
    assert_int_equal(json_unpack(v, "{s:[{s:{s:o}}]}", "locations", "physicalLocation", "region",
                                 &region),
                     0);
    return json_integer_value(json_object_get(region, key));
}

static void a_log_has_the_shape_of_sarif_2_1_0(void **state)
{
    struct sbx_pos at = { .file = "a b/spec.yaml", .line = 3, .column = 7 }, whole = { .file = "/k/x" };
    SBX_AUTO(sbx_diags) d = { 0 };
    SBX_AUTO_JSON json_t *log = NULL;

    (void)state;
    assert_int_equal(sbx_diags_init(&d), SBX_OK);
    sbx_diags_add(&d, SBX_ERROR, "wrong-type", at, "ports[0]", "remove the quotes", "want a number");
    sbx_diags_add(&d, SBX_WARNING, "wrong-type", whole, "", NULL, "bytes \xff");
    sbx_diags_add(&d, SBX_NOTE, "other-code", (struct sbx_pos){ 0 }, "", NULL, "no place");
    log = sbx_diags_sarif(&d, "1.2");
    assert_string_equal(text_at(log, "version"), "2.1.0");
    assert_non_null(strstr(text_at(log, "$schema"), "sarif-2.1.0"));
    assert_string_equal(text_at(log, "runs.0.tool.driver.name"), "sbx");
    assert_string_equal(text_at(log, "runs.0.tool.driver.version"), "1.2");
    assert_string_equal(text_at(log, "runs.0.tool.driver.rules.0.id"), "wrong-type");
    assert_string_equal(text_at(log, "runs.0.tool.driver.rules.1.id"), "other-code");
    assert_string_equal(text_at(log, "runs.0.results.0.ruleId"), "wrong-type");
    assert_string_equal(text_at(log, "runs.0.results.0.level"), "error");
    assert_string_equal(text_at(log, "runs.0.results.0.message.text"),
                        "ports[0]: want a number; remove the quotes");
    assert_string_equal(
        text_at(log, "runs.0.results.0.locations.0.physicalLocation.artifactLocation.uri"),
        "a%20b/spec.yaml");
    assert_int_equal(number_at(log, "0", "startLine"), 3);
    assert_string_equal(text_at(log, "runs.0.columnKind"), "utf16CodeUnits");
    assert_string_equal(text_at(log, "runs.0.results.1.level"), "warning");
    assert_string_equal(text_at(log, "runs.0.results.1.message.text"), "bytes \\xff");
    assert_string_equal(
        text_at(log, "runs.0.results.1.locations.0.physicalLocation.artifactLocation.uri"),
        "file:///k/x");
    assert_string_equal(text_at(log, "runs.0.results.2.level"), "note");
}

static const struct {
    const char *line;
    unsigned column; /* in bytes */
    size_t span;
    int start, end; /* wanted; 0: none is given */
} columns[] = {
    { "name: a", 7, 1, 7, 8 },
    { "\xc3\xa9: a", 5, 1, 4, 5 },                        /* e acute: 2 bytes, 1 unit */
    { "\xf0\x9f\x98\x80: \xf0\x9f\x98\x80", 7, 4, 5, 7 }, /* an emoji: 4 bytes, 2 units */
    { "\xff: a", 4, 1, 4, 5 },                            /* no character, shown as one */
    { "a: >", 4, 100, 4, 0 },                             /* goes on in the next lines */
    { "a", 1, 0, 1, 0 },
    { "ab", 3, 0, 3, 0 }, /* behind the last */
    { "ab", 9, 0, 0, 0 }, /* the file is another one by now */
};

static void columns_are_utf_16_code_units(void **state)
{
    char path[] = SBX_TEST_TMP "/sarif-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < SBX_ARRAY_LEN(columns); i++) {
        struct sbx_pos at = { path, 2, columns[i].column, 10, 10 + columns[i].span };
        SBX_AUTO(sbx_diags) d = { 0 };
        SBX_AUTO_JSON json_t *log = NULL;
        FILE *f = fopen(path, "w");

        fprintf(f, "first\n%s\nlast", columns[i].line);
        fclose(f);
        assert_int_equal(sbx_diags_init(&d), SBX_OK);
        sbx_diags_add(&d, SBX_ERROR, "x", at, "", NULL, "m");
        log = sbx_diags_sarif(&d, "0");
        assert_int_equal(number_at(log, "0", "startLine"), 2);
        assert_int_equal(number_at(log, "0", "startColumn"), columns[i].start);
        assert_int_equal(number_at(log, "0", "endColumn"), columns[i].end);
    }
    unlink(path);
}

/* Each file is read for its own findings. */
static void a_file_that_cannot_be_read_has_lines_only(void **state)
{
    struct sbx_pos at = { .file = "<stdin>", .line = 3, .column = 7, .from = 1, .to = 2 };
    SBX_AUTO(sbx_diags) d = { 0 };
    SBX_AUTO_JSON json_t *log = NULL;

    (void)state;
    assert_int_equal(sbx_diags_init(&d), SBX_OK);
    sbx_diags_add(&d, SBX_ERROR, "x", (struct sbx_pos){ "/etc/passwd", 1, 2, 1, 3 }, "", NULL, "m");
    sbx_diags_add(&d, SBX_ERROR, "x", at, "", NULL, "m");
    sbx_diags_add(&d, SBX_ERROR, "x", (struct sbx_pos){ "<stdin>", 4, 1, 0, 0 }, "", NULL, "m");
    log = sbx_diags_sarif(&d, "0");
    assert_int_equal(number_at(log, "0", "startColumn"), 2);
    assert_int_equal(number_at(log, "0", "endColumn"), 4);
    assert_int_equal(number_at(log, "1", "startLine"), 3);
    assert_int_equal(number_at(log, "1", "startColumn"), 0);
    assert_int_equal(number_at(log, "2", "startLine"), 4);
    assert_int_equal(number_at(log, "2", "startColumn"), 1);
}

static const struct {
    const char *line;
    unsigned column;
    size_t span;
    const char *want;
} carets[] = {
    { "name: [a", 7, 2, "    2 | name: [a\n      |       ^~" },
    { "k: \xc3\xa9 x", 7, 1, "    2 | k: \xc3\xa9 x\n      |      ^" },
    { "a", 1, 500, "    2 | a\n      | ^" },
    { "\tx: \x1b[31m", 2, 1, "    2 | \\tx: \\x1b[31m\n      |   ^" },
    { "", 1, 0, "    2 | \n      | ^" },
    { "end", 9, 3, "    2 | end\n      |    ^" },
};

static void a_caret_stands_below_the_place(void **state)
{
    char path[] = SBX_TEST_TMP "/caret-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < SBX_ARRAY_LEN(carets); i++) {
        struct sbx_diag d = { .pos = { path, 2, carets[i].column, 10, 10 + carets[i].span } };
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(10000);
        FILE *f = fopen(path, "w");

        fprintf(f, "first\n%s\r\nlast", carets[i].line);
        fclose(f);
        assert_int_equal(sbx_diag_excerpt(&d, &out), SBX_OK);
        assert_non_null(out.ptr);
        assert_string_equal(out.ptr, carets[i].want);
    }
    unlink(path);
}

static void without_a_line_to_show_there_is_nothing(void **state)
{
    struct sbx_diag none[] = {
        { .pos = { .file = "/nonexistent/x", .line = 1, .column = 1 } },
        { .pos = { .file = "/etc/passwd", .line = 1000000, .column = 1 } },
        { .pos = { .file = NULL } },
        { .pos = { .file = "/etc/passwd" } },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(none); i++) {
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(100);

        assert_int_equal(sbx_diag_excerpt(&none[i], &out), SBX_OK);
        assert_int_equal(out.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_has_the_shape_of_sarif_2_1_0),
        cmocka_unit_test(columns_are_utf_16_code_units),
        cmocka_unit_test(a_file_that_cannot_be_read_has_lines_only),
        cmocka_unit_test(a_caret_stands_below_the_place),
        cmocka_unit_test(without_a_line_to_show_there_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
