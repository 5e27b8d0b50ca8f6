/* YAML to a tree: places, documents, keys, merges, aliases, bounds. */
#include "doc.h"

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
    };

    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
