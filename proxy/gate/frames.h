/**
 * @file
 * Frames of a WebSocket (RFC 6455, 5), strict, one direction. Pure: bytes in, how many of them may go on.
 * Payloads pass unread and unkept; the head of a frame is held until it is whole and known to be right, so
 * a receiver never sees a part of a frame that is refused.
 *
 *     repeat:  n = sbx_frames_resume(f, buf);  read behind it;  sbx_frames_check(f, buf, n + what was read)
 */
#ifndef SBX_GATE_FRAMES_H
#define SBX_GATE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bounds.h"

#define SBX_FRAME_HEAD 14 /* bytes: two, a length of eight, a mask of four */
#define SBX_FRAME_CLOSE_MAX 8 /* bytes of a close frame with a code: two, a mask, the code */

/** Close codes that the gate says: RFC 6455, 7.4.1. */
enum sbx_frame_fault { SBX_FRAME_FINE = 0, SBX_FRAME_PROTOCOL = 1002, SBX_FRAME_TOO_BIG = 1009 };

struct sbx_frames {
    bool masked;         /**< a client's: every frame must be */
    unsigned char first, later; /**< RSV bits (0x70) of the first frame of a message, of others with data */
    bool open;           /**< in the middle of a message */
    bool closed;         /**< a close frame went on: no data may follow */
    unsigned fragments;  /**< of the message, so far */
    uint64_t left;       /**< bytes of the present frame that are still to come */
    enum sbx_frame_fault fault; /**< nothing goes on any more */
    size_t have;
    char head[SBX_FRAME_HEAD]; /**< the first `have` bytes of the next frame */
};

/** Put what is held back of a frame's head to `buf` (SBX_FRAME_HEAD bytes). Returns how much it is. */
size_t sbx_frames_resume(const struct sbx_frames *f, char *buf);
/**
 * Check bytes, what sbx_frames_resume() gave first.
 * @return how many of them may go on; the rest is held, or f->fault is set
 */
size_t sbx_frames_check(struct sbx_frames *f, const char *buf, size_t len);
/** May a control frame be put in behind what went on? Not within a frame, nor behind a close. */
bool sbx_frames_between(const struct sbx_frames *f);
/** A close frame for the receiver of this direction. Returns its length. */
size_t sbx_frames_close(const struct sbx_frames *f, enum sbx_frame_fault why,
                        char buf[SBX_FRAME_CLOSE_MAX]);

#endif
