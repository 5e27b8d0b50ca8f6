/* Batches of files that sbx-init writes. */
#include "tree.h"

static void a_batch_answers_each_record(void **state)
{
    static const struct {
        const char *input, *want;
        int status;
    } cases[] = {
        { "", "", 0 },
        { "write 5 640 @ 0 /a b\nhello", "ok\n", 0 },
        { "write 3 600 @ 1 /a b\nnew", "kept\n", 0 },
        { "write 0 600 @ 0 /empty\n", "ok\n", 0 },
        { "mkdir 0 700 @ 0 /d/e\nmkdir 0 755 @ 1 /d/e\n", "ok\nkept\n", 0 },
        { "link 4 0 @ 0 /d/l\n/etc", "ok\n", 0 },
        { "append 4 644 @ 1 /none\nx=1\n", "kept\n", 0 },
        { "append 4 644 @ 0 /a b\nx=1\n", "ok\n", 0 },
        { "append 4 644 @ 1 /a b\nx=1\n", "kept\n", 0 },
        { "append 4 644 @ 0 /fresh\nx=1\n", "ok\n", 0 },
        { "append 1 644 @ 0 /d/e\nx", "error open the file: Is a directory\n", 1 },
        { "write 1 644 @ 0 rel\nxremove 0 0 0 0 0 /none\n", "error not an absolute path\nok\n", 1 },
        { "write 1 644 @ 0 /d/../up\nx", "error \"..\" in a path\n", 1 },
        { "write 1 644 @ 0 /d/\nx", "error names a directory\n", 1 },
        { "write 1 644 @ 0 /d/e\nx", "error put the file in place: Is a directory\n", 1 },
        { "mkdir 0 755 @ 0 /empty\n", "error open the directory: Not a directory\n", 1 },
        { "write 1 644 @ 0 /empty/x\nx", "error directory /empty: Not a directory\n", 1 },
        { "odd 2 0 0 0 0 /x\nxxremove 0 0 0 0 0 /d\n", "error unknown verb odd\nok\n", 1 },
        { "write 9 644 @ 0 /cut\nx", "error the input ends 8 bytes early\n", 1 },
        { "write x 644 0 0 0 /x\n", "error a header's number is not one or too large\n", 1 },
        { "write 1 899 0 0 0 /x\nx", "error a header's number is not one or too large\n", 1 },
        { "write\n", "error a header is VERB and five numbers and PATH\n", 1 },
        { "write 0 0 0 0 0 /x", "error the input ends in a header\n", 1 },
    };
    struct tree *t = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(cases); i++) {
        const char *text = own(cases[i].input);
        int status;

        assert_string_equal(batch(t, text, strlen(text), &status), cases[i].want);
        assert_int_equal(status, cases[i].status);
    }
    assert_string_equal(get(t, "a b"), "hello\nx=1\n");
    assert_string_equal(get(t, "fresh"), "x=1\n");
    assert_null(get(t, "none"));
    assert_string_equal(get(t, "empty"), "");
    assert_null(get(t, "cut"));
    assert_null(get(t, "up"));
}

static void nothing_is_left_beside_a_file(void **state)
{
    struct tree *t = *state;
    const char *text = own("write 5 640 @ 0 /x/whole\nhello"
                           "write 9 640 @ 0 /x/cut\nhello");
    int status;

    batch(t, text, strlen(text), &status);
    assert_int_equal(unlinkat(t->fd, "x/whole", 0), 0);
    assert_int_equal(unlinkat(t->fd, "x", AT_REMOVEDIR), 0); /* it is empty */
}

static void a_mode_is_set_whatever_the_umask(void **state)
{
    struct tree *t = *state;
    const char *text = own("write 0 666 @ 0 /p/f\nmkdir 0 1777 @ 0 /m\n");
    mode_t before = umask(077);
    struct stat st;
    int status;

    batch(t, text, strlen(text), &status);
    umask(before);
    assert_int_equal(fstatat(t->fd, "p/f", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0666);
    assert_int_equal(fstatat(t->fd, "p", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(fstatat(t->fd, "m", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 01777);
}

static void symlinks_stay_inside_and_a_last_one_is_replaced(void **state)
{
    struct tree *t = *state;
    char outside[128];
    int status;
    const char *text;
    struct stat st;

    snprintf(outside, sizeof(outside), "%s/target", t->path); /* names nothing inside the tree */
    put(t, "target", "safe");
    assert_int_equal(symlinkat(outside, t->fd, "last"), 0);
    assert_int_equal(symlinkat("/etc", t->fd, "abs"), 0);
    assert_int_equal(symlinkat("../../../../etc", t->fd, "rel"), 0);
    assert_int_equal(symlinkat("loop", t->fd, "loop"), 0);
    text = own("write 3 600 @ 0 /last\nnew"
               "write 1 600 @ 0 /abs/one\n1"
               "write 1 600 @ 0 /rel/two\n2"
               "write 1 600 @ 0 /loop/x\n3"
               "link 1 0 @ 0 /last\nx"
               "remove 0 0 0 0 0 /abs\n");
    assert_string_equal(batch(t, text, strlen(text), &status),
                        "ok\nok\nok\n"
                        "error directory /loop: Too many levels of symbolic links\n"
                        "ok\nok\n");
    assert_string_equal(get(t, "target"), "safe");
    assert_string_equal(get(t, "etc/one"), "1");
    assert_string_equal(get(t, "etc/two"), "2");
    assert_int_equal(fstatat(t->fd, "last", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(fstatat(t->fd, "abs", &st, AT_SYMLINK_NOFOLLOW), -1);
    assert_int_equal(faccessat(t->fd, "etc", F_OK, 0), 0);
}

static void a_dangling_symlink_counts_as_present(void **state)
{
    struct tree *t = *state;
    const char *text = own("write 3 600 @ 1 /l\nnew");
    int status;

    assert_int_equal(symlinkat("/nowhere", t->fd, "l"), 0);
    assert_string_equal(batch(t, text, strlen(text), &status), "kept\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_TREE(a_batch_answers_each_record),
        IN_TREE(nothing_is_left_beside_a_file),
        IN_TREE(a_mode_is_set_whatever_the_umask),
        IN_TREE(symlinks_stay_inside_and_a_last_one_is_replaced),
        IN_TREE(a_dangling_symlink_counts_as_present),
    };

    return cannot_run() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
