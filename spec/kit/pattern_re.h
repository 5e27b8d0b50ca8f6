/* Patterns of args: RE2's syntax and meaning (S11), checked and translated by re2.c, run by PCRE2. */
#ifndef SBX_KIT_PATTERN_RE_H
#define SBX_KIT_PATTERN_RE_H

#include "sbx/err.h"

#define SBX_RE_MAX 1000 /* bytes of a pattern, as RE2's own bound on repetition hints */

/* SBX_OK, SBX_SCHEMA (err says what is wrong with the pattern) or SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code sbx_re_check(const char *pattern, struct sbx_err *err);
/*
 * Does the whole value match? SBX_OK, SBX_CONFLICT (it does not), SBX_SCHEMA, SBX_LIMIT (matching
 * took too long), SBX_NO_MEMORY.
 */
SBX_MUST_USE enum sbx_code sbx_re_match(const char *pattern, const char *value, struct sbx_err *err);

#endif
