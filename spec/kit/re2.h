/* From RE2's syntax (as Go's regexp reads it) to a PCRE2 pattern of the same meaning, inside (re2*.c). */
#ifndef SBX_KIT_RE2_H
#define SBX_KIT_RE2_H

#include <stdbool.h>
#include <stdint.h>

#include "sbx/buf.h"

enum { RE2_FOLD = 1, RE2_MULTI = 2, RE2_DOT_ALL = 4 };

struct re2 {
    const char *at; /* what was not read yet */
    struct sbx_buf *out;
    struct sbx_err *err;
    unsigned flags;
};

/* SBX_SCHEMA with "not an RE2 pattern: ..." */
SBX_MUST_USE enum sbx_code sbx_re2_fail(struct re2 *p, const char *why);
/*
 * Behind a backslash: one code point (octal, hexadecimal, control, punctuation), p->at behind it;
 * SBX_SCHEMA for anything that is no character of its own.
 */
SBX_MUST_USE enum sbx_code sbx_re2_escaped(struct re2 *p, uint32_t *ret);
/* At a backslash: \d \s \w \p and the like into `out`, as a member of a class; false: none of these. */
SBX_MUST_USE enum sbx_code sbx_re2_set(struct re2 *p, bool in_class, bool *ret_found);
SBX_MUST_USE enum sbx_code sbx_re2_class(struct re2 *p); /* at "[" */
SBX_MUST_USE enum sbx_code sbx_re2_literal(struct re2 *p, uint32_t c);
/* The next code point of the pattern. */
SBX_MUST_USE enum sbx_code sbx_re2_next(struct re2 *p, uint32_t *ret);
bool sbx_re2_is_category(const char *name, size_t len); /* "L", "Lu", "Any" */
bool sbx_re2_is_script(const char *name, size_t len);   /* "Greek" */

/*
 * Check the whole pattern against the grammar and translate it. Only the answer "does the whole value
 * match" is kept: groups lose their names and numbers, laziness has no effect.
 */
SBX_MUST_USE enum sbx_code sbx_re2_translate(const char *pattern, struct sbx_buf *out,
                                             struct sbx_err *err);

#endif
