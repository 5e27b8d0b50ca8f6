/* Each allocation fails in turn while the sessions of the fuzz corpus are played: nothing is used that is not
 * there, nothing leaks, every request that went on comes to its end, and the connection too. The program's own
 * malloc stands before libc's, so that nghttp2 is in it. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_malloc.h"
#include "http.h"

#define ROUNDS_MAX 20000 /* allocations of one session; the largest has some hundreds */

static uint8_t data[1 << 16];
static size_t size;
static int running;

/* The largest blocks of a session are pages of their own (h2mem.c). */
void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t at)
{
    void *p = fails() ? MAP_FAILED : (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, at);

    live += p != MAP_FAILED;
    return p;
}

int munmap(void *addr, size_t len)
{
    live--;
    return (int)syscall(SYS_munmap, addr, len);
}

static bool judge(void *ctx, const struct sbx_http_ask *ask, uint64_t *ret_number, struct sbx_http_no *no)
{
    (void)ctx;
    if (!sbx_slice_is(ask->method, "CONNECT") && sbx_slice_is(ask->authority, "a.de")) {
        *ret_number = 1;
        running++;
        return true;
    }
    *no = (struct sbx_http_no){ .status = 421, .text = "no\n" };
    return false;
}

static const char *fault(void *ctx, const struct sbx_http_ask *ask, unsigned status, const char *reason)
{
    (void)ctx, (void)ask, (void)status;
    return reason;
}

static void over(void *ctx, const struct sbx_http_over *what)
{
    (void)ctx, (void)what;
    running--;
}

static bool strikes(void *ctx, struct sbx_slice name)
{
    (void)ctx;
    return sbx_slice_is(name, "authorization");
}

static bool add(void *ctx, unsigned i, struct sbx_http_field *ret)
{
    (void)ctx;
    *ret = (struct sbx_http_field){ { "authorization", 13 }, { "secret", 6 } };
    return i == 0;
}

static void take_output(struct sbx_h2 *h)
{
    char buf[1024];

    while (sbx_h2_output(h, SBX_HTTP_CLIENT, buf, sizeof(buf)) +
           sbx_h2_output(h, SBX_HTTP_SERVER, buf, sizeof(buf)))
        ;
}

/* The records of fuzz/fuzz_h2.c. */
static void play(struct sbx_h2 *h)
{
    uint64_t now_ms = 1000;
    size_t at = 0;

    while (size - at >= 3) {
        enum sbx_http_end from = data[at] & 1 ? SBX_HTTP_SERVER : SBX_HTTP_CLIENT;
        size_t len = (size_t)data[at + 1] << 8 | data[at + 2];
        uint8_t what = data[at];

        at += 3;
        if (len > size - at)
            len = size - at;
        if (what & 4)
            sbx_h2_tick(h, now_ms += 1 + (uint64_t)(what >> 3) * 30000);
        if (sbx_h2_wants(h, from))
            (void)sbx_h2_input(h, from, data + at, len);
        if (what & 2)
            take_output(h);
        at += len;
    }
    take_output(h);
    sbx_h2_ended(h, SBX_HTTP_SERVER);
    sbx_h2_ended(h, SBX_HTTP_CLIENT);
    take_output(h);
    assert_true(sbx_h2_done(h));
}

static bool play_with(long fail_at)
{
    size_t spare = 1 << 20;
    const struct sbx_http_host host = { NULL, judge, fault, over, strikes, add, &spare };
    long before = live;
    struct sbx_h2 *h;

    hit = false;
    countdown = fail_at;
    h = sbx_h2_new(&host, 1000);
    if (h)
        play(h);
    sbx_h2_free(h);
    countdown = -1;
    assert_int_equal(live, before);
    assert_int_equal(running, 0);
    assert_int_equal(spare, 1 << 20);
    return hit;
}

static void each_allocation_may_fail(void **state)
{
    DIR *dir = opendir(SBX_TEST_DIR "/../fuzz/corpus/gate_h2");
    unsigned files = 0, rounds = 0;
    struct dirent *e;
    char path[600];
    FILE *f;

    (void)state;
    assert_non_null(dir);
    while ((e = readdir(dir))) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/../fuzz/corpus/gate_h2/%s", SBX_TEST_DIR, e->d_name);
        f = fopen(path, "rb");
        assert_non_null(f);
        size = fread(data, 1, sizeof(data), f);
        fclose(f);
        files++;
        assert_false(play_with(-1));
        for (long n = 0; play_with(n); n++, rounds++)
            assert_in_range(n, 0, ROUNDS_MAX);
    }
    closedir(dir);
    assert_in_range(files, 10, 1000);
    assert_in_range(rounds, 500, 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_allocation_may_fail) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
