/* What the migration of a kit hands to users is a credentials.yaml. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/bindings.h"
#include "sbx/file.h"
#include "sbx/migrate.h"

static const char spec[] =
    "schemaVersion: \"1\"\nkind: mixin\nname: a\n"
    "credentials:\n"
    "  sources:\n"
    "    foo: {env: [FOO_KEY, FOO], file: {path: \"~/.foo\", parser: \"json:a.b\"}, priority: file-first}\n"
    "    bar: {file: {path: /etc/bar}}\n"
    "secrets: [GH_TOKEN]\n"
    "network: {serviceDomains: {api.foo.example: foo, '*.foo.example': foo, api.github.com: github}}\n";

static char here[] = SBX_TEST_TMP "/migrated-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(here) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return sbx_dir_remove(AT_FDCWD, here, NULL) ? -1 : 0;
}

static void check(const struct sbx_credentials *c)
{
    const struct sbx_binding *foo = sbx_credentials_find(c, "foo"),
                             *github = sbx_credentials_find(c, "github"),
                             *bar = sbx_credentials_find(c, "bar");

    assert_non_null(foo);
    assert_int_equal(foo->discovery.len, 2);
    assert_string_equal(foo->discovery.v[0].path, "~/.foo");
    assert_string_equal(foo->discovery.v[0].parser, "json:a.b");
    assert_int_equal(foo->discovery.v[1].env.len, 2);
    assert_int_equal(foo->api_key_domains.len, 2);
    assert_non_null(github);
    assert_string_equal(github->discovery.v[0].env.v[0], "GH_TOKEN");
    assert_string_equal(github->api_key_domains.v[0], "api.github.com");
    assert_non_null(bar);
    assert_string_equal(bar->discovery.v[0].path, "/etc/bar");
    assert_int_equal(bar->api_key_domains.len, 0);
}

static void the_text_for_users_is_read(void **state)
{
    char path[64], file[64];
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO(sbx_migration) m = { .needed = false };
    struct sbx_arena *arena = sbx_arena_new();
    struct sbx_credentials c;
    struct sbx_err err;

    (void)state;
    snprintf(path, sizeof(path), "%s/spec.yaml", here);
    snprintf(file, sizeof(file), "%s/credentials.yaml", here);
    assert_non_null(arena);
    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    assert_int_equal(sbx_file_write(AT_FDCWD, path, spec, strlen(spec), 0644, &err), SBX_OK);
    assert_int_equal(sbx_migration_plan(here, &diags, &m, &err), SBX_OK);
    assert_int_equal(sbx_file_write(AT_FDCWD, file, m.bindings.ptr, m.bindings.len, 0600, &err), SBX_OK);
    if (sbx_credentials_load(file, arena, &diags, &c, &err))
        fail_msg("%s\n%s", err.text, m.bindings.ptr);
    check(&c);
    sbx_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_text_for_users_is_read) };

    return cmocka_run_group_tests_name("migrated bindings", tests, setup, teardown);
}
