/* A store in a directory of its own, for tests that import into it. */
#ifndef SBX_TEST_STORE_WORLD_H
#define SBX_TEST_STORE_WORLD_H

#include "image.h"

struct place {
    char dir[64], state[80], cache[80], file[80];
    struct sbx_store *store;
    struct sbx_arena *arena;
    struct sbx_err err;
};

static inline int set_up(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    snprintf(p->dir, sizeof(p->dir), SBX_TEST_TMP "/store-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    snprintf(p->state, sizeof(p->state), "%s/state", p->dir);
    snprintf(p->cache, sizeof(p->cache), "%s/cache", p->dir);
    snprintf(p->file, sizeof(p->file), "%s/image.tar", p->dir);
    p->arena = sbx_arena_new();
    assert_int_equal(sbx_store_open(p->state, p->cache, &p->store, &p->err), SBX_OK);
    *state = p;
    return 0;
}

static inline int tear_down(void **state)
{
    struct place *p = *state;

    sbx_store_close(p->store);
    sbx_arena_free(p->arena);
    assert_int_equal(sbx_dir_remove(AT_FDCWD, p->dir, NULL), SBX_OK);
    free(p);
    return 0;
}

static inline enum sbx_code load(struct place *p, const char *path)
{
    const char **names;
    size_t n;

    p->err = (struct sbx_err)SBX_ERR_INIT;
    return sbx_store_import(p->store, path, p->arena, &names, &n, &p->err);
}

static inline enum sbx_code load_image(struct place *p, struct test_image *im)
{
    image_save(im, p->file);
    return load(p, p->file);
}

static inline struct sbx_store_image found(struct place *p, const char *reference)
{
    struct sbx_store_image image = { 0 };
    enum sbx_code rc = sbx_store_find(p->store, reference, p->arena, &image, &p->err);

    if (rc)
        print_message("%s\n", p->err.text);
    assert_int_equal(rc, SBX_OK);
    return image;
}

static inline struct stat look(const struct sbx_store_image *image, size_t layer, const char *name)
{
    char path[4096];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", image->layers[layer], name);
    assert_int_equal(lstat(path, &st), 0);
    return st;
}

static inline bool exists(const struct sbx_store_image *image, size_t layer, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", image->layers[layer], name);
    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline size_t entries_in(const char *path)
{
    char command[256];
    FILE *f;
    int n = -1;

    snprintf(command, sizeof(command), "ls -A %s | grep -vc '[.]lock$'", path);
    f = popen(command, "r");
    assert_int_equal(fscanf(f, "%d", &n), 1);
    pclose(f);
    return (size_t)n;
}

#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
