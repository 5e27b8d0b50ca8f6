/**
 * @file
 * A growing byte buffer with a bound. Always NUL-terminated behind its last byte, so that `ptr` of
 * a buffer that ever held something is a C string too.
 */
#ifndef SBX_BUF_H
#define SBX_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "sbx/err.h"

struct sbx_buf {
    char *ptr; /**< NULL until the first byte */
    size_t len, cap;
    size_t max; /**< bytes it may hold; passing it is SBX_LIMIT */
};

#define SBX_BUF_INIT(max_bytes) { NULL, 0, 0, (max_bytes) }

/** Append; SBX_OK, SBX_LIMIT or SBX_NO_MEMORY. On failure the buffer is as it was. */
SBX_MUST_USE enum sbx_code sbx_buf_add(struct sbx_buf *b, const void *data, size_t len);
SBX_MUST_USE enum sbx_code sbx_buf_adds(struct sbx_buf *b, const char *text);
SBX_MUST_USE enum sbx_code sbx_buf_addf(struct sbx_buf *b, const char *fmt, ...) SBX_PRINTF(2, 3);
/** Make room for `len` more bytes behind the last and return the place; NULL: no memory or limit. */
char *sbx_buf_room(struct sbx_buf *b, size_t len);
/** Count `len` bytes that were written into the room as held. */
void sbx_buf_commit(struct sbx_buf *b, size_t len);
/** Drop the first `len` bytes. */
void sbx_buf_drop(struct sbx_buf *b, size_t len);
/** Keep the memory, forget the bytes. */
void sbx_buf_clear(struct sbx_buf *b);
/** Give the bytes away as a malloc'd C string ("" if empty); NULL: no memory. */
char *sbx_buf_take(struct sbx_buf *b);
void sbx_buf_release(struct sbx_buf *b);
SBX_DEFINE_AUTO(sbx_buf, sbx_buf_release);

#endif
