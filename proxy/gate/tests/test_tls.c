/* Interception, its pure parts: rules of injection, a broker's messages, requests
 * inside a connection, protocols of a ClientHello. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hello.h"
#include "sbx/json.h"
#include "secrets.h"
#include "target.h"

/* ---- rules ---- */

static void fields_that_a_rule_replaces(void **state)
{
    static const struct {
        const char *name;
        bool struck;
    } rows[] = {
        { "x-api-key", true },   { "X-Api-Key", true },  { "X_API_KEY", true }, { "x.api.key", true },
        { "x-api_key", true },   { "x-api-keys", false }, { "x-api-ke", false }, { "xapikey", false },
        { "", false },           { "x-api-key-", false },
    };
    SBX_AUTO_JSON json_t *list = json_loads("[{\"to\":\"a.example:443\",\"header\":\"X-Api-Key\","
                                            "\"secret\":\"k\"}]", 0, NULL);
    struct sbx_injects rules;

    (void)state;
    assert_int_equal(sbx_injects_parse(list, &rules, NULL), SBX_OK);
    assert_string_equal(rules.v[0].lower, "x-api-key");
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_slice name = { rows[i].name, strlen(rows[i].name) };

        assert_int_equal(sbx_inject_strikes(rules.v, rules.len, name), rows[i].struck);
    }
    sbx_injects_release(&rules);
}

static void rules_are_found_by_host_and_port(void **state)
{
    SBX_AUTO_JSON json_t *list = json_loads(
        "[{\"to\":\"b.example:443\",\"header\":\"X\",\"secret\":\"k\"},"
        "{\"to\":\"a.example:8443\",\"header\":\"X\",\"secret\":\"k\"},"
        "{\"to\":\"A.Example.:443\",\"header\":\"Y\",\"secret\":\"k\"},"
        "{\"to\":\"a.example:443\",\"header\":\"X\",\"secret\":\"k\"},"
        "{\"to\":\"[2001:db8::1]:443\",\"header\":\"X\",\"secret\":\"k\"}]", 0, NULL);
    static const struct {
        const char *host;
        uint16_t port;
        size_t n;
    } rows[] = { { "a.example", 443, 2 }, { "a.example", 8443, 1 }, { "a.example", 80, 0 },
                 { "b.example", 443, 1 }, { "c.example", 443, 0 },  { "2001:db8::1", 443, 1 },
                 { "", 443, 0 } };
    struct sbx_injects rules;

    (void)state;
    assert_int_equal(sbx_injects_parse(list, &rules, NULL), SBX_OK);
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        size_t n = 99;
        const struct sbx_inject *r = sbx_injects_find(&rules, rows[i].host, rows[i].port, &n);

        assert_int_equal(n, rows[i].n);
        assert_int_equal(r != NULL, rows[i].n > 0);
    }
    sbx_injects_release(&rules);
}

/* ---- messages of a broker ---- */

static void a_brokers_messages_are_read_strictly(void **state)
{
    static const struct {
        const char *msg;
        size_t len;
        int rc;
    } rows[] = {
        { "value k\nv", 9, 0 },    { "value k\na b\tc", 13, 0 }, { "gone k\n", 7, 0 },
        { "", 0, -1 },             { "value k", 7, -1 },         { "value k\n", 8, -1 },
        { "value \nv", 8, -1 },    { "value .k\nv", 10, -1 },    { "value k/\nv", 10, -1 },
        { "value k\nv\n", 10, -1 }, { "value k\nv\0w", 11, -1 },  { "value k\n v", 10, -1 },
        { "value k\nv\r", 10, -1 }, { "gone k\nv", 8, -1 },       { "gone \n", 6, -1 },
        { "values k\nv", 10, -1 }, { "want k\n", 7, -1 },        { "value k\n\x7f", 9, -1 },
    };
    struct sbx_slice name, value;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        assert_int_equal(sbx_secret_read(rows[i].msg, rows[i].len, &name, &value), rows[i].rc);
    assert_int_equal(sbx_secret_read("value key\nBearer x", 18, &name, &value), 0);
    assert_true(sbx_slice_is(name, "key") && sbx_slice_is(value, "Bearer x"));
}

/* ---- requests inside ---- */

static unsigned status_of(const char *text)
{
    struct sbx_host own = { .kind = SBX_HOST_NAME, .text = "api.example.com" };
    struct sbx_fault f = { 0 };
    struct sbx_target t;
    struct sbx_head h;

    if (sbx_head_parse_request(text, strlen(text), &h, &f) ||
        sbx_target_read_inner(&h, &own, 8443, &t, &f))
        return f.status;
    assert_string_equal(t.host.text, "api.example.com");
    assert_int_equal(t.port, 8443);
    return 0;
}

static void a_request_inside_names_its_connection(void **state)
{
#define HOST "Host: api.example.com:8443\r\n\r\n"
    static const struct {
        const char *text;
        unsigned status;
    } rows[] = {
        { "GET / HTTP/1.1\r\n" HOST, 0 },
        { "GET /a?b HTTP/1.0\r\n" HOST, 0 },
        { "OPTIONS * HTTP/1.1\r\n" HOST, 0 },
        { "GET https://api.example.com:8443/x HTTP/1.1\r\n" HOST, 0 },
        { "GET * HTTP/1.1\r\n" HOST, 400 },
        { "GET x HTTP/1.1\r\n" HOST, 400 },
        { "GET /#x HTTP/1.1\r\n" HOST, 400 },
        { "GET http://api.example.com:8443/ HTTP/1.1\r\n" HOST, 400 },
        { "GET https://u@api.example.com:8443/ HTTP/1.1\r\n" HOST, 400 },
        { "GET https:/// HTTP/1.1\r\n" HOST, 400 },
        { "GET https://api.example.com/ HTTP/1.1\r\n" HOST, 421 },
        { "GET https://other.example.com:8443/ HTTP/1.1\r\n" HOST, 421 },
        { "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", 421 },
        { "GET / HTTP/1.1\r\nHost: other.example.com:8443\r\n\r\n", 421 },
        { "GET / HTTP/1.1\r\nHost: api.example.com:8443\r\n" HOST, 400 },
        { "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400 },
        { "GET / HTTP/1.1\r\n\r\n", 400 },
        { "GET / HTTP/1.0\r\n\r\n", 400 },
        { "TRACE / HTTP/1.1\r\n" HOST, 405 },
        { "CONNECT api.example.com:8443 HTTP/1.1\r\n" HOST, 405 },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        assert_int_equal(status_of(rows[i].text), rows[i].status);
}

/* ---- a hello's protocols ---- */

static enum sbx_hello_state offer(const char *alpn, size_t len, struct sbx_hello *h)
{
    unsigned char msg[256] = { 22, 3, 1, 0, 0, 1, 0, 0, 0, 3, 3 };
    size_t at = 11 + 32;

    msg[at++] = 0; /* session */
    memcpy(msg + at, "\0\2\x13\1\1\0", 6); /* one cipher suite, no compression */
    at += 6;
    msg[at++] = 0;
    msg[at++] = (unsigned char)(len + 6);
    memcpy(msg + at, "\0\x10", 2);
    msg[at + 2] = 0;
    msg[at + 3] = (unsigned char)(len + 2);
    msg[at + 4] = 0;
    msg[at + 5] = (unsigned char)len;
    memcpy(msg + at + 6, alpn, len);
    at += 6 + len;
    msg[4] = (unsigned char)(at - 5);
    msg[8] = (unsigned char)(at - 9);
    *h = (struct sbx_hello)SBX_HELLO_INIT;
    return sbx_hello_read(h, (const char *)msg, at);
}

static void the_protocols_of_a_hello_are_read_strictly(void **state)
{
    static const struct {
        const char *alpn;
        size_t len;
        bool good, h1, h2;
    } rows[] = {
        { "\2h2", 3, true, false, true },
        { "\10http/1.1", 9, true, true, false },
        { "\2h2\10http/1.1", 12, true, true, true },
        { "\6spdy/3\2h3", 10, true, false, false },
        { "\3h2x", 4, true, false, false },
        { "", 0, false, false, false },
        { "\0", 1, false, false, false },
        { "\5h2", 3, false, false, false },
        { "\2h2\0", 4, false, false, true },
    };
    struct sbx_hello h;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        enum sbx_hello_state s = offer(rows[i].alpn, rows[i].len, &h);

        assert_int_equal(s, rows[i].good ? SBX_HELLO_DONE : SBX_HELLO_BAD);
        if (rows[i].good) {
            assert_true(h.alpn);
            assert_int_equal(h.offers_h1, rows[i].h1);
            assert_int_equal(h.offers_h2, rows[i].h2);
        }
        sbx_hello_release(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_that_a_rule_replaces),
        cmocka_unit_test(rules_are_found_by_host_and_port),
        cmocka_unit_test(a_brokers_messages_are_read_strictly),
        cmocka_unit_test(a_request_inside_names_its_connection),
        cmocka_unit_test(the_protocols_of_a_hello_are_read_strictly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
