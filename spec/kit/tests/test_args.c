/* The 98 cases of arguments, by outcome; values and their precedence; files; refusals. */
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

/* ---- the scanner: cases 1 to 48 ---- */

#define MALFORMED "!malformed"
#define UNTERMINATED "!unterminated"

static const struct {
    int number;
    const char *text, *want; /* NULL: unchanged; "?": left, and the name is unknown */
} scans[] = {
    { 1, "${{ kit.args.v }}", "1.20" },
    { 2, "${{kit.args.v}}", "1.20" },
    { 3, "${{\n\tkit.args.v\r\n}}", "1.20" },
    { 4, "${{\xc2\xa0kit.args.v\xe2\x80\x83}}", "1.20" },
    { 5, "${{\xef\xbb\xbfkit.args.v }}", NULL },
    { 6, "a${{ kit.args.v }}b${{ kit.args.v }}c", "a1.20b1.20c" },
    { 7, "${{ kit.args.v }}${{ kit.args.v }}", "1.201.20" },
    { 8, "$${{ kit.args.v }}", "${{ kit.args.v }}" },
    { 9, "$$${{ kit.args.v }}", "$${{ kit.args.v }}" },
    { 10, "$$$${{ kit.args.v }}", "$$${{ kit.args.v }}" },
    { 11, "$ ${{ kit.args.v }}", "$ 1.20" },
    { 12, "${{ kit.args.v }}$${{ kit.args.v }}", "1.20${{ kit.args.v }}" },
    { 13, "${{${{ kit.args.v }}", "${{1.20" },
    { 14, "${{ foo ${{ kit.args.v }} }}", "${{ foo 1.20 }}" },
    { 15, "${{ x }}${{ kit.args.v }}", "${{ x }}1.20" },
    { 16, "${{ github.sha }}", NULL },
    { 17, "$${{ github.sha }}", "${{ github.sha }}" },
    { 18, "${{ kit.args }}", NULL },
    { 19, "${{ kit.arg.v }}", NULL },
    { 20, "${{ Kit.args.v }}", NULL },
    { 21, "${{ kit . args . v }}", NULL },
    { 22, "${{ kit.env.v }}", NULL },
    { 23, "${{ kit.args. }}", MALFORMED },
    { 24, "${{ kit.args. v }}", MALFORMED },
    { 25, "${{ kit.args.v.x }}", MALFORMED },
    { 26, "${{ kit.args.1v }}", MALFORMED },
    { 27, "${{ kit.args.-v }}", MALFORMED },
    { 28, "${{ kit.args.a-b }}", "H" },
    { 29, "${{ kit.args._u }}", "U" },
    { 30, "${{ kit.args.caf\xc3\xa9 }}", MALFORMED },
    { 31, "${{ kit.args.v | upper }}", MALFORMED },
    { 32, "${{ kit.args.v", UNTERMINATED },
    { 33, "${{ kit.args.v } }", UNTERMINATED },
    { 34, "${{ kit.args.a ${{ kit.args.v }}", MALFORMED },
    { 35, "${{", NULL },
    { 36, "$${{", "${{" },
    { 37, "$${{ kit.args.", "${{ kit.args." },
    { 38, "${{{ kit.args.v }}}", NULL },
    { 39, "${{ kit.args.v }}}", "1.20}" },
    { 40, "${ { kit.args.v }}", NULL },
    { 41, "{{ kit.args.v }}", NULL },
    { 42, "\\${{ kit.args.v }}", "\\1.20" },
    { 43, "${{ kit.args.V }}", "?V" },
    { 44, "${{ kit.args.nope }}", "?nope" },
    { 45, "${{ kit.args.e }}", "" },
    { 46, "${{ kit.args.d }}${{ kit.args.v }}", "x$1.20" },
    { 47, "${{ kit.args.d }}{{ x", "x${{ x" },
    { 48, "${{ kit.args.r }}", "${{ kit.args.v }}" },
    /* and what the neighbours of these do */
    { 100, "", NULL },
    { 101, "$", NULL },
    { 102, "${{\xe2\x80\x8bkit.args.v}}", NULL }, /* zero-width space is none */
    { 103, "${{\xe3\x80\x80kit.args.v\xc2\x85}}", "1.20" },
    { 104, "${{ kit.args.v }}\xff", "1.20\xff" },
    { 105, "${{ kit.args.v", UNTERMINATED },
    { 106, "$${{$${{", "${{${{" },
};

static char unknown[64];

static const char *find_value(void *data, const char *name, size_t len)
{
    static const char *const values[][2] = {
        { "v", "1.20" }, { "e", "" },    { "d", "x$" }, { "r", "${{ kit.args.v }}" },
        { "a-b", "H" },  { "_u", "U" },
    };

    (void)data;
    for (size_t i = 0; i < SBX_ARRAY_LEN(values); i++)
        if (strlen(values[i][0]) == len && !memcmp(values[i][0], name, len))
            return values[i][1];
    snprintf(unknown, sizeof(unknown), "%.*s", (int)len, name);
    return NULL;
}

static void check_scan(size_t i)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1000);
    struct sbx_err err = SBX_ERR_INIT;
    const char *want = scans[i].want;
    bool changed = false;
    enum sbx_code rc;

    unknown[0] = '\0';
    rc = sbx_args_expand(scans[i].text, strlen(scans[i].text), find_value, NULL, &out, &changed,
                         &err);
    if (want && *want == '!') {
        assert_int_equal(rc, SBX_SYNTAX);
        assert_non_null(strstr(err.text, want + 1));
        return;
    }
    assert_int_equal(rc, SBX_OK);
    if (!want || *want == '?') {
        assert_false(changed);
        assert_string_equal(out.ptr ? out.ptr : "", scans[i].text);
        assert_string_equal(unknown, want ? want + 1 : "");
        return;
    }
    assert_true(changed);
    assert_string_equal(out.ptr ? out.ptr : "", want);
}

static void references_are_found_replaced_and_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(scans); i++) {
        print_message("case %d\n", scans[i].number);
        check_scan(i);
    }
}

static void a_long_bad_reference_is_cut_between_characters(void **state)
{
    char text[300] = "${{ kit.args.";
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1000);
    struct sbx_err err = SBX_ERR_INIT;
    bool changed = false;

    (void)state;
    for (int i = 0; i < 60; i++)
        strcat(text, "\xc3\xa9");
    strcat(text, " }}");
    assert_int_equal(sbx_args_expand(text, strlen(text), find_value, NULL, &out, &changed, &err),
                     SBX_SYNTAX);
    assert_non_null(strstr(err.text, "\xc3\xa9\xe2\x80\xa6\""));
}

/* ---- the tree: cases 49 to 97 ---- */

#define BY_LINE "k: ${{ kit.args.v }}"

static const struct {
    int number;
    const char *document, *v, *want; /* want: type and text of k, or the code of the error */
} trees[] = {
    { 49, BY_LINE, "1.20", "!!float 1.20" },
    { 50, "k: \"${{ kit.args.v }}\"", "1.20", "!!str 1.20" },
    { 51, "k: '${{ kit.args.v }}'", "1.20", "!!str 1.20" },
    { 52, "k: |-\n  ${{ kit.args.v }}", "5", "!!int 5" },
    { 53, "k: >-\n  ${{ kit.args.v }}", "5", "!!int 5" },
    { 54, "k: |\n  ${{ kit.args.v }}\n", "5", "!!str 5\n" },
    { 55, BY_LINE, "", "!!null " },
    { 56, "k: \"${{ kit.args.v }}\"", "", "!!str " },
    { 58, BY_LINE, "null", "!!null null" },
    { 58, BY_LINE, "~", "!!null ~" },
    { 59, BY_LINE, "true", "!!bool true" },
    { 60, BY_LINE, "yes", "!!str yes" },
    { 61, BY_LINE, "2020-01-01", "!!timestamp 2020-01-01" },
    { 62, BY_LINE, "010", "!!int 010" },
    { 63, BY_LINE, "[a, b]", "!!str [a, b]" },
    { 64, BY_LINE, "{a: b}", "!!str {a: b}" },
    { 65, BY_LINE, "a: b", "!!str a: b" },
    { 66, BY_LINE, "a #b", "!!str a #b" },
    { 67, BY_LINE, " 5", "!!str  5" },
    { 67, BY_LINE, "5 ", "!!str 5 " },
    { 68, BY_LINE, "- a", "!!str - a" },
    { 68, BY_LINE, "*a", "!!str *a" },
    { 68, BY_LINE, "!!int 5", "!!str !!int 5" },
    { 68, BY_LINE, "---", "!!str ---" },
    { 69, BY_LINE, "<<", "!!str <<" },
    { 70, BY_LINE, "a\nb: c\n", "!!str a\nb: c\n" },
    { 71, "k: \"${{ kit.args.v }}\"", "a\"\nb: c", "!!str a\"\nb: c" },
    { 72, BY_LINE, "\x01", "!!str \x01" },
    { 72, BY_LINE, "a\r\nb", "!!str a\r\nb" },
    { 72, BY_LINE, "\t5", "!!str \t5" },
    { 72, BY_LINE, "\xf0\x9f\x98\x80", "!!str \xf0\x9f\x98\x80" },
    { 73, BY_LINE, "\"5\"", "!!str \"5\"" },
    { 74, "k: ${{ kit.args.v }}${{ kit.args.w }}", "1", "!!int 15" },
    { 75, "k: v${{ kit.args.v }}", "5", "!!str v5" },
    { 76, "k: !!str ${{ kit.args.v }}", "5", "!!int 5" },
    { 77, "k: !!str \"${{ kit.args.v }}\"", "5", "!!int 5" },
    { 78, "k: !!int ${{ kit.args.v }}", "abc", "!!str abc" },
    { 78, "k: !!int ${{ kit.args.v }}", "5", "!!int 5" },
    { 79, "k: !!binary ${{ kit.args.v }}", "aGk=", "!!str aGk=" },
    { 80, "k: [${{ kit.args.v }}]", "5", "yaml-syntax" },
    { 81, "k: {a: ${{ kit.args.v }}}", "5", "yaml-syntax" },
    { 83, "a: &x \"${{ kit.args.v }}\"\nk: *x", "5", "!!str 5" },
    { 85, "k: {\"${{ kit.args.v }}\": 1}", "5", "bad-reference" },
    { 86, "k: {\"$${{ kit.args.v }}\": 1}", "5", "bad-reference" },
    { 87, "k: {\"a ${{ kit.args.v\": 1}", "5", "bad-reference" },
    { 88, "k: {\"${{ x }}\": 1}", "5", "!!map" },
    { 91, "k: 1 # ${{ kit.args.bad.name }}", "5", "!!int 1" },
    { 92, "k: $${{ x }}", "5", "!!str ${{ x }}" },
    { 97, "k: ${{ kit.args.v }}\n---\nk: ${{ kit.args.nope }}", "5", "!!int 5" },
    { 200, "k: ${{ kit.args.nope }}", "5", "undeclared-arg" },
    { 201, "k: ${{ kit.args.v.x }}", "5", "bad-reference" },
    { 202, "k: ${{ kit.args.v", "5", "bad-reference" },
    { 203, "a: &x ${{ kit.args.r }}\nk: *x", "5", "!!str ${{ kit.args.v }}" },
};

struct tree {
    struct sbx_artifact a;
    struct sbx_diags diags;
    const struct sbx_yaml_node *root;
    enum sbx_code rc;
};

/* Parse, give v, w and r their values, substitute. */
static void open_tree(struct tree *t, const char *document, const char *v)
{
    static const char head[] = "args:\n  v: {required: true}\n  w: {default: \"5\"}\n"
                               "  r: {default: \"${{ kit.args.v }}\"}\n";
    SBX_AUTO_PTR(sbx_arg_values) values = sbx_arg_values_new();
    char *text = NULL, *given = NULL;
    int len;

    memset(t, 0, sizeof(*t));
    t->a.arena = sbx_arena_new();
    assert_int_equal(sbx_diags_init(&t->diags), SBX_OK);
    len = asprintf(&text, "%s%s\n", strstr(document, "args") == document ||
                                      document[0] == '"' ? "" : head, document);
    assert_true(len > 0 && asprintf(&given, "v=%s", v) > 0);
    assert_int_equal(sbx_arg_values_add(values, given, NULL), SBX_OK);
    t->rc = sbx_yaml_parse(t->a.arena, "spec.yaml", text, (size_t)len, &t->diags, &t->root);
    if (!t->rc)
        t->rc = sbx_args_substitute(&t->a, t->root, values, &t->diags);
    free(text);
    free(given);
}

static void close_tree(struct tree *t)
{
    sbx_diags_release(&t->diags);
    sbx_arena_free(t->a.arena);
}

static void check_tree(size_t i)
{
    const struct sbx_yaml_node *k;
    char got[200];
    struct tree t;

    open_tree(&t, trees[i].document, trees[i].v);
    if (t.rc) {
        assert_true(t.diags.len > 0);
        assert_string_equal(t.diags.v[t.diags.len - 1].code, trees[i].want);
        assert_true(t.diags.v[0].pos.line > 0);
    } else {
        k = sbx_yaml_get(t.root, "k");
        snprintf(got, sizeof(got), "%s%s%s", sbx_yaml_type_name(k),
                 k->kind == SBX_YAML_SCALAR ? " " : "", k->kind == SBX_YAML_SCALAR ? k->text : "");
        assert_string_equal(got, trees[i].want);
    }
    close_tree(&t);
}

static void values_take_the_type_that_yaml_would_give_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(trees); i++) {
        print_message("case %d (%s)\n", trees[i].number, trees[i].document);
        check_tree(i);
    }
}

static void merged_values_and_list_items_are_filled_in(void **state)
{
    struct tree t;

    (void)state;
    open_tree(&t, "d: &d {q: \"${{ kit.args.v }}\"}\nk: {<<: *d}", "5"); /* 84 */
    assert_int_equal(t.rc, SBX_OK);
    assert_string_equal(sbx_yaml_get(sbx_yaml_get(t.root, "k"), "q")->text, "5");
    close_tree(&t);
    open_tree(&t, "k: [\"${{ kit.args.v }}\"]", "5"); /* 82 */
    assert_int_equal(t.rc, SBX_OK);
    assert_int_equal(sbx_yaml_get(t.root, "k")->items[0]->type, SBX_YAML_STR);
    close_tree(&t);
}

static void the_declarations_themselves_are_text(void **state)
{
    struct tree t;

    (void)state;
    /* 89, 90: q need not exist, whatever the quoting of the key */
    open_tree(&t, "args: {v: {default: \"${{ kit.args.q }}\"}}\nk: ${{ kit.args.v }}", "x");
    assert_int_equal(t.rc, SBX_OK);
    close_tree(&t);
    open_tree(&t, "\"args\": {v: {default: \"$${{ kit.args.q }}\"}}\nk: ${{ kit.args.v }}", "x");
    assert_int_equal(t.rc, SBX_OK);
    assert_string_equal(
        sbx_yaml_get(sbx_yaml_get(sbx_yaml_get(t.root, "args"), "v"), "default")->text,
        "$${{ kit.args.q }}");
    close_tree(&t);
    /* a nested key of that name is ordinary */
    open_tree(&t, "k: {args: \"${{ kit.args.v }}\"}", "x");
    assert_string_equal(sbx_yaml_get(sbx_yaml_get(t.root, "k"), "args")->text, "x");
    close_tree(&t);
    /* an alias out of the declarations sees them as written, one into them changes nothing outside */
    open_tree(&t, "args: {v: {default: &a \"${{ kit.args.v }}\"}}\nk: *a", "x");
    assert_int_equal(t.rc, SBX_OK);
    assert_string_equal(sbx_yaml_get(t.root, "k")->text, "${{ kit.args.v }}");
    close_tree(&t);
}

/* ---- whole kits ---- */

static char here[] = "/tmp/sbx-args-XXXXXX";

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

static void values_feed_typed_fields(void **state)
{
    struct loaded l;

    (void)state;
    /* 57: an empty item is dropped */
    load_spec(&l, "schemaVersion: \"2\"\nkind: sandbox\nname: k\n" DECLARED
                  "sandbox:\n  image: x:1\n  entrypoint:\n    - a\n    - ${{ kit.args.v }}\n    - b\n", "");
    assert_int_equal(l.rc, SBX_OK);
    assert_int_equal(l.a->launch.entrypoint.len, 2);
    release(&l);
    /* 93 and 94: quotes make a string of a number */
    load_spec(&l, "schemaVersion: \"2\"\nkind: mixin\nname: k\n" DECLARED
                  "ports: [{container: \"${{ kit.args.v }}\"}]\n", "8080");
    assert_int_equal(l.rc, SBX_SCHEMA);
    assert_string_equal(l.diags.v[0].code, "wrong-type");
    release(&l);
    load_spec(&l, "schemaVersion: \"2\"\nkind: mixin\nname: k\n" DECLARED
                  "ports:\n  - container: ${{ kit.args.v }}\n", "8080");
    assert_int_equal(l.rc, SBX_OK);
    assert_int_equal(l.a->ports.v[0].container, 8080);
    release(&l);
    /* 95, 96: even kind and version */
    load_spec(&l, "schemaVersion: \"2\"\nkind: ${{ kit.args.v }}\nname: k\n" DECLARED, "mixin");
    assert_int_equal(l.rc, SBX_OK);
    assert_string_equal(l.a->kind, "mixin");
    release(&l);
    load_spec(&l, "schemaVersion: \"${{ kit.args.v }}\"\nkind: mixin\nname: k\n" DECLARED, "2");
    assert_int_equal(l.rc, SBX_OK);
    release(&l);
    /* 58, 60: null in a string field, "yes" in a boolean one */
    load_spec(&l, "schemaVersion: \"2\"\nkind: mixin\nname: k\n" DECLARED
                  "description: ${{ kit.args.v }}\n", "null");
    assert_int_equal(l.rc, SBX_OK);
    release(&l);
    load_spec(&l, "schemaVersion: \"2\"\nkind: mixin\nname: k\n" DECLARED
                  "security: {privileged: ${{ kit.args.v }} }\n", "yes");
    assert_int_equal(l.rc, SBX_SYNTAX); /* 81: not unquoted in a flow mapping */
    release(&l);
    load_spec(&l, "schemaVersion: \"2\"\nkind: mixin\nname: k\n" DECLARED
                  "security:\n  privileged: ${{ kit.args.v }}\n", "yes");
    assert_int_equal(l.rc, SBX_OK);
    assert_true(l.a->privileged);
    release(&l);
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
        cmocka_unit_test(references_are_found_replaced_and_refused),
        cmocka_unit_test(a_long_bad_reference_is_cut_between_characters),
        cmocka_unit_test(values_take_the_type_that_yaml_would_give_them),
        cmocka_unit_test(merged_values_and_list_items_are_filled_in),
        cmocka_unit_test(the_declarations_themselves_are_text),
        cmocka_unit_test(values_reach_the_spec_and_the_files),
        cmocka_unit_test(values_that_break_a_rule_fail_the_kit_at_the_declaration),
        cmocka_unit_test(bad_references_in_files_name_the_file),
        cmocka_unit_test(a_link_out_of_files_shows_what_the_other_file_says),
        cmocka_unit_test(values_feed_typed_fields),
        cmocka_unit_test(bad_declarations_are_told_before_anything_else),
        cmocka_unit_test(the_nearer_value_wins),
        cmocka_unit_test(a_name_that_nobody_declares_is_an_error_of_usage),
        cmocka_unit_test(what_is_no_value_is_refused),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
