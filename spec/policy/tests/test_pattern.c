#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sbx/policy.h"

#define L63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define L61 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

#define H(text, want) { text, sizeof(text) - 1, want }
static const struct {
    const char *text;
    size_t len;
    const char *want; /* NULL: refused */
} hosts[] = {
    H("example.com", "example.com"),
    H("EXAMPLE.Com.", "example.com"),
    H("_dmarc.example.com", "_dmarc.example.com"),
    H("b\xc3\xbc" "cher.example", "xn--bcher-kva.example"),
    H("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
    H("r3---sn-x.example.com", "r3---sn-x.example.com"),
    H("localhost", "localhost"),
    H("1.2.3.4", "1.2.3.4"),
    H("4.example", "4.example"),
    H("0x7f.example", "0x7f.example"),
    H("[fd00:0::1]", "fd00::1"),
    H("FD00::1", "fd00::1"),
    H("[::ffff:1.2.3.4]", "1.2.3.4"),
    H(L63 "." L63 "." L63 "." L61, L63 "." L63 "." L63 "." L61),
    /* NUL, blanks, escapes, foreign bytes */
    H("evil\0.allowed.com", NULL),
    H("allowed.com\0.evil.com", NULL),
    H("a b.com", NULL),
    H(" a.com", NULL),
    H("a.com\r", NULL),
    H("a%2ecom", NULL),
    H("a.com%00", NULL),
    H("user@a.com", NULL),
    H("a.com/x", NULL),
    H("a,b", NULL),
    H("*.a.com", NULL),
    H("\xff.com", NULL),
    H("\xc3\xbc\0.com", NULL),
    /* labels and lengths */
    H("", NULL),
    H(".", NULL),
    H("a..b", NULL),
    H(".a", NULL),
    H("a.com..", NULL),
    H("-a.com", NULL),
    H("a-.com", NULL),
    H("a" L63 ".com", NULL),
    H(L63 "." L63 "." L63 "." L61 "a", NULL),
    /* numeric hosts */
    H("2130706433", NULL),
    H("0x7f000001", NULL),
    H("0177.0.0.1", NULL),
    H("127.1", NULL),
    H("1.2.3.4.", NULL),
    H("1.2.3.04", NULL),
    H("1.2.3.256", NULL),
    H("1.2.3.4.5", NULL),
    H("a.0x", NULL),
    H("\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1", NULL), /* full-width 127.0.0.1 */
    H("127\xe3\x80\x82" "0\xe3\x80\x82" "0\xe3\x80\x82" "1", NULL), /* ideographic dots */
    /* IPv6 */
    H("[fd00::1", NULL),
    H("fd00::1]", NULL),
    H("[]", NULL),
    H("[", NULL),
    H("[1.2.3.4]", NULL),
    H("[fe80::1%eth0]", NULL),
    H("[fe80::1%25eth0]", NULL),
    H(":", NULL),
    H("[::1]x", NULL),
    H("[v1.x]", NULL),
};

static void hosts_on_the_wire_are_strict(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(hosts); i++) {
        struct sbx_host host;
        struct sbx_err err = SBX_ERR_INIT;
        enum sbx_code rc = sbx_host_parse(hosts[i].text, hosts[i].len, &host, &err);

        if ((rc == SBX_OK) != (hosts[i].want != NULL))
            fail_msg("row %zu \"%s\": %s", i, hosts[i].text, rc ? err.text : "accepted");
        if (hosts[i].want)
            assert_string_equal(host.text, hosts[i].want);
        else
            assert_true(rc == SBX_SCHEMA && err.text[0]);
    }
}

static void targets_want_a_plain_port(void **state)
{
    static const struct {
        const char *text;
        uint16_t default_port, want; /* 0: refused */
    } rows[] = {
        { "a.com:443", 0, 443 },   { "a.com:1", 0, 1 },       { "a.com:65535", 0, 65535 },
        { "[fd00::1]:22", 0, 22 }, { "a.com", 443, 443 },     { "[fd00::1]", 80, 80 },
        { "a.com", 0, 0 },         { "[fd00::1]", 0, 0 },     { "a.com:", 443, 0 },
        { "a.com:0", 0, 0 },       { "a.com:65536", 0, 0 },   { "a.com:+443", 0, 0 },
        { "a.com: 443", 0, 0 },    { "a.com:0443", 0, 0 },    { "a.com:443:443", 0, 0 },
        { "a.com:443/", 0, 0 },    { "a.com:4 43", 0, 0 },    { "a.com:999999999999", 0, 0 },
        { "fd00::1:443", 0, 0 },   { "fd00::1", 443, 0 },     { "[fd00::1]443", 0, 0 },
        { "[fd00::1]:", 443, 0 },  { ":443", 0, 0 },          { "", 443, 0 },
        { "[fd00::1", 443, 0 },    { "https://a.com", 443, 0 },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_host host;
        uint16_t port = 0;
        enum sbx_code rc = sbx_target_parse(rows[i].text, strlen(rows[i].text),
                                            rows[i].default_port, &host, &port, NULL);

        if (port != rows[i].want || (rc == SBX_OK) != (rows[i].want != 0))
            fail_msg("%s: port %u", rows[i].text, port);
    }
}

static void wrong_patterns_say_what_to_write(void **state)
{
    static const struct {
        const char *text, *want; /* a part of the message */
    } rows[] = {
        { "", "empty" },
        { "https://example.com", "write the host and port alone" },
        { "example.com/path", "rules have no paths" },
        { "example.com:0", "a number from 1 to 65535" },
        { "example.com:https", "a number from 1 to 65535" },
        { "example.com:443-80", "lower port first" },
        { "example.com:443-", "a number from 1 to 65535" },
        { "exa mple.com", "a host name with \" \"; write letters" },
        { "a\x01" "b.com", "a host name with 0x01" },
        { "a..b", "empty label" },
        { "*", "write \"**\" for every host" },
        { "*:443", "write \"**\" for every host" },
        { "foo*.com", "whole first label" },
        { "a.*.com", "whole first label" },
        { "**.a.*.com", "whole first label" },
        { "***", "whole first label" },
        { "*.1.2.3", "write a CIDR" },
        { "10.0.0.0/33", "a number from 0 to 32" },
        { "10.0.0.0/", "a number from 0 to 32" },
        { "10.0.0.0/08", "a number from 0 to 32" },
        { "fd00::/129", "a number from 0 to 128" },
        { "fd00::1:443:x", "write [fd00::1]:443" },
        { "[fd00::1", "write [fd00::1]:443" },
        { "999.1.1.1", "write a CIDR" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        struct sbx_pattern p;

        if (!sbx_pattern_parse(rows[i].text, SBX_RULE_USER, &p, NULL, &err))
            fail_msg("accepted: %s", rows[i].text);
        if (!strstr(err.text, rows[i].want))
            fail_msg("%s: %s", rows[i].text, err.text);
    }
}

static void kits_may_write_what_never_matches(void **state)
{
    static const char *const inert[] = { "*", "*:443", "**", "foo*", "bedrock.*.amazonaws.com",
                                         "metadata.google.internal", "169.254.169.254:80",
                                         "224.0.0.0/4", "gateway.docker.internal" };
    static const char *const live[] = { "example.com", "*.example.com", "**.example.com:443",
                                        "example.com:80-443", "10.0.0.0/8", "[FD00::1]:22",
                                        "localhost:80", "169.254.0.0/16" };
    struct sbx_pattern p;
    const char *why;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(inert); i++) {
        why = NULL;
        assert_int_equal(sbx_pattern_parse(inert[i], SBX_RULE_KIT, &p, &why, NULL), SBX_OK);
        assert_non_null(why);
    }
    for (size_t i = 0; i < SBX_ARRAY_LEN(live); i++) {
        why = "unset";
        assert_int_equal(sbx_pattern_parse(live[i], SBX_RULE_KIT, &p, &why, NULL), SBX_OK);
        assert_null(why);
    }
}

static void addresses_in_rules_may_have_any_spelling(void **state)
{
    static const char *const spellings[] = { "10.1", "0xa.1", "167772161", "012.0.0.1", "10.0.0.1",
                                             "::ffff:10.0.0.1", "[::ffff:a00:1]:443",
                                             "10.0.0.1/32" };
    struct sbx_host host;

    (void)state;
    assert_int_equal(sbx_host_parse("10.0.0.1", 8, &host, NULL), SBX_OK);
    for (size_t i = 0; i < SBX_ARRAY_LEN(spellings); i++) {
        struct sbx_pattern p;

        assert_int_equal(sbx_pattern_parse(spellings[i], SBX_RULE_USER, &p, NULL, NULL), SBX_OK);
        assert_true(sbx_pattern_matches(&p, &host, 443));
    }
}

static void look_alikes_do_not_match(void **state)
{
    struct sbx_pattern p, u;
    struct sbx_host host;
    const char *cyrillic = "ex\xd0\xb0mple.com"; /* the third letter is U+0430 */

    (void)state;
    assert_int_equal(sbx_pattern_parse("example.com", SBX_RULE_USER, &p, NULL, NULL), SBX_OK);
    if (!sbx_host_parse(cyrillic, strlen(cyrillic), &host, NULL))
        assert_false(sbx_pattern_matches(&p, &host, 443));
    assert_int_equal(sbx_pattern_parse("*.b\xc3\xbc" "cher.example", SBX_RULE_USER, &u, NULL, NULL),
                     SBX_OK);
    assert_int_equal(sbx_host_parse("a.xn--bcher-kva.example", 23, &host, NULL), SBX_OK);
    assert_true(sbx_pattern_matches(&u, &host, 443));
}

static void covering(void **state)
{
    static const struct {
        const char *outer, *inner;
        bool want;
    } rows[] = {
        { "a.com", "a.com", true },          { "a.com", "a.com:443", true },
        { "a.com:443", "a.com", false },     { "a.com:400-500", "a.com:443", true },
        { "a.com:*", "a.com", true },        { "*.a.com", "x.a.com", true },
        { "*.a.com", "a.com", false },       { "*.a.com", "x.y.a.com", false },
        { "*.a.com", "*.a.com", true },      { "*.a.com", "**.a.com", false },
        { "**.a.com", "x.y.a.com", true },   { "**.a.com", "*.a.com", true },
        { "**.a.com", "*.b.a.com", true },   { "**.a.com", "a.com", false },
        { "**.a.com", "**.a.com", true },    { "x.a.com", "*.a.com", false },
        { "**", "a.com", true },             { "**", "**", true },
        { "a.com", "**", false },            { "**", "localhost:80", false },
        { "**", "10.0.0.1", false },         { "**", "8.8.8.8", true },
        { "10.0.0.0/8", "10.1.0.0/16", true }, { "10.1.0.0/16", "10.0.0.0/8", false },
        { "localhost", "127.0.0.1:80", true }, { "host.docker.internal:80", "localhost:80", true },
        { "10.0.0.0/8", "a.com", false },    { "aa.com", "a.com", false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_pattern a, b;

        assert_int_equal(sbx_pattern_parse(rows[i].outer, SBX_RULE_USER, &a, NULL, NULL), SBX_OK);
        assert_int_equal(sbx_pattern_parse(rows[i].inner, SBX_RULE_USER, &b, NULL, NULL), SBX_OK);
        if (sbx_pattern_covers(&a, &b) != rows[i].want)
            fail_msg("%s covers %s", rows[i].outer, rows[i].inner);
    }
}

static void what_a_kit_needs_consent_for(void **state)
{
    static const struct {
        const char *text;
        bool want;
    } rows[] = {
        { "localhost:80", true },   { "host.docker.internal", true }, { "127.0.0.1", true },
        { "10.0.0.0/8", true },     { "192.168.1.1:80", true },       { "172.0.0.0/8", true },
        { "[fd00::1]:22", true },   { "fe80::/10", true },            { "203.0.113.1", true },
        { "8.8.8.8", false },       { "8.0.0.0/8", false },           { "0.0.0.0/0", false },
        { "example.com", false },   { "2606:4700::/32", false },      { "**.internal", false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_pattern p;

        assert_int_equal(sbx_pattern_parse(rows[i].text, SBX_RULE_KIT, &p, NULL, NULL), SBX_OK);
        if (sbx_pattern_needs_consent(&p) != rows[i].want)
            fail_msg("%s", rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_on_the_wire_are_strict),
        cmocka_unit_test(targets_want_a_plain_port),
        cmocka_unit_test(wrong_patterns_say_what_to_write),
        cmocka_unit_test(kits_may_write_what_never_matches),
        cmocka_unit_test(addresses_in_rules_may_have_any_spelling),
        cmocka_unit_test(look_alikes_do_not_match),
        cmocka_unit_test(covering),
        cmocka_unit_test(what_a_kit_needs_consent_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
