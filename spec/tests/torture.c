/*
 * Each allocation fails in turn while a kit is loaded with arguments, composed with its parent and
 * mixins, listed, printed as JSON, and while the user's files are read and changed. Whatever fails, the
 * call says "no memory" or gives the whole result, and nothing leaks. The program's own malloc stands
 * before libc's, so that libyaml, jansson and PCRE2 are in it too.
 */
#include <errno.h>
#include <openssl/err.h>
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

#include "failing_malloc.h"
#include "sbx/bindings.h"
#include "sbx/file.h"
#include "sbx/kit.h"

#define ROUNDS_MAX 20000 /* allocations of one operation; the largest has 2,000 */

/* ---- the operations: their result as text, malloc'd; NULL with SBX_NO_MEMORY ---- */

static char here[] = SBX_TEST_TMP "/torture-XXXXXX";

static const char *in(const char *name)
{
    static char path[300];

    snprintf(path, sizeof(path), "%s/%s", here, name);
    return path;
}

static enum sbx_code text_of(const struct sbx_artifact *a, char **ret)
{
    json_t *json = sbx_artifact_json(a);
    long armed = countdown;

    countdown = -1; /* sorting keys, jansson loses some instead of failing */
    *ret = json ? json_dumps(json, JSON_SORT_KEYS) : NULL;
    countdown = armed;
    json_decref(json);
    return *ret ? SBX_OK : SBX_NO_MEMORY;
}

static enum sbx_code fetch(void *data, const char *reference, struct sbx_origin at,
                           struct sbx_diags *diags, struct sbx_artifact **ret, struct sbx_err *err)
{
    (void)data;
    (void)at;
    return sbx_kit_load(in(reference), diags, ret, err);
}

static enum sbx_code load_into(struct sbx_diags *diags, struct sbx_arg_values *values, char **ret,
                               struct sbx_err *err)
{
    struct sbx_kit_options options = { .args = values, .digest = true, .for_use = true };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    enum sbx_code rc = sbx_arg_values_add(values, "child.v=1.20", err);

    if (!rc)
        rc = sbx_kit_load_with(in("child"), &options, diags, &a, err);
    return rc ? rc : text_of(a, ret);
}

static enum sbx_code load(char **ret)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_arg_values) values = sbx_arg_values_new();
    struct sbx_err err;

    if (!values || sbx_diags_init(&diags))
        return SBX_NO_MEMORY;
    return load_into(&diags, values, ret, &err);
}

static enum sbx_code compose_into(struct sbx_diags *diags, char **ret, struct sbx_err *err)
{
    const struct sbx_compose_opts opts = { .fetch = fetch };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_PTR(sbx_artifact) base = NULL;
    SBX_AUTO_PTR(sbx_artifact) mixin = NULL;
    SBX_AUTO_PTR(sbx_artifact) whole = NULL;
    struct sbx_element *v;
    size_t n;
    enum sbx_code rc = arena ? sbx_kit_load(in("child"), diags, &base, err) : SBX_NO_MEMORY;

    if (!rc)
        rc = sbx_kit_load(in("second"), diags, &mixin, err);
    if (!rc)
        rc = sbx_compose(base, (const struct sbx_artifact *[]){ mixin }, 1, &opts, diags, &whole,
                         err);
    if (!rc)
        rc = sbx_artifact_elements(whole, arena, &v, &n);
    return rc ? rc : text_of(whole, ret);
}

static enum sbx_code compose(char **ret)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    struct sbx_err err;

    return sbx_diags_init(&diags) ? SBX_NO_MEMORY : compose_into(&diags, ret, &err);
}

static enum sbx_code bindings(char **ret)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_credentials c;
    struct sbx_settings s;
    struct sbx_policy_file p;
    struct sbx_err err;
    enum sbx_code rc = !arena || sbx_diags_init(&diags) ? SBX_NO_MEMORY : SBX_OK;

    if (!rc)
        rc = sbx_credentials_load(in("credentials.yaml"), arena, &diags, &c, &err);
    if (!rc)
        rc = sbx_settings_load(in("settings.yaml"), arena, &diags, &s, &err);
    if (!rc)
        rc = sbx_policy_file_load(in("policy.yaml"), arena, &diags, &p, &err);
    if (!rc && asprintf(ret, "%zu %s %zu %s", c.bindings.len, c.bindings.v[1].variant, p.n_rules,
                        s.runtime) < 0)
        rc = SBX_NO_MEMORY;
    return rc;
}

static enum sbx_code change(char **ret)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    struct sbx_binding b = { .id = "svc" };
    struct sbx_credentials_change k = { .set = &b };
    struct sbx_err err;
    enum sbx_code rc = sbx_diags_init(&diags) ? SBX_NO_MEMORY : SBX_OK;

    if (!rc)
        rc = sbx_credentials_edit(in("credentials.yaml"), &k, &diags, &err);
    if (!rc && !(*ret = strdup("changed")))
        rc = SBX_NO_MEMORY;
    return rc;
}

/* ---- the torture ---- */

static void torture(enum sbx_code (*run)(char **ret))
{
    char *want = NULL, *got;
    long before, n = 0;
    enum sbx_code rc = SBX_OK;

    rc = run(&want); /* what libraries keep for good is kept now */
    assert_int_equal(rc, SBX_OK);
    for (hit = true; hit; n++) {
        assert_true(n < ROUNDS_MAX);
        got = NULL;
        hit = false;
        before = live;
        countdown = n;
        rc = run(&got);
        countdown = -1;
        if (rc != SBX_OK && rc != SBX_NO_MEMORY)
            fail_msg("allocation %ld: %s", n, sbx_code_name(rc));
        if (rc == SBX_OK && strcmp(got, want))
            fail_msg("allocation %ld: half a result:\n%s", n, got);
        free(got);
        if (live != before)
            fail_msg("allocation %ld: %ld leaked", n, live - before);
    }
    assert_int_equal(rc, SBX_OK);
    print_message("%ld allocations\n", n - 1);
    free(want);
}

static void loading_survives(void **state)
{
    (void)state;
    torture(load);
}

static void composing_survives(void **state)
{
    (void)state;
    torture(compose);
}

static void reading_the_users_files_survives(void **state)
{
    (void)state;
    torture(bindings);
}

static void changing_credentials_survives(void **state)
{
    (void)state;
    torture(change);
}

static int put(const char *name, const char *text)
{
    FILE *f = fopen(in(name), "w");

    return !f || fputs(text, f) < 0 || fclose(f) ? -1 : 0;
}

static int setup(void **state)
{
    static const char *const dirs[] = { "child", "child/files", "child/files/home", "parent", "first",
                                        "second" };
    int bad = 0;

    (void)state;
    ERR_get_error(); /* OpenSSL's queue of this thread is there for good */
    if (!mkdtemp(here))
        return -1;
    for (size_t i = 0; i < SBX_ARRAY_LEN(dirs); i++)
        bad |= mkdir(in(dirs[i]), 0755);
    bad |= put("child/spec.yaml",
               "schemaVersion: \"2\"\nkind: sandbox\nname: child\nextends: parent\nmixins: [first]\n"
               "args: {v: {default: \"1.2\", pattern: '[0-9]+\\.[0-9]+'}}\n"
               "sandbox: {command: [\"--version=${{ kit.args.v }}\"], resources: {cpu: 1, memory: 1g}}\n"
               "permissions: {network: {allow: [a.example.com, \"*.example.com:443\"]}}\n"
               "ports: [{container: 80}]\nlicenses: [MIT]\n"
               "environment: {variables: {A: \"${{ kit.args.v }}\", B: \"$${{ x }}\"}}\n"
               "setup: {install: [{command: x}], startup: [{command: y}], files: [{path: /a, content: b}]}\n");
    bad |= put("child/files/home/x", "${{ kit.args.v }}");
    bad |= put("parent/spec.yaml",
               "schemaVersion: \"2\"\nkind: sandbox\nname: parent\nlocked: [sandbox.image]\n"
               "sandbox: {image: \"x:1\", entrypoint: [a, b]}\nvolumes: [{path: /v, size: 1g}]\n"
               "credentials: [{service: s, apiKey: {name: S, inject: [{domain: a.example.com, scheme: bearer}]},\n"
               "  oauth: {tokenEndpoint: {host: a.example.com, path: /t}, sentinels: {accessToken: x, refreshToken: y},\n"
               "  credentialFile: {path: /f, structure: {a: \"{{.AccessToken}}\", b: [1, 2.5, true, null]}}}}]\n"
               "permissions: {network: {allow: [a.example.com]}}\n");
    bad |= put("first/spec.yaml", "schemaVersion: \"2\"\nkind: mixin\nname: first\n"
                                  "environment: &e {variables: {C: \"1\"}}\n");
    bad |= put("second/spec.yaml",
               "schemaVersion: \"1\"\nkind: mixin\nname: second\nnetwork: {allowedDomains: [b.example.com]}\n");
    bad |= put("credentials.yaml",
               "bindings:\n  a:\n    discovery: [{env: [A]}]\n    allowedDomains: [a.example.com]\n"
               "  a@b:\n    discovery: [{file: {path: x}}]\n    allowedDomains: []\n"
               "remembered: {/w: {a: a@b}}\n");
    bad |= put("settings.yaml", "images: {shell: \"x:1\"}\nnetwork: {hosts: {a.example.com: [192.0.2.1]}}\n");
    bad |= put("policy.yaml", "preset: balanced\nrules: [{decision: allow, resource: a.example.com}]\n");
    return bad;
}

static int teardown(void **state)
{
    (void)state;
    return sbx_dir_remove(-100 /* AT_FDCWD */, here, NULL) ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_survives),
        cmocka_unit_test(composing_survives),
        cmocka_unit_test(reading_the_users_files_survives),
        cmocka_unit_test(changing_credentials_survives),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
