/* Names of sandboxes and apps, and where an app keeps its things. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "sbx/sandbox.h"

static void names_are_checked(void **state)
{
    static const struct {
        const char *name;
        bool ok;
    } rows[] = {
        { "a1", true }, { "my-box.2", true }, { "A-B", true }, { "a", false }, { "", false },
        { "-ab", false }, { "ab-", false }, { ".ab", false }, { "a_b", false }, { "a/b", false },
        { "default", false }, { "a b", false }, { "\xc3\xa4x", false }, { "..", false },
        { "a23456789012345678901234567890123456789012345678901234567890123", true },
        { "a234567890123456789012345678901234567890123456789012345678901234", false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        if ((sbx_name_check(rows[i].name, NULL) == SBX_OK) != rows[i].ok)
            fail_msg("\"%s\"", rows[i].name);
}

static void default_names_are_always_good_names(void **state)
{
    static const struct {
        const char *agent, *workspace, *want;
    } rows[] = {
        { "claude", "/home/u/My Project", "claude-my-project" },
        { "claude", NULL, "claude" },
        { "claude", "/", "claude" },
        { "shell", "/srv/__x__", "shell-x" },
        { "a", NULL, "a-sandbox" },
        { "a", "/\xc3\xa4", "a-sandbox" },
        { "default", NULL, "default-sandbox" },
    };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        const char *got = sbx_name_default(rows[i].agent, rows[i].workspace, arena);

        assert_string_equal(got, rows[i].want);
        assert_int_equal(sbx_name_check(got, NULL), SBX_OK);
    }
}

static void apps_have_their_own_directories(void **state)
{
    SBX_AUTO(sbx_paths) a = { 0 };
    SBX_AUTO(sbx_paths) b = { 0 };

    (void)state;
    setenv("HOME", "/h", 1);
    setenv("XDG_STATE_HOME", "relative", 1); /* the specification: ignore it */
    setenv("XDG_CONFIG_HOME", "/c", 1);
    unsetenv("XDG_CACHE_HOME");
    assert_int_equal(sbx_paths_init(NULL, &a, NULL), SBX_OK);
    assert_string_equal(a.state, "/h/.local/state/sbx");
    assert_string_equal(a.config, "/c/sbx");
    assert_string_equal(a.cache, "/h/.cache/sbx");
    assert_int_equal(sbx_paths_init("tck", &b, NULL), SBX_OK);
    assert_string_equal(b.state, "/h/.local/state/sbx/apps/tck");
    assert_string_equal(b.config, "/c/sbx/apps/tck");
    assert_string_equal(b.cache, a.cache);
}

static void bad_app_names_are_usage_errors(void **state)
{
    static const char *const names[] = { "", "a/b", "..", "-a", "a b",
                                         "a2345678901234567890123456789012345" };
    struct sbx_paths p;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++)
        assert_int_equal(sbx_paths_init(names[i], &p, NULL), SBX_USAGE);
}

static void without_a_home_the_error_says_what_to_set(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_paths p;

    (void)state;
    unsetenv("HOME");
    unsetenv("XDG_STATE_HOME");
    assert_int_equal(sbx_paths_init(NULL, &p, &err), SBX_FAILED);
    assert_non_null(strstr(err.text, "XDG_STATE_HOME"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(default_names_are_always_good_names),
        cmocka_unit_test(apps_have_their_own_directories),
        cmocka_unit_test(bad_app_names_are_usage_errors),
        cmocka_unit_test(without_a_home_the_error_says_what_to_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
