/**
 * @file
 * Text from outside on its way to a terminal or into JSON: file names, values and messages may hold
 * any bytes, and neither a terminal nor a JSON reader may be handed those.
 */
#ifndef SBX_TEXT_H
#define SBX_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "sbx/buf.h"

/**
 * Decode one code point of well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
 * @return bytes it takes, 1 to 4; 0: not UTF-8 here (or len is 0)
 */
size_t sbx_utf8_next(const char *text, size_t len, uint32_t *ret);
bool sbx_utf8_valid(const char *text, size_t len);

/**
 * Append `text` so that a terminal shows it and does nothing else: control characters (C0, DEL, C1)
 * become \\n, \\t, \\x1b ..., invalid bytes \\xff, and the characters that reorder text \\u202e.
 * @return SBX_OK, SBX_LIMIT or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_text_escape(struct sbx_buf *out, const char *text, size_t len);
/** Append `text` as valid UTF-8: only invalid bytes are written as \\xff. For JSON. */
SBX_MUST_USE enum sbx_code sbx_text_repair(struct sbx_buf *out, const char *text, size_t len);

#endif
