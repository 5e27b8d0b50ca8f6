/* The client against Docker's registry 2.8 (no referrers API, deletes off). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "sbx/file.h"
#include "sbx/json.h"
#include "sbx/registry.h"
#include "world.h"

#define TYPE "application/vnd.oci.image.manifest.v1+json"
#define EMPTY "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" /* {} */

static struct world world;
static struct sbx_registry *registry;
static struct sbx_cache *cache;
static struct sbx_arena *arena;
static struct sbx_err err;

static int setup(void **state)
{
    struct sbx_registry_opts opts = { .host = world.host };
    char dir[128];

    (void)state;
    snprintf(dir, sizeof(dir), "%s/cache", world.dir);
    arena = sbx_arena_new();
    return sbx_registry_open(&opts, &registry, &err) || sbx_cache_open(dir, &cache, &err);
}

static int teardown(void **state)
{
    (void)state;
    sbx_registry_close(registry);
    sbx_cache_close(cache);
    sbx_arena_free(arena);
    return 0;
}

static int blob_fd(const void *data, size_t len)
{
    int fd = memfd_create("blob", MFD_CLOEXEC);

    assert_int_equal(sbx_write_all(fd, data, len), 0);
    return fd;
}

static void ok(enum sbx_code rc)
{
    if (rc)
        fail_msg("%s", err.text);
}

static void push(const char *repository, const void *data, size_t len, char *digest)
{
    SBX_AUTO_FD int fd = blob_fd(data, len);

    ok(sbx_digest(data, len, digest));
    ok(sbx_registry_push_blob(registry, repository, digest, (int64_t)len, fd, NULL, &err));
}

static void a_blob_goes_up_and_comes_back(void **state)
{
    char *data = calloc(1, 3000000), digest[SBX_DIGEST_TEXT_SIZE];
    bool has = false;
    int64_t size = 0;

    (void)state;
    for (size_t i = 0; i < 3000000; i++)
        data[i] = (char)(i * 7 >> 5);
    push("a/b", data, 3000000, digest);
    ok(sbx_registry_has_blob(registry, "a/b", digest, &has, &err));
    assert_true(has);
    ok(sbx_registry_pull_blob(registry, "a/b", digest, 3000000, cache, &err));
    assert_true(sbx_blob_has(cache, digest, &size));
    assert_int_equal(size, 3000000);
    sbx_blob_remove(cache, digest);
    free(data);
}

static void what_is_half_here_goes_on(void **state)
{
    char data[5000], digest[SBX_DIGEST_TEXT_SIZE];
    SBX_AUTO_PTR(sbx_blob_writer) w = NULL;

    (void)state;
    memset(data, 'x', sizeof(data));
    push("a/b", data, sizeof(data), digest);
    ok(sbx_blob_writer_open(cache, digest, sizeof(data), &w, &err));
    ok(sbx_blob_writer_add(w, data, 1234, &err));
    sbx_blob_writer_free(SBX_TAKE(w));
    ok(sbx_registry_pull_blob(registry, "a/b", digest, sizeof(data), cache, &err));
    assert_true(sbx_blob_has(cache, digest, NULL));
}

static void a_damaged_half_is_found_out_and_fetched_anew(void **state)
{
    char data[5000], digest[SBX_DIGEST_TEXT_SIZE];
    SBX_AUTO_PTR(sbx_blob_writer) w = NULL;

    (void)state;
    memset(data, 'y', sizeof(data));
    push("a/b", data, sizeof(data), digest);
    ok(sbx_blob_writer_open(cache, digest, sizeof(data), &w, &err));
    ok(sbx_blob_writer_add(w, "damaged", 7, &err));
    sbx_blob_writer_free(SBX_TAKE(w));
    ok(sbx_registry_pull_blob(registry, "a/b", digest, sizeof(data), cache, &err));
    assert_true(sbx_blob_has(cache, digest, NULL));
}

static void a_size_that_lies_is_refused(void **state)
{
    char digest[SBX_DIGEST_TEXT_SIZE];

    (void)state;
    push("a/b", "12345", 5, digest);
    assert_int_equal(sbx_registry_pull_blob(registry, "a/b", digest, 4, cache, &err), SBX_SCHEMA);
    assert_false(sbx_blob_has(cache, digest, NULL));
}

static void a_blob_is_mounted_from_another_repository(void **state)
{
    char digest[SBX_DIGEST_TEXT_SIZE];
    bool there = false;

    (void)state;
    push("a/b", "mounted", 7, digest);
    ok(sbx_registry_mount_blob(registry, "c/d", digest, "a/b", &there, &err));
    assert_true(there);
    there = true;
    ok(sbx_registry_mount_blob(registry, "c/d", EMPTY, "nowhere", &there, &err));
    assert_false(there);
}

static void make_manifest(const char *repository, const char *tag, const char *note,
                          const char *subject, char *digest)
{
    SBX_AUTO_FREE char *text = NULL;
    SBX_AUTO_FREE char *about = NULL;
    char unused[SBX_DIGEST_TEXT_SIZE];

    push(repository, "{}", 2, unused);
    if (subject)
        assert_true(asprintf(&about, ",\"subject\":{\"mediaType\":\"" TYPE
                                     "\",\"size\":5,\"digest\":\"%s\"}", subject) > 0);
    assert_true(asprintf(&text,
                         "{\"schemaVersion\":2,\"mediaType\":\"" TYPE
                         "\",\"artifactType\":\"x/y\",\"config\":{\"mediaType\":\"x/y\",\"size\":2,"
                         "\"digest\":\"" EMPTY "\"},\"layers\":[],\"annotations\":{\"note\":\"%s\"}%s}",
                         note, about ? about : "") > 0);
    ok(sbx_registry_push_manifest(registry, repository, tag, TYPE, text, strlen(text), &err));
    ok(sbx_digest(text, strlen(text), digest));
}

static void manifests_are_found_by_tag_and_digest(void **state)
{
    char digest[SBX_DIGEST_TEXT_SIZE];
    const char *const *tags;
    struct sbx_oci_doc doc;
    size_t n;

    (void)state;
    make_manifest("m/n", "1.0", "one", NULL, digest);
    make_manifest("m/n", "2.0", "one", NULL, digest);
    ok(sbx_registry_look(registry, "m/n", "1.0", arena, &doc, &err));
    assert_string_equal(doc.digest, digest);
    assert_string_equal(doc.media_type, TYPE);
    ok(sbx_registry_manifest(registry, "m/n", digest, arena, &doc, &err));
    assert_string_equal(doc.digest, digest);
    ok(sbx_registry_tags(registry, "m/n", arena, &tags, &n, &err));
    assert_int_equal(n, 2);
    assert_int_equal(sbx_registry_manifest(registry, "m/n", "3.0", arena, &doc, &err),
                     SBX_NOT_FOUND);
    assert_non_null(strstr(err.text, "MANIFEST_UNKNOWN"));
}

static void referrers_are_kept_under_a_tag(void **state)
{
    char digest[SBX_DIGEST_TEXT_SIZE], first[SBX_DIGEST_TEXT_SIZE], second[SBX_DIGEST_TEXT_SIZE];
    SBX_AUTO_JSON json_t *index = NULL;
    struct sbx_oci_doc doc;

    (void)state;
    make_manifest("r/r", "1.0", "subject", NULL, digest);
    ok(sbx_registry_referrers(registry, "r/r", digest, arena, &doc, &err));
    assert_null(strstr(doc.text, "sha256"));
    make_manifest("r/r", NULL, "provenance", digest, first);
    make_manifest("r/r", NULL, "signature", digest, second);
    make_manifest("r/r", NULL, "signature", digest, second);
    ok(sbx_registry_referrers(registry, "r/r", digest, arena, &doc, &err));
    index = json_loadb(doc.text, doc.len, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(index, "manifests")), 2);
    assert_non_null(strstr(doc.text, first));
    assert_non_null(strstr(doc.text, second));
}

static void a_registry_that_deletes_nothing_says_so(void **state)
{
    char digest[SBX_DIGEST_TEXT_SIZE];

    (void)state;
    make_manifest("d/e", "1.0", "stays", NULL, digest);
    assert_int_equal(sbx_registry_delete(registry, "d/e", digest, &err), SBX_UNSUPPORTED);
    assert_non_null(strstr(err.text, "405"));
}

static void what_does_not_answer_is_told(void **state)
{
    struct sbx_registry_opts opts = { .host = "127.0.0.1:1" };
    SBX_AUTO_PTR(sbx_registry) r = NULL;
    struct sbx_oci_doc doc;

    (void)state;
    ok(sbx_registry_open(&opts, &r, &err));
    assert_int_equal(sbx_registry_look(r, "a/b", "1", arena, &doc, &err), SBX_UNAVAILABLE);
    assert_non_null(strstr(err.text, "127.0.0.1:1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_blob_goes_up_and_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_half_here_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_half_is_found_out_and_fetched_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(a_size_that_lies_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_blob_is_mounted_from_another_repository, setup, teardown),
        cmocka_unit_test_setup_teardown(manifests_are_found_by_tag_and_digest, setup, teardown),
        cmocka_unit_test_setup_teardown(referrers_are_kept_under_a_tag, setup, teardown),
        cmocka_unit_test_setup_teardown(a_registry_that_deletes_nothing_says_so, setup, teardown),
        cmocka_unit_test_setup_teardown(what_does_not_answer_is_told, setup, teardown),
    };
    int failed;

    if (!world_start(&world, "")) {
        fprintf(stderr, "SKIPPED: docker-registry cannot be started\n");
        return 77;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    world_stop(&world);
    return failed;
}
