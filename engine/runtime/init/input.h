/**
 * @file
 * Buffered input for records of a header line and counted bytes.
 */
#ifndef SBX_INIT_INPUT_H
#define SBX_INIT_INPUT_H

#include <stdint.h>

#include "sbx/err.h"

struct sbx_input {
    int fd;
    size_t at, len;
    char data[65536]; /* bytes; one read */
};

/** A line without its newline. SBX_NOT_FOUND: end of input; SBX_LIMIT; SBX_SYNTAX: no newline. */
SBX_MUST_USE enum sbx_code sbx_input_line(struct sbx_input *in, char *out, size_t size,
                                          struct sbx_err *err);
/**
 * The next `len` bytes to `to` (a descriptor; -1: nowhere). All are consumed even where writing
 * fails. SBX_SYNTAX: the input ends before.
 */
SBX_MUST_USE enum sbx_code sbx_input_copy(struct sbx_input *in, uint64_t len, int to,
                                          struct sbx_err *err);
/** Everything that is left. */
SBX_MUST_USE enum sbx_code sbx_input_copy_rest(struct sbx_input *in, int to, struct sbx_err *err);
/** The next `len` bytes, which must be fewer than `size`, as a string. */
SBX_MUST_USE enum sbx_code sbx_input_string(struct sbx_input *in, uint64_t len, char *out,
                                            size_t size, struct sbx_err *err);

#endif
