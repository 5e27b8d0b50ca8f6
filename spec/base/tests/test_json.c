#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sbx/digest.h"
#include "sbx/json.h"

static void canonical_of(const char *text, const char *want)
{
    SBX_AUTO_JSON json_t *v = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1 << 20);

    assert_non_null(v);
    assert_int_equal(sbx_json_canonical(v, &out), SBX_OK);
    assert_string_equal(out.ptr, want);
}

static double from_bits(uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* RFC 8785, Appendix B: IEEE 754 bits and their ECMAScript text; NULL: an error. */
static const struct {
    uint64_t bits;
    const char *want;
} numbers[] = {
    { 0x0000000000000000, "0" },
    { 0x8000000000000000, "0" },
    { 0x0000000000000001, "5e-324" },
    { 0x8000000000000001, "-5e-324" },
    { 0x7fefffffffffffff, "1.7976931348623157e+308" },
    { 0xffefffffffffffff, "-1.7976931348623157e+308" },
    { 0x4340000000000000, "9007199254740992" },
    { 0xc340000000000000, "-9007199254740992" },
    { 0x4430000000000000, "295147905179352830000" },
    { 0x7fffffffffffffff, NULL },
    { 0x7ff0000000000000, NULL },
    { 0x44b52d02c7e14af5, "9.999999999999997e+22" },
    { 0x44b52d02c7e14af6, "1e+23" },
    { 0x44b52d02c7e14af7, "1.0000000000000001e+23" },
    { 0x444b1ae4d6e2ef4e, "999999999999999700000" },
    { 0x444b1ae4d6e2ef4f, "999999999999999900000" },
    { 0x444b1ae4d6e2ef50, "1e+21" },
    { 0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7" },
    { 0x3eb0c6f7a0b5ed8d, "0.000001" },
    { 0x41b3de4355555553, "333333333.3333332" },
    { 0x41b3de4355555554, "333333333.33333325" },
    { 0x41b3de4355555555, "333333333.3333333" },
    { 0x41b3de4355555556, "333333333.3333334" },
    { 0x41b3de4355555557, "333333333.33333343" },
    { 0xbecbf647612f3696, "-0.0000033333333333333333" },
    { 0x43143ff3c1cb0959, "1424953923781206.2" },
    /* powers of two: the shortest text is not the nearest one of its length */
    { 0x3d30000000000000, "5.684341886080802e-14" },
    { 0x0010000000000000, "2.2250738585072014e-308" },
};

static void numbers_are_written_as_ecmascript_writes_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(numbers); i++) {
        double v = from_bits(numbers[i].bits);
        SBX_AUTO_JSON json_t *one = isfinite(v) ? json_real(v) : NULL;
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(100);

        if (!numbers[i].want) { /* jansson makes no such value: no value at all is refused too */
            assert_int_equal(sbx_json_canonical(one, &out), SBX_SCHEMA);
            continue;
        }
        assert_int_equal(sbx_json_canonical(one, &out), SBX_OK);
        assert_string_equal(out.ptr, numbers[i].want);
    }
}

static void every_double_reads_back(void **state)
{
    uint64_t x = 88172645463325252u; /* xorshift: the same numbers each time */

    (void)state;
    for (int i = 0; i < 20000; i++) {
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(100);
        SBX_AUTO_JSON json_t *one = NULL;
        double v;

        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        v = from_bits(x);
        if (!isfinite(v))
            continue;
        one = json_real(v);
        assert_int_equal(sbx_json_canonical(one, &out), SBX_OK);
        assert_true(strtod(out.ptr, NULL) == v);
    }
}

static void integers_that_a_double_would_round_are_refused(void **state)
{
    static const struct {
        json_int_t v;
        const char *want;
    } rows[] = {
        { 9007199254740991, "9007199254740991" },
        { 9007199254740992, "9007199254740992" },
        { 9007199254740993, NULL },
        { -9007199254740993, NULL },
        { 9007199254740994, "9007199254740994" },
        { INT64_MAX, NULL },
        { INT64_MIN, NULL },
        { 1152921504606846976, NULL }, /* 2^60 is a double, but its shortest digits are 1152921504606847000 */
        { 1000000000000000000, "1000000000000000000" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_JSON json_t *one = json_integer(rows[i].v);
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(100);

        assert_int_equal(sbx_json_canonical(one, &out), rows[i].want ? SBX_OK : SBX_SCHEMA);
        if (rows[i].want)
            assert_string_equal(out.ptr, rows[i].want);
    }
}

/* RFC 8785, 3.2.3 and 3.2.2: its two samples. */
static void the_samples_of_the_rfc(void **state)
{
    (void)state;
    canonical_of("{\"numbers\":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"
                 "\"string\":\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\","
                 "\"literals\":[null,true,false]}",
                 "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,"
                 "1e-27],\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
    canonical_of("{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\","
                 "\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\"1\":\"One\","
                 "\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\","
                 "\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
                 "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\","
                 "\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\",\"\xe2\x82\xac\":"
                 "\"Euro Sign\",\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\",\"\xef\xac\xb3\":"
                 "\"Hebrew Letter Dalet With Dagesh\"}");
}

static void small_values(void **state)
{
    (void)state;
    canonical_of("{}", "{}");
    canonical_of("[]", "[]");
    canonical_of("\"\"", "\"\"");
    canonical_of("[1, -0.0, 1.0, \"a\\u0000b\\u007f\"]", "[1,0,1,\"a\\u0000b\x7f\"]");
    canonical_of("{\"b\":1,\"a\":{\"ab\":1,\"a\":2,\"\":3}}",
                 "{\"a\":{\"\":3,\"a\":2,\"ab\":1},\"b\":1}");
}

static json_t *nested(unsigned levels)
{
    json_t *v = json_array();

    while (--levels) {
        json_t *outer = json_array();

        json_array_append_new(outer, v);
        v = outer;
    }
    return v;
}

static void depth_and_size_have_an_end(void **state)
{
    SBX_AUTO_JSON json_t *deep = nested(SBX_JSON_DEPTH_MAX);
    SBX_AUTO_JSON json_t *deeper = nested(SBX_JSON_DEPTH_MAX + 1);
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1000);
    SBX_AUTO(sbx_buf) small = SBX_BUF_INIT(10);

    (void)state;
    assert_int_equal(sbx_json_canonical(deep, &out), SBX_OK);
    sbx_buf_clear(&out);
    assert_int_equal(sbx_json_canonical(deeper, &out), SBX_LIMIT);
    assert_int_equal(sbx_json_canonical(deep, &small), SBX_LIMIT);
    assert_int_equal(small.len, 0);
}

static void digests_have_the_known_values(void **state)
{
    static const char empty[] =
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    static const char abc[] =
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    SBX_AUTO_PTR(sbx_hasher) h = sbx_hasher_new();
    char text[SBX_DIGEST_TEXT_SIZE];

    (void)state;
    assert_int_equal(sbx_digest(NULL, 0, text), SBX_OK);
    assert_string_equal(text, empty);
    assert_int_equal(sbx_digest("abc", 3, text), SBX_OK);
    assert_string_equal(text, abc);
    sbx_hasher_add(h, "a", 1);
    sbx_hasher_add(h, NULL, 0);
    sbx_hasher_add(h, "bc", 2);
    sbx_hasher_text(h, text);
    assert_string_equal(text, abc);
    sbx_hasher_text(h, text);
    assert_string_equal(text, empty); /* it starts anew */
}

static void only_the_oci_spelling_is_a_digest(void **state)
{
#define HEX63 "a7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    (void)state;
    assert_true(sbx_digest_valid("sha256:b" HEX63));
    assert_false(sbx_digest_valid("sha256:" HEX63));
    assert_false(sbx_digest_valid("sha256:bb" HEX63));
    assert_false(sbx_digest_valid("sha256:B" HEX63));
    assert_false(sbx_digest_valid("sha512:b" HEX63));
    assert_false(sbx_digest_valid("sha256:b" HEX63 "\n"));
    assert_false(sbx_digest_valid(""));
    assert_false(sbx_digest_valid(NULL));
}

static void strings_go_in_and_come_out(void **state)
{
    static const char *const words[] = { "a", "\xc3\xa9", "", NULL };
    static const char *const not_utf8[] = { "a", "\xff", NULL };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_JSON json_t *list = sbx_json_strings(words), *none = sbx_json_strings(NULL);
    SBX_AUTO_JSON json_t *object = json_pack("{s:s, s:i, s:[s, i]}", "text", "here", "n", 1, "mixed", "a", 1);
    const char *const *back = sbx_json_texts(list, arena);

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(back[i], words[i]);
    assert_null(back[3]);
    assert_int_equal(json_array_size(none), 0);
    assert_null(sbx_json_texts(NULL, arena)[0]);
    assert_null(sbx_json_texts(json_object_get(object, "mixed"), arena));
    assert_null(sbx_json_strings(not_utf8));
    assert_string_equal(sbx_json_text_of(object, "text"), "here");
    assert_string_equal(sbx_json_text_of(object, "n"), "");
    assert_string_equal(sbx_json_text_of(object, "none"), "");
    assert_string_equal(sbx_json_text_of(NULL, "none"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_go_in_and_come_out),
        cmocka_unit_test(numbers_are_written_as_ecmascript_writes_them),
        cmocka_unit_test(every_double_reads_back),
        cmocka_unit_test(integers_that_a_double_would_round_are_refused),
        cmocka_unit_test(the_samples_of_the_rfc),
        cmocka_unit_test(small_values),
        cmocka_unit_test(depth_and_size_have_an_end),
        cmocka_unit_test(digests_have_the_known_values),
        cmocka_unit_test(only_the_oci_spelling_is_a_digest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
