/* Frames of a WebSocket, one direction: what goes on, what is held, what ends it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frames.h"
#include "sbx/err.h"

#define M "\1\2\3\4" /* a mask */
#define S(text) text, sizeof(text) - 1

struct row {
    const char *name, *data;
    size_t len, passes; /* passes: bytes that go on */
    enum sbx_frame_fault fault;
    enum { SERVER, CLIENT, DEFLATE } of; /* DEFLATE: a server's, compressed */
};

static const struct row rows[] = {
    { "an empty text", S("\x81\x00"), 2, 0, SERVER },
    { "two frames", S("\x81\x02hi\x82\x01x"), 7, 0, SERVER },
    { "ping, pong", S("\x89\x00\x8a\x03" "abc"), 7, 0, SERVER },
    { "126 bytes of payload have not come yet", S("\x82\x7e\x00\x7e"), 4, 0, SERVER },
    { "a client's with its mask", S("\x81\x82" M "hi"), 8, 0, CLIENT },
    { "a message in three parts, a ping between", S("\x01\x01" "a\x00\x01" "b\x89\x00\x80\x01" "c"), 11, 0, SERVER },
    { "an empty message in parts", S("\x02\x00\x80\x00"), 4, 0, SERVER },
    { "a close without a code", S("\x88\x00"), 2, 0, SERVER },
    { "a close with a code and a word", S("\x88\x05\x03\xe8" "bye"), 7, 0, SERVER },
    { "a close with a code of its own", S("\x88\x02\x0f\xa0"), 4, 0, SERVER },
    { "a pong behind a close", S("\x88\x00\x8a\x00"), 4, 0, SERVER },
    { "a client's close: 1000 under a mask", S("\x88\x82" M "\x02\xea"), 8, 0, CLIENT },
    { "a compressed message", S("\xc1\x01x\x41\x01" "a\x80\x01" "b"), 9, 0, DEFLATE },
    { "the largest frame", S("\x82\x7f\0\0\0\0\0\xff\xff\xf6"), 10, 0, SERVER },

    { "half a head is held", S("\x81\x02hi\x82\x7e\x01"), 4, 0, SERVER },
    { "a mask is held", S("\x81\x82\1\2\3"), 0, 0, CLIENT },
    { "a close's code is held", S("\x88\x02\x03"), 0, 0, SERVER },

    { "a client's without a mask", S("\x81\x02hi"), 0, 1002, CLIENT },
    { "a server's with one", S("\x81\x82" M "hi"), 0, 1002, SERVER },
    { "behind a good one", S("\x81\x02hi\x83\x00"), 4, 1002, SERVER },
    { "RSV1 without an extension", S("\xc1\x00"), 0, 1002, SERVER },
    { "RSV2", S("\xa1\x00"), 0, 1002, DEFLATE },
    { "RSV3", S("\x91\x00"), 0, 1002, DEFLATE },
    { "RSV1 of a later part", S("\x41\x00\xc0\x00"), 2, 1002, DEFLATE },
    { "RSV1 of a ping", S("\xc9\x00"), 0, 1002, DEFLATE },
    { "opcode 3", S("\x83\x00"), 0, 1002, SERVER },
    { "opcode 7", S("\x87\x00"), 0, 1002, SERVER },
    { "opcode 11", S("\x8b\x00"), 0, 1002, SERVER },
    { "opcode 15", S("\x8f\x00"), 0, 1002, SERVER },
    { "a later part of nothing", S("\x80\x00"), 0, 1002, SERVER },
    { "a message within a message", S("\x01\x00\x81\x00"), 2, 1002, SERVER },
    { "a ping in parts", S("\x09\x00"), 0, 1002, SERVER },
    { "a ping of 126 bytes", S("\x89\x7e\x00\x7e"), 0, 1002, SERVER },
    { "125 bytes said with 16 bits", S("\x82\x7e\x00\x7d"), 0, 1002, SERVER },
    { "65,535 bytes said with 64 bits", S("\x82\x7f\0\0\0\0\0\0\xff\xff"), 0, 1002, SERVER },
    { "a length with its highest bit", S("\x82\x7f\x80\0\0\0\0\0\0\0"), 0, 1002, SERVER },
    { "a close with half a code", S("\x88\x01\x03"), 0, 1002, SERVER },
    { "a close with code 999", S("\x88\x02\x03\xe7"), 0, 1002, SERVER },
    { "a close with code 1005", S("\x88\x02\x03\xed"), 0, 1002, SERVER },
    { "a close with code 1006", S("\x88\x02\x03\xee"), 0, 1002, SERVER },
    { "a close with code 2999", S("\x88\x02\x0b\xb7"), 0, 1002, SERVER },
    { "a close with code 5000", S("\x88\x02\x13\x88"), 0, 1002, SERVER },
    { "a client's close with code 0 under a mask", S("\x88\x82" M "\1\2"), 0, 1002, CLIENT },
    { "a text behind a close", S("\x88\x00\x81\x00"), 2, 1002, SERVER },
    { "a second close", S("\x88\x00\x88\x00"), 2, 1002, SERVER },
    { "HTTP", S("GET / HTTP/1.1\r\n"), 0, 1002, CLIENT },

    { "16 MiB", S("\x82\x7f\0\0\0\0\1\0\0\0"), 0, 1009, SERVER },
    { "16 MiB with its head", S("\x82\x7f\0\0\0\0\0\xff\xff\xf7"), 0, 1009, SERVER },
    { "the largest length", S("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"), 0, 1009, SERVER },
};

static struct sbx_frames new_frames(bool client, bool deflate)
{
    return (struct sbx_frames){ .masked = client, .first = deflate ? 0x40 : 0 };
}

/* Give bytes in two pieces. Returns how many went on; they are gathered in `out`. */
static size_t feed(struct sbx_frames *f, const char *data, size_t len, size_t cut, char *out)
{
    const size_t ends[2] = { cut, len };
    size_t from = 0, done = 0;

    for (size_t i = 0; i < 2; i++) {
        char *piece = malloc(SBX_FRAME_HEAD + len);
        size_t held, n;

        assert_non_null(piece);
        held = sbx_frames_resume(f, piece);
        memcpy(piece + held, data + from, ends[i] - from);
        n = sbx_frames_check(f, piece, held + ends[i] - from);
        assert_true(n <= held + ends[i] - from);
        memcpy(out + done, piece, n);
        done += n;
        from = ends[i];
        free(piece);
    }
    return done;
}

static void every_frame_is_judged_the_same_in_any_two_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];

        for (size_t cut = 0; cut <= r->len; cut++) {
            struct sbx_frames f = new_frames(r->of == CLIENT, r->of == DEFLATE);
            char out[64];
            size_t n = feed(&f, r->data, r->len, cut, out);

            if (n != r->passes || f.fault != r->fault || memcmp(out, r->data, n) != 0)
                fail_msg("%s, cut at %zu: %zu bytes, close %d", r->name, cut, n, (int)f.fault);
        }
    }
}

static void a_message_has_at_most_4096_frames(void **state)
{
    struct sbx_frames f = new_frames(false, false);

    (void)state;
    assert_int_equal(sbx_frames_check(&f, "\x01\x00", 2), 2);
    for (unsigned i = 1; i < SBX_GATE_FRAGMENTS; i++) {
        assert_int_equal(sbx_frames_check(&f, "\x00\x00", 2), 2);
        assert_int_equal(sbx_frames_check(&f, "\x89\x00", 2), 2); /* these do not count */
    }
    assert_int_equal(sbx_frames_check(&f, "\x80\x00", 2), 0);
    assert_int_equal(f.fault, SBX_FRAME_TOO_BIG);
}

static void the_next_message_is_counted_anew(void **state)
{
    struct sbx_frames f = new_frames(false, false);

    (void)state;
    for (unsigned message = 0; message < 3; message++) {
        assert_int_equal(sbx_frames_check(&f, "\x01\x00", 2), 2);
        for (unsigned i = 2; i < SBX_GATE_FRAGMENTS; i++)
            assert_int_equal(sbx_frames_check(&f, "\x00\x00", 2), 2);
        assert_int_equal(sbx_frames_check(&f, "\x80\x00", 2), 2);
    }
}

static void a_close_of_the_gate_is_a_frame_that_the_check_takes(void **state)
{
    char buf[SBX_FRAME_CLOSE_MAX];

    (void)state;
    for (unsigned client = 0; client < 2; client++) {
        struct sbx_frames f = new_frames(client, false);
        size_t n = sbx_frames_close(&f, SBX_FRAME_TOO_BIG, buf);

        assert_int_equal(n, client ? 8 : 4);
        assert_int_equal(sbx_frames_check(&f, buf, n), n);
        assert_true(f.closed);
    }
}

static void a_close_is_put_between_frames_only(void **state)
{
    struct sbx_frames f = new_frames(false, false);

    (void)state;
    assert_true(sbx_frames_between(&f));
    sbx_frames_check(&f, "\x81\x02h", 3);
    assert_false(sbx_frames_between(&f));
    sbx_frames_check(&f, "i\x81", 2); /* the part of a head is held: nobody has seen it */
    assert_true(sbx_frames_between(&f));
    sbx_frames_check(&f, "\x81\x00\x88\x00", 4);
    assert_false(sbx_frames_between(&f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_frame_is_judged_the_same_in_any_two_pieces),
        cmocka_unit_test(a_message_has_at_most_4096_frames),
        cmocka_unit_test(the_next_message_is_counted_anew),
        cmocka_unit_test(a_close_of_the_gate_is_a_frame_that_the_check_takes),
        cmocka_unit_test(a_close_is_put_between_frames_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
