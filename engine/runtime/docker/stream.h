/**
 * @file
 * The bytes of a hijacked connection: the head of the HTTP answer, then either raw bytes (TTY), the
 * Engine's multiplexed frames, or the body of an error. Pure parsers, fed in any pieces.
 */
#ifndef SBX_RUNTIME_DOCKER_STREAM_H
#define SBX_RUNTIME_DOCKER_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "sbx/buf.h"

#define DOCKER_HEAD_MAX 65536       /* bytes of an answer's head; the Engine sends some 200 */
#define DOCKER_ERROR_MAX 65536      /* bytes of an error's body; the rest is dropped */
#define DOCKER_FRAME_MAX (1u << 30) /* bytes of one frame; the Engine sends at most 32 KiB */

struct docker_head {
    struct sbx_buf text; /**< until its end was seen */
    bool done;
    int status;
    bool chunked;
    int64_t length; /**< Content-Length; -1: none */
};
#define DOCKER_HEAD_INIT                                                                           \
    {                                                                                              \
        SBX_BUF_INIT(DOCKER_HEAD_MAX), false, 0, false, -1                                         \
    }
/** Take what belongs to the head. SBX_OK, SBX_SYNTAX, SBX_LIMIT or SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code docker_head_feed(struct docker_head *h, const char *data, size_t len,
                                            size_t *ret_taken);
void docker_head_release(struct docker_head *h);
SBX_DEFINE_AUTO(docker_head, docker_head_release);

/** The body of an error answer: by length, in chunks, or to the connection's end. */
struct docker_body {
    int64_t left; /**< of the body (by length) or of this chunk; -1: to the end */
    bool chunked, done;
    int state; /**< of the chunk parser */
    struct sbx_buf text;
};
void docker_body_start(struct docker_body *b, const struct docker_head *h);
SBX_MUST_USE enum sbx_code docker_body_feed(struct docker_body *b, const char *data, size_t len);
void docker_body_release(struct docker_body *b);
SBX_DEFINE_AUTO(docker_body, docker_body_release);

/** Frames: one byte of stream (1 out, 2 err), three zero bytes, a big-endian length, the bytes. */
struct docker_demux {
    unsigned char head[8];
    size_t have;   /**< bytes of `head` */
    uint32_t left; /**< bytes of the frame to come */
};
#define DOCKER_DEMUX_INIT                                                                          \
    {                                                                                              \
        { 0 }, 0, 0                                                                                \
    }

/** A piece of one stream, borrowed from what was fed; stream 0: more input is needed. */
struct docker_piece {
    int stream; /**< 1 out, 2 err */
    const char *data;
    size_t len;
};
/**
 * Take the next piece. Call until `ret->stream` is 0.
 * @param ret_taken bytes of `data` that are done with
 * @return SBX_OK, or SBX_SYNTAX for what is no frame
 */
SBX_MUST_USE enum sbx_code docker_demux_next(struct docker_demux *d, const char *data, size_t len,
                                             size_t *ret_taken, struct docker_piece *ret);

#endif
