/*
 * Each allocation fails in turn, while kits of both versions are read, written and migrated: no crash, no
 * leak (sanitizers), and never a success that lost something. The linker's --wrap gives us the calls.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/file.h"
#include "sbx/kit.h"
#include "sbx/migrate.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static bool counting;
static size_t count, fail_at; /* 0: none fails */

static bool fails(void)
{
    return counting && ++count == fail_at;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

static char here[] = SBX_TEST_TMP "/nomem-XXXXXX";

/* All of it, once. `ret` is what the kit became, as JSON. */
static enum sbx_code work(const char *spec, char **ret)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_MIGRATED_MAX);
    SBX_AUTO(sbx_migration) m = { .needed = false };
    json_t *o;
    enum sbx_code rc;

    if (sbx_diags_init(&diags))
        return SBX_NO_MEMORY;
    rc = sbx_kit_load_bytes("spec.yaml", spec, strlen(spec), &diags, &a, NULL);
    if (!rc)
        rc = sbx_artifact_yaml(a, &text, NULL);
    if (!rc)
        rc = sbx_migration_plan(here, &diags, &m, NULL);
    if (rc)
        return rc;
    o = sbx_artifact_json(a);
    counting = false; /* jansson's own writer is not our business */
    *ret = o ? json_dumps(o, JSON_SORT_KEYS) : NULL;
    json_decref(o);
    return *ret ? SBX_OK : SBX_NO_MEMORY;
}

static enum sbx_code counted(const char *spec, size_t at, char **ret)
{
    enum sbx_code rc;

    count = 0;
    fail_at = at;
    counting = true;
    rc = work(spec, ret);
    counting = false;
    return rc;
}

static void check_each(const char *name)
{
    SBX_AUTO(sbx_buf) spec = SBX_BUF_INIT(SBX_SPEC_MAX);
    SBX_AUTO_FREE char *want = NULL;
    char path[4096];
    size_t n;

    snprintf(path, sizeof(path), "%s/fuzz/corpus/%s", SBX_TEST_DIR "/..", name);
    assert_int_equal(sbx_file_read(AT_FDCWD, path, &spec, NULL), SBX_OK);
    snprintf(path, sizeof(path), "%s/spec.yaml", here);
    assert_int_equal(sbx_file_write(AT_FDCWD, path, spec.ptr, spec.len, 0644, NULL), SBX_OK);
    assert_int_equal(counted(spec.ptr, 0, &want), SBX_OK);
    n = count;
    assert_true(n > 20);
    for (size_t at = 1; at <= n; at++) {
        SBX_AUTO_FREE char *got = NULL;
        enum sbx_code rc = counted(spec.ptr, at, &got);

        if (rc == SBX_OK)
            assert_string_equal(got, want); /* it was only for a remark */
        else if (rc != SBX_NO_MEMORY && rc != SBX_SCHEMA && rc != SBX_IO)
            fail_msg("%s: allocation %zu: %s", name, at, sbx_code_name(rc));
    }
}

static void version_1_survives_each_failure(void **state)
{
    (void)state;
    check_each("v1-surfaces.yaml");
}

static void version_2_survives_each_failure(void **state)
{
    (void)state;
    check_each("whole-0.yaml");
}

static json_t *counted_schema(unsigned version, size_t at)
{
    json_t *o;

    count = 0;
    fail_at = at;
    counting = true;
    o = sbx_kit_schema(version);
    counting = false;
    return o;
}

static void the_schema_survives_each_failure(void **state)
{
    (void)state;
    for (unsigned version = 1; version <= 2; version++) {
        json_t *want = counted_schema(version, 0);
        size_t n = count;

        assert_non_null(want);
        for (size_t at = 1; at <= n; at += 7) { /* about 3,000 */
            json_t *got = counted_schema(version, at);

            if (got && !json_equal(got, want))
                fail_msg("version %u: allocation %zu of %zu", version, at, n);
            json_decref(got);
        }
        json_decref(want);
    }
}

static int setup(void **state)
{
    (void)state;
    json_set_alloc_funcs(__wrap_malloc, free);
    return mkdtemp(here) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return sbx_dir_remove(AT_FDCWD, here, NULL) ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1_survives_each_failure),
        cmocka_unit_test(version_2_survives_each_failure),
        cmocka_unit_test(the_schema_survives_each_failure),
    };

    return cmocka_run_group_tests_name("kit without memory", tests, setup, teardown);
}
