#include "sbx/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FIRST_CAP 256 /* bytes; most buffers hold a line or a small document */

char *sbx_buf_room(struct sbx_buf *b, size_t len)
{
    size_t need, cap;
    char *grown;

    if (len > b->max || b->len > b->max - len || b->len + len > SIZE_MAX / 2 - 1)
        return NULL;
    need = b->len + len + 1;
    if (need <= b->cap)
        return b->ptr + b->len;
    cap = b->cap ? b->cap : FIRST_CAP;
    while (cap < need)
        cap *= 2;
    grown = realloc(b->ptr, cap);
    if (!grown)
        return NULL;
    b->ptr = grown;
    b->cap = cap;
    b->ptr[b->len] = '\0';
    return b->ptr + b->len;
}

void sbx_buf_commit(struct sbx_buf *b, size_t len)
{
    b->len += len;
    b->ptr[b->len] = '\0';
}

static enum sbx_code why_no_room(const struct sbx_buf *b, size_t len)
{
    return len > b->max || b->len > b->max - len ? SBX_LIMIT : SBX_NO_MEMORY;
}

enum sbx_code sbx_buf_add(struct sbx_buf *b, const void *data, size_t len)
{
    char *room = sbx_buf_room(b, len);

    if (!room)
        return why_no_room(b, len);
    if (len)
        memcpy(room, data, len);
    sbx_buf_commit(b, len);
    return SBX_OK;
}

enum sbx_code sbx_buf_adds(struct sbx_buf *b, const char *text)
{
    return sbx_buf_add(b, text, strlen(text));
}

enum sbx_code sbx_buf_addf(struct sbx_buf *b, const char *fmt, ...)
{
    va_list args;
    char *room;
    int len;

    va_start(args, fmt);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        return SBX_FAILED;
    room = sbx_buf_room(b, (size_t)len);
    if (!room)
        return why_no_room(b, (size_t)len);
    va_start(args, fmt);
    vsnprintf(room, (size_t)len + 1, fmt, args);
    va_end(args);
    sbx_buf_commit(b, (size_t)len);
    return SBX_OK;
}

void sbx_buf_drop(struct sbx_buf *b, size_t len)
{
    if (!len)
        return;
    memmove(b->ptr, b->ptr + len, b->len - len);
    b->len -= len;
    b->ptr[b->len] = '\0';
}

void sbx_buf_clear(struct sbx_buf *b)
{
    b->len = 0;
    if (b->ptr)
        b->ptr[0] = '\0';
}

char *sbx_buf_take(struct sbx_buf *b)
{
    char *text = b->ptr ? b->ptr : calloc(1, 1);

    b->ptr = NULL;
    b->len = b->cap = 0;
    return text;
}

void sbx_buf_release(struct sbx_buf *b)
{
    free(b->ptr);
    b->ptr = NULL;
    b->len = b->cap = 0;
}
