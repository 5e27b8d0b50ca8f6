/* Heads, bodies and targets: strict, and the same in any pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "target.h"

#define REQUEST                                                                                    \
    "POST http://Api.example.com:8080/p?q HTTP/1.1\r\nHost: Api.example.com:8080\r\n"              \
    "Content-Length: 5\r\nConnection: X-Hop, close\r\nX-Hop: 1\r\nX-Stay: \t a b \r\n\r\n"

/* Scan a text that comes in two pieces. */
static ssize_t scan_cut(const char *text, size_t len, size_t cut, bool reply, struct sbx_fault *f)
{
    struct sbx_scan s = { 0 };
    ssize_t rc = cut ? sbx_head_scan(&s, text, cut, reply, f) : 0;

    return rc ? rc : sbx_head_scan(&s, text, len, reply, f);
}

static void any_two_pieces_give_the_same_head(void **state)
{
    static const char text[] = REQUEST "body";
    struct sbx_fault f;

    (void)state;
    for (size_t cut = 0; cut < sizeof(text); cut++)
        assert_int_equal(scan_cut(text, sizeof(text) - 1, cut, false, &f), sizeof(REQUEST) - 1);
    for (size_t len = 0; len < sizeof(REQUEST) - 1; len++) {
        struct sbx_scan s = { 0 };

        assert_int_equal(sbx_head_scan(&s, text, len, false, &f), 0);
    }
}

static void a_request_comes_apart(void **state)
{
    struct sbx_head h;
    struct sbx_target t;
    struct sbx_body b;
    struct sbx_fault f;

    (void)state;
    assert_int_equal(sbx_head_parse_request(REQUEST, sizeof(REQUEST) - 1, &h, &f), 0);
    assert_true(sbx_slice_is(h.method, "POST"));
    assert_int_equal(h.minor, 1);
    assert_true(h.close);
    assert_int_equal(h.nfields, 5);
    assert_true(h.fields[3].named);
    assert_true(sbx_slice_is(h.fields[4].value, "a b"));
    assert_int_equal(sbx_target_read(&h, &t, &f), 0);
    assert_string_equal(t.host.text, "api.example.com");
    assert_int_equal(t.port, 8080);
    assert_true(sbx_slice_is(t.path, "/p?q"));
    assert_int_equal(sbx_frame_request(&h, &b, &f), 0);
    assert_int_equal(b.kind, SBX_BODY_LENGTH);
    assert_int_equal(b.left, 5);
}

static void the_request_goes_on_in_origin_form(void **state)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(4096);
    struct sbx_head h;
    struct sbx_target t;
    struct sbx_body b;
    struct sbx_fault f;

    (void)state;
    assert_int_equal(sbx_head_parse_request(REQUEST, sizeof(REQUEST) - 1, &h, &f), 0);
    assert_int_equal(sbx_target_read(&h, &t, &f), 0);
    assert_int_equal(sbx_frame_request(&h, &b, &f), 0);
    assert_int_equal(sbx_rewrite_request(&h, &t, &b, &out), SBX_OK);
    assert_string_equal(out.ptr, "POST /p?q HTTP/1.1\r\nHost: api.example.com:8080\r\n"
                                 "X-Stay: a b\r\nContent-Length: 5\r\n\r\n");
}

struct row {
    const char *text;
    unsigned status;
    const char *reason;
};

/* The whole way of a request, as conn.c goes it. 0 or the status. */
static unsigned judge(const char *text, const char **reason)
{
    struct sbx_fault f = { 0, "" };
    struct sbx_head h;
    struct sbx_target t;
    struct sbx_body b;
    ssize_t len = scan_cut(text, strlen(text), strlen(text) / 2, false, &f);

    *reason = "";
    if (len == 0)
        return 1;
    if (len < 0 || sbx_head_parse_request(text, (size_t)len, &h, &f) ||
        sbx_target_read(&h, &t, &f) || sbx_frame_request(&h, &b, &f)) {
        *reason = f.reason;
        return f.status;
    }
    return 0;
}

static void requests_are_refused_with_a_status_and_a_reason(void **state)
{
    static const char host[] = "Host: a.de\r\n\r\n";
    static const struct row rows[] = {
        { "GET http://a.de/ HTTP/1.1\r\n", 0, "" },
        { "CONNECT a.de:443 HTTP/1.1\r\n", 0, "" },
        { "GET http://a.de HTTP/1.0\r\n", 0, "" },
        { "GET http://a.de/\xc3\xbc HTTP/1.1\r\n", 0, "" },
        { "GET http://[::1]:80/ HTTP/1.1\r\n", 0, "" },
        { "GET /x HTTP/1.1\r\n", 400, "origin-form" },
        { "GET https://a.de/ HTTP/1.1\r\n", 501, "scheme" },
        { "GET http://a.de/#x HTTP/1.1\r\n", 400, "bad-target" },
        { "GET http://u:p@a.de/ HTTP/1.1\r\n", 400, "bad-target" },
        { "GET http://127.1/ HTTP/1.1\r\n", 400, "bad-target" },
        { "CONNECT a.de HTTP/1.1\r\n", 400, "bad-target" },
        { "CONNECT a.de:0 HTTP/1.1\r\n", 400, "bad-target" },
        { "connect a.de:443 HTTP/1.1\r\n", 400, "bad-target" },
        { "TRACE http://a.de/ HTTP/1.1\r\n", 405, "method" },
        { "GET http://a.de/ HTTP/1.2\r\n", 505, "http-version" },
        { "GET http://a.de/ HTTP/1.1 \r\n", 400, "bad-request-line" },
        { "GET http://a.de/\r\n", 400, "bad-request-line" },
        { "G(T http://a.de/ HTTP/1.1\r\n", 400, "bad-method" },
        { "\x16\x03\x01\r\n", 400, "not-http" },
        { "GET http://a.de/ HTTP/1.1\n", 400, "bare-lf" },
        { "GET http://a.de/ HTTP/1.1\r\nX: \x7f\r\n", 400, "bad-field-value" },
        { "GET http://a.de/ HTTP/1.1\r\nX: a\rb\r\n", 400, "bad-field-value" },
        { "GET http://a.de/ HTTP/1.1\r\nX : a\r\n", 400, "bad-field" },
        { "GET http://a.de/ HTTP/1.1\r\n: a\r\n", 400, "bad-field" },
        { "GET http://a.de/ HTTP/1.1\r\nX: a\r\n b\r\n", 400, "folded-field" },
        { "GET http://a.de/ HTTP/1.1\r\nHost: a.de\r\n", 400, "bad-host-field" },
        { "GET http://a.de/ HTTP/1.1\r\nConnection: a b\r\n", 400, "bad-connection" },
        { "GET http://a.de/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n", 400,
          "bad-content-length" },
        { "GET http://a.de/ HTTP/1.1\r\nContent-Length: 9223372036854775808\r\n", 400,
          "bad-content-length" },
        { "GET http://a.de/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n", 400,
          "length-and-chunked" },
        { "GET http://a.de/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", 400,
          "bad-transfer-encoding" },
        { "GET http://a.de/ HTTP/1.1\r\nTransfer-Encoding: gzip\r\n", 501,
          "bad-transfer-encoding" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[512];
        const char *reason;

        strcpy(text, rows[i].text);
        strcat(text, host);
        if (judge(text, &reason) != rows[i].status || strcmp(reason, rows[i].reason) != 0)
            fail_msg("%s -> %u %s", rows[i].text, judge(text, &reason), reason);
    }
}

static void replies_are_framed_as_their_status_says(void **state)
{
    static const struct {
        const char *text;
        bool to_head;
        int kind; /* -1: refused */
    } rows[] = {
        { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false, SBX_BODY_LENGTH },
        { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, SBX_BODY_NONE },
        { "HTTP/1.1 200\r\n\r\n", false, SBX_BODY_UNTIL_CLOSE },
        { "HTTP/1.0 200 OK\r\n\r\n", false, SBX_BODY_UNTIL_CLOSE },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", false, SBX_BODY_CHUNKED },
        { "HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n", false, SBX_BODY_NONE },
        { "HTTP/1.1 204 X\r\n\r\n", false, SBX_BODY_NONE },
        { "HTTP/1.1 204 X\r\nContent-Length: 0\r\n\r\n", false, SBX_BODY_NONE },
        { "HTTP/1.1 204 X\r\nContent-Length: 5\r\n\r\n", false, -1 },
        { "HTTP/1.1 100 X\r\nTransfer-Encoding: chunked\r\n\r\n", false, -1 },
        { "HTTP/1.0 200 X\r\nTransfer-Encoding: chunked\r\n\r\n", false, -1 },
        { "HTTP/1.1 20 X\r\n\r\n", false, -1 },
        { "HTTP/1.1 2000\r\n\r\n", false, -1 },
        { "HTTP/1.1 600 X\r\n\r\n", false, -1 },
        { "HTTP/1.1  200 X\r\n\r\n", false, -1 },
        { "HTTP/2.0 200 X\r\n\r\n", false, -1 },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        size_t len = strlen(rows[i].text);
        struct sbx_fault f;
        struct sbx_head h;
        struct sbx_body b = { 0 };
        int kind = -1;

        assert_int_equal(scan_cut(rows[i].text, len, len / 3, true, &f), len);
        if (!sbx_head_parse_reply(rows[i].text, len, &h, &f) &&
            !sbx_frame_reply(&h, rows[i].to_head, &b, &f))
            kind = (int)b.kind;
        if (kind != rows[i].kind)
            fail_msg("%s: %d", rows[i].text, kind);
    }
}

/* Decode `text`, cut at `cut`; data is gathered in `out`. 0, or -1. */
static int decode_cut(const char *text, size_t len, size_t cut, struct sbx_buf *out, size_t *used)
{
    struct sbx_body b = { .kind = SBX_BODY_CHUNKED, .trailers = { .max = SBX_GATE_TRAILERS_MAX } };
    size_t ends[2] = { cut, len }, from = 0;
    int rc = 0;

    for (size_t i = 0; i < 2 && !b.done && !rc; i++) {
        char piece[256];
        size_t n = 0;
        ssize_t data;

        memcpy(piece, text + from, ends[i] - from);
        data = sbx_body_decode(&b, piece, ends[i] - from, &n);
        rc = data < 0 || sbx_buf_add(out, piece, (size_t)data) ? -1 : 0;
        from += n;
    }
    *used = from;
    if (!rc && !b.done)
        rc = 1;
    sbx_body_release(&b);
    return rc;
}

/* A client that hears 431 makes its head shorter, which is no use where memory is out. */
static void what_does_not_fit_is_told_from_want_of_memory(void **state)
{
    const struct sbx_head reply = { .status = 200, .phrase = { "OK", SIZE_MAX / 2 } }; /* more than there is */
    const struct sbx_reply_plan plan = { .close = true };
    const struct sbx_body body = { .kind = SBX_BODY_NONE };
    SBX_AUTO(sbx_buf) small = SBX_BUF_INIT(1000), any = SBX_BUF_INIT(SIZE_MAX);

    (void)state;
    assert_int_equal(sbx_rewrite_reply(&reply, &body, &plan, &small), SBX_LIMIT);
    assert_int_equal(sbx_rewrite_reply(&reply, &body, &plan, &any), SBX_NO_MEMORY);
}

static void chunks_decode_in_any_two_pieces(void **state)
{
    static const char text[] = "5;x=\"y\"\r\nhello\r\n00A\r\n, gate!!!!\r\n0\r\nT: 1\r\n\r\nGET ";

    (void)state;
    for (size_t cut = 0; cut < sizeof(text); cut++) {
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(256);
        size_t used;

        assert_int_equal(decode_cut(text, sizeof(text) - 1, cut, &out, &used), 0);
        assert_int_equal(used, sizeof(text) - 5);
        assert_string_equal(out.ptr, "hello, gate!!!!");
    }
}

static void broken_chunks_are_refused_in_any_two_pieces(void **state)
{
    static const char *const rows[] = {
        "5\nhello", "5\r\nhelloX", "5\r\nhello\rX", "g\r\n", "\r\n", " 5\r\n", "5 \r\n", "+5\r\n", "0x5\r\n",
        "ffffffffffffffff\r\n", "00000000000000001\r\n", "5;\x01\r\n", "0\r\nT: 1\n",
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        for (size_t cut = 0; cut <= strlen(rows[i]); cut++) {
            SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(256);
            size_t used;

            if (decode_cut(rows[i], strlen(rows[i]), cut, &out, &used) != -1)
                fail_msg("%s cut at %zu", rows[i], cut);
        }
}

static void trailers_lose_what_could_frame_or_steer(void **state)
{
    SBX_AUTO(sbx_buf) lines = SBX_BUF_INIT(256);
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(256);

    (void)state;
    assert_int_equal(sbx_buf_adds(&lines, "X-Sum: 1\r\nContent-Length: 5\r\nHost: x\r\n"
                                          "Transfer-Encoding: x\r\n\r\n"), SBX_OK);
    assert_int_equal(sbx_rewrite_trailers(&lines, &out), SBX_OK);
    assert_string_equal(out.ptr, "X-Sum: 1\r\n\r\n");
}

static void floods_are_refused_before_their_end(void **state)
{
    static char text[SBX_GATE_REPLY_HEAD_MAX + 1024];
    struct sbx_scan s = { 0 };
    struct sbx_fault f;

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(sbx_head_scan(&s, text, 8300, false, &f), -1);
    assert_int_equal(f.status, 414);
    memcpy(text, "GET http://a.de/ HTTP/1.1\r\n", 27);
    memset(&s, 0, sizeof(s));
    assert_int_equal(sbx_head_scan(&s, text, SBX_GATE_HEAD_MAX, false, &f), 0);
    assert_int_equal(sbx_head_scan(&s, text, SBX_GATE_HEAD_MAX + 1, false, &f), -1);
    assert_int_equal(f.status, 431);
    memcpy(text, "CONNECT a.de:1 HTTP/1.1\r\nXX", 27);
    memset(&s, 0, sizeof(s));
    assert_int_equal(sbx_head_scan(&s, text, SBX_GATE_CONNECT_HEAD_MAX + 1, false, &f), -1);
    assert_int_equal(f.status, 431);
    memset(&s, 0, sizeof(s));
    assert_int_equal(sbx_head_scan(&s, text, sizeof(text), true, &f), -1);
    assert_int_equal(f.status, 502);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_two_pieces_give_the_same_head),
        cmocka_unit_test(a_request_comes_apart),
        cmocka_unit_test(the_request_goes_on_in_origin_form),
        cmocka_unit_test(requests_are_refused_with_a_status_and_a_reason),
        cmocka_unit_test(replies_are_framed_as_their_status_says),
        cmocka_unit_test(what_does_not_fit_is_told_from_want_of_memory),
        cmocka_unit_test(chunks_decode_in_any_two_pieces),
        cmocka_unit_test(broken_chunks_are_refused_in_any_two_pieces),
        cmocka_unit_test(trailers_lose_what_could_frame_or_steer),
        cmocka_unit_test(floods_are_refused_before_their_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
