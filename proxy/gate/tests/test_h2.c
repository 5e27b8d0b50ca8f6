/* HTTP/2 through the gate, between a real client and a real server: what goes on of requests and
 * replies, and what is answered here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "h2lab.h"

static void a_request_goes_on_as_it_was_judged(void **state)
{
    static const char *const fields[] = {
        ":method", "POST", ":scheme", "https", ":authority", "API.example.com:443", ":path", "/a%2fb?c",
        "authorization", "Bearer sentinel", "x_api_key", "mine", "te", "trailers", "x-sbx-policy", "denied",
        "proxy-authorization", "Basic eA==", "host", "api.example.com", "x-stay", "yes", NULL,
    };
    struct lab_stream *s = lab_ask_all(&lab, fields, 5, false), *o;

    (void)state;
    lab_run(&lab);
    assert_int_equal(lab.origin.n, 1);
    o = &lab.origin.streams[0];
    assert_string_equal(o->head.ptr, ":method: POST\n:scheme: https\n:authority: api.example.com\n"
                                     ":path: /a%2fb?c\nte: trailers\nx-stay: yes\n"
                                     "authorization: Bearer real-secret\n");
    assert_true(o->secret);
    assert_string_equal(o->body.ptr, "xxxxx");
    assert_true(o->ended);
    lab_reply(&lab, 0, "200", NULL, 3, NULL);
    lab_run(&lab);
    assert_string_equal(s->head.ptr, ":status: 200\n");
    assert_string_equal(s->body.ptr, "xxx");
    assert_true(s->closed);
    assert_int_equal(s->code, NGHTTP2_NO_ERROR);
    assert_string_equal(lab.over_method, "POST");
    assert_int_equal(lab.over.number, 1);
    assert_in_range(lab.over.bytes_out, 100, 400); /* its fields and 5 bytes of body */
    assert_int_equal(lab.over.bytes_in, 7 + 3 + 3); /* ":status", "200", 3 bytes of body */
    assert_string_equal(lab.log.ptr, "judge POST API.example.com:443 api.example.com /a%2fb?c\n");
}

static void a_request_may_name_its_host_by_the_field(void **state)
{
    static const char *const fields[] = { ":method", "OPTIONS", ":scheme", "https", ":path", "*", "host",
                                          "api.example.com:443", "cookie", "a=1", "cookie", "b=2", NULL };

    (void)state;
    lab_ask_all(&lab, fields, -1, false);
    lab_run(&lab);
    assert_int_equal(lab.origin.n, 1);
    assert_string_equal(lab.origin.streams[0].head.ptr,
                        ":method: OPTIONS\n:scheme: https\n:authority: api.example.com\n:path: *\n"
                        "cookie: a=1\ncookie: b=2\nauthorization: Bearer real-secret\n");
}

static void a_reply_goes_on_without_what_only_the_gate_says(void **state)
{
    static const char *const extra[] = { "alt-svc", "h3=\":443\"", "x-sbx-policy", "denied",
                                         "content-length", "7", "x-stay", "yes", NULL };
    struct lab_stream *s = lab_ask(&lab, "GET", "/", NULL, -1);

    (void)state;
    lab_run(&lab);
    lab_reply(&lab, 0, "200", extra, 7, "grpc");
    lab_run(&lab);
    assert_string_equal(s->head.ptr, ":status: 200\ncontent-length: 7\nx-stay: yes\n");
    assert_string_equal(s->trailers.ptr, "x-trailer: grpc\n");
    assert_true(s->closed);
}

static void trailers_alone_end_a_reply(void **state)
{
    static const char *const extra[] = { "grpc-status", "0", NULL };
    struct lab_stream *s = lab_ask(&lab, "POST", "/svc/Method", NULL, 5);

    (void)state;
    lab_run(&lab);
    lab_reply(&lab, 0, "200", extra, -1, NULL);
    lab_run(&lab);
    assert_string_equal(s->head.ptr, ":status: 200\ngrpc-status: 0\n");
    assert_true(s->ended && s->closed);
    assert_int_equal(s->body.len, 0);
}

static void trailers_of_a_request_are_dropped(void **state)
{
    struct lab_stream *s = lab_ask(&lab, "POST", "/", NULL, 5);

    (void)state;
    s->trailer = "secret";
    lab_run(&lab);
    assert_string_equal(lab.origin.streams[0].body.ptr, "xxxxx");
    assert_true(lab.origin.streams[0].ended);
    assert_null(lab.origin.streams[0].trailers.ptr);
}

static void interim_replies_pass(void **state)
{
    static const char *const expect[] = { "expect", "100-continue", NULL };
    struct lab_stream *s = lab_ask(&lab, "POST", "/", expect, 5);

    (void)state;
    lab_run(&lab);
    lab_interim(&lab, 0, "100");
    lab_interim(&lab, 0, "103");
    lab_run(&lab);
    assert_int_equal(s->interim, 2);
    lab_has(&lab.origin.streams[0].head, "expect: 100-continue\n");
    lab_reply(&lab, 0, "204", NULL, -1, NULL);
    lab_run(&lab);
    assert_string_equal(s->head.ptr, ":status: 204\n");
    assert_true(s->closed);
}

static void endless_interim_replies_end_in_502(void **state)
{
    struct lab_stream *s = lab_ask(&lab, "GET", "/", NULL, -1);

    (void)state;
    lab_run(&lab);
    for (unsigned i = 0; i < SBX_GATE_INTERIM_MAX + 1; i++)
        lab_interim(&lab, 0, "102");
    lab_run(&lab);
    lab_has(&s->head, ":status: 502\n");
    assert_true(s->closed && lab.origin.streams[0].closed);
}

static void head_and_304_have_a_length_and_no_body(void **state)
{
    static const char *const length[] = { "content-length", "12345", NULL };
    struct lab_stream *head = lab_ask(&lab, "HEAD", "/", NULL, -1);
    struct lab_stream *same = lab_ask(&lab, "GET", "/", NULL, -1);

    (void)state;
    lab_run(&lab);
    lab_reply(&lab, 0, "200", length, -1, NULL);
    lab_reply(&lab, 1, "304", length, -1, NULL);
    lab_run(&lab);
    lab_has(&head->head, "content-length: 12345\n");
    lab_has(&same->head, "content-length: 12345\n");
    assert_true(head->closed && same->closed);
    assert_int_equal(head->code | same->code, NGHTTP2_NO_ERROR);
}

static void a_refused_request_is_answered_and_nothing_goes_on(void **state)
{
    struct lab_stream *s = lab_ask(&lab, "POST", "/", NULL, 5 << 20), *head;

    (void)state;
    lab.refuse = true;
    head = lab_ask(&lab, "HEAD", "/", NULL, -1);
    lab_run(&lab);
    assert_int_equal(lab.origin.n, 0);
    assert_string_equal(s->head.ptr, ":status: 403\ncontent-type: text/plain; charset=utf-8\n"
                                     "content-length: 17\nx-sbx-policy: denied\n");
    assert_string_equal(s->body.ptr, "refused with 403\n");
    assert_true(s->closed && s->to_send > 0); /* the client was told to stop */
    assert_int_equal(s->code, NGHTTP2_NO_ERROR);
    lab_has(&head->head, "content-length: 17\n");
    assert_int_equal(head->body.len, 0);
    lab.refuse = false;
    s = lab_ask(&lab, "GET", "/", NULL, -1);
    lab_run(&lab);
    assert_int_equal(lab.origin.n, 1); /* the connection lives on */
}

static void requests_for_others_and_tunnels_are_refused(void **state)
{
    static const struct {
        const char *const fields[12];
        const char *status; /* NULL: reset */
        const char *log;
    } rows[] = {
        { { ":method", "GET", ":scheme", "https", ":authority", "other.example.com", ":path", "/" }, "421",
          "judge GET other.example.com  /\n" },
        { { ":method", "GET", ":scheme", "https", ":authority", "api.example.com:444", ":path", "/" },
          "421", "judge GET api.example.com:444  /\n" },
        { { ":method", "GET", ":scheme", "https", ":authority", "api.example.com", ":path", "/", "host",
            "other.example.com" }, "421", "judge GET api.example.com other.example.com /\n" },
        { { ":method", "TRACE", ":scheme", "https", ":authority", "api.example.com", ":path", "/" }, "405",
          "judge TRACE api.example.com  /\n" },
        { { ":method", "CONNECT", ":authority", "api.example.com:443" }, NULL,
          "judge CONNECT api.example.com:443  \n" },
        { { ":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority",
            "api.example.com", ":path", "/" }, NULL, "fault 0 bad-field\n" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct lab_stream *s;
        char line[64];

        sbx_buf_clear(&lab.log);
        s = lab_ask_all(&lab, rows[i].fields, -1, false);
        lab_run(&lab);
        assert_true(s->closed);
        assert_string_equal(lab.log.ptr, rows[i].log);
        assert_int_equal(s->code, rows[i].status ? NGHTTP2_NO_ERROR : NGHTTP2_PROTOCOL_ERROR);
        snprintf(line, sizeof(line), ":status: %s\n", rows[i].status ? rows[i].status : "");
        if (rows[i].status)
            lab_has(&s->head, line);
        lab_has_not(&s->head, "real-secret");
    }
    assert_int_equal(lab.origin.n, 0);
}

static void heads_past_their_bounds_are_answered(void **state)
{
    static char text[33001];
    static const char *many[2 * SBX_GATE_FIELDS_MAX + 3];
    const char *const extra[] = { "x-big", text, NULL };
    struct lab_stream *big, *path, *method, *fine;

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    big = lab_ask(&lab, "GET", "/", extra, -1);
    text[0] = '/';
    text[SBX_GATE_TARGET_MAX + 1] = '\0';
    path = lab_ask(&lab, "GET", text, NULL, -1);
    text[0] = 'A';
    text[SBX_GATE_METHOD_MAX + 1] = '\0';
    method = lab_ask(&lab, text, "/", NULL, -1);
    fine = lab_ask(&lab, "GET", "/", NULL, -1);
    lab_run(&lab);
    lab_has(&big->head, ":status: 431\n");
    lab_has(&path->head, ":status: 414\n");
    lab_has(&method->head, ":status: 400\n");
    assert_string_equal(lab.log.ptr, "fault 431 head-too-large\nfault 414 target-too-long\n"
                                     "fault 400 bad-method\njudge GET api.example.com  /\n");
    assert_int_equal(lab.origin.n, 1);
    for (unsigned i = 0; i < SBX_ARRAY_LEN(many) - 1; i++)
        many[i] = "x";
    lab_reply(&lab, 0, "200", many, -1, NULL);
    lab_run(&lab);
    lab_has(&fine->head, ":status: 502\n");
}

static void the_server_may_take_few_streams_at_once(void **state)
{
    nghttp2_settings_entry one = { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1 };
    struct lab_stream *s[5];

    (void)state;
    assert_int_equal(nghttp2_submit_settings(lab.origin.session, 0, &one, 1), 0);
    lab_run(&lab);
    for (unsigned i = 0; i < 5; i++)
        s[i] = lab_ask(&lab, "POST", "/", NULL, 30000);
    lab_run(&lab);
    nghttp2_submit_rst_stream(lab.client.session, 0, s[1]->id, NGHTTP2_CANCEL); /* it waits still */
    lab_run(&lab);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(lab.origin.n, i + 1);
        lab_reply(&lab, i, "200", NULL, 10, NULL);
        lab_run(&lab);
    }
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(s[i]->body.len, i == 1 ? 0 : 10);
    assert_int_equal(sbx_h2_streams(lab.h), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAB_CASE(a_request_goes_on_as_it_was_judged),
        LAB_CASE(a_request_may_name_its_host_by_the_field),
        LAB_CASE(a_reply_goes_on_without_what_only_the_gate_says),
        LAB_CASE(trailers_alone_end_a_reply),
        LAB_CASE(trailers_of_a_request_are_dropped),
        LAB_CASE(interim_replies_pass),
        LAB_CASE(endless_interim_replies_end_in_502),
        LAB_CASE(head_and_304_have_a_length_and_no_body),
        LAB_CASE(a_refused_request_is_answered_and_nothing_goes_on),
        LAB_CASE(requests_for_others_and_tunnels_are_refused),
        LAB_CASE(heads_past_their_bounds_are_answered),
        LAB_CASE(the_server_may_take_few_streams_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
