/* The cases 49 to 97 of arguments: what a tree, and the fields of a spec, are once values are in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../args.h"
#include "../load.h"
#include "sbx/json.h"

#define BY_LINE "k: ${{ kit.args.v }}"
#define DECLARED "args: {v: {required: true}}\n"
#define MIXIN "schemaVersion: \"2\"\nkind: mixin\nname: k\n" DECLARED

/* What k becomes: its type, its text, and itself as JSON; or NULL and the code of the error. */
static const struct {
    int number;
    const char *document, *v, *type, *text, *json;
} trees[] = {
    { 49, BY_LINE, "1.20", "!!float", "1.20", "1.2" },
    { 50, "k: \"${{ kit.args.v }}\"", "1.20", "!!str", "1.20", "\"1.20\"" },
    { 51, "k: '${{ kit.args.v }}'", "1.20", "!!str", "1.20", "\"1.20\"" },
    { 52, "k: |-\n  ${{ kit.args.v }}", "5", "!!int", "5", "5" },
    { 53, "k: >-\n  ${{ kit.args.v }}", "5", "!!int", "5", "5" },
    { 54, "k: |\n  ${{ kit.args.v }}\n", "5", "!!str", "5\n", "\"5\\n\"" },
    { 55, BY_LINE, "", "!!null", "", "null" },
    { 56, "k: \"${{ kit.args.v }}\"", "", "!!str", "", "\"\"" },
    { 58, BY_LINE, "null", "!!null", "", "null" },
    { 58, BY_LINE, "~", "!!null", "", "null" },
    { 59, BY_LINE, "true", "!!bool", "true", "true" },
    { 60, BY_LINE, "yes", "!!str", "yes", "\"yes\"" },
    { 61, BY_LINE, "2020-01-01", "!!timestamp", "2020-01-01", "\"2020-01-01T00:00:00Z\"" },
    { 62, BY_LINE, "010", "!!int", "010", "8" },
    { 63, BY_LINE, "[a, b]", "!!str", "[a, b]", "\"[a, b]\"" },
    { 64, BY_LINE, "{a: b}", "!!str", "{a: b}", "\"{a: b}\"" },
    { 65, BY_LINE, "a: b", "!!str", "a: b", "\"a: b\"" },
    { 66, BY_LINE, "a #b", "!!str", "a #b", "\"a #b\"" },
    { 67, BY_LINE, " 5", "!!str", " 5", "\" 5\"" },
    { 67, BY_LINE, "5 ", "!!str", "5 ", "\"5 \"" },
    { 68, BY_LINE, "- a", "!!str", "- a", "\"- a\"" },
    { 68, BY_LINE, "*a", "!!str", "*a", "\"*a\"" },
    { 68, BY_LINE, "!!int 5", "!!str", "!!int 5", "\"!!int 5\"" },
    { 68, BY_LINE, "---", "!!str", "---", "\"---\"" },
    { 69, BY_LINE, "<<", "!!str", "<<", "\"<<\"" },
    { 70, BY_LINE, "a\nb: c\n", "!!str", "a\nb: c\n", "\"a\\nb: c\\n\"" },
    { 71, "k: \"${{ kit.args.v }}\"", "a\"\nb: c", "!!str", "a\"\nb: c", "\"a\\\"\\nb: c\"" },
    { 72, BY_LINE, "\x01", "!!str", "\x01", "\"\\u0001\"" },
    { 72, BY_LINE, "a\r\nb", "!!str", "a\r\nb", "\"a\\r\\nb\"" },
    { 72, BY_LINE, "\t5", "!!str", "\t5", "\"\\t5\"" },
    { 72, BY_LINE, "\xf0\x9f\x98\x80", "!!str", "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"" },
    { 73, BY_LINE, "\"5\"", "!!str", "\"5\"", "\"\\\"5\\\"\"" },
    { 74, "k: ${{ kit.args.v }}${{ kit.args.w }}", "1", "!!int", "15", "15" },
    { 75, "k: v${{ kit.args.v }}", "5", "!!str", "v5", "\"v5\"" },
    { 76, "k: !!str ${{ kit.args.v }}", "5", "!!int", "5", "5" },
    { 77, "k: !!str \"${{ kit.args.v }}\"", "5", "!!int", "5", "5" },
    { 78, "k: !!int ${{ kit.args.v }}", "abc", "!!str", "abc", "\"abc\"" },
    { 79, "k: !!binary ${{ kit.args.v }}", "aGk=", "!!str", "aGk=", "\"aGk=\"" },
    { 80, "k: [${{ kit.args.v }}]", "5", NULL, "yaml-syntax", NULL },
    { 81, "k: {a: ${{ kit.args.v }}}", "5", NULL, "yaml-syntax", NULL },
    { 82, "k: [\"${{ kit.args.v }}\"]", "5", "!!seq", NULL, "[\"5\"]" },
    { 83, "k: [&x \"${{ kit.args.v }}\", *x]", "5", "!!seq", NULL, "[\"5\",\"5\"]" },
    { 83, "a: &x \"${{ kit.args.v }}\"\nk: *x", "5", "!!str", "5", "\"5\"" },
    { 84, "d: &d {q: \"${{ kit.args.v }}\"}\nk: {<<: *d}", "5", "!!map", NULL, "{\"q\":\"5\"}" },
    { 85, "k: {\"${{ kit.args.v }}\": 1}", "5", NULL, "bad-reference", NULL },
    { 86, "k: {\"$${{ kit.args.v }}\": 1}", "5", NULL, "bad-reference", NULL },
    { 87, "k: {\"a ${{ kit.args.v\": 1}", "5", NULL, "bad-reference", NULL },
    { 88, "k: {\"${{ x }}\": 1}", "5", "!!map", NULL, "{\"${{ x }}\":1}" },
    { 91, "k: 1 # ${{ kit.args.bad.name }}", "5", "!!int", "1", "1" },
    { 92, "k: $${{ x }}", "5", "!!str", "${{ x }}", "\"${{ x }}\"" },
    { 97, "k: ${{ kit.args.v }}\n---\nk: ${{ kit.args.nope }}", "5", "!!int", "5", "5" },
    /* and what the neighbours of these do */
    { 100, "k: !!int ${{ kit.args.v }}", "5", "!!int", "5", "5" },
    { 101, "k: ${{ kit.args.nope }}", "5", NULL, "undeclared-arg", NULL },
    { 102, "k: ${{ kit.args.V }}", "5", NULL, "undeclared-arg", NULL },
    { 103, "k: ${{ kit.args.v.x }}", "5", NULL, "bad-reference", NULL },
    { 104, "k: ${{ kit.args.v", "5", NULL, "bad-reference", NULL },
    { 105, "a: &x ${{ kit.args.r }}\nk: *x", "5", "!!str", "${{ kit.args.v }}", "\"${{ kit.args.v }}\"" },
    { 106, "k: {args: \"${{ kit.args.v }}\"}", "x", "!!map", NULL, "{\"args\":\"x\"}" },
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

/* `text` is what a string field gets. */
static void check_value(const struct tree *t, size_t i)
{
    const struct sbx_yaml_node *k = sbx_yaml_get(t->root, "k");
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(1000);
    SBX_AUTO_JSON json_t *json = NULL;

    assert_non_null(k);
    assert_string_equal(sbx_yaml_type_name(k), trees[i].type);
    if (trees[i].text)
        assert_string_equal(sbx_yaml_string(t->a.arena, k), trees[i].text);
    assert_int_equal(sbx_yaml_json(t->a.arena, k, &json, NULL), SBX_OK);
    assert_int_equal(sbx_json_canonical(json, &text), SBX_OK);
    assert_string_equal(text.ptr, trees[i].json);
    assert_null(sbx_yaml_get(t->root, "b")); /* no value makes a key */
}

static void check_tree(size_t i)
{
    struct tree t;

    open_tree(&t, trees[i].document, trees[i].v);
    if (trees[i].type) {
        assert_int_equal(t.rc, SBX_OK);
        assert_int_equal(t.diags.errors, 0);
        check_value(&t, i);
    } else {
        assert_true(t.rc == SBX_SYNTAX || t.rc == SBX_SCHEMA);
        assert_int_equal(t.diags.errors, 1);
        assert_string_equal(t.diags.v[0].code, trees[i].text);
        assert_true(t.diags.v[0].pos.line > 0);
    }
    close_tree(&t);
}

static bool seen[99];

static void values_take_the_type_that_yaml_would_give_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(trees); i++) {
        print_message("case %d (%s)\n", trees[i].number, trees[i].document);
        check_tree(i);
        if (trees[i].number < 99)
            seen[trees[i].number] = true;
    }
}

static const char *default_of_v(const struct tree *t)
{
    return sbx_yaml_get(sbx_yaml_get(sbx_yaml_get(t->root, "args"), "v"), "default")->text;
}

static void the_declarations_themselves_are_text(void **state)
{
    struct tree t;

    (void)state;
    /* 89, 90: q need not exist, whatever the quoting of the key */
    open_tree(&t, "args: {v: {default: \"${{ kit.args.q }}\"}}\nk: ${{ kit.args.v }}", "x");
    assert_int_equal(t.rc, SBX_OK);
    assert_string_equal(default_of_v(&t), "${{ kit.args.q }}");
    assert_string_equal(sbx_yaml_get(t.root, "k")->text, "x");
    close_tree(&t);
    open_tree(&t, "\"args\": {v: {default: \"$${{ kit.args.q }}\"}}\nk: ${{ kit.args.v }}", "x");
    assert_int_equal(t.rc, SBX_OK);
    assert_string_equal(default_of_v(&t), "$${{ kit.args.q }}");
    close_tree(&t);
    seen[89] = seen[90] = true;
    /* an alias out of the declarations sees them as written, one into them changes nothing outside */
    open_tree(&t, "args: {v: {default: &a \"${{ kit.args.v }}\"}}\nk: *a", "x");
    assert_int_equal(t.rc, SBX_OK);
    assert_string_equal(sbx_yaml_get(t.root, "k")->text, "${{ kit.args.v }}");
    close_tree(&t);
}

/* ---- fields of a spec ---- */

static const struct typed {
    int number;
    const char *spec, *v;
    const char *at, *want; /* key of the artifact's JSON and its value; NULL and the code of the error */
} typed[] = {
    { 57, MIXIN "licenses:\n  - MIT\n  - ${{ kit.args.v }}\n  - ISC\n", "", "licenses", "[\"MIT\",\"ISC\"]" },
    { 58, MIXIN "description: ${{ kit.args.v }}\n", "null", "manifest.description", NULL },
    { 58, MIXIN "description: ${{ kit.args.v }}\n", "~", "manifest.description", NULL },
    { 49, MIXIN "description: ${{ kit.args.v }}\n", "1.20", "manifest.description", "\"1.20\"" },
    { 61, MIXIN "description: ${{ kit.args.v }}\n", "2020-01-01", "manifest.description", "\"2020-01-01\"" },
    { 62, MIXIN "description: ${{ kit.args.v }}\n", "010", "manifest.description", "\"010\"" },
    { 60, MIXIN "security:\n  privileged: ${{ kit.args.v }}\n", "yes", "manifest.security",
      "{\"privileged\":true}" },
    { 93, MIXIN "ports: [{container: \"${{ kit.args.v }}\"}]\n", "8080", NULL, "wrong-type" },
    { 94, MIXIN "ports:\n  - container: ${{ kit.args.v }}\n", "8080", "publishedPorts",
      "[{\"container\":8080}]" },
    { 95, "schemaVersion: \"2\"\nkind: ${{ kit.args.v }}\nname: k\n" DECLARED, "mixin", "manifest.kind",
      "\"mixin\"" },
    { 96, "schemaVersion: \"${{ kit.args.v }}\"\nkind: mixin\nname: k\n" DECLARED, "2",
      "manifest.schemaVersion", "\"2\"" },
};

static void check_artifact(const struct sbx_artifact *a, const struct typed *row)
{
    SBX_AUTO_JSON json_t *whole = sbx_artifact_json(a);
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(1000);
    const json_t *at = whole;
    char path[100], *key;

    snprintf(path, sizeof(path), "%s", row->at);
    for (char *rest = path; (key = strsep(&rest, "."));)
        at = json_object_get(at, key);
    if (!row->want) { /* an empty one is not printed */
        assert_null(at);
        return;
    }
    assert_int_equal(sbx_json_canonical(at, &text), SBX_OK);
    assert_string_equal(text.ptr, row->want);
}

static void values_feed_typed_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(typed); i++) {
        SBX_AUTO_PTR(sbx_arg_values) values = sbx_arg_values_new();
        SBX_AUTO_PTR(sbx_artifact) a = NULL;
        SBX_AUTO(sbx_diags) diags = { 0 };
        char given[100];
        enum sbx_code rc;

        print_message("case %d\n", typed[i].number);
        snprintf(given, sizeof(given), "v=%s", typed[i].v);
        assert_int_equal(sbx_diags_init(&diags), SBX_OK);
        assert_int_equal(sbx_arg_values_add(values, given, NULL), SBX_OK);
        rc = sbx_kit_decode("spec.yaml", typed[i].spec, strlen(typed[i].spec),
                            &(struct sbx_kit_options){ .args = values }, &diags, &a, NULL);
        seen[typed[i].number] = true;
        if (typed[i].at) {
            assert_int_equal(rc, SBX_OK);
            check_artifact(a, &typed[i]);
            continue;
        }
        assert_int_equal(rc, SBX_SCHEMA);
        assert_string_equal(diags.v[0].code, typed[i].want);
    }
}

/* 1 to 48 are test_args_scan.c's, 98 (a file) is test_args.c's. */
static void every_case_was_looked_at(void **state)
{
    (void)state;
    for (int i = 49; i < 98; i++)
        if (!seen[i])
            fail_msg("case %d is missing", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_take_the_type_that_yaml_would_give_them),
        cmocka_unit_test(the_declarations_themselves_are_text),
        cmocka_unit_test(values_feed_typed_fields),
        cmocka_unit_test(every_case_was_looked_at),
    };

    return cmocka_run_group_tests_name("kit args: trees and fields", tests, NULL, NULL);
}
