/* Blobs that come in pieces: resumed, verified, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "sbx/cache.h"
#include "sbx/file.h"

static char dir[] = SBX_TEST_TMP "/cache-XXXXXX";
static struct sbx_cache *cache;
static char whole[200000], digest[SBX_DIGEST_TEXT_SIZE];

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(whole); i++)
        whole[i] = (char)(i * 31 >> 3);
    return !mkdtemp(dir) || sbx_cache_open(dir, &cache, NULL) ||
           sbx_digest(whole, sizeof(whole), digest);
}

static int teardown(void **state)
{
    (void)state;
    sbx_cache_close(cache);
    return sbx_dir_remove(-100 /* AT_FDCWD */, dir, NULL) != SBX_OK;
}

static int forget(void **state)
{
    (void)state;
    sbx_blob_remove(cache, digest);
    return 0;
}

static void a_cut_download_goes_on_where_it_was(void **state)
{
    (void)state;
    for (size_t done = 0; done < sizeof(whole); done += 50000) {
        SBX_AUTO_PTR(sbx_blob_writer) w = NULL;

        assert_int_equal(sbx_blob_writer_open(cache, digest, sizeof(whole), &w, NULL), SBX_OK);
        assert_non_null(w);
        assert_int_equal(sbx_blob_writer_have(w), done);
        assert_int_equal(sbx_blob_writer_add(w, whole + done, 50000, NULL), SBX_OK);
        assert_false(sbx_blob_has(cache, digest, NULL));
        if (done + 50000 == sizeof(whole))
            assert_int_equal(sbx_blob_writer_finish(w, NULL), SBX_OK);
    }
    assert_true(sbx_blob_has(cache, digest, NULL));
}

static void a_blob_that_is_here_is_not_written_again(void **state)
{
    char got[SBX_DIGEST_TEXT_SIZE];
    struct sbx_blob_writer *w = (void *)&got;

    (void)state;
    assert_int_equal(sbx_blob_put_mem(cache, whole, sizeof(whole), digest, got, NULL), SBX_OK);
    assert_int_equal(sbx_blob_writer_open(cache, digest, sizeof(whole), &w, NULL), SBX_OK);
    assert_null(w);
}

static void wrong_content_is_not_kept(void **state)
{
    SBX_AUTO_PTR(sbx_blob_writer) w = NULL;
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    assert_int_equal(sbx_blob_writer_open(cache, digest, sizeof(whole), &w, NULL), SBX_OK);
    assert_int_equal(sbx_blob_writer_add(w, whole, 1000, NULL), SBX_OK);
    assert_int_equal(sbx_blob_writer_finish(w, &err), SBX_SCHEMA);
    assert_non_null(strstr(err.text, "1000 bytes, not 200000"));
    assert_int_equal(sbx_blob_writer_have(w), 0);
    whole[7] ^= 1;
    assert_int_equal(sbx_blob_writer_add(w, whole, sizeof(whole), NULL), SBX_OK);
    whole[7] ^= 1;
    assert_int_equal(sbx_blob_writer_add(w, "x", 1, &err), SBX_SCHEMA);
    assert_int_equal(sbx_blob_writer_finish(w, &err), SBX_SCHEMA);
    assert_non_null(strstr(err.text, digest));
    assert_false(sbx_blob_has(cache, digest, NULL));
}

static void two_commands_bring_a_blob_once(void **state)
{
    SBX_AUTO_PTR(sbx_blob_writer) w = NULL;
    int status = -1, go[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(go), 0);
    child = fork(); /* before the lock is taken: it would be inherited */
    if (!child) {
        struct sbx_blob_writer *other = NULL;
        struct sbx_cache *own = NULL;
        char byte;

        _exit(read(go[0], &byte, 1) != 1 || sbx_cache_open(dir, &own, NULL) ||
              sbx_blob_writer_open(own, digest, sizeof(whole), &other, NULL) || other);
    }
    assert_int_equal(sbx_blob_writer_open(cache, digest, sizeof(whole), &w, NULL), SBX_OK);
    assert_int_equal(write(go[1], "", 1), 1);
    assert_int_equal(sbx_blob_writer_add(w, whole, sizeof(whole), NULL), SBX_OK);
    assert_int_equal(sbx_blob_writer_finish(w, NULL), SBX_OK);
    sbx_blob_writer_free(SBX_TAKE(w));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(go[0]);
    close(go[1]);
}

/* A blob of `len` bytes that was used `age` seconds ago; its digest. */
static void put_old(char byte, size_t len, int age, char out[SBX_DIGEST_TEXT_SIZE])
{
    const struct timespec when = { time(NULL) - age, 0 }, both[2] = { when, when };
    char data[1000], path[200];

    memset(data, byte, len);
    assert_int_equal(sbx_blob_put_mem(cache, data, len, NULL, out, NULL), SBX_OK);
    snprintf(path, sizeof(path), "%s/blobs/sha256/%s", dir, out + 7);
    assert_int_equal(utimensat(-100, path, both, 0), 0);
}

static void what_was_used_longest_ago_goes_first(void **state)
{
    char a[SBX_DIGEST_TEXT_SIZE], b[SBX_DIGEST_TEXT_SIZE], c[SBX_DIGEST_TEXT_SIZE];
    int64_t freed = 0;

    (void)state;
    put_old('a', 1000, 300, a);
    put_old('b', 1000, 200, b);
    put_old('c', 1000, 0, c);
    assert_true(sbx_cache_grew());
    assert_int_equal(sbx_cache_trim(cache, 1LL << 40, time(NULL) - 100, &freed, NULL), SBX_OK);
    assert_int_equal(freed, 0);
    assert_int_equal(sbx_cache_trim(cache, 2000, time(NULL) - 100, &freed, NULL), SBX_OK);
    assert_int_equal(freed, 1000);
    assert_false(sbx_blob_has(cache, a, NULL));
    assert_true(sbx_blob_has(cache, b, NULL));
    /* What this command used stays, however small the cache shall be. */
    assert_int_equal(sbx_cache_trim(cache, 0, time(NULL) - 100, &freed, NULL), SBX_OK);
    assert_false(sbx_blob_has(cache, b, NULL));
    assert_true(sbx_blob_has(cache, c, NULL));
    sbx_blob_remove(cache, c);
}

static void nothing_goes_while_somebody_looks_up(void **state)
{
    char a[SBX_DIGEST_TEXT_SIZE];
    SBX_AUTO_FD int use = -1, alone = -1;
    struct sbx_err err = SBX_ERR_INIT;
    int64_t freed = 0;

    (void)state;
    put_old('a', 1000, 300, a);
    assert_int_equal(sbx_cache_use(cache, &use, &err), SBX_OK);
    assert_int_equal(sbx_cache_trim(cache, 0, time(NULL), &freed, &err), SBX_BUSY);
    assert_true(sbx_blob_has(cache, a, NULL));
    close(sbx_take_fd(&use));
    assert_int_equal(sbx_cache_alone(cache, &alone, &err), SBX_OK);
    close(sbx_take_fd(&alone));
    assert_int_equal(sbx_cache_trim(cache, 0, time(NULL), &freed, &err), SBX_OK);
    assert_false(sbx_blob_has(cache, a, NULL));
}

static void a_kit_that_is_held_stays_and_a_leftover_goes(void **state)
{
    const struct timespec old = { 1000, 0 }, both[2] = { old, old };
    char kits[200], held[200], other[200], left[200];
    int64_t freed = 0;
    int go[2];
    pid_t pid;
    char byte;

    (void)state;
    snprintf(kits, sizeof(kits), "%s/kits", dir);
    snprintf(held, sizeof(held), "%s/held", kits);
    snprintf(other, sizeof(other), "%s/other", kits);
    snprintf(left, sizeof(left), "%s/.tmp-killed", kits);
    assert_int_equal(mkdir(kits, 0700) | mkdir(held, 0700) | mkdir(other, 0700) | mkdir(left, 0700), 0);
    for (int i = 0; i < 2; i++) {
        char file[220];

        snprintf(file, sizeof(file), "%s/x", i ? held : other);
        assert_int_equal(sbx_file_write(-100, file, "1", 1, 0600, NULL), SBX_OK);
    }
    assert_int_equal(pipe(go), 0);
    pid = fork();
    if (!pid) { /* another command that uses it */
        sbx_cache_hold(held);
        (void)!write(go[1], "x", 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(go[0], &byte, 1), 1);
    utimensat(-100, held, both, 0);
    utimensat(-100, other, both, 0);
    assert_int_equal(sbx_cache_trim(cache, 0, time(NULL), &freed, NULL), SBX_OK);
    assert_int_equal(access(held, F_OK), 0);
    assert_int_equal(access(other, F_OK), -1);
    assert_int_equal(access(left, F_OK), -1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(sbx_cache_trim(cache, 0, time(NULL), &freed, NULL), SBX_OK);
    assert_int_equal(access(held, F_OK), -1);
    close(go[0]);
    close(go[1]);
}

/* The file of the blob, for what a power cut may do to it. */
static int blob_file(int flags)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/blobs/sha256/%s", dir, digest + strlen("sha256:"));
    return open(path, flags | O_CLOEXEC);
}

static bool is_marked(void)
{
    SBX_AUTO_FD int fd = blob_file(O_RDONLY);
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return st.st_mode & S_IXUSR;
}

/* By a command of its own, which ends. */
static void write_in_a_hurry(void)
{
    struct sbx_cache *own = NULL;
    SBX_AUTO_PTR(sbx_blob_writer) w = NULL;
    int fd;

    assert_int_equal(sbx_cache_open(dir, &own, NULL), SBX_OK);
    sbx_cache_hurry(own);
    assert_int_equal(sbx_blob_writer_open(own, digest, sizeof(whole), &w, NULL), SBX_OK);
    assert_non_null(w);
    assert_int_equal(sbx_blob_writer_add(w, whole, sizeof(whole), NULL), SBX_OK);
    assert_int_equal(sbx_blob_writer_finish(w, NULL), SBX_OK);
    assert_true(sbx_blob_has(own, digest, NULL));
    assert_int_equal(sbx_blob_open(own, digest, &fd, NULL), SBX_OK);
    close(fd);
    assert_true(is_marked()); /* who wrote it need not look */
    sbx_cache_close(own);
}

static void what_was_not_waited_for_is_read_before_it_counts(void **state)
{
    (void)state;
    write_in_a_hurry();
    assert_true(sbx_blob_has(cache, digest, NULL));
    assert_false(is_marked()); /* once */
}

/* What a power cut leaves of a file that was not on the disk: nothing of it, a part, zeros. */
static void what_a_power_cut_left_does_not_count_and_comes_again(void **state)
{
    static const char zeros[4096];

    (void)state;
    for (int how = 0; how < 4; how++) {
        SBX_AUTO_FD int fd = -1;
        int opened = -1;

        write_in_a_hurry();
        fd = blob_file(O_RDWR);
        if (how == 3)
            assert_int_equal(pwrite(fd, zeros, sizeof(zeros), 100000), sizeof(zeros));
        else
            assert_int_equal(ftruncate(fd, how == 0 ? 0 : how == 1 ? 4096 : sizeof(whole) - 1), 0);
        if (how % 2)
            assert_int_equal(sbx_blob_open(cache, digest, &opened, NULL), SBX_NOT_FOUND);
        else
            assert_false(sbx_blob_has(cache, digest, NULL));
        assert_int_equal(blob_file(O_RDONLY), -1);
    }
    write_in_a_hurry();
    assert_true(sbx_blob_has(cache, digest, NULL));
}

static void a_blob_put_again_after_a_power_cut_is_whole(void **state)
{
    char got[SBX_DIGEST_TEXT_SIZE];
    struct sbx_cache *own = NULL;
    int fd;

    (void)state;
    write_in_a_hurry();
    fd = blob_file(O_RDWR);
    assert_int_equal(ftruncate(fd, 0), 0);
    close(fd);
    assert_int_equal(sbx_cache_open(dir, &own, NULL), SBX_OK);
    sbx_cache_hurry(own);
    assert_int_equal(sbx_blob_put_mem(own, whole, sizeof(whole), digest, got, NULL), SBX_OK);
    sbx_cache_close(own);
    assert_true(sbx_blob_has(cache, digest, NULL));
}

static void a_tree_is_put_on_the_disk_whatever_is_in_it(void **state)
{
    SBX_AUTO_FD int fd = -1;
    char path[300];

    (void)state;
    snprintf(path, sizeof(path), "%s/tree", dir);
    assert_int_equal(mkdir(path, 0755), 0);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(sbx_cache_sync_tree(fd), 0);
    assert_int_equal(mkdirat(fd, "d", 0755), 0);
    assert_int_equal(symlinkat("nowhere", fd, "d/link"), 0);
    assert_int_equal(mkfifoat(fd, "d/fifo", 0644), 0);
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof(path), "d/%d", i);
        assert_int_equal(sbx_file_write(fd, path, "x", 1, i % 2 ? 0644 : 0, NULL), SBX_OK);
        if (i == 1 || i == 99)
            assert_int_equal(sbx_cache_sync_tree(fd), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_cut_download_goes_on_where_it_was, forget),
        cmocka_unit_test_setup(a_blob_that_is_here_is_not_written_again, forget),
        cmocka_unit_test_setup(wrong_content_is_not_kept, forget),
        cmocka_unit_test_setup(two_commands_bring_a_blob_once, forget),
        cmocka_unit_test_setup(what_was_not_waited_for_is_read_before_it_counts, forget),
        cmocka_unit_test_setup(what_a_power_cut_left_does_not_count_and_comes_again, forget),
        cmocka_unit_test_setup(a_blob_put_again_after_a_power_cut_is_whole, forget),
        cmocka_unit_test_setup(a_tree_is_put_on_the_disk_whatever_is_in_it, forget),
        cmocka_unit_test_setup(what_was_used_longest_ago_goes_first, forget),
        cmocka_unit_test(nothing_goes_while_somebody_looks_up),
        cmocka_unit_test(a_kit_that_is_held_stays_and_a_leftover_goes),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
