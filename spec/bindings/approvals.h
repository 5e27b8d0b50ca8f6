/* Inside spec/bindings: the entries of policy.yaml `approvals`. */
#ifndef SBX_BINDINGS_APPROVALS_H
#define SBX_BINDINGS_APPROVALS_H

#include "bindings_int.h"

struct sbx_raw_approval {
    struct sbx_origin at;
    const char *kit, *digest, *resource;
};

/** To find what is there twice: the first of equal ids is the first in the file. */
struct sbx_numbered {
    const char *id;
    size_t index;
};
int sbx_bindings_compare_ids(const void *a, const void *b); /**< of struct sbx_numbered, for qsort */
/** Of letters, digits, ".", "-", "_", "+", and neither empty nor longer than `max`: fit to be shown as it is. */
bool sbx_bindings_is_plain(const char *text, size_t max);
extern const struct sbx_block sbx_approval_block;
void sbx_approval_check(struct sbx_decoder *d, const struct sbx_raw_approval *a);
enum sbx_code sbx_approval_convert(const struct sbx_raw_approval *from, struct sbx_arena *arena,
                                   struct sbx_policy_approval *to);
/** The same one twice counts once, with a remark. SBX_OK or SBX_NO_MEMORY. */
enum sbx_code sbx_approvals_settle(struct sbx_policy_file *f, struct sbx_diags *diags);
/** As lines of the list. SBX_SCHEMA: not UTF-8. */
enum sbx_code sbx_approval_write(const struct sbx_policy_approval *a, struct sbx_buf *out);

#endif
