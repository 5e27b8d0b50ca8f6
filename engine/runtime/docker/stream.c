#include "stream.h"

#include <string.h>
#include <strings.h>

/* ---- the head ---- */

static enum sbx_code parse_line(struct docker_head *h, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    const char *value;
    size_t key;

    if (!colon || colon == line)
        return SBX_SYNTAX;
    key = (size_t)(colon - line);
    for (value = colon + 1; value < line + len && (*value == ' ' || *value == '\t'); value++)
        ;
    len -= (size_t)(value - line);
    if (key == 14 && strncasecmp(line, "Content-Length", 14) == 0) {
        if (!len || len > 15 || strspn(value, "0123456789") < len) /* 15 digits fit an int64 */
            return SBX_SYNTAX;
        h->length = strtoll(value, NULL, 10);
    }
    if (key == 17 && strncasecmp(line, "Transfer-Encoding", 17) == 0)
        h->chunked = len == 7 && strncasecmp(value, "chunked", 7) == 0;
    return SBX_OK;
}

static enum sbx_code parse_head(struct docker_head *h)
{
    const char *p = h->text.ptr, *end = p + h->text.len, *eol;

    if (memchr(p, '\0', h->text.len))
        return SBX_SYNTAX;
    if (h->text.len < 14 || strncmp(p, "HTTP/1.", 7) != 0 || p[8] != ' ' ||
        strspn(p + 9, "0123456789") != 3)
        return SBX_SYNTAX;
    h->status = atoi(p + 9);
    for (p = strstr(p, "\r\n") + 2; p < end; p = eol + 2) {
        enum sbx_code rc;

        eol = strstr(p, "\r\n");
        if (eol == p)
            break;
        rc = parse_line(h, p, (size_t)(eol - p));
        if (rc)
            return rc;
    }
    h->done = true;
    return SBX_OK;
}

enum sbx_code docker_head_feed(struct docker_head *h, const char *data, size_t len,
                               size_t *ret_taken)
{
    size_t before = h->text.len, from = before > 3 ? before - 3 : 0;
    const char *end;
    enum sbx_code rc = sbx_buf_add(&h->text, data,
                                   len < DOCKER_HEAD_MAX - before ? len : DOCKER_HEAD_MAX - before);

    *ret_taken = 0;
    if (rc)
        return rc;
    end = h->text.len ? memmem(h->text.ptr + from, h->text.len - from, "\r\n\r\n", 4) : NULL;
    if (!end) {
        *ret_taken = h->text.len - before;
        return h->text.len == DOCKER_HEAD_MAX ? SBX_LIMIT : SBX_OK;
    }
    h->text.len = (size_t)(end + 4 - h->text.ptr);
    h->text.ptr[h->text.len] = '\0';
    *ret_taken = h->text.len - before;
    return parse_head(h);
}

void docker_head_release(struct docker_head *h) { sbx_buf_release(&h->text); }

/* ---- an error's body ---- */

enum { CHUNK_SIZE, CHUNK_EXT, CHUNK_DATA, CHUNK_AFTER, CHUNK_TRAILER };

void docker_body_start(struct docker_body *b, const struct docker_head *h)
{
    *b = (struct docker_body){ .left = h->chunked ? 0 : h->length,
                               .chunked = h->chunked,
                               .text = SBX_BUF_INIT(DOCKER_ERROR_MAX) };
    b->done = !b->chunked && b->left == 0;
}

/* Past the bound the rest of a message says nothing more. */
static enum sbx_code keep(struct docker_body *b, const char *data, size_t len)
{
    size_t room = DOCKER_ERROR_MAX - b->text.len;

    return sbx_buf_add(&b->text, data, len < room ? len : room);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One byte of what stands around the chunks' data. */
static enum sbx_code chunk_byte(struct docker_body *b, char c)
{
    if (b->state == CHUNK_SIZE && digit(c) >= 0) {
        if (b->left > INT64_MAX / 32)
            return SBX_SYNTAX;
        b->left = b->left * 16 + digit(c);
    } else if (b->state == CHUNK_SIZE || b->state == CHUNK_EXT) {
        b->state = CHUNK_EXT;
        if (c == '\n')
            b->state = b->left ? CHUNK_DATA : CHUNK_TRAILER;
    } else if (c == '\n') {
        b->done = b->state == CHUNK_TRAILER; /* trailers are not awaited: nobody reads them */
        b->state = CHUNK_SIZE;
    }
    return SBX_OK;
}

enum sbx_code docker_body_feed(struct docker_body *b, const char *data, size_t len)
{
    while (len && !b->done) {
        bool plain = !b->chunked || b->state == CHUNK_DATA;
        size_t n = plain && b->left >= 0 && (uint64_t)b->left < len ? (size_t)b->left : len;
        enum sbx_code rc;

        if (plain) {
            rc = keep(b, data, n);
            if (b->left >= 0)
                b->left -= (int64_t)n;
            if (b->left == 0 && b->chunked)
                b->state = CHUNK_AFTER;
            else if (b->left == 0)
                b->done = true;
        } else {
            n = 1;
            rc = chunk_byte(b, *data);
        }
        if (rc)
            return rc;
        data += n;
        len -= n;
    }
    return SBX_OK;
}

void docker_body_release(struct docker_body *b) { sbx_buf_release(&b->text); }

/* ---- frames ---- */

enum sbx_code docker_demux_next(struct docker_demux *d, const char *data, size_t len,
                                size_t *ret_taken, struct docker_piece *ret)
{
    size_t n;

    *ret = (struct docker_piece){ 0, NULL, 0 };
    *ret_taken = 0;
    while (!d->left) { /* an empty frame is followed by the next head */
        n = sizeof(d->head) - d->have;
        if (n > len)
            n = len;
        if (n)
            memcpy(d->head + d->have, data, n);
        d->have += n;
        *ret_taken += n;
        data += n;
        len -= n;
        if (d->have < sizeof(d->head))
            return SBX_OK;
        if (d->head[0] > 2 || d->head[1] || d->head[2] || d->head[3])
            return SBX_SYNTAX;
        d->left = (uint32_t)d->head[4] << 24 | (uint32_t)d->head[5] << 16 |
                  (uint32_t)d->head[6] << 8 | d->head[7];
        if (d->left > DOCKER_FRAME_MAX)
            return SBX_SYNTAX;
        d->have = 0;
    }
    if (!len)
        return SBX_OK;
    n = len < d->left ? len : d->left;
    d->left -= (uint32_t)n;
    /* stream 0 (stdin) is never sent; podman uses it for nothing either: count it as out */
    *ret = (struct docker_piece){ d->head[0] == 2 ? 2 : 1, data, n };
    *ret_taken += n;
    return SBX_OK;
}
