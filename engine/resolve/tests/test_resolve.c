/* The base agent in its three ways, and what is refused. Kits are made in a directory of the test. */
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

#include "sbx/builtin.h"
#include "sbx/file.h"
#include "sbx/resolve.h"

static char here[] = SBX_TEST_TMP "/resolve-XXXXXX";
static char start[4096];

static void kit(const char *dir, const char *name, const char *rest)
{
    char path[256];
    FILE *f;

    mkdir(dir, 0755);
    snprintf(path, sizeof(path), "%s/spec.yaml", dir);
    f = fopen(path, "w");
    fprintf(f, "schemaVersion: \"2\"\nname: %s\n%s\n", name, rest);
    fclose(f);
}

static int setup(void **state)
{
    (void)state;
    if (!getcwd(start, sizeof(start)) || !mkdtemp(here) || chdir(here))
        return -1;
    kit("agent", "agent", "kind: sandbox\nsandbox: { image: \"x:1\" }");
    kit("other", "other", "kind: sandbox\nsandbox: { image: \"x:1\" }");
    kit("one", "one", "kind: mixin\nenvironment: { variables: { V: one } }");
    kit("two", "two", "kind: mixin\nenvironment: { variables: { V: two } }");
    kit("one-again", "one", "kind: mixin");
    kit("forclaude", "forclaude", "kind: mixin\nrequires: { agent: claude }");
    kit("claude", "claude", "kind: sandbox\nsandbox: { image: \"x:1\" }");
    kit("args", "args", "kind: mixin\nargs: { version: { default: \"1\" } }");
    kit("extends", "ext", "kind: sandbox\nextends: claude");
    kit("needs", "needs", "kind: mixin\nargs: { version: { required: true } }");
    kit("nested", "nested", "kind: sandbox\nextends: ./base\nmixins: [./inner, hello]");
    kit("nested/base", "base", "kind: sandbox\nsandbox: { image: \"x:1\" }");
    kit("nested/inner", "inner", "kind: mixin");
    kit("out", "out", "kind: sandbox\nsandbox: { image: \"x:1\" }\nmixins: [../one]");
    kit("link", "link", "kind: sandbox\nsandbox: { image: \"x:1\" }\nmixins: [./m]");
    if (symlink("../one", "link/m"))
        return -1;
    kit("remote", "remote", "kind: sandbox\nextends: \"oci://ghcr.io/o/k@sha256:"
        "0000000000000000000000000000000000000000000000000000000000000000\"");
    kit("mixins", "mix", "kind: sandbox\nsandbox: { image: \"x:1\" }\nmixins: [one]");
    kit("bad", "bad", "kind: mixin\nnonsense: 1\nmore: 2");
    mkdir("work", 0755);
    return 0;
}

static int teardown(void **state)
{
    struct sbx_err err;

    (void)state;
    if (chdir(start))
        return -1;
    return sbx_dir_remove(-100 /* AT_FDCWD */, here, &err) ? -1 : 0;
}

struct row {
    const char *word, *kits[4];
    enum sbx_code code;
    const char *text; /* base:mixin:mixin when it works, part of the error else */
    bool used;
};

static void describe(const struct sbx_artifact *a, char *out, size_t size)
{
    size_t len = 0;

    for (size_t i = 0; i < a->kits.len && len < size; i++)
        len += (size_t)snprintf(out + len, size - len, "%s%s=%s", i ? " " : "", a->kits.v[i].name,
                                a->kits.v[i].reference);
}

static void check(const struct row *row)
{
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    SBX_AUTO(sbx_diags) diags = { 0 };
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_resolve r = { .word = row->word, .kits = row->kits };
    bool used = false;
    char text[512] = "";
    enum sbx_code rc;

    while (row->kits[r.n_kits])
        r.n_kits++;
    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    rc = sbx_resolve(&r, &diags, &a, &used, &err);
    if (!rc)
        describe(a, text, sizeof(text));
    if (rc != row->code || !strstr(rc ? err.text : text, row->text) || (!rc && used != row->used))
        fail_msg("%s + %s: %s [%s%s] used %d", row->word ? row->word : "-",
                 row->kits[0] ? row->kits[0] : "-", sbx_code_name(rc), err.text, text, used);
    if (rc == SBX_SCHEMA && !diags.errors)
        fail_msg("%s: a schema error without a finding", row->word);
}

static void the_base_agent_comes_in_three_ways(void **state)
{
    static const struct row rows[] = {
        { "shell", { NULL }, SBX_OK, "shell=shell", true },
        { "shell",
          { "./one", "./two", "hello" },
          SBX_OK,
          "shell=shell one=./one two=./two hello=hello",
          true },
        { "./agent", { "./one" }, SBX_OK, "agent=./agent one=./one", true },
        { "agent", { "./one", "./agent" }, SBX_OK, "agent=./agent one=./one", true },
        { NULL,
          { "./one", "./agent", "./two" },
          SBX_OK,
          "agent=./agent one=./one two=./two",
          false },
        { "./work", { "./agent" }, SBX_OK, "agent=./agent", false },
        { "work", { "./agent" }, SBX_OK, "agent=./agent", false },
        { ".", { "./agent" }, SBX_OK, "agent=./agent", false },
        { "./agent", { "./agent" }, SBX_OK, "agent=./agent", false }, /* a workspace beside --kit */
        { "file://./agent", { NULL }, SBX_OK, "agent=file://./agent", true },
        { "./agent/", { NULL }, SBX_OK, "agent=./agent/", true },
        { "claude", { "./forclaude" }, SBX_OK, "claude=claude forclaude", true },
        { "shell", { "./args" }, SBX_OK, "shell=shell args=./args", true },
        { "./extends", { "./forclaude" }, SBX_OK, "ext=./extends forclaude", true },
        { "./nested", { "./one" }, SBX_OK, "nested=./nested inner=./inner hello=hello one=./one", true },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        check(&rows[i]);
}

static void later_kits_win_and_keep_their_origin(void **state)
{
    const char *kits[] = { "./two", "./one" };
    struct sbx_resolve r = { .word = "shell", .kits = kits, .n_kits = 2 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    SBX_AUTO(sbx_diags) diags = { 0 };
    struct sbx_err err = SBX_ERR_INIT;
    bool used;

    (void)state;
    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    assert_int_equal(sbx_resolve(&r, &diags, &a, &used, &err), SBX_OK);
    for (size_t i = 0; i < a->variables.len; i++)
        if (!strcmp(a->variables.v[i].name, "V")) {
            assert_string_equal(a->variables.v[i].value, "one");
            assert_string_equal(a->variables.v[i].at.kit, "one");
            return;
        }
    fail_msg("V is not among the variables");
}

static void what_cannot_be_composed_is_refused_with_its_reason(void **state)
{
    static const struct row rows[] = {
        { NULL, { NULL }, SBX_USAGE, "which agent?", false },
        { NULL, { "./one" }, SBX_USAGE, "which agent?", false },
        { "cluade",
          { NULL },
          SBX_NOT_FOUND,
          "agent cluade: no built-in kit of that name; did you mean \"claude\"?",
          false },
        { "agent", { NULL }, SBX_NOT_FOUND, "for the directory write ./agent", false },
        { "./nowhere", { NULL }, SBX_NOT_FOUND, "agent ./nowhere: No such file", false },
        { "./agent/spec.yaml", { NULL }, SBX_USAGE, "is a file", false },
        { "./work", { NULL }, SBX_USAGE, "./work has no spec.yaml", false },
        { "./one", { NULL }, SBX_USAGE, "kit one is a mixin, not an agent", false },
        { "hello", { NULL }, SBX_USAGE, "kit hello is a mixin", false },
        { "shell", { "./nowhere" }, SBX_NOT_FOUND, "--kit ./nowhere: No such file", false },
        { "shell", { "./one/../../etc" }, SBX_NOT_FOUND, "No such file", false },
        { "shell",
          { "./agent" },
          SBX_CONFLICT,
          "two sandbox kits, \"shell\" and \"agent\"",
          false },
        { NULL,
          { "./agent", "./other" },
          SBX_CONFLICT,
          "two sandbox kits, \"agent\" and \"other\"",
          false },
        { "nothing",
          { "./agent" },
          SBX_USAGE,
          "neither the agent (agent, by --kit ./agent)",
          false },
        { "shell", { "./one", "./one-again" }, SBX_CONFLICT, "", false },
        { "shell", { "./forclaude" }, SBX_CONFLICT, "", false },
        { "./claude", { NULL }, SBX_CONFLICT, "", false },
        { "shell", { "./needs" }, SBX_SCHEMA, "is required, and no value was given", false },
        { "./mixins", { NULL }, SBX_NOT_FOUND, "kit mix: mixins one: kit one: no built-in kit", false },
        { "./out", { NULL }, SBX_SCHEMA, "leaves the directory of the kit that names it", false },
        { "./link", { NULL }, SBX_SCHEMA, "a link that leads out of the directory", false },
        { "./remote", { NULL }, SBX_UNSUPPORTED, "cannot be fetched: no place for a cache", false },
        { "shell", { "./bad" }, SBX_SCHEMA, "", false },
        { "shell",
          { "git+https://example.com/x.git#ref=0000000000000000000000000000000000000000" },
          SBX_UNSUPPORTED,
          "cannot be fetched: no place for a cache",
          false },
        { "oci://ghcr.io/org/"
          "kit@sha256:0000000000000000000000000000000000000000000000000000000000000000",
          { NULL },
          SBX_UNSUPPORTED,
          "cannot be fetched: no place for a cache",
          false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        check(&rows[i]);
}

static void a_copy_of_a_built_in_may_carry_its_name(void **state)
{
    struct row row = { SBX_SOURCE_DIR "/kits/agents/claude", { NULL }, SBX_OK, "claude=", true };

    (void)state;
    check(&row);
}

static void every_built_in_kit_composes(void **state)
{
    (void)state;
    assert_int_equal(sbx_builtin_kits_n, 10);
    for (size_t i = 0; i < sbx_builtin_kits_n; i++) {
        const struct sbx_embedded_kit *k = &sbx_builtin_kits[i];
        struct row row = {
            k->agent ? k->name : "shell", { k->agent ? NULL : k->name }, SBX_OK, k->name, true
        };
        SBX_AUTO_PTR(sbx_artifact) a = NULL;
        SBX_AUTO(sbx_diags) diags = { 0 };
        struct sbx_err err = SBX_ERR_INIT;

        check(&row);
        assert_int_equal(sbx_diags_init(&diags), SBX_OK);
        assert_int_equal(sbx_resolve_load(&(struct sbx_resolve){ .word = NULL }, k->name, NULL, &diags,
                                          &a, &err),
                         SBX_OK);
        assert_int_equal(diags.len, 0); /* ours give no remark either */
        assert_int_equal(a->warnings.len, 0);
        assert_true(a->embedded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_base_agent_comes_in_three_ways),
        cmocka_unit_test(later_kits_win_and_keep_their_origin),
        cmocka_unit_test(what_cannot_be_composed_is_refused_with_its_reason),
        cmocka_unit_test(a_copy_of_a_built_in_may_carry_its_name),
        cmocka_unit_test(every_built_in_kit_composes),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
