/* The proxy of this machine: its description, whom it serves, messages to and from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bounds.h"
#include "upstream.h"

static void names_and_ranges_of_no_proxy_count_as_curl_reads_them(void **state)
{
    static const struct {
        const char *entry, *host;
        unsigned port;
        bool direct;
    } rows[] = {
        { "example.com", "example.com", 443, true },
        { "example.com", "api.example.com", 443, true },
        { "example.com", "evilexample.com", 443, false },
        { ".example.com", "api.example.com", 443, true },
        { ".example.com", "example.com", 443, true },
        { "Example.COM.", "api.example.com", 443, true },
        { "api.example.com", "example.com", 443, false },
        { "*", "anything.test", 1, true },
        { "*", "192.0.2.1", 1, true },
        { "*.example.com", "api.example.com", 443, false },
        { "", "example.com", 443, false },
        { ".", "example.com", 443, false },
        { "example.com:8080", "example.com", 8080, true },
        { "example.com:8080", "example.com", 443, false },
        { "10.0.0.0/8", "10.255.1.2", 1, true },
        { "10.0.0.0/8", "11.0.0.1", 1, false },
        { "10.0.0.0/9", "10.128.0.1", 1, false },
        { "10.0.0.0/33", "10.0.0.0", 1, false },
        { "10.0.0.0/", "10.0.0.0", 1, false },
        { "10.0.0.0/0x8", "10.0.0.1", 1, false },
        { "0.0.0.0/0", "203.0.113.7", 1, true },
        { "0.0.0.0/0", "2001:db8::1", 1, false },
        { "192.0.2.1", "192.0.2.1", 1, true },
        { "192.0.2.1:80", "192.0.2.1", 80, true },
        { "192.0.2.1:80", "192.0.2.1", 81, false },
        { "192.0.2", "192.0.2.1", 1, false },
        { "2.1", "192.0.2.1", 1, false },
        { "2001:db8::/32", "2001:db8:1::1", 1, true },
        { "2001:db8::/32", "2001:db9::1", 1, false },
        { "[2001:db8::1]:22", "2001:db8::1", 22, true },
        { "[2001:db8::1]:22", "2001:db8::1", 23, false },
        { "[2001:db8::1]", "2001:db8::1", 23, true },
        { "10.0.0.0/8", "ten.example.com", 1, false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_PTR(sbx_upstream) u = NULL;
        struct sbx_host host;
        char text[256];

        snprintf(text, sizeof(text), "{\"https\":{\"host\":\"p.test\",\"port\":3128},\"noProxy\":[\"%s\"]}",
                 rows[i].entry);
        assert_int_equal(sbx_upstream_parse(text, strlen(text), &u, NULL), SBX_OK);
        assert_int_equal(sbx_host_parse(rows[i].host, strlen(rows[i].host), &host, NULL), SBX_OK);
        if ((sbx_upstream_for(u, &host, (uint16_t)rows[i].port, true) == NULL) != rows[i].direct)
            fail_msg("\"%s\" for %s:%u", rows[i].entry, rows[i].host, rows[i].port);
        assert_null(sbx_upstream_for(u, &host, 80, false)); /* there is none for http:// */
    }
}

static void descriptions_are_read_strictly(void **state)
{
    static const char *const bad[] = {
        "", "[]", "{", "{\"http\":1}", "{\"ftp\":null}", "{\"http\":{\"host\":\"a\",\"port\":1,\"x\":1}}",
        "{\"http\":{\"host\":\"a b\",\"port\":1}}", "{\"http\":{\"host\":\"a\",\"port\":65536}}",
        "{\"http\":{\"host\":\"a\"}}", "{\"http\":{\"port\":1}}",
        "{\"http\":{\"host\":\"a\",\"port\":1,\"authorization\":\"x\\r\\ny: z\"}}",
        "{\"http\":{\"host\":\"a\",\"port\":1,\"authorization\":\"\"}}", "{\"noProxy\":{}}",
        "{\"noProxy\":[1]}",
    };
    SBX_AUTO_PTR(sbx_upstream) u = NULL;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++) {
        struct sbx_err err = SBX_ERR_INIT;

        assert_int_not_equal(sbx_upstream_parse(bad[i], strlen(bad[i]), &u, &err), SBX_OK);
        assert_null(strstr(err.text, "y: z"));
        assert_null(u);
    }
    assert_int_equal(sbx_upstream_parse("{\"http\":null}", 13, &u, NULL), SBX_OK);
    assert_null(u);
    assert_null(sbx_upstream_for(u, NULL, 80, true));
}

static void replies_are_read_in_any_pieces(void **state)
{
    static const char reply[] = "HTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\n\r\ntail";
    const size_t first = 21, second = 25;
    struct sbx_upstream_answer a;
    unsigned interim;
    size_t skip;

    (void)state;
    for (size_t cut = 0; cut < first + second; cut++) {
        const char *buf = reply;
        size_t len = cut;

        interim = 0;
        assert_int_equal(sbx_upstream_answer(buf, len, &interim, &skip, &a), 0);
        assert_int_equal(skip, cut < first ? 0 : first);
        buf += first;
        len = sizeof(reply) - 1 - first;
        assert_int_equal(sbx_upstream_answer(buf, len, &interim, &skip, &a), second);
        assert_true(a.open);
    }
}

static void requests_go_on_in_absolute_form(void **state)
{
    static const struct {
        const char *host;
        unsigned port;
        const char *head, *want;
    } rows[] = {
        { "a.test", 80, "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n",
          "GET http://a.test/x HTTP/1.1\r\nProxy-Authorization: Basic eA==\r\nHost: a.test\r\n\r\n" },
        { "2001:db8::1", 81, "OPTIONS * HTTP/1.1\r\n\r\n",
          "OPTIONS http://[2001:db8::1]:81 HTTP/1.1\r\nProxy-Authorization: Basic eA==\r\n\r\n" },
    };
    struct sbx_upstream_proxy p = { .port = 1, .authorization = (char *)(uintptr_t) "Basic eA==" };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO(sbx_buf) head = SBX_BUF_INIT(4096);
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(4096);
        struct sbx_host host;

        assert_int_equal(sbx_host_parse(rows[i].host, strlen(rows[i].host), &host, NULL), SBX_OK);
        assert_int_equal(sbx_buf_adds(&head, rows[i].head), SBX_OK);
        assert_int_equal(sbx_upstream_absolute(&p, &host, (uint16_t)rows[i].port, &head, &out), SBX_OK);
        assert_int_equal(out.len, strlen(rows[i].want));
        assert_memory_equal(out.ptr, rows[i].want, out.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_ranges_of_no_proxy_count_as_curl_reads_them),
        cmocka_unit_test(descriptions_are_read_strictly),
        cmocka_unit_test(replies_are_read_in_any_pieces),
        cmocka_unit_test(requests_go_on_in_absolute_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
