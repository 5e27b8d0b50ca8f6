/* The parts of sbx-init on a root file system of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "commands.h"
#include "inside.h"
#include "list.h"
#include "marks.h"
#include "number.h"
#include "sbx/file.h"
#include "users.h"

struct tree {
    char path[64];
    int fd;
};

static int tree_setup(void **state)
{
    struct tree *t = calloc(1, sizeof(*t));

    strcpy(t->path, SBX_TEST_TMP "/init-test-XXXXXX");
    *state = t;
    if (!mkdtemp(t->path))
        return -1;
    t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return t->fd < 0 || mkdirat(t->fd, "etc", 0755);
}

static int tree_teardown(void **state)
{
    struct tree *t = *state;
    struct sbx_err err = SBX_ERR_INIT;

    close(t->fd);
    if (sbx_dir_remove(AT_FDCWD, t->path, &err))
        fprintf(stderr, "%s\n", err.text);
    free(t);
    return 0;
}

static void put(const struct tree *t, const char *path, const char *text)
{
    int fd = openat(t->fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(sbx_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static const char *get(const struct tree *t, const char *path)
{
    static char text[4096];
    int fd = openat(t->fd, path, O_RDONLY | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return NULL;
    text[n] = '\0';
    return text;
}

/* Run a batch; its answers, and its exit status. */
static const char *batch(const struct tree *t, const char *input, size_t len, int *status)
{
    static char answers[4096];
    FILE *in = tmpfile(), *out = tmpfile();
    ssize_t n;

    assert_non_null(in);
    assert_non_null(out);
    assert_int_equal(sbx_write_all(fileno(in), input, len), 0);
    lseek(fileno(in), 0, SEEK_SET);
    *status = sbx_init_batch(t->fd, fileno(in), fileno(out));
    n = pread(fileno(out), answers, sizeof(answers) - 1, 0);
    answers[n > 0 ? n : 0] = '\0';
    fclose(in);
    fclose(out);
    return answers;
}

/* Each "@" as "UID GID" of this test: the owner that it may set. */
static const char *own(const char *script)
{
    static char text[1024];
    size_t len = 0;

    for (; *script; script++) {
        if (*script == '@')
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%u %u", getuid(), getgid());
        else
            text[len++] = *script;
        assert_true(len < sizeof(text) - 32);
    }
    text[len] = '\0';
    return text;
}

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

static const char odd_passwd[] = "\n"
                                 "#comment:x:1:1\n"
                                 ":x:0:0::/:/bin/sh\n"
                                 "short:x:5\n"
                                 "notnumber:x:abc:1::/h:/s\n"
                                 "toobig:x:4294967295:1::/h:/s\n"
                                 "negative:x:-1:-1::/h:/s\n"
                                 "root:x:0:0:root:/root:/bin/bash\n"
                                 "agent:x:1000:1001:A,B:/home/agent:/bin/sh:extra\n"
                                 "relative:x:7:7::home:/bin/sh\n"
                                 "agent:x:9:9::/second:/bin/sh\n"
                                 "1234:x:55:56::/numeric:/bin/sh\n"
                                 "last:x:8:8::/last:"; /* no newline */
static const char odd_group[] = "root:x:0:\n"
                                "bad\n"
                                "bad2:x:y:agent\n"
                                "docker:x:998:agent,last\n"
                                "audio:x:29:agents,xagent\n"
                                "video:x:44:,agent,\n"
                                "last:x:8:agent";

static void a_user_is_found_as_docker_finds_one(void **state)
{
    static const struct {
        const char *text;
        uid_t uid;
        gid_t gid;
        size_t groups;
        const char *name, *home; /* NULL: not found */
    } cases[] = {
        { "root", 0, 0, 0, "root", "/root" },
        { "agent", 1000, 1001, 3, "agent", "/home/agent" },
        { "1000", 1000, 1001, 3, "agent", "/home/agent" },
        { "agent:docker", 1000, 998, 0, "agent", "/home/agent" },
        { "agent:7", 1000, 7, 0, "agent", "/home/agent" },
        { "relative", 7, 7, 0, "relative", "/" },
        { "last", 8, 8, 1, "last", "/last" },
        { "1234", 55, 56, 0, "1234", "/numeric" }, /* a name before a number */
        { "77", 77, 0, 0, "77", "/" },
        { "77:88", 77, 88, 0, "77", "/" },
        { "nobody", 0, 0, 0, NULL, NULL },
        { "", 0, 0, 0, NULL, NULL },
        { ":docker", 0, 0, 0, NULL, NULL },
        { "agent:", 0, 0, 0, NULL, NULL },
        { "agent:nogroup", 0, 0, 0, NULL, NULL },
        { "4294967295", 0, 0, 0, NULL, NULL },
        { "-1", 0, 0, 0, NULL, NULL },
        { "toobig", 0, 0, 0, NULL, NULL },
        { "notnumber", 0, 0, 0, NULL, NULL },
    };
    struct tree *t = *state;

    put(t, "etc/passwd", odd_passwd);
    put(t, "etc/group", odd_group);
    for (size_t i = 0; i < SBX_ARRAY_LEN(cases); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        struct sbx_user u;
        enum sbx_code rc = sbx_user_find(t->fd, cases[i].text, &u, &err);

        if (rc != (cases[i].name ? SBX_OK : SBX_NOT_FOUND))
            fail_msg("\"%s\": %d %s", cases[i].text, rc, err.text);
        if (rc)
            continue;
        assert_int_equal(u.uid, cases[i].uid);
        assert_int_equal(u.gid, cases[i].gid);
        assert_int_equal(u.n_groups, cases[i].groups);
        assert_string_equal(u.name, cases[i].name);
        assert_string_equal(u.home, cases[i].home);
    }
}

static void a_number_is_a_user_where_there_is_no_passwd(void **state)
{
    struct tree *t = *state;
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_user u;

    assert_int_equal(sbx_user_find(t->fd, "1000:1000", &u, &err), SBX_OK);
    assert_int_equal(u.gid, 1000);
    assert_int_equal(sbx_user_find(t->fd, "root", &u, &err), SBX_NOT_FOUND);
    assert_int_equal(mkfifoat(t->fd, "etc/passwd", 0644), 0); /* neither read nor waited for */
    assert_int_equal(sbx_user_find(t->fd, "1000", &u, &err), SBX_IO);
}

static void a_missing_user_is_made_with_group_and_home(void **state)
{
    struct tree *t = *state;
    int status;
    char record[128];

    put(t, "etc/passwd", "root:x:0:0::/root:/bin/sh"); /* no newline at its end */
    put(t, "etc/shadow", "root:*:1::::::\n");
    snprintf(record, sizeof(record), "user 0 %u %u 0 0 agent:/home/agent\n", getuid() + 1000,
             getgid() + 1000);
    if (getuid())
        skip(); /* the home is given to another user */
    assert_string_equal(batch(t, record, strlen(record), &status), "ok\n");
    assert_string_equal(get(t, "etc/passwd"),
                        "root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n");
    assert_string_equal(get(t, "etc/group"), "agent:x:1000:\n");
    assert_string_equal(get(t, "etc/shadow"), "root:*:1::::::\nagent:*:19000:0:99999:7:::\n");
    assert_int_equal(faccessat(t->fd, "home/agent", F_OK, 0), 0);
    assert_string_equal(batch(t, record, strlen(record), &status), "kept\n");
    assert_int_equal(status, 0);
    assert_string_equal(batch(t, "user 0 7 7 0 0 agent:/h\n", 24, &status),
                        "error user agent exists with uid 1000\n");
}

static void what_is_no_user_name_or_home_is_refused(void **state)
{
    static const char *const names[] = { "a b:/h", ":/h",     "x:h",        "-x:/h",
                                         "x:/h:0", "x\ty:/h", "noColonHere" };
    struct tree *t = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++) {
        char record[128];
        int status;

        snprintf(record, sizeof(record), "user 0 1 1 0 0 %s\n", names[i]);
        assert_memory_equal(batch(t, record, strlen(record), &status), "error ", 6);
        assert_int_equal(status, 1);
    }
    assert_null(get(t, "etc/passwd"));
}

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

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_setup, tree_teardown)

/* valgrind before 3.20 knows no openat2. */
static bool cannot_run(void)
{
    struct open_how how = { .flags = O_PATH };
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

    if (fd < 0)
        fprintf(stderr, "SKIPPED: no openat2 here: %s\n", strerror(errno));
    else
        close(fd);
    return fd < 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_digits_within_their_bound),
        cmocka_unit_test(a_line_of_the_list_has_five_fields_and_a_description),
        cmocka_unit_test(a_log_name_is_one_file_name_whatever_the_kit_is_called),
        IN_TREE(a_user_is_found_as_docker_finds_one),
        IN_TREE(a_number_is_a_user_where_there_is_no_passwd),
        IN_TREE(a_missing_user_is_made_with_group_and_home),
        IN_TREE(what_is_no_user_name_or_home_is_refused),
        IN_TREE(a_batch_answers_each_record),
        IN_TREE(nothing_is_left_beside_a_file),
        IN_TREE(a_mode_is_set_whatever_the_umask),
        IN_TREE(symlinks_stay_inside_and_a_last_one_is_replaced),
        IN_TREE(a_dangling_symlink_counts_as_present),
        IN_TREE(the_list_waits_for_the_marks_of_this_namespace_and_boot),
    };

    return cannot_run() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
