/**
 * @file
 * Canonical JSON (RFC 8785) of jansson values: what plans, records and states are hashed over. And strings in and
 * out of jansson.
 */
#ifndef SBX_JSON_H
#define SBX_JSON_H

#include <jansson.h>

#include "sbx/arena.h"
#include "sbx/buf.h"

#define SBX_JSON_DEPTH_MAX 128 /* levels; ours are below 20, hostile ones end here */

/**
 * Append the canonical form: keys sorted by UTF-16 code units, no white space, numbers as
 * ECMAScript writes them.
 * On failure `out` is as it was.
 * @return SBX_OK, SBX_LIMIT, SBX_NO_MEMORY, or SBX_SCHEMA for what a JSON number cannot hold: NaN,
 *         infinity, an integer above 2^53 that would be read back as another one
 */
SBX_MUST_USE enum sbx_code sbx_json_canonical(const json_t *value, struct sbx_buf *out);

/** The string of a member; "" if there is none. It is the value's. */
const char *sbx_json_text_of(const json_t *object, const char *key);
/** An array of the strings of a NULL-ended list (NULL: of none), the caller's; NULL: no memory, or not UTF-8. */
json_t *sbx_json_strings(const char *const *list);
/** Copies of an array's strings, NULL-ended; NULL: no memory, or something in it is no string. No array gives none. */
const char *const *sbx_json_texts(const json_t *list, struct sbx_arena *arena);

static inline void sbx_json_auto_(json_t **p) { json_decref(*p); }
/** An owned json_t pointer: SBX_AUTO_JSON json_t *x = NULL; */
#define SBX_AUTO_JSON __attribute__((cleanup(sbx_json_auto_)))

#endif
