/* What the files of the cache are, and by which names they were fetched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "sbx/cache.h"
#include "sbx/file.h"

#define IMAGE "application/vnd.oci.image.config.v1+json"
#define KIT "application/vnd.docker.sandbox.kit.v2.spec+yaml"
#define MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define COMMIT "0123456789abcdef0123456789abcdef01234567"

struct world {
    char dir[sizeof(SBX_TEST_TMP) + 32];
    struct sbx_cache *cache;
    struct sbx_arena *arena;
    struct sbx_cache_entry *v;
    struct sbx_cache_thing *things;
    size_t n_files, n;
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    *state = w;
    snprintf(w->dir, sizeof(w->dir), "%s/things-XXXXXX", SBX_TEST_TMP);
    w->arena = sbx_arena_new();
    return !w->arena || !mkdtemp(w->dir) || sbx_cache_open(w->dir, &w->cache, NULL);
}

static int teardown(void **state)
{
    struct world *w = *state;
    int failed = sbx_dir_remove(-100 /* AT_FDCWD */, w->dir, NULL) != SBX_OK;

    sbx_cache_close(w->cache);
    sbx_arena_free(w->arena);
    free(w);
    return failed;
}

static const char *put(struct world *w, const char *text)
{
    char digest[SBX_DIGEST_TEXT_SIZE];

    assert_int_equal(sbx_blob_put_mem(w->cache, text, strlen(text), NULL, digest, NULL), SBX_OK);
    return sbx_arena_strdup(w->arena, digest);
}

static const char *put_manifest(struct world *w, const char *type, const char *config,
                                const char *layer)
{
    return put(w, sbx_arena_printf(w->arena,
                                   "{\"schemaVersion\":2,\"config\":{\"mediaType\":\"%s\",\"digest\":\"%s\"},"
                                   "\"layers\":[{\"digest\":\"%s\"},{\"digest\":\"%s\"}]}",
                                   type, config, layer, layer));
}

static void make_dir(struct world *w, const char *place, const char *name)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/%s/%s", w->dir, place, name);
    assert_int_equal(sbx_dir_make(path, 0700, NULL), SBX_OK);
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "/f");
    assert_int_equal(sbx_file_write(-100, path, "12345", 5, 0600, NULL), SBX_OK);
}

static void look(struct world *w)
{
    assert_int_equal(sbx_cache_list(w->cache, w->arena, &w->v, &w->n_files, NULL), SBX_OK);
    assert_int_equal(sbx_cache_things(w->cache, w->v, w->n_files, w->arena, &w->things, &w->n, NULL),
                     SBX_OK);
}

static const struct sbx_cache_thing *thing(const struct world *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++)
        if (!strcmp(w->things[i].name, name))
            return &w->things[i];
    fail_msg("no thing %s", name);
    return NULL;
}

static void a_manifest_stands_for_its_blobs_and_the_unpacked_kit(void **state)
{
    struct world *w = *state;
    const char *spec = put(w, "name: x\n"), *layer = put(w, "layer"), *config = put(w, "{}");
    const char *kit = put_manifest(w, KIT, spec, layer);
    const char *image = put_manifest(w, IMAGE, config, layer); /* shares the layer */
    const char *other = put_manifest(w, "text/plain", config, config);
    const char *gone = put_manifest(w, KIT, spec, "sha256:no digest");
    const char *alone = put(w, "{\"config\":1,\"layers\":[]}");

    make_dir(w, "kits", kit + 7);
    look(w);
    assert_int_equal(w->n, 5);
    assert_string_equal(thing(w, kit)->kind, "kit");
    assert_int_equal(thing(w, kit)->n_files, 4); /* a layer that stands there twice is one file */
    assert_string_equal(thing(w, image)->kind, "image");
    assert_int_equal(thing(w, image)->n_files, 3);
    assert_string_equal(thing(w, other)->kind, "artifact");
    assert_int_equal(thing(w, other)->n_files, 2);
    assert_int_equal(thing(w, gone)->n_files, 2);
    assert_string_equal(thing(w, alone)->kind, "blob");
    assert_int_equal(thing(w, alone)->size, 24);
    assert_null(thing(w, kit)->references[0]);
}

static void an_index_belongs_to_the_platform_that_was_fetched(void **state)
{
    struct world *w = *state;
    const char *layer = put(w, "layer"), *image = put_manifest(w, IMAGE, layer, layer);
    const char *index = put(w, sbx_arena_printf(w->arena, "{\"manifests\":[{\"digest\":\"sha256:%064d\"},"
                                                          "{\"digest\":\"%s\"}]}",
                                                0, image));
    const char *none = put(w, "{\"manifests\":[{\"digest\":\"x\"},1]}");

    assert_int_equal(sbx_blob_index(w->cache, image, 1, MANIFEST, "docker.io/library/a:1", NULL), SBX_OK);
    assert_int_equal(sbx_blob_index(w->cache, index, 1, MANIFEST, "docker.io/library/a:2", NULL), SBX_OK);
    look(w);
    assert_int_equal(w->n, 2);
    assert_int_equal(thing(w, image)->n_files, 3);
    assert_string_equal(thing(w, image)->references[0], "docker.io/library/a:1");
    assert_string_equal(thing(w, image)->references[1], "docker.io/library/a:2");
    assert_null(thing(w, image)->references[2]);
    assert_string_equal(thing(w, none)->kind, "blob");
}

static void an_image_with_a_manifest_for_other_tools_is_one_thing(void **state)
{
    struct world *w = *state;
    const char *layer = put(w, "layer"), *config = put(w, "{}");
    const char *oci = put_manifest(w, IMAGE, config, layer);
    const char *docker = put(w, sbx_arena_printf(w->arena,
        "{\"mediaType\":\"application/vnd.docker.distribution.manifest.v2+json\",\"layers\":[],\"config\":{"
        "\"mediaType\":\"application/vnd.docker.container.image.v1+json\",\"digest\":\"%s\"}}", config));

    assert_int_equal(sbx_blob_index(w->cache, oci, 1, MANIFEST, "docker.io/library/a:1", NULL), SBX_OK);
    look(w);
    assert_int_equal(w->n, 1);
    assert_int_equal(thing(w, docker)->n_files, 4);
    assert_string_equal(thing(w, docker)->references[0], "docker.io/library/a:1");
}

static void what_has_no_manifest_is_a_thing_of_its_own(void **state)
{
    struct world *w = *state;
    char kit[65], name[80];

    memset(kit, 'a', 64);
    kit[64] = '\0';
    snprintf(name, sizeof(name), "sha256:%s", kit);
    make_dir(w, "kits", kit);
    make_dir(w, "kits", ".tmp-1");
    make_dir(w, "git", COMMIT);
    assert_int_equal(sbx_cache_name(w->cache, name, "oci://h/r@x", NULL), SBX_OK);
    assert_int_equal(sbx_cache_name(w->cache, COMMIT, "git+https://h/r#ref=x", NULL), SBX_OK);
    look(w);
    assert_int_equal(w->n, 3);
    assert_string_equal(thing(w, name)->kind, "kit");
    assert_string_equal(thing(w, name)->references[0], "oci://h/r@x");
    assert_string_equal(thing(w, COMMIT)->kind, "git");
    assert_string_equal(thing(w, COMMIT)->references[0], "git+https://h/r#ref=x");
    assert_int_equal(thing(w, COMMIT)->size, 5);
    assert_string_equal(thing(w, ".tmp-1")->kind, "leftover");
}

static void a_name_is_noted_once_and_the_oldest_go_when_there_are_too_many(void **state)
{
    struct world *w = *state;
    const char *kit = put_manifest(w, KIT, "", "");
    size_t n = 0;

    assert_int_equal(sbx_blob_index(w->cache, kit, 1, MANIFEST, "h/r@x", NULL), SBX_OK);
    look(w);
    assert_string_equal(thing(w, kit)->references[0], "oci://h/r@x"); /* as long as nothing else names it */
    for (int i = 0; i < 4; i++)
        assert_int_equal(sbx_cache_name(w->cache, kit, i % 2 ? "oci://h/r" : "oci://h/r@x", NULL), SBX_OK);
    look(w);
    assert_string_equal(thing(w, kit)->references[0], "oci://h/r@x");
    assert_string_equal(thing(w, kit)->references[1], "oci://h/r");
    assert_null(thing(w, kit)->references[2]);
    for (int i = 0; i < 40; i++)
        assert_int_equal(sbx_cache_name(w->cache, kit, sbx_arena_printf(w->arena, "%02d%04000d", i, 0), NULL),
                         SBX_OK);
    look(w);
    while (thing(w, kit)->references[n])
        n++;
    assert_in_range(n, 15, 16); /* of 4,003 bytes each */
    assert_memory_equal(thing(w, kit)->references[n - 1], "39", 2);
    assert_int_equal(sbx_cache_name(w->cache, kit, "two\nlines", NULL), SBX_OK);
    look(w);
    assert_memory_equal(thing(w, kit)->references[n - 1], "39", 2);
}

static void a_name_goes_with_what_it_names(void **state)
{
    struct world *w = *state;
    const char *kit = put_manifest(w, KIT, "", "");
    char path[600];

    make_dir(w, "git", COMMIT);
    assert_int_equal(sbx_cache_name(w->cache, COMMIT, "git+https://h/r", NULL), SBX_OK);
    assert_int_equal(sbx_cache_name(w->cache, kit, "oci://h/r", NULL), SBX_OK);
    snprintf(path, sizeof(path), "%s/names/%s", w->dir, kit + 7);
    assert_int_equal(sbx_blob_index_tidy(w->cache, NULL), SBX_OK);
    assert_int_equal(access(path, F_OK), 0);
    sbx_blob_remove(w->cache, kit);
    make_dir(w, "kits", kit + 7);
    assert_int_equal(sbx_blob_index_tidy(w->cache, NULL), SBX_OK);
    assert_int_equal(access(path, F_OK), 0); /* it is still unpacked */
    snprintf(path, sizeof(path), "%s/kits/%s", w->dir, kit + 7);
    assert_int_equal(sbx_dir_remove(-100, path, NULL), SBX_OK);
    assert_int_equal(sbx_blob_index_tidy(w->cache, NULL), SBX_OK);
    snprintf(path, sizeof(path), "%s/names/%s", w->dir, kit + 7);
    assert_int_equal(access(path, F_OK), -1);
    look(w);
    assert_string_equal(thing(w, COMMIT)->references[0], "git+https://h/r");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_manifest_stands_for_its_blobs_and_the_unpacked_kit, setup, teardown),
        cmocka_unit_test_setup_teardown(an_index_belongs_to_the_platform_that_was_fetched, setup, teardown),
        cmocka_unit_test_setup_teardown(an_image_with_a_manifest_for_other_tools_is_one_thing, setup, teardown),
        cmocka_unit_test_setup_teardown(what_has_no_manifest_is_a_thing_of_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_is_noted_once_and_the_oldest_go_when_there_are_too_many, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_goes_with_what_it_names, setup, teardown),
    };

    return cmocka_run_group_tests_name("things", tests, NULL, NULL);
}
