/* HTTP/2 through the gate, between a real client and a real server: what goes on, what is answered here,
 * how ends and errors cross. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "h2lab.h"

static struct lab lab;

static int setup(void **state)
{
    (void)state;
    lab_open(&lab);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    lab_close(&lab);
    return 0;
}

static void has(const struct sbx_buf *b, const char *line)
{
    if (!b->ptr || !strstr(b->ptr, line))
        fail_msg("no \"%s\" in \"%s\"", line, b->ptr ? b->ptr : "");
}

static void has_not(const struct sbx_buf *b, const char *text)
{
    if (b->ptr && strstr(b->ptr, text))
        fail_msg("\"%s\" in \"%s\"", text, b->ptr);
}

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

static void large_bodies_pass_both_ways_at_once(void **state)
{
    enum { STREAMS = 20, SIZE = 400000 };
    struct lab_stream *s[STREAMS];

    (void)state;
    for (unsigned i = 0; i < STREAMS; i++)
        s[i] = lab_ask(&lab, "POST", "/", NULL, SIZE);
    lab.origin.stalled = true;
    lab_run(&lab);
    lab.origin.stalled = false;
    lab_run(&lab);
    for (unsigned i = 0; i < STREAMS; i++)
        lab_reply(&lab, i, "200", NULL, SIZE, "end");
    lab_run(&lab);
    for (unsigned i = 0; i < STREAMS; i++) {
        assert_int_equal(lab.origin.streams[i].body.len, SIZE);
        assert_int_equal(s[i]->body.len, SIZE);
        assert_string_equal(s[i]->trailers.ptr, "x-trailer: end\n");
        assert_true(s[i]->closed);
    }
    assert_int_equal(sbx_h2_streams(lab.h), 0);
}

static void streams_go_both_ways_message_by_message(void **state)
{
    static const char *const fields[] = { ":method", "POST", ":scheme", "https", ":authority",
                                          "api.example.com", ":path", "/bidi", NULL };
    struct lab_stream *s = lab_ask_all(&lab, fields, 1, true), *o;

    (void)state;
    lab_run(&lab);
    o = &lab.origin.streams[0];
    o->hold = true;
    lab_reply(&lab, 0, "200", NULL, 1, "bye");
    for (unsigned i = 1; i < 50; i++) {
        lab_run(&lab);
        assert_int_equal(o->body.len, i);
        assert_int_equal(s->body.len, i);
        lab_more(&lab.client, s, 1, i < 49);
        lab_more(&lab.origin, o, 1, i < 49);
    }
    lab_run(&lab);
    assert_true(s->closed && o->closed);
    assert_string_equal(s->trailers.ptr, "x-trailer: bye\n");
}

static void a_server_that_takes_nothing_stops_the_client(void **state)
{
    struct lab_stream *s = lab_ask(&lab, "POST", "/", NULL, 10 << 20);
    size_t taken;

    (void)state;
    lab.origin.stalled = true;
    lab_run(&lab);
    taken = (10 << 20) - s->to_send;
    assert_in_range(taken, 1, SBX_GATE_H2_STREAM_WINDOW + 16384); /* a window and a frame on its way */
    lab.origin.stalled = false;
    lab_run(&lab);
    assert_int_equal(lab.origin.streams[0].body.len, 10 << 20);
}

static void a_client_that_takes_nothing_stops_the_server(void **state)
{
    struct lab_stream *s = lab_ask(&lab, "GET", "/", NULL, -1), *o;

    (void)state;
    lab_run(&lab);
    lab.client.stalled = true;
    lab_reply(&lab, 0, "200", NULL, 10 << 20, NULL);
    lab_run(&lab);
    o = &lab.origin.streams[0];
    assert_in_range((10 << 20) - o->to_send, 1, SBX_GATE_H2_STREAM_WINDOW + 16384);
    lab.client.stalled = false;
    lab_run(&lab);
    assert_int_equal(s->body.len, 10 << 20);
}

static void a_stream_that_is_taken_at_once_gets_a_larger_window(void **state)
{
    enum { STOCK = 4 << 20, ALL = 40 << 20 };
    struct lab_stream *s = lab_ask(&lab, "GET", "/", NULL, -1), *slow, *o;

    (void)state;
    lab.spare = STOCK;
    slow = lab_ask(&lab, "GET", "/slow", NULL, -1);
    lab_run(&lab);
    lab_reply(&lab, 0, "200", NULL, ALL / 2, NULL);
    o = &lab.origin.streams[0];
    o->hold = true;
    lab_run(&lab);
    assert_int_equal(s->body.len, ALL / 2);
    /* Five doublings stay below the bound; less than half of it waits to be opened again. */
    assert_in_range(nghttp2_session_get_stream_remote_window_size(lab.origin.session, o->id),
                    16 * SBX_GATE_H2_STREAM_WINDOW, 32 * SBX_GATE_H2_STREAM_WINDOW);
    assert_int_equal(STOCK - lab.spare, 63 * SBX_GATE_H2_STREAM_WINDOW);
    lab.client.stalled = true;
    lab_more(&lab.origin, o, ALL / 2, false);
    lab_reply(&lab, 1, "200", NULL, ALL, NULL); /* its window never grew */
    lab_run(&lab);
    assert_in_range(ALL / 2 - o->to_send, 1, 32 * SBX_GATE_H2_STREAM_WINDOW + 16384);
    assert_in_range(ALL - lab.origin.streams[1].to_send, 1, SBX_GATE_H2_STREAM_WINDOW + 16384);
    lab.client.stalled = false;
    lab_run(&lab);
    assert_int_equal(s->body.len, ALL);
    assert_int_equal(slow->body.len, ALL);
    sbx_h2_free(lab.h);
    lab.h = NULL;
    assert_int_equal(lab.spare, STOCK);
}

static void one_stream_that_stalls_stops_no_other(void **state)
{
    nghttp2_settings_entry none = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 };
    nghttp2_settings_entry some = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 65535 };
    struct lab_stream *slow, *quick;

    (void)state;
    assert_int_equal(nghttp2_submit_settings(lab.client.session, 0, &none, 1), 0);
    slow = lab_ask(&lab, "GET", "/slow", NULL, -1);
    lab_run(&lab);
    lab_reply(&lab, 0, "200", NULL, 1 << 20, NULL);
    lab_run(&lab);
    assert_int_equal(slow->body.len, 0);
    assert_int_equal(nghttp2_submit_settings(lab.client.session, 0, &some, 1), 0);
    assert_int_equal(nghttp2_session_set_local_window_size(lab.client.session, 0, slow->id, 0), 0);
    quick = lab_ask(&lab, "GET", "/quick", NULL, -1);
    lab_run(&lab);
    lab_reply(&lab, 1, "200", NULL, 1 << 20, NULL);
    lab_run(&lab);
    assert_int_equal(quick->body.len, 1 << 20);
}

static void without_a_stock_windows_stay_as_they_are(void **state)
{
    struct lab_stream *s[4];

    (void)state;
    lab.spare = 0;
    for (unsigned i = 0; i < 4; i++)
        s[i] = lab_ask(&lab, "POST", "/", NULL, 1 << 20);
    lab.origin.stalled = true;
    lab_run(&lab);
    for (unsigned i = 1; i < 4; i++)
        s[0]->to_send += s[i]->to_send;
    assert_in_range((4 << 20) - s[0]->to_send, 1, SBX_GATE_H2_STREAM_WINDOW + 16384);
    s[0]->to_send -= s[1]->to_send + s[2]->to_send + s[3]->to_send;
    lab.origin.stalled = false;
    lab_run(&lab);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(lab.origin.streams[i].body.len, 1 << 20);
}

static void streams_cut_with_bytes_inside_leave_the_windows_open(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        struct lab_stream *s = lab_ask(&lab, "POST", "/", NULL, 200000);

        lab_run(&lab);
        lab.client.stalled = lab.origin.stalled = true;
        lab_reply(&lab, i, "200", NULL, 200000, NULL);
        lab_run(&lab);
        nghttp2_submit_rst_stream(lab.client.session, 0, s->id, NGHTTP2_CANCEL);
        lab_run(&lab);
        lab.client.stalled = lab.origin.stalled = false;
        lab_run(&lab);
        assert_true(lab.origin.streams[i].closed);
    }
    assert_int_equal(sbx_h2_streams(lab.h), 0);
    {
        struct lab_stream *s = lab_ask(&lab, "POST", "/", NULL, 1 << 20);

        lab_run(&lab);
        lab_reply(&lab, 60, "200", NULL, 1 << 20, NULL);
        lab_run(&lab);
        assert_int_equal(lab.origin.streams[60].body.len, 1 << 20);
        assert_int_equal(s->body.len, 1 << 20);
    }
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
    has(&lab.origin.streams[0].head, "expect: 100-continue\n");
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
    has(&s->head, ":status: 502\n");
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
    has(&head->head, "content-length: 12345\n");
    has(&same->head, "content-length: 12345\n");
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
    has(&head->head, "content-length: 17\n");
    assert_int_equal(head->body.len, 0);
    lab.refuse = false;
    s = lab_ask(&lab, "GET", "/", NULL, -1);
    lab_run(&lab);
    assert_int_equal(lab.origin.n, 1); /* the connection lives on */
}

static void a_server_may_reply_before_the_request_is_over(void **state)
{
    struct lab_stream *s = lab_ask(&lab, "POST", "/", NULL, 5 << 20);

    (void)state;
    lab.client.mute = true;
    (void)s;
    lab.client.mute = false;
    lab.origin.stalled = true;
    lab_run(&lab);
    lab.origin.stalled = false;
    for (unsigned i = 0; i < 8 && !lab.origin.n; i++) { /* until its head is there */
        lab.client.mute = true;
        lab_run(&lab);
    }
    lab_reply(&lab, 0, "413", NULL, 300, "late");
    lab_run(&lab);
    nghttp2_submit_rst_stream(lab.origin.session, 0, lab.origin.streams[0].id, NGHTTP2_NO_ERROR);
    lab.client.mute = false;
    lab_run(&lab);
    assert_string_equal(s->head.ptr, ":status: 413\n");
    assert_int_equal(s->body.len, 300);
    assert_string_equal(s->trailers.ptr, "x-trailer: late\n");
    assert_true(s->ended && s->closed && s->to_send > 0);
    assert_int_equal(s->code, NGHTTP2_NO_ERROR);
    assert_int_equal(sbx_h2_streams(lab.h), 0);
}

static void a_request_goes_on_behind_an_early_reply(void **state)
{
    struct lab_stream *s = lab_ask(&lab, "POST", "/", NULL, 1 << 20);

    (void)state;
    lab.origin.stalled = true;
    lab_run(&lab);
    lab.origin.stalled = false;
    lab.client.mute = true;
    lab_run(&lab);
    lab_reply(&lab, 0, "200", NULL, 3, NULL);
    lab_run(&lab);
    assert_true(s->ended);
    lab.client.mute = false;
    lab_run(&lab);
    assert_int_equal(lab.origin.streams[0].body.len, 1 << 20);
    assert_true(s->closed && lab.origin.streams[0].closed);
    assert_int_equal(s->code, NGHTTP2_NO_ERROR);
}

static void a_reset_of_the_client_is_a_cancel_at_the_server(void **state)
{
    static const uint32_t codes[] = { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR, 0x99 };

    (void)state;
    for (unsigned i = 0; i < SBX_ARRAY_LEN(codes); i++) {
        struct lab_stream *s = lab_ask(&lab, "POST", "/", NULL, 1);

        s->hold = true;
        lab_run(&lab);
        nghttp2_submit_rst_stream(lab.client.session, 0, s->id, codes[i]);
        lab_run(&lab);
        assert_true(lab.origin.streams[i].closed);
        assert_int_equal(lab.origin.streams[i].code, NGHTTP2_CANCEL);
    }
    assert_int_equal(sbx_h2_streams(lab.h), 0);
}

static void a_reset_of_the_server_tells_the_client_what_it_means(void **state)
{
    static const struct {
        uint32_t code, before, after; /* the client's, before and after the reply began; 502: a status */
    } rows[] = {
        { NGHTTP2_CANCEL, NGHTTP2_CANCEL, NGHTTP2_CANCEL },
        { NGHTTP2_REFUSED_STREAM, NGHTTP2_REFUSED_STREAM, NGHTTP2_INTERNAL_ERROR },
        { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_ENHANCE_YOUR_CALM },
        { NGHTTP2_INTERNAL_ERROR, NGHTTP2_INTERNAL_ERROR, NGHTTP2_INTERNAL_ERROR },
        { NGHTTP2_HTTP_1_1_REQUIRED, NGHTTP2_HTTP_1_1_REQUIRED, NGHTTP2_HTTP_1_1_REQUIRED },
        { NGHTTP2_PROTOCOL_ERROR, 502, NGHTTP2_INTERNAL_ERROR },
        { NGHTTP2_FLOW_CONTROL_ERROR, 502, NGHTTP2_INTERNAL_ERROR },
        { NGHTTP2_NO_ERROR, 502, NGHTTP2_INTERNAL_ERROR },
        { 0x4242, 502, NGHTTP2_INTERNAL_ERROR },
    };

    (void)state;
    for (unsigned i = 0; i < 2 * SBX_ARRAY_LEN(rows); i++) {
        struct lab_stream *s = lab_ask(&lab, "GET", "/", NULL, -1);
        uint32_t want = i % 2 ? rows[i / 2].after : rows[i / 2].before;

        lab_run(&lab);
        lab.origin.streams[i].hold = true;
        lab.client.stalled = true;
        if (i % 2)
            lab_reply(&lab, i, "200", NULL, 10, NULL);
        lab_run(&lab);
        nghttp2_submit_rst_stream(lab.origin.session, 0, lab.origin.streams[i].id, rows[i / 2].code);
        lab_run(&lab);
        lab.client.stalled = false;
        lab_run(&lab);
        assert_true(s->closed);
        if (want == 502)
            has(&s->head, ":status: 502\n");
        assert_int_equal(s->code, want == 502 ? NGHTTP2_NO_ERROR : want);
        if (i % 2) /* what came before the reset, which may have come with it */
            assert_int_equal(s->body.len, 10);
    }
    assert_int_equal(sbx_h2_streams(lab.h), 0);
}

static void a_server_that_leaves_lets_its_streams_end(void **state)
{
    struct lab_stream *first = lab_ask(&lab, "GET", "/1", NULL, -1), *second, *third;

    (void)state;
    lab_run(&lab);
    second = lab_ask(&lab, "GET", "/2", NULL, -1);
    lab.origin.stalled = true;
    lab_run(&lab); /* on its way when the server leaves */
    nghttp2_submit_goaway(lab.origin.session, 0, lab.origin.streams[0].id, NGHTTP2_NO_ERROR, NULL, 0);
    lab_run(&lab);
    lab.origin.stalled = false;
    lab_run(&lab);
    assert_true(lab.client.goaway);
    assert_int_equal(lab.client.goaway_code, NGHTTP2_NO_ERROR);
    assert_true(second->closed);
    assert_int_equal(second->code, NGHTTP2_REFUSED_STREAM);
    assert_false(first->closed || sbx_h2_done(lab.h));
    third = lab_ask(&lab, "GET", "/3", NULL, -1); /* nghttp2 refuses it by itself */
    lab_reply(&lab, 0, "200", NULL, 100000, "end");
    lab_run(&lab);
    assert_int_equal(first->body.len, 100000);
    assert_true(first->closed);
    assert_int_equal(third->body.len, 0);
    assert_true(sbx_h2_done(lab.h));
}

static void a_client_that_leaves_lets_its_streams_end(void **state)
{
    struct lab_stream *s = lab_ask(&lab, "GET", "/1", NULL, -1);

    (void)state;
    lab_run(&lab);
    nghttp2_submit_goaway(lab.client.session, 0, 0, NGHTTP2_NO_ERROR, NULL, 0);
    lab_run(&lab);
    assert_false(sbx_h2_done(lab.h));
    lab_reply(&lab, 0, "200", NULL, 100000, "end");
    lab_run(&lab);
    assert_int_equal(s->body.len, 100000);
    assert_true(lab.origin.goaway);
    assert_int_equal(lab.origin.goaway_code, NGHTTP2_NO_ERROR);
    assert_true(sbx_h2_done(lab.h));
}

static void a_server_that_is_gone_costs_what_it_had_not_said(void **state)
{
    struct lab_stream *none = lab_ask(&lab, "GET", "/none", NULL, -1);
    struct lab_stream *half = lab_ask(&lab, "GET", "/half", NULL, -1);
    struct lab_stream *whole = lab_ask(&lab, "GET", "/whole", NULL, -1);

    (void)state;
    lab_run(&lab);
    lab.origin.streams[1].hold = true;
    lab_reply(&lab, 1, "200", NULL, 10, NULL);
    lab.client.stalled = true;
    lab_reply(&lab, 2, "200", NULL, 30000, NULL);
    lab_run(&lab);
    sbx_h2_ended(lab.h, SBX_HTTP_SERVER);
    lab.client.stalled = false;
    lab_run(&lab);
    has(&none->head, ":status: 502\n");
    assert_int_equal(half->code, NGHTTP2_INTERNAL_ERROR);
    assert_int_equal(half->body.len, 10);
    assert_int_equal(whole->body.len, 30000);
    assert_int_equal(whole->code, NGHTTP2_NO_ERROR);
    assert_true(lab.client.goaway && sbx_h2_done(lab.h));
}

static void a_client_that_is_gone_ends_the_server_too(void **state)
{
    (void)state;
    lab_ask(&lab, "GET", "/", NULL, -1);
    lab_run(&lab);
    sbx_h2_ended(lab.h, SBX_HTTP_CLIENT);
    lab_run(&lab);
    assert_true(lab.origin.goaway && sbx_h2_done(lab.h));
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
            has(&s->head, line);
        has_not(&s->head, "real-secret");
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
    has(&big->head, ":status: 431\n");
    has(&path->head, ":status: 414\n");
    has(&method->head, ":status: 400\n");
    assert_string_equal(lab.log.ptr, "fault 431 head-too-large\nfault 414 target-too-long\n"
                                     "fault 400 bad-method\njudge GET api.example.com  /\n");
    assert_int_equal(lab.origin.n, 1);
    for (unsigned i = 0; i < SBX_ARRAY_LEN(many) - 1; i++)
        many[i] = "x";
    lab_reply(&lab, 0, "200", many, -1, NULL);
    lab_run(&lab);
    has(&fine->head, ":status: 502\n");
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

static void what_waits_for_a_server_that_leaves_may_be_tried_again(void **state)
{
    nghttp2_settings_entry one = { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1 };
    struct lab_stream *s;

    (void)state;
    assert_int_equal(nghttp2_submit_settings(lab.origin.session, 0, &one, 1), 0);
    lab_run(&lab);
    lab_ask(&lab, "GET", "/", NULL, -1);
    lab_run(&lab);
    s = lab_ask(&lab, "POST", "/", NULL, 100);
    lab_run(&lab);
    nghttp2_submit_goaway(lab.origin.session, 0, lab.origin.streams[0].id, NGHTTP2_NO_ERROR, NULL, 0);
    lab_run(&lab);
    lab_reply(&lab, 0, "200", NULL, 10, NULL);
    lab_run(&lab);
    assert_true(s->closed);
    assert_int_equal(s->code, NGHTTP2_REFUSED_STREAM);
    assert_true(sbx_h2_done(lab.h));
}

static void silence_ends_what_it_should(void **state)
{
    struct lab_stream *s = lab_ask(&lab, "GET", "/", NULL, -1), *quiet = lab_ask(&lab, "GET", "/", NULL, -1);

    (void)state;
    lab_run(&lab);
    lab.origin.streams[1].hold = true;
    lab_reply(&lab, 0, "200", NULL, 1 << 20, NULL);
    lab_reply(&lab, 1, "200", NULL, 1, NULL);
    assert_int_equal(nghttp2_session_set_local_window_size(lab.client.session, 0, s->id, 0), 0);
    lab_run(&lab);
    lab.now_ms += SBX_GATE_H2_STALL_MS - 1;
    lab_run(&lab);
    assert_false(s->closed);
    lab.now_ms += SBX_GATE_H2_TICK_MS;
    lab_run(&lab);
    assert_true(s->closed && lab.origin.streams[0].closed);
    assert_int_equal(s->code, NGHTTP2_CANCEL);
    assert_false(quiet->closed); /* an event stream may be silent */
    nghttp2_submit_rst_stream(lab.client.session, 0, quiet->id, NGHTTP2_CANCEL);
    lab_run(&lab);
    lab.now_ms += SBX_GATE_H2_IDLE_MS + SBX_GATE_H2_TICK_MS;
    lab_run(&lab);
    assert_true(lab.client.goaway && sbx_h2_done(lab.h));
    assert_int_equal(lab.client.goaway_code, NGHTTP2_NO_ERROR);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_request_goes_on_as_it_was_judged),
        CASE(a_request_may_name_its_host_by_the_field),
        CASE(a_reply_goes_on_without_what_only_the_gate_says),
        CASE(trailers_alone_end_a_reply),
        CASE(trailers_of_a_request_are_dropped),
        CASE(large_bodies_pass_both_ways_at_once),
        CASE(streams_go_both_ways_message_by_message),
        CASE(a_server_that_takes_nothing_stops_the_client),
        CASE(a_client_that_takes_nothing_stops_the_server),
        CASE(a_stream_that_is_taken_at_once_gets_a_larger_window),
        CASE(one_stream_that_stalls_stops_no_other),
        CASE(without_a_stock_windows_stay_as_they_are),
        CASE(streams_cut_with_bytes_inside_leave_the_windows_open),
        CASE(interim_replies_pass),
        CASE(endless_interim_replies_end_in_502),
        CASE(head_and_304_have_a_length_and_no_body),
        CASE(a_refused_request_is_answered_and_nothing_goes_on),
        CASE(a_server_may_reply_before_the_request_is_over),
        CASE(a_request_goes_on_behind_an_early_reply),
        CASE(a_reset_of_the_client_is_a_cancel_at_the_server),
        CASE(a_reset_of_the_server_tells_the_client_what_it_means),
        CASE(a_server_that_leaves_lets_its_streams_end),
        CASE(a_client_that_leaves_lets_its_streams_end),
        CASE(a_server_that_is_gone_costs_what_it_had_not_said),
        CASE(a_client_that_is_gone_ends_the_server_too),
        CASE(requests_for_others_and_tunnels_are_refused),
        CASE(heads_past_their_bounds_are_answered),
        CASE(the_server_may_take_few_streams_at_once),
        CASE(what_waits_for_a_server_that_leaves_may_be_tried_again),
        CASE(silence_ends_what_it_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
