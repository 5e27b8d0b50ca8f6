/* A kit that a command works with stays until that command ends, whatever others remove meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "sbx/file.h"
#include "sbx/kit_artifact.h"
#include "work.h"

struct world {
    char dir[32], cache[64], a[64], b[64]; /* two kits in layouts */
    struct sbx_arena *arena;
    struct sbx_place at_a, at_b;
};

static void write_at(const char *dir, const char *name, const char *text)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(sbx_file_write(AT_FDCWD, path, text, strlen(text), 0644, NULL), SBX_OK);
}

/* A kit named `name`, pushed into a layout of its own. */
static struct sbx_place push(struct world *w, const char *name, char dir[64])
{
    char spec[100], kit[64];
    struct sbx_kit_io io = { .cache = w->cache };
    SBX_AUTO(sbx_diags) diags = { 0 };
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_pushed pushed;
    struct sbx_place place;
    const char *text;

    snprintf(kit, sizeof(kit), "%s/%s", w->dir, name);
    snprintf(dir, 64, "%s/lay-%s", w->dir, name);
    assert_int_equal(mkdir(kit, 0755), 0);
    snprintf(spec, sizeof(spec), "schemaVersion: \"2\"\nkind: mixin\nname: %s\n", name);
    write_at(kit, "spec.yaml", spec);
    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    text = sbx_arena_printf(w->arena, "oci-layout:%s:1", dir);
    assert_int_equal(sbx_place_parse(text, w->arena, &place, &err), SBX_OK);
    if (sbx_kit_push(&io, kit, &place, SBX_ANCHOR_NONE, &diags, w->arena, &pushed, &err))
        fail_msg("%s", err.text);
    text = sbx_arena_printf(w->arena, "oci-layout:%s@%s", dir, pushed.digest);
    assert_int_equal(sbx_place_parse(text, w->arena, &place, &err), SBX_OK);
    return place;
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    *state = w;
    strcpy(w->dir, SBX_TEST_TMP "/fetch-XXXXXX");
    w->arena = sbx_arena_new();
    if (!w->arena || !mkdtemp(w->dir))
        return -1;
    snprintf(w->cache, sizeof(w->cache), "%s/cache", w->dir);
    w->at_a = push(w, "first", w->a);
    w->at_b = push(w, "second", w->b);
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    bool gone = sbx_dir_remove(AT_FDCWD, w->dir, NULL) == SBX_OK;

    sbx_arena_free(w->arena);
    free(w);
    return !gone;
}

/* What `sbx cache prune --all` does, in another process; descriptors of ours are not its own. */
static int prune(const struct world *w)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_PTR(sbx_cache) cache = NULL;
    struct sbx_cache_entry *v;
    SBX_AUTO_FD int alone = -1;
    size_t n = 0;
    bool gone;

    if (!arena || sbx_cache_open(w->cache, &cache, NULL) ||
        sbx_cache_alone(cache, &alone, NULL) || sbx_cache_list(cache, arena, &v, &n, NULL))
        return 1;
    for (size_t i = 0; i < n; i++)
        if (sbx_cache_drop(cache, &v[i], &gone, NULL))
            return 1;
    return 0;
}

/* Another fetch sweeps too. */
static int fetch_other(const struct world *w)
{
    struct sbx_kit_io io = { .cache = w->cache };
    char *dir = NULL;

    return sbx_kit_fetch(&io, &w->at_b, &dir, NULL) != SBX_OK;
}

static void in_child(const struct world *w, int (*work)(const struct world *))
{
    pid_t pid = fork();
    int status = -1;

    if (!pid)
        _exit(work(w));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void has_spec(const char *dir)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/spec.yaml", dir);
    assert_int_equal(access(path, R_OK), 0);
}

static size_t entries(const struct world *w, const char *kind)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_PTR(sbx_cache) cache = NULL;
    struct sbx_cache_entry *v;
    size_t n = 0, found = 0;

    assert_int_equal(sbx_cache_open(w->cache, &cache, NULL), SBX_OK);
    assert_int_equal(sbx_cache_list(cache, arena, &v, &n, NULL), SBX_OK);
    for (size_t i = 0; i < n; i++)
        found += !strcmp(v[i].kind, kind);
    return found;
}

/* Between unpacking and moving to where the user wants it. */
static void an_own_kit_survives_until_it_is_moved(void **state)
{
    struct world *w = *state;
    struct sbx_kit_io io = { .cache = w->cache };
    SBX_AUTO_FREE char *dir = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    char to[80];
    bool mine = false;

    assert_int_equal(sbx_kit_unpack(&io, &w->at_a, &mine, &dir, &err), SBX_OK);
    assert_true(mine);
    in_child(w, prune);
    has_spec(dir);
    in_child(w, fetch_other);
    has_spec(dir);
    snprintf(to, sizeof(to), "%s/out", w->dir);
    assert_int_equal(sbx_kit_move(dir, to, &err), SBX_OK);
    has_spec(to);
    in_child(w, prune);
    assert_int_equal(entries(w, "kit") + entries(w, "leftover") + entries(w, "blob"), 0);
}

static void a_kit_of_the_cache_survives_until_the_command_ends(void **state)
{
    struct world *w = *state;
    struct sbx_kit_io io = { .cache = w->cache };
    SBX_AUTO_FREE char *dir = NULL;
    struct sbx_err err = SBX_ERR_INIT;

    assert_int_equal(sbx_kit_fetch(&io, &w->at_a, &dir, &err), SBX_OK);
    in_child(w, fetch_other);
    assert_int_equal(entries(w, "kit"), 2);
    in_child(w, prune);
    has_spec(dir);
    assert_int_equal(entries(w, "kit"), 1);
}

static int make_and_die(const struct world *w)
{
    char *dir;
    int fd;

    return kit_work_make(w->cache, &dir, &fd, NULL) != SBX_OK;
}

static void what_a_killed_command_left_goes_with_the_next(void **state)
{
    struct world *w = *state;
    struct sbx_kit_io io = { .cache = w->cache };
    SBX_AUTO_FREE char *dir = NULL, *mine = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    SBX_AUTO_FD int fd = -1;

    in_child(w, make_and_die);
    assert_int_equal(entries(w, "leftover"), 1);
    assert_int_equal(kit_work_make(w->cache, &mine, &fd, &err), SBX_OK);
    assert_int_equal(entries(w, "leftover"), 1);
    assert_int_equal(sbx_kit_fetch(&io, &w->at_a, &dir, &err), SBX_OK);
    assert_int_equal(access(mine, F_OK), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_own_kit_survives_until_it_is_moved),
        TEST(a_kit_of_the_cache_survives_until_the_command_ends),
        TEST(what_a_killed_command_left_goes_with_the_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
