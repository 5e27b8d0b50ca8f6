/* HTTP/2 through the gate, between a real client and a real server: how ends and errors cross. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "h2lab.h"

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
            lab_has(&s->head, ":status: 502\n");
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
    lab_has(&none->head, ":status: 502\n");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAB_CASE(a_server_may_reply_before_the_request_is_over),
        LAB_CASE(a_request_goes_on_behind_an_early_reply),
        LAB_CASE(a_reset_of_the_client_is_a_cancel_at_the_server),
        LAB_CASE(a_reset_of_the_server_tells_the_client_what_it_means),
        LAB_CASE(a_server_that_leaves_lets_its_streams_end),
        LAB_CASE(a_client_that_leaves_lets_its_streams_end),
        LAB_CASE(a_server_that_is_gone_costs_what_it_had_not_said),
        LAB_CASE(a_client_that_is_gone_ends_the_server_too),
        LAB_CASE(what_waits_for_a_server_that_leaves_may_be_tried_again),
        LAB_CASE(silence_ends_what_it_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
