#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "sbx/file.h"

static char base[] = SBX_TEST_TMP "/file-XXXXXX";

static int setup(void **state)
{
    (void)state;
    strcpy(base + sizeof(base) - 7, "XXXXXX");
    return mkdtemp(base) && !chdir(base) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return chdir("/") || sbx_dir_remove(AT_FDCWD, base, NULL) ? -1 : 0;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static bool there(const char *path)
{
    struct stat st;

    return !lstat(path, &st);
}

static unsigned count_entries(void)
{
    FILE *p = popen("ls -A | wc -l", "r");
    unsigned n = 0;

    assert_non_null(p);
    assert_int_equal(fscanf(p, "%u", &n), 1);
    pclose(p);
    return n;
}

static void a_file_is_read_whole_or_not_at_all(void **state)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(5);
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    put("five", "12345");
    put("six", "123456");
    put("empty", "");
    assert_int_equal(sbx_file_read(AT_FDCWD, "five", &out, &err), SBX_OK);
    assert_string_equal(out.ptr, "12345");
    sbx_buf_clear(&out);
    assert_int_equal(sbx_file_read(AT_FDCWD, "empty", &out, &err), SBX_OK);
    assert_string_equal(out.ptr, "");
    assert_int_equal(sbx_file_read(AT_FDCWD, "six", &out, &err), SBX_LIMIT);
    assert_string_equal(err.text, "six: larger than 5 bytes");
    assert_int_equal(out.len, 0);
    assert_int_equal(sbx_file_read(AT_FDCWD, "none", &out, &err), SBX_NOT_FOUND);
}

static void a_file_of_unknown_size_is_bounded_too(void **state)
{
    SBX_AUTO(sbx_buf) small = SBX_BUF_INIT(20);
    SBX_AUTO(sbx_buf) large = SBX_BUF_INIT(1 << 20);

    (void)state;
    assert_int_equal(sbx_file_read(AT_FDCWD, "/proc/self/status", &small, NULL), SBX_LIMIT);
    assert_int_equal(sbx_file_read(AT_FDCWD, "/proc/self/status", &large, NULL), SBX_OK);
    assert_non_null(strstr(large.ptr, "Name:"));
}

static void fifos_devices_and_directories_are_refused_at_once(void **state)
{
    static const struct {
        const char *path, *want;
    } rows[] = {
        { "fifo", "fifo: is a FIFO, not a regular file" },
        { "to-fifo", "to-fifo: is a FIFO, not a regular file" },
        { "/dev/zero", "/dev/zero: is a device, not a regular file" },
        { ".", ".: is a directory, not a regular file" },
    };
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(100);
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(symlink("fifo", "to-fifo"), 0);
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        assert_int_equal(sbx_file_read(AT_FDCWD, rows[i].path, &out, &err), SBX_IO);
        assert_string_equal(err.text, rows[i].want);
    }
}

static void a_write_replaces_the_file_and_leaves_nothing(void **state)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(100);
    struct stat st;

    (void)state;
    put("f", "old");
    umask(077);
    assert_int_equal(sbx_file_write(AT_FDCWD, "f", "new", 3, 0644, NULL), SBX_OK);
    umask(022);
    assert_int_equal(sbx_file_read(AT_FDCWD, "f", &out, NULL), SBX_OK);
    assert_string_equal(out.ptr, "new");
    assert_int_equal(stat("f", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(count_entries(), 1);
}

static void a_failed_write_leaves_the_old_state(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    assert_int_equal(mkdir("d", 0755), 0);
    put("d/x", "");
    assert_int_equal(sbx_file_write(AT_FDCWD, "d", "new", 3, 0644, &err), SBX_IO);
    assert_string_equal(err.text, "write d: Is a directory");
    assert_int_equal(sbx_file_write(AT_FDCWD, "none/f", "new", 3, 0644, &err), SBX_NOT_FOUND);
    assert_int_equal(count_entries(), 1);
}

/* In a child: files may have 10 bytes, as on a disk that is full. */
static int write_too_much(void)
{
    struct rlimit limit = { 10, 10 };
    struct sbx_err err = SBX_ERR_INIT;

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return 77;
    return sbx_file_write(AT_FDCWD, "f", "more than ten bytes", 19, 0644, &err) != SBX_IO;
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(100);
    int status = 0;
    pid_t pid;

    (void)state;
    put("f", "old");
    pid = fork();
    if (!pid)
        _exit(write_too_much());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(sbx_file_read(AT_FDCWD, "f", &out, NULL), SBX_OK);
    assert_string_equal(out.ptr, "old");
    assert_int_equal(count_entries(), 1);
}

static void directories_are_made_with_all_their_parents(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;
    struct stat st;

    (void)state;
    umask(077);
    assert_int_equal(sbx_dir_make("a//b/c/", 0755, &err), SBX_OK);
    umask(022);
    assert_int_equal(stat("a/b/c", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(sbx_dir_make("a/b/c", 0700, &err), SBX_OK); /* is there: stays as it is */
    assert_int_equal(stat("a/b/c", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    put("file", "");
    assert_int_equal(sbx_dir_make("file/x", 0755, &err), SBX_IO);
    assert_string_equal(err.text, "make directory file: Not a directory");
    assert_int_equal(sbx_dir_make("", 0755, &err), SBX_FAILED);
}

static void removal_takes_the_tree_and_not_what_it_points_to(void **state)
{
    (void)state;
    assert_int_equal(sbx_dir_make("t/a/b", 0755, NULL), SBX_OK);
    assert_int_equal(sbx_dir_make("keep", 0755, NULL), SBX_OK);
    put("keep/mine", "x");
    put("t/a/f", "x");
    assert_int_equal(symlink("../../keep", "t/a/link"), 0);
    assert_int_equal(symlink("keep", "top-link"), 0);
    assert_int_equal(chmod("t/a/b", 0), 0);
    assert_int_equal(chmod("t/a", 0555), 0);
    assert_int_equal(sbx_dir_remove(AT_FDCWD, "t/", NULL), SBX_OK);
    assert_false(there("t"));
    assert_int_equal(sbx_dir_remove(AT_FDCWD, "top-link", NULL), SBX_OK);
    assert_false(there("top-link"));
    assert_true(there("keep/mine"));
    assert_int_equal(sbx_dir_remove(AT_FDCWD, "t", NULL), SBX_OK); /* absent is fine */
    assert_int_equal(sbx_dir_remove(AT_FDCWD, "none/t", NULL), SBX_OK);
}

static void removal_wants_a_name(void **state)
{
    static const char *const bad[] = { "", ".", "..", "keep/.", "keep/..", "/" };

    (void)state;
    assert_int_equal(sbx_dir_make("keep", 0755, NULL), SBX_OK);
    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++)
        assert_int_equal(sbx_dir_remove(AT_FDCWD, bad[i], NULL), SBX_FAILED);
    assert_true(there("keep"));
}

static void a_tree_deeper_than_any_path_is_removed(void **state)
{
    enum { LEVELS = 5000 }; /* PATH_MAX holds 2048 of them, RLIMIT_NOFILE usually 1024 */
    int fd = open(".", O_RDONLY | O_DIRECTORY);

    (void)state;
    for (int i = 0; i < LEVELS; i++) {
        int next;

        assert_int_equal(mkdirat(fd, "d", 0755), 0);
        next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = next;
    }
    close(fd);
    assert_int_equal(sbx_dir_remove(AT_FDCWD, "d", NULL), SBX_OK);
    assert_false(there("d"));
}

static void what_is_open_is_read_from_its_beginning(void **state)
{
    SBX_AUTO(sbx_buf) all = SBX_BUF_INIT(5), less = SBX_BUF_INIT(4), piped = SBX_BUF_INIT(5);
    struct sbx_err err = SBX_ERR_INIT;
    int fd, ends[2];

    (void)state;
    put("five", "12345");
    fd = open("five", O_RDONLY);
    assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
    assert_int_equal(sbx_fd_read(fd, "five", &all, &err), SBX_OK);
    assert_string_equal(all.ptr, "12345");
    assert_int_equal(sbx_fd_read(fd, "five", &less, &err), SBX_LIMIT);
    assert_string_equal(err.text, "five: larger than 4 bytes");
    close(fd);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "123456", 6), 6);
    close(ends[1]);
    assert_int_equal(sbx_fd_read(ends[0], "a pipe", &piped, &err), SBX_LIMIT);
    assert_string_equal(err.text, "a pipe: larger than 5 bytes");
    close(ends[0]);
    assert_int_equal(sbx_fd_read(ends[0], "a pipe", &piped, &err), SBX_IO);
}

#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(what_is_open_is_read_from_its_beginning),
        FILE_TEST(a_file_is_read_whole_or_not_at_all),
        FILE_TEST(a_file_of_unknown_size_is_bounded_too),
        FILE_TEST(fifos_devices_and_directories_are_refused_at_once),
        FILE_TEST(a_write_replaces_the_file_and_leaves_nothing),
        FILE_TEST(a_failed_write_leaves_the_old_state),
        FILE_TEST(a_full_disk_leaves_the_old_file),
        FILE_TEST(directories_are_made_with_all_their_parents),
        FILE_TEST(removal_takes_the_tree_and_not_what_it_points_to),
        FILE_TEST(removal_wants_a_name),
        FILE_TEST(a_tree_deeper_than_any_path_is_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
