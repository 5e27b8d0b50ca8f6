/* gzip: read whole and damaged; written with any number of threads. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "block.h"
#include "gzip.h"
#include "sbx/file.h"

static struct gzip_out *begun(int fd, unsigned threads)
{
    struct gzip_out *g = NULL;

    assert_int_equal(gzip_out_open(fd, threads, &g, NULL), SBX_OK);
    return g;
}

/* A file that has it packed; given in pieces of `step` bytes. */
static int packed_by(unsigned threads, size_t step, const void *data, size_t len,
                     char digest[SBX_DIGEST_TEXT_SIZE])
{
    int fd = memfd_create("gzip", MFD_CLOEXEC);
    struct gzip_out *g = begun(fd, threads);
    struct gzip_result made;

    for (size_t at = 0; at < len; at += step)
        assert_int_equal(gzip_out_add(g, (const char *)data + at, len - at < step ? len - at : step,
                                      NULL), SBX_OK);
    assert_int_equal(gzip_out_end(g, &made, NULL), SBX_OK);
    assert_int_equal(made.in, len);
    assert_int_equal(made.out, lseek(fd, 0, SEEK_END));
    memcpy(digest, made.digest, sizeof(made.digest));
    gzip_out_free(g);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static int packed(const void *data, size_t len, char digest[SBX_DIGEST_TEXT_SIZE])
{
    return packed_by(0, 1000, data, len, digest);
}

static enum sbx_code unpacked(int fd, int64_t max, size_t want, struct sbx_err *err)
{
    struct gzip_in *g = calloc(1, sizeof(*g));
    enum sbx_code rc = gzip_in_begin(g, fd, max, err);
    size_t n = 1, total = 0;
    char piece[777];

    while (!rc && n) {
        rc = gzip_in_read(g, piece, sizeof(piece), &n, err);
        total += n;
    }
    gzip_in_release(g);
    free(g);
    if (!rc)
        assert_int_equal(total, want);
    return rc;
}

static void gzip_comes_back_and_every_cut_is_seen(void **state)
{
    char data[300000], digest[SBX_DIGEST_TEXT_SIZE];
    struct sbx_err err = SBX_ERR_INIT;
    off_t all;
    int fd;

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * i >> 7);
    fd = packed(data, sizeof(data), digest);
    all = lseek(fd, 0, SEEK_END);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(unpacked(fd, INT64_MAX, sizeof(data), &err), SBX_OK);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(unpacked(fd, sizeof(data) - 1, 0, &err), SBX_LIMIT);
    for (off_t len = all - 1; len > 0; len -= all / 50) {
        assert_int_equal(ftruncate(fd, len), 0);
        lseek(fd, 0, SEEK_SET);
        assert_int_equal(unpacked(fd, INT64_MAX, 0, &err), SBX_SYNTAX);
    }
    close(fd);
}

static void members_follow_each_other_and_a_flipped_bit_is_seen(void **state)
{
    char digest[SBX_DIGEST_TEXT_SIZE], one[200];
    struct sbx_err err = SBX_ERR_INIT;
    int fd;
    ssize_t n;

    (void)state;
    fd = packed("hello", 5, digest);
    n = pread(fd, one, sizeof(one), 0);
    assert_int_equal(sbx_write_all((lseek(fd, 0, SEEK_END), fd), one, (size_t)n), 0);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(unpacked(fd, 100, 10, &err), SBX_OK);
    one[n - 8] ^= 1; /* of the sum */
    assert_int_equal(pwrite(fd, one, (size_t)n, 0), n);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(unpacked(fd, 100, 0, &err), SBX_SYNTAX);
    close(fd);
}

static void a_bomb_is_told_by_its_ratio(void **state)
{
    (void)state;
    assert_false(gzip_is_bomb(1000, 1000000)); /* small ones are harmless */
    assert_false(gzip_is_bomb(3LL << 30, 16LL << 30));
    assert_true(gzip_is_bomb(16 << 20, 16LL << 30));
}

/* ---- threads ---- */

#define MOST (5 * BLOCK_SIZE + 17)

static size_t idle; /* threads that are none of ours: a sanitizer has one, from the first that is made */

static size_t tasks(void)
{
    DIR *d = opendir("/proc/self/task");
    size_t n = 0;

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static uint32_t chance(uint32_t *seed) { return *seed = *seed * 1664525 + 1013904223; }

/* What kits hold: words, what is packed already, that as text, zeros, all in turn, one packed file again and again. */
static void make(char *data, size_t len, int kind)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char *const words[] = { "the ", "gate ", "of ", "a ", "sandbox ", "is\n", "lets ", "no " };
    uint32_t seed = 42;

    for (size_t i = 0; i < len; i++) {
        uint32_t c = chance(&seed) >> 24;
        int what = kind < 4 ? kind : kind == 4 ? (int)(i / 50000 % 4) : 1;
        const char *word = words[c % 8];

        if (kind == 5 && i % 20000 == 0)
            seed = 1;
        data[i] = what == 0 ? word[i % strlen(word)] : what == 1 ? (char)c : what == 2 ? letters[c % 64] : 0;
    }
}

static void same_content(int fd, const char *data, size_t len)
{
    struct gzip_in *g = calloc(1, sizeof(*g));
    char *back = malloc(len + 1);
    size_t n;

    assert_int_equal(gzip_in_begin(g, fd, INT64_MAX, NULL), SBX_OK);
    assert_int_equal(gzip_in_read(g, back, len + 1, &n, NULL), SBX_OK);
    assert_int_equal(n, len);
    assert_memory_equal(back, data, len);
    gzip_in_release(g);
    free(g);
    free(back);
}

/* Another reader, which checks the sum and the length. */
static void gzip_agrees(int fd)
{
    pid_t child = fork();
    int status;

    if (!child) {
        lseek(fd, 0, SEEK_SET);
        dup2(fd, 0);
        execlp("gzip", "gzip", "-t", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void bytes_do_not_depend_on_threads_or_pieces(void **state)
{
    static const struct { int kind; size_t len; } rows[] = {
        { 0, 0 }, { 0, 1 }, { 0, BLOCK_SIZE - 1 }, { 1, BLOCK_SIZE }, { 2, BLOCK_SIZE + 1 }, { 4, 2 * BLOCK_SIZE },
        { 0, MOST }, { 1, MOST }, { 2, MOST }, { 3, MOST }, { 4, MOST }, { 5, MOST },
    };
    static const struct { unsigned threads; size_t step; } ways[] = {
        { 0, 65536 }, { 1, 65536 }, { 2, 1000003 }, { 7, 511 }, { 7, MOST },
    };
    char *data = malloc(MOST), first[SBX_DIGEST_TEXT_SIZE], other[SBX_DIGEST_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        size_t len = rows[i].len;
        int fd;

        make(data, len, rows[i].kind);
        fd = packed_by(1, 10000, data, len, first);
        same_content(fd, data, len);
        gzip_agrees(fd);
        close(fd);
        for (size_t w = 0; w < SBX_ARRAY_LEN(ways); w++) {
            close(packed_by(ways[w].threads, ways[w].step, data, len, other));
            assert_string_equal(first, other);
        }
    }
    assert_int_equal(tasks(), idle);
    free(data);
}

static void one_processor_takes_no_thread_and_gives_the_same(void **state)
{
    char *data = malloc(MOST), many[SBX_DIGEST_TEXT_SIZE], one[SBX_DIGEST_TEXT_SIZE];
    cpu_set_t all, first;
    struct gzip_out *g;
    int fd;

    (void)state;
    make(data, MOST, 4);
    close(packed_by(2, MOST, data, MOST, many));
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&first);
    for (int i = 0; !CPU_COUNT(&first); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &first);
    assert_int_equal(sched_setaffinity(0, sizeof(first), &first), 0);
    close(packed_by(0, MOST, data, MOST, one));
    fd = memfd_create("gzip", MFD_CLOEXEC);
    g = begun(fd, 0);
    assert_int_equal(gzip_out_add(g, data, MOST, NULL), SBX_OK);
    assert_int_equal(tasks(), idle);
    gzip_out_free(g);
    close(fd);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    assert_string_equal(one, many);
    free(data);
}

static void what_is_given_up_or_fails_leaves_no_thread(void **state)
{
    char *data = malloc(MOST);
    struct sbx_err err = SBX_ERR_INIT;
    struct gzip_result made;
    struct gzip_out *g = NULL;
    enum sbx_code rc = SBX_OK;
    int full[2];

    (void)state;
    make(data, MOST, 0);
    for (size_t len = 0; len < MOST; len += 3 * BLOCK_SIZE) {
        int fd = memfd_create("gzip", MFD_CLOEXEC);

        g = begun(fd, 3);
        assert_int_equal(gzip_out_add(g, data, len, NULL), SBX_OK);
        gzip_out_free(g);
        close(fd);
        assert_int_equal(tasks(), idle);
    }
    assert_int_equal(pipe2(full, O_CLOEXEC | O_NONBLOCK), 0); /* it takes the header and some blocks */
    assert_int_equal(fcntl(full[1], F_SETPIPE_SZ, 65536), 65536);
    make(data, MOST, 1);
    g = begun(full[1], 3);
    rc = gzip_out_add(g, data, MOST, &err);
    if (!rc)
        rc = gzip_out_end(g, &made, &err);
    assert_int_equal(rc, SBX_IO);
    gzip_out_free(g);
    assert_int_equal(tasks(), idle);
    close(full[0]);
    close(full[1]);
    free(data);
}

static void the_search_for_repetitions_is_left_out_only_where_there_are_none(void **state)
{
    static const struct { int kind; int64_t least, most; } rows[] = {
        { 0, 1, MOST / 2 }, { 1, MOST, MOST + MOST / 1000 }, { 2, MOST / 100 * 75, MOST / 100 * 76 }, { 3, 1, MOST / 500 }, { 5, 1, MOST / 20 },
    };
    char *data = malloc(MOST), digest[SBX_DIGEST_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        int fd;
        off_t size;

        make(data, MOST, rows[i].kind);
        fd = packed(data, MOST, digest);
        size = lseek(fd, 0, SEEK_END);
        assert_in_range(size, rows[i].least, rows[i].most);
        close(fd);
    }
    free(data);
}

static void *nothing(void *unused) { return unused; }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_comes_back_and_every_cut_is_seen),
        cmocka_unit_test(members_follow_each_other_and_a_flipped_bit_is_seen),
        cmocka_unit_test(a_bomb_is_told_by_its_ratio),
        cmocka_unit_test(bytes_do_not_depend_on_threads_or_pieces),
        cmocka_unit_test(one_processor_takes_no_thread_and_gives_the_same),
        cmocka_unit_test(what_is_given_up_or_fails_leaves_no_thread),
        cmocka_unit_test(the_search_for_repetitions_is_left_out_only_where_there_are_none),
    };

    pthread_t first;

    if (pthread_create(&first, NULL, nothing, NULL) || pthread_join(first, NULL))
        return 1;
    idle = tasks();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
