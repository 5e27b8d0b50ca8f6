/* Summing up the decision log; options turned into what the engine takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "logview.h"
#include "session.h"

#define RECORD(time, host, port, decision, rule, reason, count)                                    \
    "{\"time\":\"2026-01-02T03:04:" time "Z\",\"sandbox\":\"demo\",\"door\":\"proxy\",\"proxy\":"  \
    "\"forward\",\"protocol\":\"connect\",\"host\":\"" host "\",\"port\":" port                    \
    ",\"decision\":\"" decision "\",\"rule\":" rule ",\"origin\":\"kit k\",\"reason\":\"" reason   \
    "\",\"count\":" count "}\n"

static struct sbx_log_view read_log(struct sbx_arena *arena, const char *text)
{
    struct sbx_log_view v = { .arena = arena };
    struct sbx_err err = SBX_ERR_INIT;
    FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

    assert_int_equal(sbx_log_view_add(&v, f, &err), SBX_OK);
    fclose(f);
    sbx_log_view_sort(&v);
    return v;
}

static void records_of_one_host_port_and_reason_are_one_row(void **state)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_log_view v = read_log(
        arena,
        RECORD("01", "a.example.com", "443", "allow", "\"kit:k:1\"", "rule", "1")
            RECORD("05", "a.example.com", "443", "allow", "\"kit:k:1\"", "rule", "1")
                RECORD("03", "a.example.com", "443", "allow", "\"kit:k:1\"", "rule", "1")
                    RECORD("04", "a.example.com", "80", "deny", "null", "default-deny", "40")
                        RECORD("02", "a.example.com", "443", "error", "\"kit:k:1\"", "connect", "1")
                            RECORD("06", "2001:db8::1", "22", "deny", "null", "default-deny", "1"));

    (void)state;
    assert_int_equal(v.n, 4);
    assert_int_equal(v.skipped, 0);
    assert_string_equal(v.rows[0].host, "[2001:db8::1]:22");
    assert_string_equal(v.rows[1].host, "a.example.com:443");
    assert_int_equal(v.rows[1].count, 3);
    assert_int_equal(v.rows[1].section, SBX_LOG_ALLOWED);
    assert_string_equal(v.rows[1].rule, "kit:k:1 (kit k)");
    assert_string_equal(v.rows[1].first, "2026-01-02T03:04:01Z");
    assert_string_equal(v.rows[1].last, "2026-01-02T03:04:05Z");
    assert_int_equal(v.rows[2].count, 40);
    assert_int_equal(v.rows[2].section, SBX_LOG_BLOCKED);
    assert_string_equal(v.rows[2].rule, "");
    assert_int_equal(v.rows[3].section, SBX_LOG_FAILED);
    sbx_log_view_release(&v);
}

static void a_line_cut_at_the_end_is_no_fault_and_rubbish_is_counted(void **state)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_log_view v = read_log(
        arena, "rubbish\n[1]\n{}\n" RECORD("01", "a", "1", "deny", "null", "x",
                                           "1") "{\"time\":\"2026-01-02T03");

    (void)state;
    assert_int_equal(v.skipped, 2);
    assert_int_equal(v.n, 2);
    sbx_log_view_release(&v);
}

static void since_counts_back_or_names_a_time(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "0s", "2026-01-02T03:04:05.000Z" },
        { "5s", "2026-01-02T03:04:00.000Z" },
        { "10m", "2026-01-02T02:54:05.000Z" },
        { "2h30m", "2026-01-02T00:34:05.000Z" },
        { "1d", "2026-01-01T03:04:05.000Z" },
        { "1767323045", "2026-01-02T03:04:05.000Z" },
        { "2026-01-02", "2026-01-02T00:00:00.000Z" },
        { "2026-01-02T03:04", "2026-01-02T03:04:00.000Z" },
        { "2026-01-02T03:04:05", "2026-01-02T03:04:05.000Z" },
        { "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z" },
        { "999999999d", "1970-01-01T00:00:00.000Z" },
        { "", NULL },
        { "m", NULL },
        { "10", "1970-01-01T00:00:10.000Z" },
        { "10x", NULL },
        { "-5m", NULL },
        { "5m ", NULL },
        { "yesterday", NULL },
        { "2026-13-02", NULL },
        { "2026-01-02T03:04:05Zx", NULL },
        { "99999999999", "5138-11-16T09:46:39.000Z" },
        { "999999999999", NULL },
    };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        const char *got = NULL;
        enum sbx_code rc = sbx_log_since(arena, rows[i].text, 1767323045, &got, &err);

        if (rows[i].want ? rc || strcmp(got, rows[i].want) : rc != SBX_USAGE)
            fail_msg("\"%s\": %s %s", rows[i].text, got ? got : "-", err.text);
    }
}

static void older_records_do_not_count(void **state)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO(sbx_log_view) v = { .arena = arena, .since = "2026-01-02T03:04:04.000Z" };
    const char *text = RECORD("03.999", "old", "1", "deny", "null", "x", "1")
        RECORD("04.000", "new", "1", "deny", "null", "x", "1");
    FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

    (void)state;
    assert_int_equal(sbx_log_view_add(&v, f, NULL), SBX_OK);
    fclose(f);
    assert_int_equal(v.n, 1);
    assert_string_equal(v.rows[0].host, "new:1");
}

static void variables_come_from_files_and_flags_and_the_last_wins(void **state)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    char path[] = SBX_TEST_TMP "/env-XXXXXX";
    const char *flags[] = { "B=flag", "HOST_ONLY_X", "NOT_SET_ANYWHERE_X", "E=" },
               *files[] = { path };
    struct sbx_texts env = { flags, 4 }, env_files = { files, 1 };
    const char *const *v = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    int fd = mkstemp(path);

    (void)state;
    assert_true(dprintf(fd, "A=1\r\n  # no\n\nB=file\nC=x=y #z\nHOST_ONLY_X\nA=2") > 0);
    close(fd);
    setenv("HOST_ONLY_X", "from the host", 1);
    assert_int_equal(sbx_env_list(arena, &env, &env_files, &v, &err), SBX_OK);
    unlink(path);
    assert_string_equal(v[0], "A=2");
    assert_string_equal(v[1], "B=flag");
    assert_string_equal(v[2], "C=x=y #z");
    assert_string_equal(v[3], "HOST_ONLY_X=from the host");
    assert_string_equal(v[4], "E=");
    assert_null(v[5]);
}

static void a_path_may_end_with_its_mode(void **state)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const char *words[] = { "/a", "/b:ro", "./c:rw", "/d:x", ":ro" };
    struct sbx_workspace *w = NULL;
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    assert_int_equal(sbx_workspace_list(arena, words, 5, &w, &err), SBX_OK);
    assert_string_equal(w[0].path, "/a");
    assert_false(w[0].read_only);
    assert_string_equal(w[1].path, "/b");
    assert_true(w[1].read_only);
    assert_string_equal(w[2].path, "./c");
    assert_false(w[2].read_only);
    assert_string_equal(w[3].path, "/d:x");
    assert_string_equal(w[4].path, ":ro");
    words[0] = "";
    assert_int_equal(sbx_workspace_list(arena, words, 1, &w, &err), SBX_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_one_host_port_and_reason_are_one_row),
        cmocka_unit_test(a_line_cut_at_the_end_is_no_fault_and_rubbish_is_counted),
        cmocka_unit_test(since_counts_back_or_names_a_time),
        cmocka_unit_test(older_records_do_not_count),
        cmocka_unit_test(variables_come_from_files_and_flags_and_the_last_wins),
        cmocka_unit_test(a_path_may_end_with_its_mode),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
