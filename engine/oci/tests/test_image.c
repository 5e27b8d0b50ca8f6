/* Images from a real registry into the store. Their layout is made by image.py and pushed by skopeo. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "sbx/file.h"
#include "sbx/image_pull.h"
#include "world.h"

static struct world world;
static char index_digest[128], name[128], pinned[256];
static struct sbx_store *store;
static struct sbx_arena *arena;
static struct sbx_err err;

static int sh(const char *fmt, ...) SBX_PRINTF(1, 2);

static int sh(const char *fmt, ...)
{
    SBX_AUTO_FREE char *line = NULL;
    va_list args;
    int len;

    va_start(args, fmt);
    len = vasprintf(&line, fmt, args);
    va_end(args);
    return len < 0 ? -1 : system(line);
}

/* Push image.py's image of this text under the tag 1. */
static int push(const char *text)
{
    char path[128];
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(sizeof(index_digest) - 1);

    snprintf(path, sizeof(path), "%s/digest", world.dir);
    if (sh("rm -rf %s/image && python3 %s/image.py %s/image %s >%s && skopeo copy -q --all "
           "--dest-tls-verify=false oci:%s/image:1 docker://%s/images/base:1",
           world.dir, SBX_TEST_DIR, world.dir, text, path, world.dir, world.host) ||
        sbx_file_read(-100 /* AT_FDCWD */, path, &out, NULL))
        return -1;
    snprintf(index_digest, sizeof(index_digest), "%.71s", out.ptr);
    snprintf(name, sizeof(name), "%s/images/base:1", world.host);
    snprintf(pinned, sizeof(pinned), "%s/images/base@%s", world.host, index_digest);
    return 0;
}

static int setup(void **state)
{
    char cache[128], dir[128];

    (void)state;
    snprintf(cache, sizeof(cache), "%s/cache", world.dir);
    snprintf(dir, sizeof(dir), "%s/state", world.dir);
    arena = sbx_arena_new();
    return push("one") || sbx_store_open(dir, cache, &store, &err);
}

static int teardown(void **state)
{
    (void)state;
    sbx_store_close(store);
    sbx_arena_free(arena);
    return 0;
}

static void has(const char *reference, const char *env)
{
    struct sbx_store_image image;
    SBX_AUTO_FREE char *file = NULL;

    if (sbx_store_find(store, reference, arena, &image, &err))
        fail_msg("%s", err.text);
    assert_string_equal(image.env[0], env);
    assert_int_equal(image.n_layers, 1);
    assert_true(asprintf(&file, "%s/etc-%s", image.layers[0], sbx_store_platform().architecture) > 0);
    assert_int_equal(access(file, F_OK), 0);
}

static void an_image_is_pulled_for_our_platform_only(void **state)
{
    (void)state;
    if (sbx_image_pull(store, name, NULL, &err))
        fail_msg("%s", err.text);
    has(name, "IMAGE=one");
    assert_int_equal(sh("! grep -q mips64le %s/cache/blobs/sha256/* || "
                        "[ $(grep -l mips64le %s/cache/blobs/sha256/* | wc -l) = 1 ]",
                        world.dir, world.dir),
                     0); /* but the index, which names both */
}

static void a_pinned_image_is_found_by_the_digest_of_its_index(void **state)
{
    (void)state;
    if (sbx_image_pull(store, pinned, NULL, &err))
        fail_msg("%s", err.text);
    has(pinned, "IMAGE=one");
}

static void a_tag_that_moved_is_followed(void **state)
{
    (void)state;
    assert_int_equal(push("two"), 0);
    if (sbx_image_pull(store, name, NULL, &err))
        fail_msg("%s", err.text);
    has(name, "IMAGE=two");
}

static void what_is_not_there_is_told(void **state)
{
    char missing[160];

    (void)state;
    snprintf(missing, sizeof(missing), "%s/images/base:none", world.host);
    assert_int_equal(sbx_image_pull(store, missing, NULL, &err), SBX_NOT_FOUND);
    assert_non_null(strstr(err.text, "MANIFEST_UNKNOWN"));
    assert_int_equal(sbx_image_pull(store, "Not An Image", NULL, &err), SBX_SCHEMA);
}

static void images_stay_without_registry_and_cache(void **state)
{
    (void)state;
    assert_int_equal(sh("rm -rf %s/cache", world.dir), 0);
    has(name, "IMAGE=two");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_is_pulled_for_our_platform_only),
        cmocka_unit_test(a_pinned_image_is_found_by_the_digest_of_its_index),
        cmocka_unit_test(a_tag_that_moved_is_followed),
        cmocka_unit_test(what_is_not_there_is_told),
        cmocka_unit_test(images_stay_without_registry_and_cache),
    };
    int failed;

    if (system("command -v skopeo python3 >/dev/null") || !world_start(&world, "")) {
        fprintf(stderr, "SKIPPED: skopeo, python3 or docker-registry cannot be started\n");
        return 77;
    }
    failed = cmocka_run_group_tests(tests, setup, teardown);
    world_stop(&world);
    return failed;
}
