/* What a registry asks for with 401, in the spellings that registries use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "challenge.h"
#include "http.h"

static void same(const char *got, const char *want)
{
    assert_string_equal(got ? got : "(none)", want ? want : "(none)");
}

static void challenges_are_read_in_every_spelling(void **state)
{
    static const struct {
        const char *text;
        size_t n, which;
        const char *scheme, *realm, *service, *scope;
    } rows[] = {
        { "Bearer realm=\"https://a/t\",service=\"r.io\",scope=\"repository:x/y:pull,push\"", 1, 0,
          "bearer", "https://a/t", "r.io", "repository:x/y:pull,push" },
        { "BASIC Realm=\"a \\\"b\\\" c\"", 1, 0, "basic", "a \"b\" c", NULL, NULL },
        { "Basic realm=plain , charset=\"UTF-8\"", 1, 0, "basic", "plain", NULL, NULL },
        { "Negotiate, Basic realm=\"x\", Bearer realm = \"y\" , service=z", 3, 2, "bearer", "y", "z",
          NULL },
        { " ,, Basic realm=\"\"", 1, 0, "basic", "", NULL, NULL },
        { "Bearer realm=\"first\",realm=\"second\"", 1, 0, "bearer", "first", NULL, NULL },
        { "Digest", 1, 0, "digest", NULL, NULL, NULL },
        { "Basic realm=\"x\", Bearer realm=\"open", 1, 0, "basic", "x", NULL, NULL },
        { "realm=\"x\"", 0, 0, NULL, NULL, NULL, NULL },
        { "", 0, 0, NULL, NULL, NULL, NULL },
        { "\"", 0, 0, NULL, NULL, NULL, NULL },
        { "a,b,c,d,e,f,g,h,i,j,k", 8, 7, "h", NULL, NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
        struct sbx_challenge list[CHALLENGES_MAX];
        size_t n = 0;

        assert_int_equal(sbx_challenge_parse(rows[i].text, arena, list, &n), SBX_OK);
        assert_int_equal(n, rows[i].n);
        if (!n)
            continue;
        same(list[rows[i].which].scheme, rows[i].scheme);
        same(list[rows[i].which].realm, rows[i].realm);
        same(list[rows[i].which].service, rows[i].service);
        same(list[rows[i].which].scope, rows[i].scope);
    }
}

static void loopback_is_this_machine_only(void **state)
{
    static const struct {
        const char *host;
        bool loopback;
    } rows[] = {
        { "localhost", true },     { "localhost:5000", true },      { "127.0.0.1", true },
        { "127.9.8.7:1/x", true }, { "[::1]:5000", true },          { "localhost.example.com", false },
        { "127.example.com", false }, { "127.0.0.1.example.com:5", false }, { "10.0.0.1", false },
        { "[::2]", false },        { "localhostx:1", false },       { "", false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        if (sbx_url_loopback(rows[i].host) != rows[i].loopback)
            fail_msg("%s", rows[i].host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(challenges_are_read_in_every_spelling),
        cmocka_unit_test(loopback_is_this_machine_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
