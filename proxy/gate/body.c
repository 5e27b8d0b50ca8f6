/* Framing of bodies. See body.h. */
#include "body.h"

#include <string.h>

enum chunk_state { SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER };

/* Digits only: no sign, no list, no blank inside. The top is 2^63-1 as any reader can hold it. */
static int parse_length(struct sbx_slice v, uint64_t *ret)
{
    uint64_t n = 0;

    if (!v.len || v.len > 19)
        return -1;
    for (size_t i = 0; i < v.len; i++) {
        if (v.ptr[i] < '0' || v.ptr[i] > '9')
            return -1;
        n = n * 10 + (uint64_t)(v.ptr[i] - '0');
    }
    if (n > INT64_MAX)
        return -1;
    *ret = n;
    return 0;
}

/* What the head says about its body, before the meaning of methods and statuses. */
static int declared(const struct sbx_head *h, struct sbx_body *b, struct sbx_fault *f)
{
    unsigned lengths = 0, codings = 0;

    memset(b, 0, sizeof(*b));
    b->trailers.max = SBX_GATE_TRAILERS_MAX;
    for (unsigned i = 0; i < h->nfields; i++) {
        const struct sbx_field_line *field = &h->fields[i];

        if (field->id == SBX_FIELD_CONTENT_LENGTH) {
            if (lengths++ || parse_length(field->value, &b->length))
                return sbx_refuse(f, 400, "bad-content-length");
        } else if (field->id == SBX_FIELD_TRANSFER_ENCODING) {
            if (codings++ || h->minor == 0)
                return sbx_refuse(f, 400, "bad-transfer-encoding");
            if (!sbx_slice_is_nocase(field->value, "chunked"))
                return sbx_refuse(f, 501, "bad-transfer-encoding");
        }
    }
    if (lengths && codings)
        return sbx_refuse(f, 400, "length-and-chunked");
    b->kind = codings ? SBX_BODY_CHUNKED : lengths ? SBX_BODY_LENGTH : SBX_BODY_NONE;
    b->left = b->length;
    return 0;
}

static void settle(struct sbx_body *b)
{
    if (b->kind == SBX_BODY_LENGTH) {
        b->done = b->left == 0;
    } else if (b->kind == SBX_BODY_NONE) {
        b->done = true;
    } else {
        b->left = 0;
    }
}

int sbx_frame_request(const struct sbx_head *h, struct sbx_body *ret, struct sbx_fault *f)
{
    if (declared(h, ret, f))
        return -1;
    settle(ret);
    return 0;
}

int sbx_frame_reply(const struct sbx_head *h, bool to_head, struct sbx_body *ret,
                    struct sbx_fault *f)
{
    bool declares;

    if (declared(h, ret, f))
        return sbx_refuse(f, 502, "bad-reply");
    declares = ret->kind == SBX_BODY_CHUNKED || ret->length > 0;
    if ((h->status / 100 == 1 || h->status == 204) && declares)
        return sbx_refuse(f, 502, "bad-reply");
    if (to_head || h->status / 100 == 1 || h->status == 204 || h->status == 304) {
        ret->kind = SBX_BODY_NONE;
        ret->left = 0;
    } else if (ret->kind == SBX_BODY_NONE) {
        ret->kind = SBX_BODY_UNTIL_CLOSE;
    }
    settle(ret);
    return 0;
}

void sbx_body_release(struct sbx_body *b)
{
    sbx_buf_release(&b->trailers);
}

static int hex(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int step_size(struct sbx_body *b, unsigned char c)
{
    int digit = hex(c);

    if (digit >= 0) {
        if (b->left >> 58 || ++b->counted > 16)
            return -1;
        b->left = b->left * 16 + (unsigned)digit;
        return 0;
    }
    if (!b->counted)
        return -1;
    if (c == ';')
        b->state = EXTENSION;
    else if (c == '\r')
        b->state = SIZE_LF;
    else
        return -1;
    return 0;
}

static int step_extension(struct sbx_body *b, unsigned char c)
{
    if (++b->counted > SBX_GATE_CHUNK_LINE_MAX)
        return -1;
    if (c == '\r')
        b->state = SIZE_LF;
    else if ((c < 0x20 && c != '\t') || c == 0x7f)
        return -1;
    return 0;
}

static int step_trailer(struct sbx_body *b, unsigned char c)
{
    char byte = (char)c;

    if (sbx_buf_add(&b->trailers, &byte, 1))
        return -1;
    b->counted++;
    if (c != '\n')
        return 0;
    if (b->counted < 2 || b->trailers.ptr[b->trailers.len - 2] != '\r')
        return -1;
    if (b->counted == 2)
        b->done = true;
    b->counted = 0;
    return 0;
}

/* One byte that is not data. */
static int step(struct sbx_body *b, unsigned char c)
{
    switch ((enum chunk_state)b->state) {
    case SIZE:
        return step_size(b, c);
    case EXTENSION:
        return step_extension(b, c);
    case SIZE_LF:
        b->counted = 0;
        b->state = b->left ? DATA : TRAILER;
        return c == '\n' ? 0 : -1;
    case DATA_CR:
        b->state = DATA_LF;
        return c == '\r' ? 0 : -1;
    case DATA_LF:
        b->state = SIZE;
        b->counted = 0;
        return c == '\n' ? 0 : -1;
    case TRAILER:
        return step_trailer(b, c);
    case DATA:
        break;
    }
    return -1;
}

static ssize_t decode_chunked(struct sbx_body *b, char *buf, size_t len, size_t *ret_used)
{
    size_t in = 0, out = 0;

    while (in < len && !b->done) {
        if (b->state == DATA) {
            size_t n = len - in < b->left ? len - in : (size_t)b->left;

            memmove(buf + out, buf + in, n);
            in += n;
            out += n;
            b->left -= n;
            if (!b->left)
                b->state = DATA_CR;
        } else if (step(b, (unsigned char)buf[in++])) {
            return -1;
        }
    }
    *ret_used = in;
    return (ssize_t)out;
}

ssize_t sbx_body_decode(struct sbx_body *b, char *buf, size_t len, size_t *ret_used)
{
    size_t n = len;

    switch (b->kind) {
    case SBX_BODY_CHUNKED:
        return decode_chunked(b, buf, len, ret_used);
    case SBX_BODY_LENGTH:
        if (n > b->left)
            n = (size_t)b->left;
        b->left -= n;
        b->done = b->left == 0;
        break;
    case SBX_BODY_NONE:
        n = 0;
        break;
    case SBX_BODY_UNTIL_CLOSE:
        break;
    }
    *ret_used = n;
    return (ssize_t)n;
}
