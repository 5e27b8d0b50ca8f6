/* Removal of trees that are in its way: without rights, moved about, mounted over. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "sbx/file.h"

#define NOBODY 65534 /* a user without rights, where the test runs as root */

static char base[] = SBX_TEST_TMP "/remove-XXXXXX";

static int setup(void **state)
{
    (void)state;
    strcpy(base + sizeof(base) - 7, "XXXXXX");
    return mkdtemp(base) && !chdir(base) && !chmod(base, 0777) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return chdir("/") || sbx_dir_remove(AT_FDCWD, base, NULL) ? -1 : 0;
}

static bool there(const char *path)
{
    struct stat st;

    return !lstat(path, &st);
}

/* Run in a process of its own: 0 as wanted, 77 not possible here. */
static void in_child(int (*part)(void))
{
    int status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (!pid)
        exit(part()); /* not _exit(): what it reached counts too */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("SKIPPED: not possible without the rights of root\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int become_nobody(void)
{
    return geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY)) ? 77 : 0;
}

#define WANT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            return 1; \
        } \
    } while (0)

/* As Go's module cache leaves it. */
static int remove_what_is_read_only(void)
{
    if (become_nobody())
        return 77;
    WANT(!mkdir("t", 0755) && !mkdir("t/readable", 0755) && !mkdir("t/readable/in", 0755) &&
         !mkdir("t/closed", 0755) && !mkdir("t/closed/in", 0755));
    WANT(!close(creat("t/readable/f", 0444)) && !close(creat("t/closed/f", 0)));
    WANT(!chmod("t/readable/in", 0555) && !chmod("t/readable", 0555) && !chmod("t/closed", 0));
    WANT(sbx_dir_remove(AT_FDCWD, "t", NULL) == SBX_OK);
    WANT(!there("t"));
    return 0;
}

static void directories_without_rights_are_opened_for_it(void **state)
{
    (void)state;
    in_child(remove_what_is_read_only);
}

static int remove_what_is_anothers(void)
{
    struct sbx_err err = SBX_ERR_INIT;

    WANT(!mkdir("t", 0755) && !close(creat("t/f", 0644)) && !mkdir("closed", 0700) && !mkdir("closed/t", 0777));
    if (become_nobody() || geteuid() == 0)
        return 77;
    WANT(sbx_dir_remove(AT_FDCWD, "t", &err) == SBX_IO);
    WANT(!strcmp(err.text, "remove t: f: Permission denied"));
    WANT(sbx_dir_remove(AT_FDCWD, "closed/t", &err) == SBX_IO);
    WANT(strstr(err.text, "remove closed/t: Permission denied"));
    WANT(there("t/f"));
    return 0;
}

static void what_may_not_be_removed_is_named(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* all here would be our own */
    in_child(remove_what_is_anothers);
}

static int remove_over_mounts(void)
{
    struct sbx_err err = SBX_ERR_INIT;

    WANT(!mkdir("t", 0755) && !mkdir("t/a", 0755) && !mkdir("t/a/m", 0755) && !mkdir("keep", 0755) &&
         !mkdir("keep/mine", 0755));
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("keep", "t/a/m", NULL, MS_BIND, NULL))
        return 77;
    WANT(sbx_dir_remove(AT_FDCWD, "t", &err) == SBX_BUSY && there("keep/mine"));
    WANT(!strcmp(err.text, "remove t: m is a mount point"));
    WANT(!umount("t/a/m") && !mount("tmpfs", "t/a/m", "tmpfs", 0, NULL) && !mkdir("t/a/m/mine", 0755));
    WANT(sbx_dir_remove(AT_FDCWD, "t", &err) == SBX_BUSY && there("t/a/m/mine"));
    WANT(!umount("t/a/m") && sbx_dir_remove(AT_FDCWD, "t", NULL) == SBX_OK);
    return 0;
}

static void a_mount_point_stops_it(void **state)
{
    (void)state;
    in_child(remove_over_mounts);
}

static void a_file_in_the_way_is_named(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    assert_int_equal(close(creat("f", 0644)), 0);
    assert_int_equal(sbx_dir_remove(AT_FDCWD, "f/t", &err), SBX_IO);
    assert_string_equal(err.text, "remove f/t: Not a directory");
    assert_int_equal(sbx_dir_remove(AT_FDCWD, "none/t", &err), SBX_OK);
    assert_int_equal(sbx_dir_remove(AT_FDCWD, "none", &err), SBX_OK);
    assert_int_equal(sbx_dir_remove(AT_FDCWD, "f", &err), SBX_OK); /* a file is a small tree */
    assert_false(there("f"));
}

#define REMOVE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REMOVE_TEST(directories_without_rights_are_opened_for_it),
        REMOVE_TEST(what_may_not_be_removed_is_named),
        REMOVE_TEST(a_mount_point_stops_it),
        REMOVE_TEST(a_file_in_the_way_is_named),
    };

    return cmocka_run_group_tests_name("removal", tests, NULL, NULL);
}
