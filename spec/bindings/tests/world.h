/* A file of the user in a directory of its own, for the tests of this folder. */
#ifndef SBX_BINDINGS_TESTS_WORLD_H
#define SBX_BINDINGS_TESTS_WORLD_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "sbx/bindings.h"
#include "sbx/file.h"

struct world {
    char dir[40];
    char path[60]; /* of a file in it that is not there yet */
    struct sbx_arena *arena;
    struct sbx_diags diags;
    struct sbx_err err;
};

static inline int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    *state = w;
    if (!w)
        return -1;
    strcpy(w->dir, SBX_TEST_TMP "/bindings-XXXXXX");
    w->arena = sbx_arena_new();
    if (!w->arena || sbx_diags_init(&w->diags) || !mkdtemp(w->dir))
        return -1;
    snprintf(w->path, sizeof(w->path), "%s/f.yaml", w->dir);
    return 0;
}

static inline int teardown(void **state)
{
    struct world *w = *state;
    enum sbx_code rc = sbx_dir_remove(AT_FDCWD, w->dir, NULL);

    sbx_arena_free(w->arena);
    sbx_diags_release(&w->diags);
    free(w);
    return rc ? -1 : 0;
}

static inline void put(struct world *w, const char *text)
{
    assert_int_equal(sbx_file_write(AT_FDCWD, w->path, text, strlen(text), 0600, NULL), SBX_OK);
}

static inline enum sbx_code load_policy(struct world *w, const char *text, struct sbx_policy_file *f)
{
    put(w, text);
    return sbx_policy_file_load(w->path, w->arena, &w->diags, f, &w->err);
}

/* The first error as text, without the directory. */
static const char *first_error(struct world *w)
{
    SBX_AUTO(sbx_buf) line = SBX_BUF_INIT(5000);
    size_t i = 0;

    while (i < w->diags.len && w->diags.v[i].severity != SBX_ERROR)
        i++;
    if (i == w->diags.len)
        return "";
    assert_int_equal(sbx_diag_text(&w->diags.v[i], &line), SBX_OK);
    return sbx_arena_strdup(w->arena, line.ptr + strlen(w->dir) + 1);
}

#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
