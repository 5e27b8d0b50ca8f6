/**
 * @file
 * Rules of injection (docs/gate-config.md, 2, "inject"): to which host and port the gate adds which
 * header field, and which secret is its value. They also say what is intercepted: nothing else is.
 */
#ifndef SBX_GATE_INJECT_H
#define SBX_GATE_INJECT_H

#include <jansson.h>

#include "head.h"
#include "sbx/err.h"
#include "sbx/policy.h"

struct sbx_inject {
    struct sbx_host host;
    uint16_t port;
    char *header; /**< as it is sent by HTTP/1 */
    char *lower;  /**< as it is sent by HTTP/2 */
    char *secret; /**< the name of the value */
};

struct sbx_injects {
    struct sbx_inject *v; /**< sorted by host and port */
    size_t len;
};

/**
 * Parse the list; strict. `list` may be NULL: no rules.
 * @param ret the caller's also on failure: sbx_injects_release()
 * @return SBX_OK, SBX_SCHEMA, SBX_LIMIT or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_injects_parse(json_t *list, struct sbx_injects *ret,
                                             struct sbx_err *err);
void sbx_injects_release(struct sbx_injects *list);
/** The rules of one host and port, one behind another; *ret_len is 0 where there are none. */
const struct sbx_inject *sbx_injects_find(const struct sbx_injects *list, const char *host,
                                          uint16_t port, size_t *ret_len);
/** Do two lists of rules name the same headers and secrets? */
bool sbx_injects_equal(const struct sbx_inject *a, size_t na, const struct sbx_inject *b, size_t nb);
/** Is a field of the client one that a rule replaces? Case, '_' and '.' make no difference (GC D9). */
bool sbx_inject_strikes(const struct sbx_inject *rules, size_t n, struct sbx_slice name);
/** Is a text the name of a secret: letters, digits, '-', '_', '.', not first a '.', 1 to 64 bytes? */
bool sbx_secret_is_name(const char *text, size_t len);

#endif
