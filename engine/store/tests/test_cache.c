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
#include <unistd.h>
#include <cmocka.h>

#include "sbx/cache.h"
#include "sbx/file.h"

static char dir[] = "/tmp/sbx-cache-XXXXXX";
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_cut_download_goes_on_where_it_was, forget),
        cmocka_unit_test_setup(a_blob_that_is_here_is_not_written_again, forget),
        cmocka_unit_test_setup(wrong_content_is_not_kept, forget),
        cmocka_unit_test_setup(two_commands_bring_a_blob_once, forget),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
