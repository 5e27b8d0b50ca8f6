/* Kits in memory: compositions with files and arguments, and what is wrong in a built-in kit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/kit.h"

#define HEAD "schemaVersion: \"2\"\n"
#define FILE_OF(path, text) { path, (const unsigned char *)(text), sizeof(text) - 1, 0644 }
#define KIT(name, ...) \
    static const struct sbx_embedded_file name##_files[] = { __VA_ARGS__ }; \
    static const struct sbx_embedded_kit name = { #name, true, name##_files, SBX_ARRAY_LEN(name##_files) }

KIT(parent,
    FILE_OF("spec.yaml", HEAD "kind: sandbox\nname: parent\n"
                              "sandbox:\n  image: p:1\n"
                              "  build: {context: ctx, dockerfile: D, target: t, args: {A: a, B: b}, platforms: [linux/amd64]}\n"),
    FILE_OF("files/home/both", "parent"), FILE_OF("files/home/only", "parent"));
KIT(child, FILE_OF("spec.yaml", HEAD "kind: sandbox\nname: child\nextends: parent\n"),
    FILE_OF("files/home/both", "child"), FILE_OF("files/workspace/both", "work"));
KIT(builder, FILE_OF("spec.yaml", HEAD "kind: sandbox\nname: builder\nextends: parent\n"
                                       "sandbox: {image: \"b:1\", build: {context: own}}\n"));
KIT(agent,
    FILE_OF("spec.yaml", HEAD "kind: sandbox\nname: agent\n"
                              "args: {ver: {default: \"1\"}, version: {default: \"2\"}, image: {required: true}}\n"
                              "sandbox:\n"
                              "  image: ${{ kit.args.image }}\n"
                              "  entrypoint: [a, \"${{ kit.args.version }}\", \"${{ kit.args.ver }}\", "
                              "\"${{ kit.args.version }}\"]\n"
                              "  command: [\"${{ kit.args.version }}${{ kit.args.ver }}\"]\n"));
KIT(extra, FILE_OF("spec.yaml", HEAD "kind: mixin\nname: extra\nargs: {v: {default: x}}\n"
                                     "environment: {variables: {V: \"${{ kit.args.v }}${{ kit.args.v }}\", W: w}}\n"),
    FILE_OF("files/home/f", "${{ kit.args.v }}"));
KIT(elsewhere, FILE_OF("spec.yaml", HEAD "kind: mixin\nname: elsewhere\n"), FILE_OF("files/etc/passwd", "x"));
KIT(faulty, FILE_OF("spec.yaml", HEAD "kind: mixin\nname: Faulty\n"));
KIT(loose, FILE_OF("spec.yaml", HEAD "kind: mixin\nname: loose\nargs: {version: {default: x}}\n"), FILE_OF("files/home/f", "${{ kit.args.verzion }}"));

struct world {
    struct sbx_diags diags;
    struct sbx_err err;
    struct sbx_arg_values *values;
    struct sbx_artifact *a;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    *state = w;
    if (!w || sbx_diags_init(&w->diags))
        return -1;
    w->values = sbx_arg_values_new();
    return w->values ? 0 : -1;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    sbx_artifact_free(w->a);
    sbx_arg_values_free(w->values);
    sbx_diags_release(&w->diags);
    free(w);
    return 0;
}

static enum sbx_code load(struct world *w, const struct sbx_embedded_kit *kit, struct sbx_artifact **ret)
{
    return sbx_kit_load_embedded_with(kit, &(struct sbx_kit_options){ .args = w->values, .for_use = true },
                                      &w->diags, ret, &w->err);
}

static enum sbx_code fetch(void *data, const char *reference, struct sbx_origin at,
                           struct sbx_diags *diags, struct sbx_artifact **ret, struct sbx_err *err)
{
    (void)at;
    (void)diags;
    (void)err;
    assert_string_equal(reference, "parent");
    return load(data, &parent, ret);
}

static void compose(struct world *w, const struct sbx_embedded_kit *base, const struct sbx_embedded_kit *mixin)
{
    const struct sbx_compose_opts opts = { .fetch = fetch, .fetch_data = w };
    SBX_AUTO_PTR(sbx_artifact) b = NULL;
    SBX_AUTO_PTR(sbx_artifact) m = NULL;

    assert_int_equal(load(w, base, &b), SBX_OK);
    if (mixin)
        assert_int_equal(load(w, mixin, &m), SBX_OK);
    if (sbx_compose(b, (const struct sbx_artifact *const[]){ m }, mixin ? 1 : 0, &opts, &w->diags, &w->a,
                    &w->err)) {
        sbx_diags_print(&w->diags, stdout);
        fail_msg("%s", w->err.text);
    }
}

static void expect_file(const struct sbx_artifact *a, size_t i, enum sbx_target target, const char *path,
                        const char *kit, const char *text)
{
    SBX_AUTO(sbx_buf) got = SBX_BUF_INIT(100);

    assert_int_equal(a->files.v[i].target, target);
    assert_string_equal(a->files.v[i].path, path);
    assert_string_equal(a->files.v[i].at.kit, kit);
    assert_int_equal(sbx_static_file_read(&a->files.v[i], &got, NULL), SBX_OK);
    assert_string_equal(got.ptr, text);
}

static void files_of_a_child_replace_those_of_its_parent(void **state)
{
    struct world *w = *state;

    compose(w, &child, NULL);
    assert_int_equal(w->a->files.len, 3);
    expect_file(w->a, 0, SBX_TARGET_HOME, "both", "child", "child");
    expect_file(w->a, 1, SBX_TARGET_HOME, "only", "parent", "parent");
    expect_file(w->a, 2, SBX_TARGET_WORKSPACE, "both", "child", "work");
}

/* S20: one build, not a mixture of two. */
static void a_build_is_inherited_or_replaced_as_a_whole(void **state)
{
    struct world *w = *state;

    compose(w, &child, NULL);
    assert_true(w->a->build.set);
    assert_string_equal(w->a->build.context, "ctx");
    assert_string_equal(w->a->build.dockerfile, "D");
    assert_string_equal(w->a->build.target, "t");
    assert_int_equal(w->a->build.args.len, 2);
    assert_string_equal(w->a->build.args.v[1].name, "B");
    assert_string_equal(w->a->build.args.v[1].value, "b");
    assert_string_equal(w->a->build.args.v[1].at.kit, "parent");
    assert_string_equal(w->a->build.platforms.v[0], "linux/amd64");
    sbx_artifact_free(w->a);
    w->a = NULL;
    compose(w, &builder, NULL);
    assert_string_equal(w->a->build.context, "own");
    assert_null(w->a->build.dockerfile);
    assert_int_equal(w->a->build.args.len, 0);
    assert_string_equal(w->a->image, "b:1");
}

/* Each name once, whole words, in the order of use; also in a composition. */
static void elements_tell_the_arguments_in_them(void **state)
{
    static const char *const want[][3] = {
        { "sandbox.image", "i:1", "image" },
        { "sandbox.entrypoint", "[\"a\",\"2\",\"1\",\"2\"]", "version, ver" },
        { "sandbox.command.default", "[\"21\"]", "version, ver" },
        { "environment.variables.V", "xx", "v" },
        { "environment.variables.W", "w", NULL },
        { "name", "agent", NULL },
    };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct world *w = *state;
    struct sbx_element *v;
    size_t n, found = 0;

    assert_int_equal(sbx_arg_values_add(w->values, "agent.image=i:1", NULL), SBX_OK);
    compose(w, &agent, &extra);
    assert_int_equal(sbx_artifact_elements(w->a, arena, &v, &n), SBX_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < SBX_ARRAY_LEN(want); k++) {
            if (strcmp(v[i].path, want[k][0]))
                continue;
            assert_string_equal(v[i].value, want[k][1]);
            assert_string_equal(v[i].args ? v[i].args : "", want[k][2] ? want[k][2] : "");
            found++;
        }
    assert_int_equal(found, SBX_ARRAY_LEN(want));
    expect_file(w->a, 0, SBX_TARGET_HOME, "f", "extra", "x");
}

static void a_faulty_built_in_kit_is_named(void **state)
{
    static const struct {
        const struct sbx_embedded_kit *kit;
        const char *want;
    } rows[] = {
        { &elsewhere, "built-in kit elsewhere: files/etc/passwd: only files/home and files/workspace" },
        { &faulty, "built-in kit: kits/agents/faulty/spec.yaml:3: not a name (Faulty)" },
        { &agent, "args.image: is required" },
        { &loose, "references ${{ kit.args.verzion }}, which spec.yaml does not declare" },
    };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO(sbx_diags) diags = { 0 };
        enum sbx_code rc;

        assert_int_equal(sbx_diags_init(&diags), SBX_OK);
        rc = sbx_kit_load_embedded_with(rows[i].kit, &(struct sbx_kit_options){ .args = w->values }, &diags,
                                        &w->a, &w->err);
        assert_int_equal(rc, SBX_SCHEMA);
        if (!strstr(w->err.text, rows[i].want))
            fail_msg("%s: %s", rows[i].kit->name, w->err.text);
        if (rows[i].kit == &loose)
            assert_string_equal(diags.v[0].hint, "did you mean \"version\"?");
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_of_a_child_replace_those_of_its_parent),
        TEST(a_build_is_inherited_or_replaced_as_a_whole),
        TEST(elements_tell_the_arguments_in_them),
        TEST(a_faulty_built_in_kit_is_named),
    };

    return cmocka_run_group_tests_name("kits in memory", tests, NULL, NULL);
}
