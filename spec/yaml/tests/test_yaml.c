#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/yaml.h"
#include "yaml_impl.h"

struct doc {
    struct sbx_arena *arena;
    struct sbx_diags diags;
    const struct sbx_yaml_node *root;
    enum sbx_code rc;
};

static void doc_auto(struct doc *d)
{
    sbx_arena_free(d->arena);
    sbx_diags_release(&d->diags);
}

static struct doc parse_n(const char *text, size_t len)
{
    struct doc d = { .arena = sbx_arena_new() };

    assert_non_null(d.arena);
    assert_int_equal(sbx_diags_init(&d.diags), SBX_OK);
    d.rc = sbx_yaml_parse(d.arena, "f", text, len, &d.diags, &d.root);
    return d;
}

static struct doc parse(const char *text)
{
    return parse_n(text, strlen(text));
}

#define DOC __attribute__((cleanup(doc_auto))) struct doc

static const struct sbx_yaml_node *value_of(const struct doc *d)
{
    const struct sbx_yaml_node *n = sbx_yaml_get(d->root, "k");

    assert_non_null(n);
    return n;
}

static void plain_scalars_resolve_as_the_reference_does(void **state)
{
    static const struct { const char *text; enum sbx_yaml_type type; } rows[] = {
        { "", SBX_YAML_NULL }, { "~", SBX_YAML_NULL }, { "NULL", SBX_YAML_NULL },
        { "nULL", SBX_YAML_STR }, { "! ~", SBX_YAML_NULL }, { "'null'", SBX_YAML_STR },
        { "true", SBX_YAML_BOOL }, { "FALSE", SBX_YAML_BOOL }, { "tRue", SBX_YAML_STR },
        { "yes", SBX_YAML_STR }, { "5", SBX_YAML_INT }, { "+5", SBX_YAML_INT },
        { "0x1F", SBX_YAML_INT }, { "0b11", SBX_YAML_INT }, { "0o17", SBX_YAML_INT },
        { "017", SBX_YAML_INT }, { "1_000", SBX_YAML_INT }, { "1__0", SBX_YAML_INT },
        { "1_", SBX_YAML_INT }, { "_1", SBX_YAML_STR }, { "08", SBX_YAML_FLOAT },
        { "1.5", SBX_YAML_FLOAT }, { ".5", SBX_YAML_FLOAT }, { "5.", SBX_YAML_FLOAT },
        { ".", SBX_YAML_STR }, { "1e3", SBX_YAML_FLOAT }, { "1e", SBX_YAML_STR },
        { ".inf", SBX_YAML_FLOAT }, { "-.INF", SBX_YAML_FLOAT }, { ".nan", SBX_YAML_FLOAT },
        { "1:30", SBX_YAML_STR }, { "2020-01-01", SBX_YAML_TIMESTAMP },
        { "2020-1-1", SBX_YAML_TIMESTAMP }, { "20-01-01", SBX_YAML_STR },
        { "2020-01-01T10:00:00Z", SBX_YAML_TIMESTAMP }, { "2020-01-01 10:00:00", SBX_YAML_TIMESTAMP },
        { "2020-01-01T10:00", SBX_YAML_STR }, { "'5'", SBX_YAML_STR }, { "\"5\"", SBX_YAML_STR },
        { "!!str 5", SBX_YAML_STR }, { "!!int '5'", SBX_YAML_INT }, { "!!float 5", SBX_YAML_FLOAT },
        { "!custom 5", SBX_YAML_OTHER }, { "0x", SBX_YAML_STR }, { "-", SBX_YAML_SEQ },
        { "99999999999999999999", SBX_YAML_FLOAT }, { "|\n  5", SBX_YAML_STR },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[200];

        snprintf(text, sizeof(text), strcmp(rows[i].text, "-") ? "k: %s\n" : "k:\n%s\n", rows[i].text);
        DOC d = parse(text);
        assert_int_equal(d.rc, SBX_OK);
        if (value_of(&d)->type != rows[i].type)
            fail_msg("%s is %s", rows[i].text, sbx_yaml_type_name(value_of(&d)));
    }
}

static void integers_are_read_and_floats_are_cut(void **state)
{
    static const struct { const char *text; bool ok; int64_t value; bool cut; } rows[] = {
        { "5", true, 5, false }, { "-5", true, -5, false }, { "010", true, 8, false },
        { "0777", true, 511, false }, { "08", true, 8, true }, { "0x1F", true, 31, false },
        { "-0x1F", true, -31, false }, { "0b101", true, 5, false }, { "0o17", true, 15, false },
        { "1_000", true, 1000, false }, { "1.5", true, 1, true }, { "-1.9", true, -1, true },
        { "1e3", true, 1000, true }, { "8080.0", true, 8080, true },
        { "9223372036854775807", true, INT64_MAX, false },
        { "-9223372036854775808", true, INT64_MIN, false }, { "9223372036854775808", false, 0, false },
        { "1e30", false, 0, false }, { ".nan", false, 0, false }, { ".inf", false, 0, false },
        { "'5'", false, 0, false }, { "!!int '5'", true, 5, false }, { "true", false, 0, false },
        { "2020-01-01", false, 0, false }, { "", false, 0, false }, { "[1]", false, 0, false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[100];
        int64_t value = 0;
        bool cut, ok;

        snprintf(text, sizeof(text), "k: %s", rows[i].text);
        DOC d = parse(text);
        ok = sbx_yaml_int(value_of(&d), &value, &cut);
        if (ok != rows[i].ok || (ok && (value != rows[i].value || cut != rows[i].cut)))
            fail_msg("%s: %d %lld %d", rows[i].text, ok, (long long)value, cut);
    }
}

static void booleans_are_words_even_in_quotes(void **state)
{
    static const struct { const char *text; bool ok, value, word; } rows[] = {
        { "true", true, true, false }, { "False", true, false, false }, { "yes", true, true, true },
        { "\"yes\"", true, true, true }, { "'on'", true, true, true }, { "N", true, false, true },
        { "off", true, false, true }, { "\"true\"", false, false, false }, { "1", false, false, false },
        { "tRue", false, false, false }, { "yES", false, false, false }, { "{}", false, false, false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[100];
        bool value = false, word = false, ok;

        snprintf(text, sizeof(text), "k: %s", rows[i].text);
        DOC d = parse(text);
        ok = sbx_yaml_bool(value_of(&d), &value, &word);
        if (ok != rows[i].ok || (ok && (value != rows[i].value || word != rows[i].word)))
            fail_msg("%s: %d %d %d", rows[i].text, ok, value, word);
    }
}

static void floats_take_integers_too(void **state)
{
    double value;

    (void)state;
    DOC d = parse("a: 2\nb: 1_0.5\nc: '1'\nd: -.inf\ne: .nan\nf: true\n");
    assert_true(sbx_yaml_float(sbx_yaml_get(d.root, "a"), &value) && value == 2);
    assert_true(sbx_yaml_float(sbx_yaml_get(d.root, "b"), &value) && value == 10.5);
    assert_false(sbx_yaml_float(sbx_yaml_get(d.root, "c"), &value));
    assert_true(sbx_yaml_float(sbx_yaml_get(d.root, "d"), &value) && isinf(value) && value < 0);
    assert_true(sbx_yaml_float(sbx_yaml_get(d.root, "e"), &value) && isnan(value));
    assert_false(sbx_yaml_float(sbx_yaml_get(d.root, "f"), &value));
}

static void strings_keep_the_text_as_written(void **state)
{
    static const struct { const char *text, *want; } rows[] = {
        { "1.20", "1.20" }, { "0644", "0644" }, { "yes", "yes" }, { "2020-01-01", "2020-01-01" },
        { "~", "" }, { "!custom z", "z" }, { "!!binary aGk=", "hi" }, { "!!binary 'a G k ='", "hi" },
        { "!!binary aGk", NULL }, { "!!binary AAAA", NULL }, { "\"a\\0b\"", NULL }, { "[a]", NULL },
        { "\"a\\u00e9\"", "a\303\251" }, { ">-\n  a\n  b", "a b" }, { "|\n  a\n", "a\n" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[100];
        const char *got;

        snprintf(text, sizeof(text), "k: %s\n", rows[i].text);
        DOC d = parse(text);
        got = sbx_yaml_string(d.arena, value_of(&d));
        if (rows[i].want ? !got || strcmp(got, rows[i].want) : got != NULL)
            fail_msg("%s: %s", rows[i].text, got ? got : "(none)");
    }
}

static void nodes_know_line_column_and_bytes(void **state)
{
    const char *text = "\357\273\277a: b\r\n\303\251: [\303\251x, y]\n";
    const struct sbx_yaml_node *list;

    (void)state;
    DOC d = parse(text);
    assert_int_equal(d.rc, SBX_OK);
    assert_string_equal(d.root->pos.file, "f");
    list = sbx_yaml_get(d.root, "\303\251");
    assert_non_null(list);
    assert_int_equal(list->pos.line, 2);
    assert_int_equal(list->pos.column, 5); /* the accented letter takes two bytes */
    assert_memory_equal(text + list->pos.from, "[\303\251x, y]", list->pos.to - list->pos.from);
    assert_int_equal(list->items[1]->pos.column, 11);
    assert_memory_equal(text + list->items[1]->pos.from, "y", 1);
    assert_memory_equal(text + sbx_yaml_get(d.root, "a")->pos.from, "b", 1);
}

static void only_the_first_document_is_read(void **state)
{
    (void)state;
    DOC d = parse("a: 1\n---\n{ broken");
    assert_int_equal(d.rc, SBX_OK);
    assert_non_null(sbx_yaml_get(d.root, "a"));
    assert_int_equal(d.diags.errors, 0);
    assert_string_equal(d.diags.v[0].code, "more-documents");
    assert_int_equal(d.diags.v[0].pos.line, 2);
}

static void a_text_without_a_document_has_no_root(void **state)
{
    (void)state;
    DOC a = parse(""), b = parse("# only\n"), c = parse("---\n");
    assert_int_equal(a.rc, SBX_OK);
    assert_null(a.root);
    assert_int_equal(b.rc, SBX_OK);
    assert_null(b.root);
    assert_true(c.root && sbx_yaml_is_null(c.root));
}

static void utf_16_is_read(void **state)
{
    (void)state;
    DOC d = parse_n("\377\376k\0:\0 \0v\0", 10);
    assert_int_equal(d.rc, SBX_OK);
    assert_true(sbx_yaml_is(value_of(&d), "v"));
}

static void keys_given_twice_are_all_reported(void **state)
{
    static const struct { const char *text; size_t errors; } rows[] = {
        { "a: 1\na: 2\na: 3\n", 2 }, { "1: a\n'1': b\n", 1 }, { "1: a\n0x1: b\n", 0 },
        { "~: a\nnull: b\n", 0 }, { "? [a]\n: 1\n? [b]\n: 2\n", 1 }, { "<<: {}\n<<: {}\n", 1 },
        { "a: {b: 1, b: 2}\nc: {d: 1, d: 2}\n", 2 }, { "a: 1\nA: 2\n", 0 },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        DOC d = parse(rows[i].text);
        assert_int_equal(d.rc, SBX_OK);
        if (d.diags.errors != rows[i].errors)
            fail_msg("%s: %zu errors", rows[i].text, d.diags.errors);
    }
}

/* "a=1 b=2 " of a mapping of scalars, in order. */
static void spell(const struct sbx_yaml_node *map, char *out, size_t size)
{
    size_t len = 0;

    *out = '\0';
    for (size_t i = 0; i < map->len; i++)
        len += (size_t)snprintf(out + len, size - len, "%s=%s ", map->entries[i].key->text,
                                map->entries[i].value->text);
}

static void merge_keys_merge_when_plain(void **state)
{
    static const struct { const char *text, *want; } rows[] = {
        { "k: { <<: {a: 1, b: 2}, b: 3 }", "b=3 a=1 " },
        { "k: { b: 3, <<: {a: 1, b: 2} }", "b=3 a=1 " },
        { "k: { <<: [{a: 1}, {a: 2, c: 3}] }", "a=1 c=3 " },
        { "k: { \"<<\": x }", "<<=x " },
        { "x: &x {a: 1}\nk: { <<: *x }", "a=1 " },
        { "x: &x {a: 1}\ny: &y { <<: *x, b: 2 }\nk: { <<: [*y, *x] }", "b=2 a=1 " },
        { "k: { <<: {} }", "" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char got[200];

        DOC d = parse(rows[i].text);
        assert_int_equal(d.rc, SBX_OK);
        assert_int_equal(d.diags.errors, 0);
        spell(value_of(&d), got, sizeof(got));
        assert_string_equal(got, rows[i].want);
    }
}

static void merges_of_anything_else_are_refused(void **state)
{
    static const char *const rows[] = { "<<: ~", "<<: x", "<<: [x]", "<<: [[{a: 1}]]" };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        DOC d = parse(rows[i]);
        assert_int_equal(d.rc, SBX_SYNTAX);
        assert_string_equal(d.diags.v[0].code, "yaml-merge");
    }
}

static void aliases_are_the_anchored_node(void **state)
{
    (void)state;
    DOC d = parse("a: &x [1]\nb: *x\nc: &x [2]\nk: *x\n*x : 3\n");
    assert_int_equal(d.rc, SBX_OK);
    assert_ptr_equal(sbx_yaml_get(d.root, "a"), sbx_yaml_get(d.root, "b"));
    assert_ptr_equal(value_of(&d), sbx_yaml_get(d.root, "c"));
}

static void bad_aliases_are_refused(void **state)
{
    static const char *const rows[] = { "a: *b", "a: &a [*a]", "a: &a {b: {c: *a}}", "&a a: *b" };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        DOC d = parse(rows[i]);
        assert_int_equal(d.rc, SBX_SYNTAX);
        assert_string_equal(d.diags.v[0].code, "yaml-alias");
    }
}

static void depth_and_expansion_are_bounded(void **state)
{
    SBX_AUTO_FREE char *deep = calloc(1, 30000), *links = calloc(1, 40000);
    size_t len = 0;

    (void)state;
    memset(deep, '[', SBX_YAML_DEPTH_MAX);
    memset(deep + SBX_YAML_DEPTH_MAX, ']', SBX_YAML_DEPTH_MAX);
    DOC fits = parse(deep);
    assert_int_equal(fits.rc, SBX_OK);
    memset(deep, '[', SBX_YAML_DEPTH_MAX + 1);
    DOC over = parse(deep);
    assert_int_equal(over.rc, SBX_LIMIT);
    /* each level doubles what is below it */
    len += (size_t)sprintf(links + len, "a0: &a0 x\n");
    for (int i = 1; i < 60; i++)
        len += (size_t)sprintf(links + len, "a%d: &a%d [*a%d, *a%d]\n", i, i, i - 1, i - 1);
    DOC bomb = parse(links);
    assert_int_equal(bomb.rc, SBX_LIMIT);
    assert_string_equal(bomb.diags.v[0].code, "yaml-limit");
}

static void hostile_shapes_end_soon(void **state)
{
    SBX_AUTO_FREE char *text = calloc(1, 2000001);

    (void)state;
    for (size_t i = 0; i < 1000000; i++)
        memcpy(text + 2 * i, i % 3 ? "{?" : "[-", 2);
    DOC a = parse_n(text, 1000000);
    assert_int_not_equal(a.rc, SBX_OK);
    for (size_t i = 0; i < 500000; i++)
        memcpy(text + 2 * i, "a\n", 2);
    DOC b = parse_n(text, 1000000);
    assert_int_equal(b.rc, SBX_OK);
    for (size_t i = 0; i < 200000; i++)
        sprintf(text + 5 * i, "&a%c\n ", (char)('a' + i % 26));
    DOC c = parse_n(text, 1000000);
    assert_int_equal(c.rc, SBX_OK); /* an empty node, and a rest that is no document */
    assert_string_equal(c.diags.v[0].code, "more-documents");
}

static void values_become_json(void **state)
{
    static const struct { const char *text, *want; } rows[] = {
        { "[1, 010, 0x10, 1.5, 1e3]", "[1,8,16,1.5,1000.0]" },
        { "[yes, true, ~, '1']", "[\"yes\",true,null,\"1\"]" },
        { "{a: {b: [c]}}", "{\"a\":{\"b\":[\"c\"]}}" },
        { "2020-01-01", "\"2020-01-01T00:00:00Z\"" },
        { "2020-1-2T3:04:05.5+02:00", "\"2020-01-02T03:04:05.5+02:00\"" },
        { "{1: a}", NULL }, { "{~: a}", NULL }, { ".nan", NULL }, { "!!binary '!'", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        json_t *value = NULL;
        char text[100];

        snprintf(text, sizeof(text), "k: %s\n", rows[i].text);
        DOC d = parse(text);
        if (!rows[i].want) {
            assert_int_equal(sbx_yaml_json(d.arena, value_of(&d), &value, &err), SBX_SCHEMA);
            assert_int_equal(err.at.line, 1);
            continue;
        }
        assert_int_equal(sbx_yaml_json(d.arena, value_of(&d), &value, &err), SBX_OK);
        SBX_AUTO_FREE char *got = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        json_decref(value);
        assert_string_equal(got, rows[i].want);
    }
}

static void json_has_a_depth(void **state)
{
    char text[300] = "k: ";
    json_t *value = NULL;

    (void)state;
    memset(text + 3, '[', 70);
    memset(text + 73, ']', 70);
    DOC d = parse(text);
    assert_int_equal(d.rc, SBX_OK);
    assert_int_equal(sbx_yaml_json(d.arena, value_of(&d), &value, NULL), SBX_LIMIT);
}

static const struct {
    const char *text, *want;
} written[] = {
    { "", "\"\"" },
    { "text", "text" },
    { "a b", "a b" },
    { "it's", "it's" },
    { "a#b", "a#b" },
    { "h:80", "h:80" },
    { "-a", "-a" },
    { "Bearer %s", "Bearer %s" },
    { "true", "\"true\"" },
    { "No", "\"No\"" },
    { "y", "\"y\"" },
    { "~", "\"~\"" },
    { "1.20", "\"1.20\"" },
    { "0x1F", "\"0x1F\"" },
    { "1:30", "\"1:30\"" },
    { "1_000", "\"1_000\"" },
    { "2020-01-01", "\"2020-01-01\"" },
    { "<<", "\"<<\"" },
    { "0644", "\"0644\"" },
    { "${{ kit.args.v }}", "\"${{ kit.args.v }}\"" },
    { "%s", "'%s'" },
    { "a: b", "'a: b'" },
    { "a #b", "'a #b'" },
    { " a", "' a'" },
    { "a:", "'a:'" },
    { "- a", "'- a'" },
    { "-", "'-'" },
    { "?", "'?'" },
    { "*.x", "'*.x'" },
    { "[a]", "'[a]'" },
    { "'a'", "'''a'''" },
    { "---", "'---'" },
    { "@a", "'@a'" },
    { "`a", "'`a'" },
    { "a\tb", "\"a\\tb\"" },
    { "\x01\"\\", "\"\\x01\\\"\\\\\"" },
    { "café \U0001f600", "café \U0001f600" },
    { "\u2028", "\"\\u2028\"" },
    { "\ufeff", "\"\\uFEFF\"" },
    { "\xc2\x85", "\"\\x85\"" },
    { "a\nb\n", "|\n    a\n    b" },
    { "a\nb", "|-\n    a\n    b" },
    { "a\n\n", "|+\n    a\n" },
    { "a\n\nb\n", "|\n    a\n\n    b" },
    { "\n", "|2+\n" },
    { " a\nb\n", "|2\n     a\n    b" },
    { "a\n\tb\n", "|\n    a\n    \tb" },
    { "a \nb\n", "\"a \\nb\\n\"" },
    { "a\r\nb", "\"a\\r\\nb\"" },
};

static void strings_are_written_in_the_style_that_reads_best(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(written); i++) {
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1000);

        assert_int_equal(sbx_buf_adds(&out, "k:\n  - "), SBX_OK);
        assert_int_equal(sbx_yaml_write_text(&out, written[i].text, 4), SBX_OK);
        assert_string_equal(out.ptr + 7, written[i].want);
        assert_int_equal(sbx_buf_adds(&out, "\n  - end\n"), SBX_OK);
        DOC d = parse(out.ptr);
        assert_int_equal(d.rc, SBX_OK);
        assert_int_equal(value_of(&d)->items[0]->type, SBX_YAML_STR);
        assert_string_equal(value_of(&d)->items[0]->text, written[i].text);
        assert_string_equal(value_of(&d)->items[1]->text, "end");
    }
}

static void check_written(const char *text)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1000);

    assert_int_equal(sbx_buf_adds(&out, "k: "), SBX_OK);
    assert_int_equal(sbx_yaml_write_text(&out, text, 2), SBX_OK);
    assert_int_equal(sbx_buf_adds(&out, "\nl: end\n"), SBX_OK);
    DOC d = parse(out.ptr);
    if (d.rc || value_of(&d)->type != SBX_YAML_STR || strcmp(value_of(&d)->text, text) ||
        strcmp(sbx_yaml_get(d.root, "l")->text, "end"))
        fail_msg("\"%s\" was written as\n%s", text, out.ptr);
}

static void every_short_text_is_read_as_it_was_written(void **state)
{
    static const char signs[] = "a1 \n\t:-#'\"\\|>{[,]}&*!%@`?~=.<\x7f";
    const size_t n = sizeof(signs) - 1;

    (void)state;
    for (size_t i = 0; i < n * n * n; i++) {
        const char text[] = { signs[i % n], signs[i / n % n], signs[i / n / n], '\0' };

        check_written(text);
        check_written(text + 1);
        check_written(text + 2);
    }
}

static void keys_stand_in_an_order_for_people(void **state)
{
    static const char *const sorted[] = { "",  "_x",  "2",  "10",  "A",   "A2", "A10",  "B",   "Z",
                                          "a", "a_b", "a1", "a1b", "a1_", "a2", "a10", "ab" };

    (void)state;
    for (size_t i = 0; i + 1 < SBX_ARRAY_LEN(sorted); i++) {
        if (sbx_yaml_key_order(sorted[i], sorted[i + 1]) >= 0 ||
            sbx_yaml_key_order(sorted[i + 1], sorted[i]) <= 0)
            fail_msg("\"%s\" and \"%s\"", sorted[i], sorted[i + 1]);
        assert_int_equal(sbx_yaml_key_order(sorted[i], sorted[i]), 0);
    }
}

static void long_keys_are_written_so_that_they_are_read(void **state)
{
    static const struct { char c; size_t len; } rows[] = { { 'k', 500 }, { 'k', 2000 }, { '\x19', 300 } };
    char key[2001];

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) { /* \x19 is written with four bytes */
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(10000);

        memset(key, rows[i].c, rows[i].len);
        key[rows[i].len] = 0;
        assert_int_equal(sbx_yaml_write_key(&out, key, 0), SBX_OK);
        assert_int_equal(sbx_buf_adds(&out, " v\n"), SBX_OK);
        DOC d = parse(out.ptr);
        assert_int_equal(d.rc, SBX_OK);
        assert_string_equal(sbx_yaml_get(d.root, key)->text, "v");
    }
}

static size_t plain_offset(const char *text, size_t len, size_t start, size_t character)
{
    size_t i = start;

    for (; i < len && character; character--)
        do
            i++;
        while (i < len && ((unsigned char)text[i] & 0xc0) == 0x80);
    return i;
}

static void offsets_of_characters_are_those_of_counting_in_any_order(void **state)
{
    static const char *const texts[] = {
        "", "a", "plain text of more than one word", "\xc3\xa9", "12345678\xc3\xa9" "12345678",
        "\xe2\x80\x94 a dash \xe2\x80\x94 and more\n  text \xf0\x9f\x98\x80 to the end",
        "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
        "1234567\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80" "12345678901234567",
        "\xef\xbb\xbf" "key: a mark in front \xc2\xa0 and a space of its own kind",
    };

    (void)state;
    for (size_t t = 0; t < SBX_ARRAY_LEN(texts); t++) {
        size_t len = strlen(texts[t]), start = strncmp(texts[t], "\xef\xbb\xbf", 3) ? 0 : 3;
        struct sbx_yaml_offsets o;

        sbx_yaml_offsets_init(&o, texts[t], len);
        for (size_t from = 0; from <= len + 1; from++)
            for (size_t to = 0; to <= len + 1; to++) {
                assert_int_equal(sbx_yaml_offset(&o, from), plain_offset(texts[t], len, start, from));
                assert_int_equal(sbx_yaml_offset(&o, to), plain_offset(texts[t], len, start, to));
            }
    }
}

static void a_key_given_twice_is_found_in_mappings_of_any_size(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 40; n++)
        for (size_t twin = 1; twin < n; twin++) {
            SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(65536);

            for (size_t i = 0; i < n; i++)
                assert_int_equal(sbx_buf_addf(&text, "k%zu: v\n", i == twin ? 0 : i), SBX_OK);
            DOC d = parse(text.ptr);
            assert_true(d.root->broken);
            assert_int_equal(d.diags.errors, 1);
            assert_int_equal(d.diags.v[0].pos.line, twin + 1);
            assert_string_equal(d.diags.v[0].message, "given twice; first on line 1");
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_of_characters_are_those_of_counting_in_any_order),
        cmocka_unit_test(a_key_given_twice_is_found_in_mappings_of_any_size),
        cmocka_unit_test(plain_scalars_resolve_as_the_reference_does),
        cmocka_unit_test(integers_are_read_and_floats_are_cut),
        cmocka_unit_test(booleans_are_words_even_in_quotes),
        cmocka_unit_test(floats_take_integers_too),
        cmocka_unit_test(strings_keep_the_text_as_written),
        cmocka_unit_test(nodes_know_line_column_and_bytes),
        cmocka_unit_test(only_the_first_document_is_read),
        cmocka_unit_test(a_text_without_a_document_has_no_root),
        cmocka_unit_test(utf_16_is_read),
        cmocka_unit_test(keys_given_twice_are_all_reported),
        cmocka_unit_test(merge_keys_merge_when_plain),
        cmocka_unit_test(merges_of_anything_else_are_refused),
        cmocka_unit_test(aliases_are_the_anchored_node),
        cmocka_unit_test(bad_aliases_are_refused),
        cmocka_unit_test(depth_and_expansion_are_bounded),
        cmocka_unit_test(hostile_shapes_end_soon),
        cmocka_unit_test(values_become_json),
        cmocka_unit_test(json_has_a_depth),
        cmocka_unit_test(strings_are_written_in_the_style_that_reads_best),
        cmocka_unit_test(every_short_text_is_read_as_it_was_written),
        cmocka_unit_test(keys_stand_in_an_order_for_people),
        cmocka_unit_test(long_keys_are_written_so_that_they_are_read),
    };

    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
