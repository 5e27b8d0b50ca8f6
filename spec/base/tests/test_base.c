#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "sbx/arena.h"
#include "sbx/buf.h"
#include "sbx/diag.h"
#include "sbx/text.h"

static void a_buffer_grows_to_its_bound_and_no_further(void **state)
{
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(1000);

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(sbx_buf_adds(&b, "0123456789"), SBX_OK);
    assert_int_equal(b.len, 1000);
    assert_int_equal(sbx_buf_add(&b, "", 0), SBX_OK);
    assert_int_equal(sbx_buf_adds(&b, "x"), SBX_LIMIT);
    assert_int_equal(sbx_buf_addf(&b, "%d", 5), SBX_LIMIT);
    assert_null(sbx_buf_room(&b, SIZE_MAX));
    assert_int_equal(b.len, 1000);
    assert_int_equal(strlen(b.ptr), 1000);
    sbx_buf_drop(&b, 995);
    assert_string_equal(b.ptr, "56789");
    sbx_buf_clear(&b);
    assert_string_equal(b.ptr, "");
}

static void a_buffer_gives_its_bytes_away(void **state)
{
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(SIZE_MAX);
    SBX_AUTO_FREE char *none = sbx_buf_take(&b);
    SBX_AUTO_FREE char *text = NULL;

    (void)state;
    assert_string_equal(none, "");
    assert_int_equal(sbx_buf_addf(&b, "%s-%d", "a", 7), SBX_OK);
    text = sbx_buf_take(&b);
    assert_string_equal(text, "a-7");
    assert_null(b.ptr);
    assert_null(sbx_buf_room(&b, SIZE_MAX - 1));
}

static void count_release(void *p)
{
    ++*(int *)p;
}

static void an_arena_frees_what_it_gave_and_what_was_deferred(void **state)
{
    struct sbx_arena *a = sbx_arena_new();
    int released = 0;

    (void)state;
    for (size_t i = 0; i < 300; i++) {
        char *p = sbx_arena_alloc(a, i * 7);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < i * 7; k++)
            assert_int_equal(p[k], 0);
        memset(p, 0xff, i * 7);
    }
    assert_null(sbx_arena_array(a, SIZE_MAX / 2, 3));
    assert_null(sbx_arena_alloc(a, SIZE_MAX));
    assert_string_equal(sbx_arena_printf(a, "%s=%d", "x", 3), "x=3");
    assert_null(sbx_arena_strdup(a, NULL));
    assert_memory_equal(sbx_arena_memdup(a, "a\0b", 3), "a\0b", 4);
    assert_int_equal(sbx_arena_defer(a, count_release, &released), 0);
    assert_int_equal(sbx_arena_defer(a, count_release, &released), 0);
    sbx_arena_free(a);
    assert_int_equal(released, 2);
}

static void an_error_reads_from_the_outside_in(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;
    char long_text[3 * SBX_ERR_TEXT_MAX];

    (void)state;
    errno = ENOENT;
    assert_int_equal(sbx_err_errno(&err, "open %s", "x"), SBX_NOT_FOUND);
    assert_int_equal(sbx_err_wrap(&err, SBX_SCHEMA, "kit %s", "k"), SBX_SCHEMA);
    assert_string_equal(err.text, "kit k: open x: No such file or directory");
    assert_int_equal(err.code, SBX_SCHEMA);
    assert_int_equal(sbx_err_set(NULL, SBX_BUSY, "ignored"), SBX_BUSY);

    memset(long_text, 'a', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    assert_int_equal(sbx_err_set(&err, SBX_FAILED, "%s", long_text), SBX_FAILED);
    assert_int_equal(strlen(err.text), SBX_ERR_TEXT_MAX - 1);
    assert_string_equal(err.text + SBX_ERR_TEXT_MAX - 4, "...");
    assert_int_equal(sbx_err_wrap(&err, SBX_FAILED, "outer"), SBX_FAILED);
    assert_int_equal(strlen(err.text), SBX_ERR_TEXT_MAX - 1);
}

static void system_errors_become_codes(void **state)
{
    static const struct { int number; enum sbx_code want; } rows[] = {
        { ENOENT, SBX_NOT_FOUND }, { EEXIST, SBX_EXISTS }, { ENOMEM, SBX_NO_MEMORY }, { EACCES, SBX_IO },
    };
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char want[200];

        snprintf(want, sizeof(want), "make x: %s", strerror(rows[i].number));
        errno = rows[i].number;
        assert_int_equal(sbx_err_errno(&err, "make %s", "x"), rows[i].want);
        assert_int_equal(err.code, rows[i].want);
        assert_string_equal(err.text, want);
    }
}

static void every_code_has_a_name_and_a_status(void **state)
{
    (void)state;
    for (int c = SBX_OK; c <= SBX_CANCELED; c++) {
        assert_non_null(sbx_code_name((enum sbx_code)c));
        assert_true(sbx_code_exit((enum sbx_code)c) || c == SBX_OK);
    }
    assert_string_equal(sbx_code_name((enum sbx_code)999), "failed");
    assert_int_equal(sbx_code_exit(SBX_CONSENT), 3);
    assert_int_equal(sbx_code_exit(SBX_DENIED), 4);
    assert_int_equal(sbx_code_exit(SBX_USAGE), 2);
}

static void text_for_a_terminal_does_nothing_but_show(void **state)
{
    static const struct {
        const char *in, *escaped, *repaired;
    } rows[] = {
        { "plain", "plain", "plain" },
        { "na\xc3\xafve \xf0\x9f\x98\x80", "na\xc3\xafve \xf0\x9f\x98\x80",
          "na\xc3\xafve \xf0\x9f\x98\x80" },
        { "a\x1b[31mb", "a\\x1b[31mb", "a\x1b[31mb" },
        { "l1\nl2\r\t\x7f", "l1\\nl2\\r\\t\\x7f", "l1\nl2\r\t\x7f" },
        { "\xc2\x9b[2J", "\\u009b[2J", "\xc2\x9b[2J" },     /* C1: CSI in one character */
        { "\xe2\x80\xaegpj", "\\u202egpj", "\xe2\x80\xaegpj" }, /* right-to-left override */
        { "\xff\xfe", "\\xff\\xfe", "\\xff\\xfe" },
        { "\xc0\x80", "\\xc0\\x80", "\\xc0\\x80" },         /* overlong NUL */
        { "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80" }, /* surrogate */
        { "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80" },
        { "\xe2\x82", "\\xe2\\x82", "\\xe2\\x82" },         /* cut short */
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(200);

        assert_int_equal(sbx_text_escape(&out, rows[i].in, strlen(rows[i].in)), SBX_OK);
        assert_string_equal(out.ptr, rows[i].escaped);
        sbx_buf_clear(&out);
        assert_int_equal(sbx_text_repair(&out, rows[i].in, strlen(rows[i].in)), SBX_OK);
        assert_string_equal(out.ptr, rows[i].repaired);
        assert_true(sbx_utf8_valid(out.ptr, out.len));
    }
}

static void findings_are_printed_and_sorted(void **state)
{
    SBX_AUTO(sbx_diags) d;
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1000);

    (void)state;
    assert_int_equal(sbx_diags_init(&d), SBX_OK);
    sbx_diags_add(&d, SBX_ERROR, "b", (struct sbx_pos){ "s.yaml", 9, 2, 0, 0 }, "a.b", "write c",
                  "unknown field \"%s\"", "b");
    sbx_diags_add(&d, SBX_WARNING, "a", (struct sbx_pos){ "s.yaml", 3, 1, 0, 0 }, NULL, NULL, "old");
    sbx_diags_add(&d, SBX_ERROR, "c", (struct sbx_pos){ 0 }, "", NULL, "no place");
    sbx_diags_sort(&d);
    assert_int_equal(d.errors, 2);
    assert_int_equal(sbx_diag_text(&d.v[1], &out), SBX_OK);
    assert_string_equal(out.ptr, "s.yaml:9:2: a.b: unknown field \"b\"; write c");
    sbx_buf_clear(&out);
    assert_int_equal(sbx_diag_text(&d.v[0], &out), SBX_OK);
    assert_string_equal(out.ptr, "s.yaml:3:1: warning: old");
    sbx_buf_clear(&out);
    assert_int_equal(sbx_diag_text(&d.v[2], &out), SBX_OK);
    assert_string_equal(out.ptr, "no place");
}

static void findings_with_hostile_bytes_stay_json_and_safe(void **state)
{
    SBX_AUTO(sbx_diags) d;
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1000);
    json_t *list, *row;

    (void)state;
    assert_int_equal(sbx_diags_init(&d), SBX_OK);
    sbx_diags_add(&d, SBX_ERROR, "x", (struct sbx_pos){ "\xff/\x1b]0;t\x07", 1, 1, 0, 0 },
                  "a\xfe", "\xfd", "bad %s", "\xc3\x28\n");
    list = sbx_diags_json(&d);
    assert_non_null(list);
    row = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(row, "file")), "\\xff/\x1b]0;t\x07");
    assert_string_equal(json_string_value(json_object_get(row, "message")), "bad \\xc3(\n");
    assert_string_equal(json_string_value(json_object_get(row, "hint")), "\\xfd");
    json_decref(list);
    assert_int_equal(sbx_diag_text(&d.v[0], &out), SBX_OK);
    assert_string_equal(out.ptr, "\\xff/\\x1b]0;t\\x07:1:1: a\\xfe: bad \\xc3(\\n; \\xfd");
}

static void findings_of_one_sort_can_be_dropped(void **state)
{
    SBX_AUTO(sbx_diags) d;

    (void)state;
    assert_int_equal(sbx_diags_init(&d), SBX_OK);
    for (unsigned i = 0; i < 6; i++)
        sbx_diags_add(&d, i % 2 ? SBX_ERROR : SBX_WARNING, i % 3 ? "x" : "y", (struct sbx_pos){ 0 },
                      "", NULL, "%u", i);
    sbx_diags_drop(&d, SBX_ERROR, "x");
    assert_int_equal(d.len, 4);
    assert_int_equal(d.errors, 1);
    assert_string_equal(d.v[0].message, "0");
    assert_string_equal(d.v[3].message, "4");
}

static void findings_past_the_bound_are_counted(void **state)
{
    SBX_AUTO(sbx_diags) d;

    (void)state;
    assert_int_equal(sbx_diags_init(&d), SBX_OK);
    for (unsigned i = 0; i < SBX_DIAGS_MAX + 5; i++)
        sbx_diags_add(&d, SBX_ERROR, "x", (struct sbx_pos){ "f", i + 1, 1, 0, 0 }, "", NULL, "m");
    assert_int_equal(d.len, SBX_DIAGS_MAX);
    assert_int_equal(d.errors, SBX_DIAGS_MAX + 5);
    assert_int_equal(d.dropped, 5);
    assert_ptr_equal(d.v[0].pos.file, d.v[1].pos.file);
}

static void lists_of_findings_can_be_joined(void **state)
{
    SBX_AUTO(sbx_diags) one, all;

    (void)state;
    assert_int_equal(sbx_diags_init(&one), SBX_OK);
    assert_int_equal(sbx_diags_init(&all), SBX_OK);
    for (unsigned i = 0; i < SBX_DIAGS_MAX + 5; i++)
        sbx_diags_add(&one, i ? SBX_ERROR : SBX_NOTE, "x", (struct sbx_pos){ "f", i + 1, 1, 0, 0 }, "p", "h", "m");
    all.max = 2 * SBX_DIAGS_MAX;
    sbx_diags_append(&all, &one);
    sbx_diags_append(&all, &one);
    assert_int_equal(all.len, 2 * SBX_DIAGS_MAX);
    assert_int_equal(all.errors, 2 * one.errors);
    assert_int_equal(all.dropped, 10);
    assert_int_equal(all.v[SBX_DIAGS_MAX].severity, SBX_NOTE);
    assert_string_equal(all.v[SBX_DIAGS_MAX + 1].hint, "h");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_grows_to_its_bound_and_no_further),
        cmocka_unit_test(a_buffer_gives_its_bytes_away),
        cmocka_unit_test(an_arena_frees_what_it_gave_and_what_was_deferred),
        cmocka_unit_test(an_error_reads_from_the_outside_in),
        cmocka_unit_test(system_errors_become_codes),
        cmocka_unit_test(every_code_has_a_name_and_a_status),
        cmocka_unit_test(text_for_a_terminal_does_nothing_but_show),
        cmocka_unit_test(findings_are_printed_and_sorted),
        cmocka_unit_test(findings_with_hostile_bytes_stay_json_and_safe),
        cmocka_unit_test(findings_of_one_sort_can_be_dropped),
        cmocka_unit_test(findings_past_the_bound_are_counted),
        cmocka_unit_test(lists_of_findings_can_be_joined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
