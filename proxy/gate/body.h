/**
 * @file
 * Bodies of HTTP/1 messages: which framing a head declares (RFC 9112, 6.3, without its
 * leniencies), and a decoder that takes bytes in any pieces.
 */
#ifndef SBX_GATE_BODY_H
#define SBX_GATE_BODY_H

#include "head.h"
#include "sbx/buf.h"

enum sbx_body_kind { SBX_BODY_NONE, SBX_BODY_LENGTH, SBX_BODY_CHUNKED, SBX_BODY_UNTIL_CLOSE };

struct sbx_body {
    enum sbx_body_kind kind;
    uint64_t length;  /**< as declared; SBX_BODY_LENGTH */
    uint64_t left;    /**< bytes of the body or of the current chunk still to come */
    unsigned state;   /**< of the chunk reader */
    unsigned counted; /**< bytes of the current chunk line, or of the current trailer line */
    bool done;        /**< the body has ended; SBX_BODY_UNTIL_CLOSE never does by itself */
    struct sbx_buf trailers; /**< field lines behind the last chunk, with the empty line */
};

/** The framing of a request. 0, or -1 with f set. `ret` is released with sbx_body_release(). */
int sbx_frame_request(const struct sbx_head *h, struct sbx_body *ret, struct sbx_fault *f);
/** The framing of a reply to a request that was, or was not, HEAD. */
int sbx_frame_reply(const struct sbx_head *h, bool to_head, struct sbx_body *ret,
                    struct sbx_fault *f);
void sbx_body_release(struct sbx_body *b);

/**
 * Decode bytes in place: the data of the body moves to the front of `buf`.
 * @param ret_used bytes taken from `buf`; less than `len` only when the body is done
 * @return bytes of data, or -1: the framing is broken
 */
ssize_t sbx_body_decode(struct sbx_body *b, char *buf, size_t len, size_t *ret_used);

#endif
