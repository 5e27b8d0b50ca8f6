/* A directory with kits, for the tests of loading. */
#ifndef SBX_KIT_TESTS_PLACE_H
#define SBX_KIT_TESTS_PLACE_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "sbx/file.h"
#include "sbx/kit.h"

#define SPEC "schemaVersion: \"2\"\nkind: mixin\nname: a\n"

struct place {
    char dir[64];
    struct sbx_diags diags;
    struct sbx_artifact *a;
    struct sbx_err err;
};

static inline int set_up(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    strcpy(p->dir, SBX_TEST_TMP "/kit-XXXXXX");
    if (!mkdtemp(p->dir) || sbx_diags_init(&p->diags))
        return -1;
    *state = p;
    return 0;
}

static inline int tear_down(void **state)
{
    struct place *p = *state;
    enum sbx_code rc = sbx_dir_remove(AT_FDCWD, p->dir, NULL);

    sbx_artifact_free(p->a);
    sbx_diags_release(&p->diags);
    free(p);
    return rc ? -1 : 0;
}

static const char *path_in(const struct place *p, const char *name)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    return path;
}

static inline void put(const struct place *p, const char *name, const char *text, mode_t mode)
{
    char parent[4096];

    snprintf(parent, sizeof(parent), "%s", path_in(p, name));
    *strrchr(parent, '/') = '\0';
    assert_int_equal(sbx_dir_make(parent, 0755, NULL), SBX_OK);
    assert_int_equal(sbx_file_write(AT_FDCWD, path_in(p, name), text, strlen(text), mode, NULL), SBX_OK);
}

static inline enum sbx_code load(struct place *p)
{
    sbx_artifact_free(p->a);
    p->a = NULL;
    sbx_diags_release(&p->diags);
    assert_int_equal(sbx_diags_init(&p->diags), SBX_OK);
    p->err = (struct sbx_err)SBX_ERR_INIT;
    return sbx_kit_load(p->dir, &p->diags, &p->a, &p->err);
}

static inline void want_file(const struct place *p, size_t i, const char *path, unsigned mode, size_t size)
{
    assert_true(i < p->a->files.len);
    assert_string_equal(p->a->files.v[i].path, path);
    assert_int_equal(p->a->files.v[i].mode, mode);
    assert_int_equal(p->a->files.v[i].size, size);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
