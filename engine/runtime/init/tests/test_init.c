/* The lists and marks of sbx-init. */
#include "tree.h"

#include "list.h"
#include "marks.h"
#include "number.h"

static void numbers_are_digits_within_their_bound(void **state)
{
    static const struct {
        const char *text;
        unsigned base;
        uint64_t max, want;
        bool good;
    } cases[] = {
        { "0", 10, 0, 0, true },
        { "4294967294", 10, SBX_ID_MAX, 4294967294u, true },
        { "4294967295", 10, SBX_ID_MAX, 0, false },
        { "18446744073709551615", 10, UINT64_MAX, UINT64_MAX, true },
        { "18446744073709551616", 10, UINT64_MAX, 0, false },
        { "755", 8, 07777, 0755, true },
        { "8", 8, 07777, 0, false },
        { "10000", 8, 07777, 0, false },
        { "", 10, 9, 0, false },
        { "-1", 10, 9, 0, false },
        { "+1", 10, 9, 0, false },
        { " 1", 10, 9, 0, false },
        { "1x", 10, 99, 0, false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(cases); i++) {
        uint64_t v = 0;

        assert_int_equal(sbx_number(cases[i].text, cases[i].base, cases[i].max, &v), cases[i].good);
        assert_true(!cases[i].good || v == cases[i].want);
    }
}

static void a_line_of_the_list_has_five_fields_and_a_description(void **state)
{
    static const char *const good[] = {
        "a.sh\thello\t1\tagent\t0\tsay hello\t with a tab",
        "a.sh\thello\t1\tagent\t1",
        "a.sh\t\t\t\t0\t",
    };
    static const char *const bad[] = {
        "",
        "a.sh",
        "a.sh\thello\t1\tagent",
        "../a.sh\thello\t1\tagent\t0\t",
        "/bin/sh\thello\t1\tagent\t0\t",
        ".hidden\thello\t1\tagent\t0\t",
        "\thello\t1\tagent\t0\t",
        "a.sh\thello\t1\tagent\tyes\t",
        "a.sh\thello\t1\tagent\t2\t",
    };
    struct sbx_command c;
    char line[128];

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(good); i++) {
        strcpy(line, good[i]);
        assert_null(sbx_list_parse(line, &c));
        assert_string_equal(c.script, "a.sh");
        assert_int_equal(c.background, i == 1);
    }
    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++) {
        strcpy(line, bad[i]);
        assert_non_null(sbx_list_parse(line, &c));
    }
}

static void a_log_name_is_one_file_name_whatever_the_kit_is_called(void **state)
{
    static const struct {
        const char *kit, *index, *want;
    } cases[] = {
        { "hello", "1", "hello-1.log" },
        { "../../etc/x", "1", "-.-..-etc-x-1.log" },
        { ".hidden", "2", "-hidden-2.log" },
        { "a b\nc", "3", "a-b-c-3.log" },
        { "", "", "-.log" },
    };
    char name[256], big[400];

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(cases); i++) {
        struct sbx_command c = { .kit = cases[i].kit, .index = cases[i].index };

        sbx_list_log_name(&c, name);
        assert_string_equal(name, cases[i].want);
    }
    memset(big, 'k', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    sbx_list_log_name(&(struct sbx_command){ .kit = big, .index = big }, name);
    assert_int_equal(strlen(name), 245);
}

static void the_list_waits_for_the_marks_of_this_namespace_and_boot(void **state)
{
    static const struct {
        const char *file, *text; /* NULL: removed */
        bool ready;
    } steps[] = {
        { "gate-70", "boot", false },
        { "start", "71 3\n", false }, /* of another namespace */
        { "done-71-3", "", false },
        { "done-70-2", "", false },
        { "start", "70 3\n", false },
        { "done-70-3", "", true },
        { "gate-70", "older boot\n", false },
        { "gate-70", "boot\n", true },
        { "gate-70", "", true },
        { "start", "70 4", false }, /* the next start is announced */
        { "done-70-4", "", true },
        { "start", "", false },
        { "start", "70", false },
        { "start", "70 4 5", false },
        { "start", "70 4", true },
        { "gate-70", NULL, false },
    };
    struct tree *t = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(steps); i++) {
        if (steps[i].text)
            put(t, steps[i].file, steps[i].text);
        else
            assert_int_equal(unlinkat(t->fd, steps[i].file, 0), 0);
        if (sbx_marks_ready(t->fd, 70, "boot") != steps[i].ready)
            fail_msg("step %zu: %s", i, steps[i].file);
        assert_false(sbx_marks_ready(t->fd, 0, "boot"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_digits_within_their_bound),
        cmocka_unit_test(a_line_of_the_list_has_five_fields_and_a_description),
        cmocka_unit_test(a_log_name_is_one_file_name_whatever_the_kit_is_called),
        IN_TREE(the_list_waits_for_the_marks_of_this_namespace_and_boot),
    };

    return cannot_run() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
