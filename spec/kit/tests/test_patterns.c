/*
 * Patterns of arguments: which are RE2's, as Go's regexp takes them, and what they match. The reasons
 * are the sections of RE2's syntax page; Go's differences from RE2 in C++ (\\C refused) count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "../pattern_re.h"

/* Accepted; `value` NULL: only that. */
static const struct {
    const char *pattern, *value;
    int match;
} good[] = {
    { "", "", 1 },
    { "", "a", 0 },
    { "a", "a", 1 },
    { "a", "b", 0 },
    { "a", "aa", 0 },
    { "a", "a\x0a", 0 },
    { "abc", "abc", 1 },
    { ".", "x", 1 },
    { ".", "\x0a", 0 },
    { ".", "", 0 },
    { "\xc3\xa9", "\xc3\xa9", 1 },
    { "\xc3\xa9", "e", 0 },
    { "a.c", "abc", 1 },
    { "a.c", "a\x0a" "c", 0 },
    { "(?s)a.c", "a\x0a" "c", 1 },
    { "(?s:.)a.", "\x0a" "ab", 1 },
    { "(?s:.)a.", "ba\x0a", 0 },
    { "a|b", "a", 1 },
    { "a|b", "b", 1 },
    { "a|b", "ab", 0 },
    { "|", "", 1 },
    { "a|", "a", 1 },
    { "a|", "", 1 },
    { "(a|ab)(c|bcd)", "abcd", 1 },
    { "()|x", "", 1 },
    { "()|x", "x", 1 },
    { "latest|[0-9]+\\.[0-9]+", "latest", 1 },
    { "latest|[0-9]+\\.[0-9]+", "1.20", 1 },
    { "latest|[0-9]+\\.[0-9]+", "1.20x", 0 },
    { "latest|[0-9]+\\.[0-9]+", "xlatest", 0 },
    { "a*", "", 1 },
    { "a*", "aaa", 1 },
    { "a+", "", 0 },
    { "a+", "a", 1 },
    { "a?b", "b", 1 },
    { "a?b", "ab", 1 },
    { "a*?", "aa", 1 },
    { "a+?", "aa", 1 },
    { "a?\?", "a", 1 },
    { "a?\?", "", 1 },
    { "a{2}", "aa", 1 },
    { "a{2}", "a", 0 },
    { "a{2}", "aaa", 0 },
    { "a{2,}", "aaa", 1 },
    { "a{2,}", "a", 0 },
    { "a{2,3}", "aaa", 1 },
    { "a{2,3}", "aaaa", 0 },
    { "a{2,3}?", "aaa", 1 },
    { "a{0}", "", 1 },
    { "a{0}", "a", 0 },
    { "a{0,0}", "", 1 },
    { "a{1000}", NULL, 1 },
    { "(?:a{10}){100}", NULL, 1 },
    { "(a{1000}){0}", NULL, 1 },
    { "a{", "a{", 1 },
    { "a{,2}", "a{,2}", 1 },
    { "a{,2}", "aa", 0 },
    { "{", "{", 1 },
    { "a{b}", "a{b}", 1 },
    { "a{1,b}", "a{1,b}", 1 },
    { "a{01}", "a{01}", 1 },
    { "}", "}", 1 },
    { "]", "]", 1 },
    { "a}b]", "a}b]", 1 },
    { "x{2", "x{2", 1 },
    { "{,}", "{,}", 1 },
    { "a{1", "a{1", 1 },
    { "^*", "", 1 },
    { "$?", "", 1 },
    { "\\b+a", "a", 1 },
    { "(?:^a$)*", "a", 1 },
    { "(a*)*", "aaa", 1 },
    { "(a*)+", "", 1 },
    { "(?:a?){8}a{8}", "aaaaaaaa", 1 },
    { "a(?i)*", "aaa", 1 },
    { "a(?i)*", "AAA", 0 },
    { "a*(?i)b", "aaB", 1 },
    { "(a)", "a", 1 },
    { "(?:a)", "a", 1 },
    { "(?P<n>a)", "a", 1 },
    { "(?<n>a)", "a", 1 },
    { "(?P<1>a)", "a", 1 },
    { "(?P<n_1>a)(?P<n_2>b)", "ab", 1 },
    { "(?i)a", "A", 1 },
    { "(?i:a)b", "Ab", 1 },
    { "(?i:a)b", "AB", 0 },
    { "(?i)a(?-i)b", "Ab", 1 },
    { "(?i)a(?-i)b", "AB", 0 },
    { "(?i-s)a", "A", 1 },
    { "(?im-sU:a)", "A", 1 },
    { "(?)a", "a", 1 },
    { "(?:)a", "a", 1 },
    { "(a(?i)b|c)d", "aBd", 1 },
    { "(a(?i)b|c)d", "Cd", 1 },
    { "(a(?i)b|c)d", "cD", 0 },
    { "(?U)a*?", "aa", 1 },
    { "(?ii)a", "A", 1 },
    { "((((((((((a))))))))))", "a", 1 },
    { "^a$", "a", 1 },
    { "^a$", "a\x0a", 0 },
    { "a$\\n?", "a", 1 },
    { "a$\\n?", "a\x0a", 0 },
    { "\\Aa\\z", "a", 1 },
    { "(?m)a$\x0a^b", "a\x0a" "b", 1 },
    { "(?m:^)a", "a", 1 },
    { "a\\b", "a", 1 },
    { "\\Ba", "a", 0 },
    { "a\\Bb", "ab", 1 },
    { "a^b", "ab", 0 },
    { "(?m)a\x0a^", "a\x0a", 1 },
    { "(?m)^a$", "a", 1 },
    { "(?m)^a$", "a\x0a", 0 },
    { "\\a", "\x07", 1 },
    { "\\f", "\x0c", 1 },
    { "\\t", "\x09", 1 },
    { "\\n", "\x0a", 1 },
    { "\\r", "\x0d", 1 },
    { "\\v", "\x0b", 1 },
    { "\\x41", "A", 1 },
    { "\\x{41}", "A", 1 },
    { "\\x{1F600}", "\xf0\x9f\x98\x80", 1 },
    { "\\x{10FFFF}", NULL, 1 },
    { "\\101", "A", 1 },
    { "\\12", "\x0a", 1 },
    { "\\012", "\x0a", 1 },
    { "\\0", NULL, 1 },
    { "\\07", "\x07", 1 },
    { "\\1234", "S4", 1 },
    { "\\.", ".", 1 },
    { "\\.", "x", 0 },
    { "\\_", "_", 1 },
    { "\\-", "-", 1 },
    { "\\/", "/", 1 },
    { "\\\\", "\\", 1 },
    { "\\ ", " ", 1 },
    { "\\<", "<", 1 },
    { "\\<", "a", 0 },
    { "\\>", ">", 1 },
    { "\\\"", "\"", 1 },
    { "\\@", "@", 1 },
    { "\\`", "`", 1 },
    { "\\`", "", 0 },
    { "\\Qa.b\\E", "a.b", 1 },
    { "\\Qa.b\\E", "axb", 0 },
    { "\\Qa*", "a*", 1 },
    { "\\Qab\\E+", "abb", 1 },
    { "\\Q\\E", "", 1 },
    { "\\Q[\\E", "[", 1 },
    { "a\\Q\\Eb", "ab", 1 },
    { "\\x{D800}", NULL, 1 },
    { "[\\x{D800}]", "a", 0 },
    { "\\d", "5", 1 },
    { "\\d", "a", 0 },
    { "\\d", "\xd9\xa5", 0 },
    { "\\D", "a", 1 },
    { "\\D", "5", 0 },
    { "\\s", " ", 1 },
    { "\\s", "\x09", 1 },
    { "\\s", "\x0b", 0 },
    { "\\S", "a", 1 },
    { "\\S", "\x0b", 1 },
    { "\\S", " ", 0 },
    { "\\w", "_", 1 },
    { "\\w", "\xc3\xa9", 0 },
    { "\\W", "-", 1 },
    { "\\W", "a", 0 },
    { "[abc]", "b", 1 },
    { "[abc]", "d", 0 },
    { "[^abc]", "d", 1 },
    { "[^abc]", "a", 0 },
    { "[^abc]", "\x0a", 1 },
    { "[a-z]", "q", 1 },
    { "[a-z]", "Q", 0 },
    { "[]a]", "]", 1 },
    { "[]a]", "a", 1 },
    { "[^]a]", "b", 1 },
    { "[^]a]", "]", 0 },
    { "[a-]", "-", 1 },
    { "[-a]", "-", 1 },
    { "[a-c-e]", "-", 1 },
    { "[a-c-e]", "e", 1 },
    { "[a-c-e]", "d", 0 },
    { "[[]", "[", 1 },
    { "[a[]", "[", 1 },
    { "[\\d]", "1", 1 },
    { "[\\s]", " ", 1 },
    { "[\\s]", "\x0b", 0 },
    { "[\\S]", "\x0b", 1 },
    { "[\\S]", " ", 0 },
    { "[^\\S]", " ", 1 },
    { "[^\\S]", "\x0b", 0 },
    { "[\\w.-]+", "a.b-c", 1 },
    { "[\\d-a]", "-", 1 },
    { "[\\d-a]", "a", 1 },
    { "[\\x41-\\x43]", "B", 1 },
    { "[\\101]", "A", 1 },
    { "[\\n]", "\x0a", 1 },
    { "[.]", ".", 1 },
    { "[.]", "a", 0 },
    { "[$^]", "^", 1 },
    { "[{}()*+?|]", "{", 1 },
    { "[\\-]", "-", 1 },
    { "[\\]]", "]", 1 },
    { "[a\\]b]+", "a]b", 1 },
    { "[[:alpha:]]", "a", 1 },
    { "[[:alpha:]]", "1", 0 },
    { "[[:^alpha:]]", "1", 1 },
    { "[[:^alpha:]]", "a", 0 },
    { "[[:^alpha:]]", "\xc3\xa9", 1 },
    { "[[:word:]_-]+", "a-_", 1 },
    { "[[:ascii:]]", "a", 1 },
    { "[[:ascii:]]", "\xc3\xa9", 0 },
    { "[^[:space:]]", "a", 1 },
    { "[^[:space:]]", " ", 0 },
    { "[^[:space:]]", "\x0b", 0 },
    { "[[:digit:]a-c]", "b", 1 },
    { "[[:alpha]", "[", 1 },
    { "[[:alpha]", ":", 1 },
    { "[^\\x00-\\x{10FFFF}]", "a", 0 },
    { "(?i)[a-z]", "Q", 1 },
    { "(?i)[^a]", "A", 0 },
    { "[\xc3\xa9]", "\xc3\xa9", 1 },
    { "[[:punct:]]", "~", 1 },
    { "[[:cntrl:]]", "\x01", 1 },
    { "[[:xdigit:]]+", "fF0", 1 },
    { "[--/]", ".", 1 },
    { "[--/]", "0", 0 },
    { "[!-\\x2f]", ".", 1 },
    { "\\pL", "\xc3\xa9", 1 },
    { "\\pL", "1", 0 },
    { "\\PL", "1", 1 },
    { "\\PL", "a", 0 },
    { "\\p{Lu}", "A", 1 },
    { "\\p{Lu}", "a", 0 },
    { "\\p{^Lu}", "a", 1 },
    { "\\p{^Lu}", "A", 0 },
    { "\\P{^Lu}", "A", 1 },
    { "\\p{Greek}", "\xce\xb1", 1 },
    { "\\p{Greek}", "a", 0 },
    { "\\p{Han}+", "\xe6\xbc\xa2", 1 },
    { "[\\p{L}\\d]+", "a1", 1 },
    { "\\pN", "5", 1 },
    { "\\p{Any}", "a", 1 },
    { "[^\\pL]", "1", 1 },
    { "\\p{Old_Italic}", NULL, 1 },
    { "\\p{Nd}", "\xd9\xa5", 1 },
    { "(?i)\\p{Lu}", "a", 1 },
};

static const char *const bad[] = {
    "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "\\1", "(a)\\1", "\\8", "\\9", "(?P=n)", "(?P>n)",
    "(?P<n>a)(?P=n)", "\\k<n>", "\\g1", "\\g{1}", "(?(1)a|b)", "(?R)", "(?1)", "(?&n)", "(?>a)",
    "(?|a|b)", "(?#c)", "(*ACCEPT)", "(*UTF)", "(?C1)", "(?'n'a)", "(?x)a", "(?i-)", "(?-)",
    "(?i--s)", "(?z)", "(?i", "(?", "(?P<n", "(?P<>a)", "(?P<a-b>a)", "(?P<n>a)(?P<n>b)",
    "(?<n>a)(?P<n>b)", "(?<>a)", "(?Px)", "(?n:a)", "(?^)", "*", "+", "?", "a**", "a++", "a*+",
    "a?+", "a+*", "a?\?\?", "a{2}{3}", "a{2}*", "a*{2}", "a{2}+", "{2}", "|*", "(*)", "(|*)",
    "(?:+)", "a{1001}", "a{2,1}", "a{1,1001}", "a{1001,}", "(?:a{100}){100}", "((a{10}){11}){10}",
    "(?i)*", "a{99999999999}", "(?:a|b{20}){51}", "(", "(a", "a)", ")", "(()", "[", "[a", "[]",
    "[^]", "[z-a]", "[a-\\d]", "[\\d", "[[:foo:]]", "[[:Alpha:]]", "[[::]]", "[\\b]", "[\\A]",
    "[\\Qa]", "[\\8]", "[a-", "[b-a-c]", "[\\1]", "\\", "a\\", "\\c", "\\cA", "\\e", "\\h", "\\H",
    "\\R", "\\X", "\\N", "\\K", "\\G", "\\Z", "\\C", "\\E", "\\y", "\\l", "\\L", "\\u", "\\u0041",
    "\\U", "\\i", "\\o{12}", "\\x", "\\x4", "\\x{", "\\x{}", "\\x{110000}", "\\xg0", "\\x{41",
    "\\\xc3\xa9", "\\p", "\\p{", "\\p{Foo}", "\\p{L&}", "\\p{Xan}", "\\p{greek}",
    "\\p{Script=Greek}", "\\p{sc:Greek}", "\\p{}", "\\pX", "\\p{^}", "\\p{L", "[\\pX]",
    "\\p{ Lu }", "\\p{IsGreek}",
};

static void what_re2_accepts_is_accepted_and_means_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(good); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        enum sbx_code rc = sbx_re_check(good[i].pattern, &err);

        if (rc)
            fail_msg("%s: %s", good[i].pattern, err.text);
        if (!good[i].value)
            continue;
        rc = sbx_re_match(good[i].pattern, good[i].value, &err);
        if (rc != (good[i].match ? SBX_OK : SBX_CONFLICT))
            fail_msg("%s against [%s]: %s, wanted %s", good[i].pattern, good[i].value,
                     rc ? err.text : "it matches", good[i].match ? "a match" : "none");
    }
}

static void what_re2_refuses_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++) {
        struct sbx_err err = SBX_ERR_INIT;

        if (sbx_re_check(bad[i], &err) != SBX_SCHEMA)
            fail_msg("%s is taken", bad[i]);
        if (strncmp(err.text, "not an RE2 pattern: ", 20)) /* by our grammar, not by PCRE2 */
            fail_msg("%s: %s", bad[i], err.text);
    }
}

static void matching_is_bounded(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;
    char value[200];

    (void)state;
    memset(value, 'a', sizeof(value));
    strcpy(value + 190, "b");
    assert_int_equal(sbx_re_match("(a|aa)*(a|aa)*(a|aa)*[cd]", value, &err), SBX_LIMIT);
}

static void a_pattern_has_a_bound(void **state)
{
    char pattern[SBX_RE_MAX + 2];

    (void)state;
    memset(pattern, 'a', sizeof(pattern));
    pattern[SBX_RE_MAX] = '\0';
    assert_int_equal(sbx_re_check(pattern, NULL), SBX_OK);
    strcpy(pattern + SBX_RE_MAX, "a");
    assert_int_equal(sbx_re_check(pattern, NULL), SBX_SCHEMA);
    memset(pattern, '(', SBX_RE_MAX / 2);
    memset(pattern + SBX_RE_MAX / 2, ')', SBX_RE_MAX / 2);
    pattern[SBX_RE_MAX] = '\0';
    assert_int_equal(sbx_re_check(pattern, NULL), SBX_OK);
    assert_int_equal(sbx_re_check("\xff", NULL), SBX_SCHEMA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_re2_accepts_is_accepted_and_means_the_same),
        cmocka_unit_test(what_re2_refuses_is_refused),
        cmocka_unit_test(matching_is_bounded),
        cmocka_unit_test(a_pattern_has_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
