/* What a side may ask for, and how long: floods, resets, answers that nobody reads, heads without an end, a
 * server that breaks the protocol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "h2lab.h"

static void floods_are_bounded_by_time_and_use(void **state)
{
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(1 << 20);
    struct raw_answer a;
    struct lab lab;
    unsigned pongs = 0;

    (void)state;
    lab_open_raw(&lab);
    raw_hello(&b);
    assert_int_equal(raw_input(&lab, &b), 0);
    for (unsigned second = 0; second < 60; second++) { /* as many as come back in a second */
        sbx_buf_clear(&b);
        for (unsigned i = 0; i < SBX_GATE_H2_CONTROL_PER_SECOND; i++)
            RAW_FRAME(&b, NGHTTP2_PING, 0, 0, "12345678");
        assert_int_equal(raw_input(&lab, &b), 0);
        raw_read(&lab, &a);
        pongs += a.pongs;
        lab.now_ms += 1000;
    }
    assert_int_equal(pongs, 60 * SBX_GATE_H2_CONTROL_PER_SECOND);
    lab_close(&lab);
}

/* The client makes the gate reset its streams: CVE-2025-8671. */
static void streams_that_the_gate_must_cut_are_counted_too(void **state)
{
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(1 << 20);
    struct raw_answer a = { 0 };
    struct lab lab;
    uint32_t n = 0;

    (void)state;
    lab_open_raw(&lab);
    raw_hello(&b);
    for (; !a.goaway && n < 1000; n++) {
        RAW_FRAME(&b, NGHTTP2_HEADERS, RAW_ALL, 2 * n + 1, RAW_GET);
        RAW_FRAME(&b, NGHTTP2_WINDOW_UPDATE, 0, 2 * n + 1, "\x7f\xff\xff\xff");
        raw_input(&lab, &b);
        raw_read(&lab, &a);
        sbx_buf_clear(&b);
    }
    assert_int_equal(n, SBX_GATE_H2_RESETS + 1);
    assert_int_equal(a.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    assert_string_equal(lab_last_line(&lab.log), "fault 0 h2-resets\n");
    lab_close(&lab);
}

static void answers_that_nobody_reads_stop_the_reading(void **state)
{
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(1 << 20);
    struct raw_answer a;
    struct lab lab;

    (void)state;
    lab_open_raw(&lab);
    raw_hello(&b);
    for (unsigned i = 0; i < SBX_GATE_H2_QUEUE; i++)
        RAW_FRAME(&b, NGHTTP2_PING, 0, 0, "12345678");
    assert_int_equal(raw_input(&lab, &b), 0);
    assert_false(sbx_h2_wants(lab.h, SBX_HTTP_CLIENT));
    assert_true(sbx_h2_wants(lab.h, SBX_HTTP_SERVER));
    raw_read(&lab, &a);
    assert_int_equal(a.pongs, SBX_GATE_H2_QUEUE);
    assert_true(sbx_h2_wants(lab.h, SBX_HTTP_CLIENT));
    lab_close(&lab);
}

static void a_head_that_does_not_end_is_given_up(void **state)
{
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(1 << 20);
    struct raw_answer a;
    struct lab lab;

    (void)state;
    lab_open_raw(&lab);
    raw_hello(&b);
    RAW_FRAME(&b, NGHTTP2_HEADERS, 0, 1, RAW_GET);
    assert_int_equal(raw_input(&lab, &b), 0);
    assert_int_equal(sbx_h2_tick(lab.h, lab.now_ms + 1), SBX_GATE_HEAD_MS - 1);
    raw_read(&lab, &a);
    assert_false(a.goaway);
    sbx_h2_tick(lab.h, lab.now_ms + SBX_GATE_HEAD_MS);
    raw_read(&lab, &a);
    assert_true(a.goaway);
    assert_int_equal(a.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    assert_string_equal(lab.log.ptr, "fault 0 head-timeout\n");
    lab_close(&lab);
}

/* The server is no friend either. */
static void a_server_that_breaks_the_protocol_is_left(void **state)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
        uint32_t code;
    } servers[] = {
#define BYTES(b) b, sizeof(b) - 1
        { "not HTTP/2", BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"), NGHTTP2_PROTOCOL_ERROR },
        { "push", BYTES("\0\0\0\4\0\0\0\0\0" "\0\0\5\5\4\0\0\0\1" "\0\0\0\2\x82"),
          NGHTTP2_PROTOCOL_ERROR },
        { "odd stream of its own", BYTES("\0\0\0\4\0\0\0\0\0" "\0\0\1\1\5\0\0\0\3\x88"),
          NGHTTP2_PROTOCOL_ERROR },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(servers); i++) {
        struct lab_stream *s;
        struct lab lab;

        lab_open(&lab);
        s = lab_ask(&lab, "GET", "/", NULL, -1);
        lab.origin.mute = true;
        lab_run(&lab);
        sbx_h2_input(lab.h, SBX_HTTP_SERVER, servers[i].bytes, servers[i].len);
        lab_run(&lab);
        if (!lab.origin.goaway || lab.origin.goaway_code != servers[i].code)
            fail_msg("%s: GOAWAY %d with %u", servers[i].name, lab.origin.goaway, lab.origin.goaway_code);
        if (!s->closed || !s->head.ptr || !strstr(s->head.ptr, ":status: 502\n"))
            fail_msg("%s: \"%s\"", servers[i].name, s->head.ptr ? s->head.ptr : "");
        assert_true(lab.client.goaway && sbx_h2_done(lab.h));
        assert_int_equal(lab.client.goaway_code, NGHTTP2_NO_ERROR);
        assert_non_null(strstr(lab.log.ptr, "fault 0 h2-server\n"));
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floods_are_bounded_by_time_and_use),
        cmocka_unit_test(streams_that_the_gate_must_cut_are_counted_too),
        cmocka_unit_test(answers_that_nobody_reads_stop_the_reading),
        cmocka_unit_test(a_head_that_does_not_end_is_given_up),
        cmocka_unit_test(a_server_that_breaks_the_protocol_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
