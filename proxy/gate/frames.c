/* Frames of a WebSocket. See frames.h. */
#include "frames.h"

#include <string.h>

enum { FIN = 0x80, RSV = 0x70, OPCODE = 0x0f, MASK = 0x80, LENGTH = 0x7f };
enum { CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PONG = 10, CONTROL = 8 };
enum { CONTROL_MAX = 125, LENGTH_16 = 126, LENGTH_64 = 127 };

size_t sbx_frames_resume(const struct sbx_frames *f, char *buf)
{
    memcpy(buf, f->head, f->have);
    return f->have;
}

static bool check_control(const struct sbx_frames *f, unsigned first, unsigned length)
{
    unsigned opcode = first & OPCODE;

    if (opcode > PONG || !(first & FIN) || (first & RSV) || length > CONTROL_MAX)
        return false;
    return opcode != CLOSE || (!f->closed && length != 1);
}

static bool check_data(const struct sbx_frames *f, unsigned first)
{
    unsigned opcode = first & OPCODE, rsv = opcode == CONTINUATION ? f->later : f->first;

    if (opcode > BINARY || f->closed || (first & RSV & ~rsv))
        return false;
    return f->open == (opcode == CONTINUATION);
}

/* The codes that may be sent: RFC 6455, 7.4, and those registered since. */
static bool is_close_code(unsigned code)
{
    return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
           (code >= 3000 && code <= 4999);
}

/* Where the length ends. */
static size_t length_end(unsigned second)
{
    unsigned length = second & LENGTH;

    return length == LENGTH_16 ? 4 : length == LENGTH_64 ? 10 : 2;
}

/* How many bytes the whole head has; a close frame's code is looked at with it. */
static size_t head_length(unsigned first, unsigned second)
{
    size_t n = length_end(second) + (second & MASK ? 4 : 0);

    return (first & OPCODE) == CLOSE && (second & LENGTH) ? n + 2 : n;
}

static uint64_t payload_length(const unsigned char *p)
{
    size_t end = length_end(p[1]);
    uint64_t value = end > 2 ? 0 : p[1] & LENGTH;

    for (size_t i = 2; i < end; i++)
        value = value << 8 | p[i];
    return value;
}

static enum sbx_frame_fault check_length(unsigned second, uint64_t length)
{
    unsigned said = second & LENGTH;
    size_t head = length_end(second) + (second & MASK ? 4 : 0);

    if ((said == LENGTH_16 && length < LENGTH_16) || (said == LENGTH_64 && length <= UINT16_MAX) ||
        length >> 63)
        return SBX_FRAME_PROTOCOL; /* a length has one form only */
    return length > SBX_GATE_FRAME_MAX - head ? SBX_FRAME_TOO_BIG : SBX_FRAME_FINE;
}

static bool check_close(const unsigned char *p, size_t head)
{
    const unsigned char *mask = p + head - 6, *code = p + head - 2;
    bool masked = p[1] & MASK;

    if ((p[0] & OPCODE) != CLOSE || !(p[1] & LENGTH))
        return true;
    return is_close_code((unsigned)(code[0] ^ (masked ? mask[0] : 0)) << 8 |
                         (unsigned)(code[1] ^ (masked ? mask[1] : 0)));
}

/* All that the two first bytes tell. */
static enum sbx_frame_fault check_first(const struct sbx_frames *f, const unsigned char *p)
{
    bool control = p[0] & CONTROL;

    if (f->masked != !!(p[1] & MASK) ||
        !(control ? check_control(f, p[0], p[1] & LENGTH) : check_data(f, p[0])))
        return SBX_FRAME_PROTOCOL;
    return !control && f->fragments >= SBX_GATE_FRAGMENTS ? SBX_FRAME_TOO_BIG : SBX_FRAME_FINE;
}

/* The head is right: the frame goes on. */
static void begin(struct sbx_frames *f, const unsigned char *p, uint64_t length)
{
    unsigned opcode = p[0] & OPCODE;

    f->left = opcode == CLOSE && length ? length - 2 : length;
    if (opcode == CLOSE)
        f->closed = true;
    if (opcode & CONTROL)
        return;
    f->open = !(p[0] & FIN);
    f->fragments = f->open ? f->fragments + 1 : 0;
}

/* Bytes of the next frame's head; 0: more are needed, or f->fault is set. */
static size_t take_head(struct sbx_frames *f, const unsigned char *p, size_t len)
{
    size_t head = len < 2 ? 2 : head_length(p[0], p[1]);
    uint64_t length;

    if (len < 2)
        return 0;
    f->fault = check_first(f, p);
    if (f->fault || len < length_end(p[1]))
        return 0;
    length = payload_length(p);
    f->fault = check_length(p[1], length);
    if (f->fault || len < head)
        return 0;
    if (!check_close(p, head))
        f->fault = SBX_FRAME_PROTOCOL;
    else
        begin(f, p, length);
    return f->fault ? 0 : head;
}

size_t sbx_frames_check(struct sbx_frames *f, const char *buf, size_t len)
{
    size_t at = 0, n;

    if (f->fault)
        return 0;
    f->have = 0;
    while (at < len) {
        n = f->left < len - at ? (size_t)f->left : len - at;
        f->left -= n;
        at += n;
        if (at == len)
            break;
        n = take_head(f, (const unsigned char *)buf + at, len - at);
        if (!n && !f->fault) {
            f->have = len - at;
            memcpy(f->head, buf + at, f->have);
        }
        if (!n)
            break;
        at += n;
    }
    return at;
}

bool sbx_frames_between(const struct sbx_frames *f)
{
    return !f->left && !f->closed;
}

size_t sbx_frames_close(const struct sbx_frames *f, enum sbx_frame_fault why,
                        char buf[SBX_FRAME_CLOSE_MAX])
{
    size_t n = 2;

    buf[0] = (char)(FIN | CLOSE);
    buf[1] = (char)(f->masked ? MASK | 2 : 2);
    for (unsigned i = 0; f->masked && i < 4; i++)
        buf[n++] = 0; /* the mask: there is nothing in the frame that somebody else has chosen */
    buf[n++] = (char)((unsigned)why >> 8);
    buf[n++] = (char)((unsigned)why & 0xff);
    return n;
}
