/* Arguments of whole kits: values and their precedence, files, refusals. The cases are in test_args_*.c. */
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

#include "../args.h"
#include "sbx/file.h"

static char here[] = SBX_TEST_TMP "/args-XXXXXX";

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(here) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return sbx_dir_remove(-100 /* AT_FDCWD */, here, NULL) ? -1 : 0;
}

static const char *in(const char *name)
{
    static char path[2][300];
    static int turn;

    turn = !turn;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", here, name);
    return path[turn];
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(in(name), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

struct loaded {
    struct sbx_artifact *a;
    struct sbx_diags diags;
    struct sbx_err err;
    enum sbx_code rc;
};

static void load(struct loaded *l, const char *const *args, bool fill_in)
{
    SBX_AUTO_PTR(sbx_arg_values) values = sbx_arg_values_new();
    struct sbx_kit_options options = { .args = fill_in ? values : NULL, .digest = true };

    memset(l, 0, sizeof(*l));
    assert_int_equal(sbx_diags_init(&l->diags), SBX_OK);
    for (; args && *args; args++)
        assert_int_equal(sbx_arg_values_add(values, *args, NULL), SBX_OK);
    l->rc = sbx_kit_load_with(in("kit"), &options, &l->diags, &l->a, &l->err);
}

static void release(struct loaded *l)
{
    sbx_artifact_free(l->a);
    sbx_diags_release(&l->diags);
}

static const char example[] =
    "schemaVersion: \"2\"\nkind: mixin\nname: args\n"
    "args:\n"
    "  ver: { default: \"1.20\", pattern: '[0-9]+\\.[0-9]+' }\n"
    "  who: { required: true }\n"
    "  channel: { default: stable, enum: [stable, beta] }\n"
    "environment:\n"
    "  variables:\n"
    "    GOOD: \"${{ kit.args.ver }}\"\n"
    "    BAD: ${{ kit.args.ver }}\n"
    "    LIT: \"$${{ kit.args.ver }}\"\n"
    "    OTHER: \"${{ matrix.os }}\"\n"
    "    WHO: ${{ kit.args.who }}\n"
    "setup:\n"
    "  install:\n"
    "    - command: \"printf %s '${{ kit.args.ver }}' > /tmp/v\"\n";

static void make_example(void)
{
    mkdir(in("kit"), 0755);
    mkdir(in("kit/files"), 0755);
    mkdir(in("kit/files/home"), 0755);
    put("kit/spec.yaml", example);
    put("kit/files/home/v.txt", "v=${{ kit.args.ver }} literal=$${{ kit.args.version }}");
    put("kit/files/home/plain", "!!null ${ here }");
}

static const char *variable(const struct sbx_artifact *a, const char *name)
{
    for (size_t i = 0; i < a->variables.len; i++)
        if (!strcmp(a->variables.v[i].name, name))
            return a->variables.v[i].value;
    return NULL;
}

static void expect_file(const struct sbx_artifact *a, const char *path, const char *want)
{
    SBX_AUTO(sbx_buf) got = SBX_BUF_INIT(10000);

    for (size_t i = 0; i < a->files.len; i++) {
        if (strcmp(a->files.v[i].path, path))
            continue;
        assert_int_equal(sbx_static_file_read(&a->files.v[i], &got, NULL), SBX_OK);
        assert_int_equal(got.len, a->files.v[i].size);
    }
    assert_non_null(got.ptr);
    assert_string_equal(got.ptr, want);
}

static void values_reach_the_spec_and_the_files(void **state)
{
    const char *const args[] = { "args.who=x\"; touch /tmp/pwn; \"", NULL };
    char digest[SBX_ERR_TEXT_MAX];
    struct loaded l;

    (void)state;
    make_example();
    load(&l, args, true);
    assert_int_equal(l.rc, SBX_OK);
    assert_string_equal(variable(l.a, "GOOD"), "1.20");
    assert_string_equal(variable(l.a, "BAD"), "1.20");
    assert_string_equal(variable(l.a, "LIT"), "${{ kit.args.ver }}");
    assert_string_equal(variable(l.a, "OTHER"), "${{ matrix.os }}");
    assert_string_equal(variable(l.a, "WHO"), "x\"; touch /tmp/pwn; \"");
    assert_string_equal(l.a->install.v[0].command, "printf %s '1.20' > /tmp/v");
    expect_file(l.a, "v.txt", "v=1.20 literal=${{ kit.args.version }}"); /* 98 */
    expect_file(l.a, "plain", "!!null ${ here }");
    snprintf(digest, sizeof(digest), "%s", l.a->digest);
    release(&l);
    load(&l, NULL, false); /* as written: the same digest, references are text */
    assert_int_equal(l.rc, SBX_OK);
    assert_string_equal(l.a->digest, digest);
    assert_string_equal(variable(l.a, "GOOD"), "${{ kit.args.ver }}");
    release(&l);
}

static const struct {
    const char *args[3], *code, *text;
} refused[] = {
    { { NULL }, "missing-arg", "is required" },
    { { "who=x", "ver=1.20x" }, "bad-arg-value", "does not match" },
    { { "who=x", "args.channel=nightly" }, "bad-arg-value", "is not one of \"stable\", \"beta\"" },
};

static void values_that_break_a_rule_fail_the_kit_at_the_declaration(void **state)
{
    (void)state;
    make_example();
    for (size_t i = 0; i < SBX_ARRAY_LEN(refused); i++) {
        struct loaded l;

        load(&l, refused[i].args, true);
        assert_int_equal(l.rc, SBX_SCHEMA);
        assert_int_equal(l.diags.errors, 1);
        assert_string_equal(l.diags.v[0].code, refused[i].code);
        assert_non_null(strstr(l.diags.v[0].message, refused[i].text));
        assert_in_range(l.diags.v[0].pos.line, 5, 7);
        release(&l);
    }
}

static void bad_references_in_files_name_the_file(void **state)
{
    const char *const args[] = { "who=x", NULL };
    struct loaded l;

    (void)state;
    make_example();
    put("kit/files/home/v.txt", "${{ kit.args.nope }}");
    put("kit/files/home/w.txt", "${{ kit.args.ver");
    load(&l, args, true);
    assert_int_equal(l.rc, SBX_SCHEMA);
    assert_int_equal(l.diags.errors, 2);
    assert_string_equal(l.diags.v[0].code, "undeclared-arg");
    assert_string_equal(l.diags.v[1].code, "bad-reference");
    assert_non_null(strstr(l.diags.v[0].pos.file, "files/home/v.txt"));
    release(&l);
    unlink(in("kit/files/home/w.txt"));
}

static void a_link_out_of_files_shows_what_the_other_file_says(void **state)
{
    const char *const args[] = { "who=x", NULL };
    struct loaded l;

    (void)state;
    make_example();
    put("kit/note", "${{ kit.args.ver }}");
    assert_int_equal(symlink("../../note", in("kit/files/home/out")), 0);
    assert_int_equal(symlink("v.txt", in("kit/files/home/within")), 0);
    load(&l, args, true);
    assert_int_equal(l.rc, SBX_OK);
    expect_file(l.a, "out", "${{ kit.args.ver }}");
    expect_file(l.a, "within", "v=1.20 literal=${{ kit.args.version }}");
    release(&l);
    unlink(in("kit/files/home/out"));
    unlink(in("kit/files/home/within"));
}

/* One spec with v = value; the artifact or the refusal. */
static void load_spec(struct loaded *l, const char *spec, const char *v)
{
    char given[100];
    const char *const args[] = { given, NULL };

    snprintf(given, sizeof(given), "v=%s", v);
    mkdir(in("kit"), 0755);
    assert_int_equal(sbx_dir_remove(-100 /* AT_FDCWD */, in("kit/files"), NULL), SBX_OK);
    put("kit/spec.yaml", spec);
    load(l, args, true);
}

#define DECLARED "args: {v: {required: true}}\n"

static void values_that_are_not_known_yet_are_not_judged(void **state)
{
    static const char text[] = "schemaVersion: \"2\"\nkind: mixin\nname: k\n" DECLARED
                               "permissions: {network: {allow: [\"${{ kit.args.v }}:443\", \"${{ kit.args.w }}\"]}}\n"
                               "ports:\n  - container: ${{ kit.args.v }}\n    name: ${{ kit.args.v }}\n";
    static const struct sbx_kit_options open = { .open_args = true };
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;

    (void)state;
    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    put("open.yaml", text);
    assert_int_equal(sbx_kit_load_with(in("open.yaml"), &open, &diags, &a, NULL), SBX_SCHEMA);
    assert_int_equal(diags.errors, 1); /* of the one that is not declared */
    assert_int_equal(diags.len, 2);
    assert_string_equal(diags.v[0].path, "permissions.network.allow[1]");
    assert_string_equal(diags.v[1].code, "open-argument");
    assert_string_equal(diags.v[1].path, "ports[0].container");
    assert_string_equal(diags.v[1].message, "its value comes from the argument v and is not known here");
}

static void bad_declarations_are_told_before_anything_else(void **state)
{
    struct loaded l;

    (void)state;
    load_spec(&l, "schemaVersion: \"2\"\nkind: mixin\nname: k\nargs: {v: {}}\n"
                  "environment: {variables: {A: \"${{ kit.args.nope }}\"}}\n", "1");
    assert_int_equal(l.rc, SBX_SCHEMA);
    assert_int_equal(l.diags.errors, 1);
    assert_string_equal(l.diags.v[0].code, "bad-arg");
    release(&l);
}

/* ---- values and their order ---- */

struct given {
    const char *file1, *file2, *line1, *line2; /* NULL: not given */
    const char *want;
};

static void the_nearer_value_wins(void **state)
{
    static const struct given rows[] = {
        { NULL, NULL, NULL, NULL, NULL },
        { "a=1\n", NULL, NULL, NULL, "1" },
        { "a=1\n", "a=2\n", NULL, NULL, "2" },
        { "k.a=1\n", "a=2\n", NULL, NULL, "2" },
        { "k.a=1\na=2\n", NULL, NULL, NULL, "1" },
        { "a=1\n", "# a=2\n\n", NULL, NULL, "1" },
        { "k.a=1\n", NULL, "a=3", NULL, "3" },
        { NULL, NULL, "a=3", "k.a=4", "4" },
        { NULL, NULL, "k.a=4", "a=3", "4" },
        { NULL, NULL, "a=3", "a=4", "4" },
        { NULL, NULL, "other.a=3", NULL, NULL },
        { "a= b c =d \r\n", NULL, NULL, NULL, " b c =d " },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_PTR(sbx_arg_values) v = sbx_arg_values_new();
        struct sbx_arg_value got;

        if (rows[i].line1)
            assert_int_equal(sbx_arg_values_add(v, rows[i].line1, NULL), SBX_OK);
        if (rows[i].file1) {
            put("one", rows[i].file1);
            assert_int_equal(sbx_arg_values_read(v, in("one"), NULL), SBX_OK);
        }
        if (rows[i].file2) {
            put("two", rows[i].file2);
            assert_int_equal(sbx_arg_values_read(v, in("two"), NULL), SBX_OK);
        }
        if (rows[i].line2)
            assert_int_equal(sbx_arg_values_add(v, rows[i].line2, NULL), SBX_OK);
        assert_true(sbx_arg_values_take(v, "k", "a", &got));
        if (rows[i].want)
            assert_string_equal(got.text, rows[i].want);
        else
            assert_null(got.text);
    }
}

static void a_name_that_nobody_declares_is_an_error_of_usage(void **state)
{
    SBX_AUTO_PTR(sbx_arg_values) v = sbx_arg_values_new();
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_arg_value got;

    (void)state;
    assert_int_equal(sbx_arg_values_add(v, "version=1", NULL), SBX_OK);
    assert_int_equal(sbx_arg_values_add(v, "k.verzion=1", NULL), SBX_OK);
    assert_true(sbx_arg_values_take(v, "k", "version", &got));
    assert_int_equal(sbx_arg_values_finish(v, &err), SBX_USAGE);
    assert_string_equal(err.text, "--kit-arg k.verzion: no kit \"k\" declares an argument "
                                  "\"verzion\"; did you mean \"version\"?");
}

static void what_is_no_value_is_refused(void **state)
{
    static const char *const bad[] = { "", "a", "=", "=1", ".a=1", "k.=1", "a=\xff" };
    SBX_AUTO_PTR(sbx_arg_values) v = sbx_arg_values_new();
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++)
        assert_int_equal(sbx_arg_values_add(v, bad[i], NULL), SBX_USAGE);
    put("lines", "a=1\nb\n");
    assert_int_equal(sbx_arg_values_read(v, in("lines"), &err), SBX_USAGE);
    assert_non_null(strstr(err.text, "lines:2:"));
    assert_int_equal(sbx_arg_values_read(v, in("none"), &err), SBX_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_reach_the_spec_and_the_files),
        cmocka_unit_test(values_that_break_a_rule_fail_the_kit_at_the_declaration),
        cmocka_unit_test(bad_references_in_files_name_the_file),
        cmocka_unit_test(a_link_out_of_files_shows_what_the_other_file_says),
        cmocka_unit_test(values_that_are_not_known_yet_are_not_judged),
        cmocka_unit_test(bad_declarations_are_told_before_anything_else),
        cmocka_unit_test(the_nearer_value_wins),
        cmocka_unit_test(a_name_that_nobody_declares_is_an_error_of_usage),
        cmocka_unit_test(what_is_no_value_is_refused),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
