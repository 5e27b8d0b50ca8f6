/* What a hostile client can write, as bytes, and how it is sent away: the code of the GOAWAY or of the
 * reset, and the line of the log. Whatever the pieces, and with nothing of it at the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "h2lab.h"

#define NONE 0xffffffffu /* no GOAWAY, or no reset */

static void rapid_reset(struct sbx_buf *b)
{
    for (uint32_t id = 1; id < 2 * 1000; id += 2) {
        RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, id, RAW_GET);
        RAW_FRAME(b, NGHTTP2_RST_STREAM, 0, id, "\0\0\0\x08");
    }
}

static void window_of_nothing(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, RAW_GET);
    RAW_FRAME(b, NGHTTP2_WINDOW_UPDATE, 0, 1, "\0\0\0\0");
}

static void settings_flood(struct sbx_buf *b)
{
    for (unsigned i = 0; i < 1100; i++)
        RAW_FRAME(b, NGHTTP2_SETTINGS, 0, 0, "\0\x04\0\0\xff\xff");
}

static void ping_flood(struct sbx_buf *b)
{
    for (unsigned i = 0; i < 1100; i++)
        RAW_FRAME(b, NGHTTP2_PING, 0, 0, "12345678");
}

static void pong_flood(struct sbx_buf *b)
{
    for (unsigned i = 0; i < 1100; i++)
        RAW_FRAME(b, NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, "12345678");
}

static void priority_flood(struct sbx_buf *b)
{
    for (uint32_t i = 0; i < 1100; i++)
        RAW_FRAME(b, NGHTTP2_PRIORITY, 0, 2 * i + 1, "\0\0\0\0\x10");
}

static void unknown_flood(struct sbx_buf *b)
{
    for (uint32_t i = 0; i < 1100; i++)
        RAW_FRAME(b, 0xbb, 0, 0, "");
}

static void window_flood(struct sbx_buf *b)
{
    for (uint32_t i = 0; i < 1100; i++)
        RAW_FRAME(b, NGHTTP2_WINDOW_UPDATE, 0, 0, "\0\0\0\x01");
}

static void empty_data_flood(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_END, 1, RAW_POST);
    for (unsigned i = 0; i < 1100; i++)
        RAW_FRAME(b, NGHTTP2_DATA, 0, 1, "");
}

static void continuation_flood(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, 0, 1, RAW_GET);
    for (unsigned i = 0; i < SBX_GATE_H2_CONTINUATIONS + 1; i++)
        RAW_FRAME(b, NGHTTP2_CONTINUATION, 0, 1, "\x40\x01x\x01y");
}

static void empty_continuation_flood(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, 0, 1, "");
    for (unsigned i = 0; i < 20; i++)
        RAW_FRAME(b, NGHTTP2_CONTINUATION, 0, 1, "");
}

/* One field of 4,000 bytes goes to the table, then each byte names it once more. */
static void header_bomb(struct sbx_buf *b)
{
    static char block[12000];
    size_t n = sizeof(RAW_GET) - 1;

    memcpy(block, RAW_GET, n);
    memcpy(block + n, "\x40\x01x\x7f\xa1\x1e", 6); /* literal, length 127 + 33 + 30 * 128 = 4000 */
    memset(block + n + 6, 'y', 4000);
    memset(block + n + 4006, 0xbe, 7000); /* index 62 */
    raw_frame(b, NGHTTP2_HEADERS, RAW_ALL, 1, block, n + 11006);
}

static void too_many_streams(struct sbx_buf *b)
{
    for (uint32_t id = 1; id < 2 * (SBX_GATE_H2_STREAMS + 1); id += 2)
        RAW_FRAME(b, NGHTTP2_HEADERS, RAW_END, id, RAW_POST);
}

static void too_many_streams_knowingly(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, "");
    too_many_streams(b);
}

static void many_settings_in_one(struct sbx_buf *b)
{
    static char entries[6 * (SBX_GATE_H2_SETTINGS + 1)];

    for (unsigned i = 0; i <= SBX_GATE_H2_SETTINGS; i++)
        memcpy(entries + 6 * i, "\0\x04\0\0\xff\xff", 6);
    raw_frame(b, NGHTTP2_SETTINGS, 0, 0, entries, sizeof(entries));
}

static void past_the_window(struct sbx_buf *b)
{
    static const char data[16384];

    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_END, 1, RAW_POST);
    for (unsigned i = 0; i < 5; i++)
        raw_frame(b, NGHTTP2_DATA, 0, 1, data, sizeof(data));
}

static void past_all_windows(struct sbx_buf *b)
{
    static const char data[16384];

    for (uint32_t id = 1; id < 2 * 6; id += 2) {
        RAW_FRAME(b, NGHTTP2_HEADERS, RAW_END, id, RAW_POST);
        for (unsigned i = 0; i < 3; i++)
            raw_frame(b, NGHTTP2_DATA, 0, id, data, sizeof(data));
    }
}

static void window_too_large(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_WINDOW_UPDATE, 0, 0, "\x7f\xff\xff\xff");
}

static void stream_window_too_large(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_END, 1, RAW_POST);
    RAW_FRAME(b, NGHTTP2_WINDOW_UPDATE, 0, 1, "\x7f\xff\xff\xff");
}

static void initial_window_too_large(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_SETTINGS, 0, 0, "\0\x04\xff\xff\xff\xff");
}

static void frame_too_large(struct sbx_buf *b)
{
    static const char data[16385];

    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_END, 1, RAW_POST);
    raw_frame(b, NGHTTP2_DATA, 0, 1, data, sizeof(data));
}

static void even_stream(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 2, RAW_GET);
}

static void headers_on_stream_zero(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 0, RAW_GET);
}

static void data_before_headers(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_DATA, 0, 1, "x");
}

static void push_from_the_client(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_PUSH_PROMISE, RAW_END, 1, "\0\0\0\x02" RAW_GET);
}

static void another_frame_inside_a_block(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, 0, 1, RAW_GET);
    RAW_FRAME(b, NGHTTP2_PING, 0, 0, "12345678");
}

static void continuation_from_nowhere(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_CONTINUATION, RAW_END, 1, RAW_GET);
}

static void broken_compression(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, "\xff\xff\xff\xff\xff\xff");
}

static void no_magic(struct sbx_buf *b)
{
    sbx_buf_clear(b);
    assert_int_equal(sbx_buf_adds(b, "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"), SBX_OK);
}

/* Requests that are none: a reset each. */
static void pseudo_field_twice(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, RAW_GET "\x84");
}

static void pseudo_field_behind(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, "\x82\x87\x84\x00\x01x\x01y\x01\x0f" "api.example.com");
}

static void unknown_pseudo_field(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, RAW_GET "\x00\x02:x\x01y");
}

static void no_authority(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, "\x82\x87\x84");
}

static void no_path(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, "\x82\x87\x01\x0f" "api.example.com");
}

static void transfer_encoding(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, RAW_GET "\x00\x11transfer-encoding\x07" "chunked");
}

static void connection_field(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, RAW_GET "\x00\x0a" "connection\x05" "close");
}

static void upgrade_field(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, RAW_GET "\x00\x07upgrade\x09websocket");
}

static void te_with_more(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, RAW_GET "\x00\x02te\x04gzip");
}

static void two_lengths(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_END, 1,
          RAW_POST "\x00\x0e" "content-length\x01" "1" "\x00\x0e" "content-length\x01" "1");
}

static void length_and_more_data(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_END, 1, RAW_POST "\x00\x0e" "content-length\x01" "1");
    RAW_FRAME(b, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, "ab");
}

static void upper_case_name(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, RAW_GET "\x00\x01X\x01y");
}

static void line_break_in_a_value(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, RAW_GET "\x00\x01x\x04" "a\r\nb");
}

static void nul_in_the_authority(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, "\x82\x87\x84\x01\x11" "api.example.com\0x");
}

static void nul_in_the_path(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, "\x82\x87\x01\x0f" "api.example.com\x04\x03/\0x");
}

static void user_in_the_authority(struct sbx_buf *b)
{
    RAW_FRAME(b, NGHTTP2_HEADERS, RAW_ALL, 1, "\x82\x87\x84\x01\x11" "u@api.example.com");
}

static const struct row {
    const char *name;
    void (*write)(struct sbx_buf *b);
    uint32_t goaway, reset; /* codes, or NONE */
    const char *log;        /* the last line, or NULL: not looked at */
} rows[] = {
    { "rapid reset", rapid_reset, NGHTTP2_ENHANCE_YOUR_CALM, NONE, "fault 0 h2-resets\n" },
    { "window of nothing", window_of_nothing, NGHTTP2_PROTOCOL_ERROR, NONE, "fault 0 h2-protocol\n" },
    { "settings flood", settings_flood, NGHTTP2_ENHANCE_YOUR_CALM, NONE, "fault 0 h2-flood\n" },
    { "ping flood", ping_flood, NGHTTP2_ENHANCE_YOUR_CALM, NONE, "fault 0 h2-flood\n" },
    { "pong flood", pong_flood, NGHTTP2_ENHANCE_YOUR_CALM, NONE, "fault 0 h2-flood\n" },
    { "priority flood", priority_flood, NGHTTP2_ENHANCE_YOUR_CALM, NONE, "fault 0 h2-flood\n" },
    { "unknown frames", unknown_flood, NONE, NONE, NULL }, /* read and forgotten: they cost nothing */
    { "window flood", window_flood, NGHTTP2_ENHANCE_YOUR_CALM, NONE, "fault 0 h2-flood\n" },
    { "empty data", empty_data_flood, NGHTTP2_ENHANCE_YOUR_CALM, NONE, "fault 0 h2-flood\n" },
    { "continuation flood", continuation_flood, NGHTTP2_ENHANCE_YOUR_CALM, NONE, "fault 0 h2-flood\n" },
    { "empty continuations", empty_continuation_flood, NGHTTP2_ENHANCE_YOUR_CALM, NONE,
      "fault 0 h2-flood\n" },
    { "header bomb", header_bomb, NGHTTP2_ENHANCE_YOUR_CALM, NONE, "fault 0 h2-header-bomb\n" },
    { "too many streams", too_many_streams, NONE, NGHTTP2_REFUSED_STREAM, NULL },
    { "too many streams, knowingly", too_many_streams_knowingly, NGHTTP2_PROTOCOL_ERROR, NONE,
      "fault 0 h2-protocol\n" },
    { "33 settings", many_settings_in_one, NGHTTP2_ENHANCE_YOUR_CALM, NONE, NULL },
    { "data past the window", past_the_window, NONE, NGHTTP2_FLOW_CONTROL_ERROR, NULL },
    { "data past all windows", past_all_windows, NGHTTP2_FLOW_CONTROL_ERROR, NONE,
      "fault 0 h2-protocol\n" },
    { "window too large", window_too_large, NGHTTP2_FLOW_CONTROL_ERROR, NONE, "fault 0 h2-protocol\n" },
    { "stream window too large", stream_window_too_large, NONE, NGHTTP2_FLOW_CONTROL_ERROR, NULL },
    { "initial window too large", initial_window_too_large, NGHTTP2_FLOW_CONTROL_ERROR, NONE,
      "fault 0 h2-protocol\n" },
    { "frame too large", frame_too_large, NGHTTP2_FRAME_SIZE_ERROR, NONE, "fault 0 h2-protocol\n" },
    { "even stream", even_stream, NGHTTP2_PROTOCOL_ERROR, NONE, "fault 0 h2-protocol\n" },
    { "headers on stream 0", headers_on_stream_zero, NGHTTP2_PROTOCOL_ERROR, NONE,
      "fault 0 h2-protocol\n" },
    { "data before headers", data_before_headers, NGHTTP2_PROTOCOL_ERROR, NONE, "fault 0 h2-protocol\n" },
    { "push from the client", push_from_the_client, NGHTTP2_PROTOCOL_ERROR, NONE,
      "fault 0 h2-protocol\n" },
    { "frame inside a block", another_frame_inside_a_block, NGHTTP2_PROTOCOL_ERROR, NONE,
      "fault 0 h2-protocol\n" },
    { "continuation from nowhere", continuation_from_nowhere, NGHTTP2_PROTOCOL_ERROR, NONE,
      "fault 0 h2-protocol\n" },
    { "broken compression", broken_compression, NGHTTP2_COMPRESSION_ERROR, NONE,
      "fault 0 h2-protocol\n" },
    { "no magic", no_magic, NGHTTP2_PROTOCOL_ERROR, NONE, "fault 0 h2-protocol\n" },
    { "pseudo-field twice", pseudo_field_twice, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "pseudo-field behind", pseudo_field_behind, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "unknown pseudo-field", unknown_pseudo_field, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "no authority", no_authority, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "no path", no_path, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "transfer-encoding", transfer_encoding, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "connection", connection_field, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "upgrade", upgrade_field, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "te with more", te_with_more, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "two lengths", two_lengths, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "length and more data", length_and_more_data, NONE, NGHTTP2_PROTOCOL_ERROR, NULL },
    { "upper case", upper_case_name, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "line break in a value", line_break_in_a_value, NONE, NONE, "fault 400 bad-field\n" },
    { "NUL in the authority", nul_in_the_authority, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "NUL in the path", nul_in_the_path, NONE, NGHTTP2_PROTOCOL_ERROR, "fault 0 bad-field\n" },
    { "user in the authority", user_in_the_authority, NONE, NONE, "judge GET u@api.example.com  /\n" },
};

static void check(const struct row *row, size_t piece)
{
    SBX_AUTO(sbx_buf) bytes = SBX_BUF_INIT(1 << 20);
    struct raw_answer a;
    struct lab lab;

    lab_open_raw(&lab);
    raw_hello(&bytes);
    row->write(&bytes);
    for (size_t at = 0; at < bytes.len; at += piece) {
        size_t n = bytes.len - at < piece ? bytes.len - at : piece;

        if (sbx_h2_input(lab.h, SBX_HTTP_CLIENT, bytes.ptr + at, n))
            break;
    }
    raw_read(&lab, &a);
    if (a.goaway != (row->goaway != NONE) || (a.goaway && a.goaway_code != row->goaway))
        fail_msg("%s: GOAWAY %d with %u", row->name, a.goaway, a.goaway_code);
    if (row->goaway == NONE && (a.resets != (row->reset != NONE) ||
                                (a.resets && a.reset_code != row->reset)))
        fail_msg("%s: %u resets, the last one with %u", row->name, a.resets, a.reset_code);
    if (row->log && strcmp(lab_last_line(&lab.log), row->log) != 0)
        fail_msg("%s: log \"%s\"", row->name, lab_last_line(&lab.log));
    if (row->goaway != NONE) { /* nothing more is taken, and the server is left too */
        assert_int_equal(sbx_h2_input(lab.h, SBX_HTTP_CLIENT, "x", 1), -1);
        lab_run(&lab);
        assert_true(lab.origin.goaway && sbx_h2_done(lab.h));
    }
    lab_close(&lab);
}

static void hostile_bytes_have_one_answer_each(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        check(&rows[i], 1 << 20);
}

static void any_pieces_have_the_same_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        check(&rows[i], 1);
        check(&rows[i], 97);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_bytes_have_one_answer_each),
        cmocka_unit_test(any_pieces_have_the_same_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
