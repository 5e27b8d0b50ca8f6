/**
 * @file
 * Inside spec/bindings: reading one file by a table. The decoder is that of the kit grammar.
 */
#ifndef SBX_BINDINGS_INT_H
#define SBX_BINDINGS_INT_H

#include "decode.h"
#include "sbx/bindings.h"

/**
 * Read and decode a file into the struct at `base` by `block`, then run `check` over it.
 *
 * @param head  may be NULL; comment lines at the top, in arena
 * @param check adds errors to d->diags
 */
enum sbx_code sbx_bindings_read(const char *path, const struct sbx_block *block, void *base,
                                void (*check)(struct sbx_decoder *d, void *base),
                                struct sbx_arena *arena, const char **head, struct sbx_diags *diags,
                                struct sbx_err *err);
/** Report at the place where the value of a field was written; `key` as in the file. */
void sbx_bindings_report(struct sbx_decoder *d, enum sbx_severity severity, const void *field,
                         struct sbx_pos fallback, const char *key, const char *hint,
                         const char *fmt, ...) SBX_PRINTF(7, 8);
/** Is `value` one of the NULL-terminated words? Reports if not: "want a, b or c". */
bool sbx_bindings_word(struct sbx_decoder *d, const char *const *field, const char *key,
                       const char *const *words);

#endif
