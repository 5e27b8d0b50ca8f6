/**
 * @file
 * Canonical JSON (RFC 8785) of jansson values: what plans, records and states are hashed over.
 */
#ifndef SBX_JSON_H
#define SBX_JSON_H

#include <jansson.h>

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

static inline void sbx_json_auto_(json_t **p) { json_decref(*p); }
/** An owned json_t pointer: SBX_AUTO_JSON json_t *x = NULL; */
#define SBX_AUTO_JSON __attribute__((cleanup(sbx_json_auto_)))

#endif
