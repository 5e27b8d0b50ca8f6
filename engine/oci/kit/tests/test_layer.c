/* Layers of strangers: tar in its dialects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/ustar.h"
#include "tar.h"

#define B SBX_USTAR_BLOCK

/* An archive that is put together, then read. */
struct world {
    char data[64 * B];
    size_t len, at;
    struct tar_in tar;
    struct tar_entry e;
    struct sbx_err err;
};

static enum sbx_code from_world(void *ctx, void *to, size_t len, size_t *ret_n, struct sbx_err *err)
{
    struct world *w = ctx;

    (void)err;
    if (len > w->len - w->at)
        len = w->len - w->at;
    memcpy(to, w->data + w->at, len);
    w->at += len;
    *ret_n = len;
    return SBX_OK;
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    w->tar = (struct tar_in){ .read = from_world, .ctx = w };
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static char *add(struct world *w, const char *name, char type, const char *content)
{
    char *block = w->data + w->len;
    size_t len = strlen(content);

    sbx_ustar_header(block, name, len, 0644, 1000, type);
    memcpy(block + B, content, len);
    w->len += B + (len + B - 1) / B * B;
    return block;
}

/* After a header was changed by hand. */
static void sign(char *block)
{
    unsigned sum = 0;

    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < B; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
}

static bool next(struct world *w)
{
    bool more = true;

    if (tar_next(&w->tar, &w->e, &more, &w->err))
        fail_msg("%s", w->err.text);
    return more;
}

static void refused(struct world *w, enum sbx_code code, const char *why)
{
    bool more = true;

    assert_int_equal(tar_next(&w->tar, &w->e, &more, &w->err), code);
    if (!strstr(w->err.text, why))
        fail_msg("%s, not %s", w->err.text, why);
}

static void entries_come_with_their_content(void **state)
{
    struct world *w = *state;
    char piece[2 * B];
    size_t n;

    add(w, "a", '0', "hello");
    add(w, "d/", '5', "");
    add(w, "b", '7', "contiguous is a file too");
    w->len += 2 * B;
    assert_true(next(w));
    assert_int_equal(w->e.size, 5);
    assert_int_equal(tar_data(&w->tar, piece, 3, &n, NULL), SBX_OK);
    assert_memory_equal(piece, "hel", 3); /* the rest is skipped */
    assert_true(next(w));
    assert_int_equal(w->e.type, '5');
    assert_true(next(w));
    assert_string_equal(w->e.name, "b");
    assert_int_equal(w->e.type, '0');
    assert_int_equal(tar_data(&w->tar, piece, sizeof(piece), &n, NULL), SBX_OK);
    assert_int_equal(n, 24);
    assert_int_equal(tar_data(&w->tar, piece, sizeof(piece), &n, NULL), SBX_OK);
    assert_int_equal(n, 0);
    assert_false(next(w));
}

static void long_names_are_understood_in_every_dialect(void **state)
{
    struct world *w = *state;
    char *block;

    add(w, "PaxHeaders/x", 'x', "15 path=a/long\n10 size=2\n");
    add(w, "short", '0', "xy");
    add(w, "././@LongLink", 'L', "gnu/long");
    add(w, "short", '0', "x");
    block = add(w, "name", '0', "x");
    memcpy(block + 345, "the/prefix", 10);
    sign(block);
    block = add(w, "gnu", '0', "x");
    memcpy(block + 257, "ustar  ", 8);
    memcpy(block + 345, "12345", 5); /* GNU keeps a time there */
    sign(block);
    add(w, "pax_global_header", 'g', "13 comment=x\n");
    assert_true(next(w));
    assert_string_equal(w->e.name, "a/long");
    assert_int_equal(w->e.size, 2);
    assert_true(next(w));
    assert_string_equal(w->e.name, "gnu/long");
    assert_true(next(w));
    assert_string_equal(w->e.name, "the/prefix/name");
    assert_true(next(w));
    assert_string_equal(w->e.name, "gnu");
}

static void sizes_may_be_binary(void **state)
{
    struct world *w = *state;
    char *block = add(w, "a", '0', "");

    memset(block + 124, 0, 12);
    block[124] = (char)0x80;
    block[130] = 1; /* 2^40 */
    sign(block);
    assert_true(next(w));
    assert_int_equal(w->e.size, 1LL << 40);
}

static void what_is_broken_is_refused(void **state)
{
    static const struct {
        const char *name;
        char type;
        const char *content;
        enum sbx_code code;
        const char *why;
    } rows[] = {
        { "x", 'x', "path=a\n", SBX_SYNTAX, "broken pax record" },
        { "x", 'x', "99 path=a\n", SBX_SYNTAX, "broken pax record" },
        { "x", 'x', "8 path=a", SBX_SYNTAX, "broken pax record" },
        { "x", 'x', "7 path\n", SBX_SYNTAX, "without a value" },
        { "x", 'x', "10 size=a\n", SBX_SYNTAX, "no number" },
        { "x", 'x', "10 size=\n\n", SBX_SYNTAX, "no number" },
        { "x", 'x', "22 GNU.sparse.major=1\n", SBX_SCHEMA, "sparse" },
        { "x", 'g', "10 path=a\n", SBX_SCHEMA, "for all entries" },
        { "d", '5', "content", SBX_SCHEMA, "directory with content" },
        { "", '0', "", SBX_SCHEMA, "without a name" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        void *fresh;

        setup(&fresh);
        add(fresh, rows[i].name, rows[i].type, rows[i].content);
        add(fresh, "after", '0', "");
        refused(fresh, rows[i].code, rows[i].why);
        teardown(&fresh);
    }
}

static void every_cut_is_seen(void **state)
{
    struct world *w = *state;
    size_t all;

    add(w, "PaxHeaders/x", 'x', "15 path=a/long\n");
    add(w, "a", '0', "hello");
    all = w->len;
    for (w->len = 1; w->len < all; w->len += 37) {
        bool more = true;
        enum sbx_code rc;

        if (w->len % B == 0)
            continue;
        w->at = 0;
        w->tar = (struct tar_in){ .read = from_world, .ctx = w };
        do
            rc = tar_next(&w->tar, &w->e, &more, &w->err);
        while (!rc && more);
        assert_int_equal(rc, SBX_SYNTAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(entries_come_with_their_content, setup, teardown),
        cmocka_unit_test_setup_teardown(long_names_are_understood_in_every_dialect, setup, teardown),
        cmocka_unit_test_setup_teardown(sizes_may_be_binary, setup, teardown),
        cmocka_unit_test(what_is_broken_is_refused),
        cmocka_unit_test_setup_teardown(every_cut_is_seen, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
