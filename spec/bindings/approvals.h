/* Inside spec/bindings: the entries of policy.yaml `approvals`. */
#ifndef SBX_BINDINGS_APPROVALS_H
#define SBX_BINDINGS_APPROVALS_H

#include "bindings_int.h"

struct sbx_raw_approval {
    struct sbx_origin at;
    const char *kit, *digest, *resource;
};

/** Of letters, digits, ".", "-", "_", "+", and neither empty nor longer than `max`: fit to be shown as it is. */
bool sbx_bindings_is_plain(const char *text, size_t max);
extern const struct sbx_block sbx_approval_block;
void sbx_approval_check(struct sbx_decoder *d, const struct sbx_raw_approval *a);
enum sbx_code sbx_approval_convert(const struct sbx_raw_approval *from, struct sbx_arena *arena,
                                   struct sbx_policy_approval *to);
/** As lines of the list. SBX_SCHEMA: not UTF-8. */
enum sbx_code sbx_approval_write(const struct sbx_policy_approval *a, struct sbx_buf *out);

#endif
