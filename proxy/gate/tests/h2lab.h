/**
 * @file
 * A place to try HTTP/2 in: a real nghttp2 client and a real nghttp2 server with the gate's relay between
 * them, all in memory. Streams of both are told apart by the client's order: the first request is 0.
 */
#ifndef SBX_GATE_H2LAB_H
#define SBX_GATE_H2LAB_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdint.h>

#include "http.h"
#include "sbx/buf.h"

#define LAB_STREAMS 256
#define LAB_TEXT (1 << 20) /* bytes of a text that is kept */

/** What one side has seen of one stream; of the client and of the origin. */
struct lab_stream {
    int32_t id;
    struct sbx_buf head;     /**< "name: value\n" a field */
    struct sbx_buf trailers;
    struct sbx_buf body;     /**< what came */
    unsigned interim;        /**< 1xx heads */
    bool headed, ended, closed;
    bool secret;             /**< a field came as "never index" */
    uint32_t code;           /**< of the close */
    /* what goes out */
    size_t to_send;          /**< bytes of a body that are left; all are 'x' */
    bool hold;               /**< the body does not end yet */
    bool waits;
    const char *trailer;     /**< value of "x-trailer" behind the body */
};

struct lab_side {
    struct lab *lab;
    nghttp2_session *session;
    struct lab_stream streams[LAB_STREAMS];
    unsigned n;
    bool stalled;            /**< reads nothing */
    bool mute;               /**< sends nothing */
    bool goaway;
    uint32_t goaway_code;
    unsigned in_block;       /**< field lists begun */
};

struct lab {
    struct sbx_h2 *h;
    struct lab_side client, origin;
    uint64_t now_ms;
    bool refuse;             /**< judge() says 403 */
    unsigned judged;
    int running;             /**< requests that went on and are not over */
    struct sbx_http_over over; /**< the last one; method is not to be read */
    char over_method[40];
    struct sbx_buf log;      /**< "judge METHOD AUTHORITY HOST PATH\n", "fault STATUS REASON\n" */
    size_t spare;            /**< stock of windows */
};

void lab_open(struct lab *l);
void lab_open_raw(struct lab *l); /**< without a client: tests write its bytes */
void lab_close(struct lab *l);
/** Let bytes flow until nothing moves any more. */
void lab_run(struct lab *l);

/** A request for api.example.com. body: bytes, or -1: none. `extra`: name, value, ..., NULL; may be NULL. */
struct lab_stream *lab_ask(struct lab *l, const char *method, const char *path, const char *const *extra,
                           ssize_t body);
struct lab_stream *lab_ask_all(struct lab *l, const char *const *fields, ssize_t body, bool hold);
/** The origin replies to its stream number i. body: bytes, or -1: none. */
void lab_reply(struct lab *l, unsigned i, const char *status, const char *const *extra, ssize_t body,
               const char *trailer);
void lab_interim(struct lab *l, unsigned i, const char *status);
/** Let a body that is held go on by `n` bytes; `hold` says whether more follows. */
void lab_more(struct lab_side *side, struct lab_stream *s, size_t n, bool hold);
struct lab_stream *lab_by_id(struct lab_side *side, int32_t id);

/* Raw frames */
/** Append one frame. */
void raw_frame(struct sbx_buf *b, uint8_t type, uint8_t flags, uint32_t id, const void *payload,
               size_t len);
/** The client's magic and empty SETTINGS. */
void raw_hello(struct sbx_buf *b);
/** Give bytes to the relay as the client's. */
int raw_input(struct lab *l, const struct sbx_buf *b);

/** What the relay answered the client with. */
struct raw_answer {
    bool goaway;
    uint32_t goaway_code;
    unsigned resets;         /**< RST_STREAM frames */
    uint32_t reset_code;     /**< of the last one */
    unsigned heads, acks, pongs;
};
void raw_read(struct lab *l, struct raw_answer *ret);

/* GET https://api.example.com/ without the table of the encoder: literals, and static names. */
#define RAW_GET "\x82\x87\x84\x01\x0f" "api.example.com"
#define RAW_POST "\x83\x87\x84\x01\x0f" "api.example.com"
#define RAW_FRAME(b, type, flags, id, text) raw_frame(b, type, flags, id, text, sizeof(text) - 1)
#define RAW_END NGHTTP2_FLAG_END_HEADERS
#define RAW_ALL (NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM)

/** One that a test may use for itself, opened and closed around each LAB_CASE(). */
extern struct lab lab;
int lab_setup(void **state);
int lab_teardown(void **state);
#define LAB_CASE(f) cmocka_unit_test_setup_teardown(f, lab_setup, lab_teardown)
const char *lab_last_line(const struct sbx_buf *b);
void lab_has(const struct sbx_buf *b, const char *line);
void lab_has_not(const struct sbx_buf *b, const char *text);

#endif
