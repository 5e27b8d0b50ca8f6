/**
 * @file
 * Inside spec/bindings: reading one file by a table. The decoder is that of the kit grammar.
 */
#ifndef SBX_BINDINGS_INT_H
#define SBX_BINDINGS_INT_H

#include "decode.h"
#include "sbx/bindings.h"

/**
 * The bytes of one of these files. SBX_NOT_FOUND: there is none. A link to nothing is an error: rules whose disk is
 * not there would not count, and the next command that writes would replace the link.
 */
enum sbx_code sbx_bindings_text(const char *path, struct sbx_buf *text, struct sbx_err *err);
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
/** sbx_bindings_read() of a text that was read before; `path` names it. */
enum sbx_code sbx_bindings_decode(const char *path, const struct sbx_buf *text,
                                  const struct sbx_block *block, void *base,
                                  void (*check)(struct sbx_decoder *d, void *base),
                                  struct sbx_arena *arena, struct sbx_diags *diags,
                                  struct sbx_err *err);
/** credentials.yaml from its text. */
enum sbx_code sbx_credentials_decode(const char *path, const struct sbx_buf *text,
                                     struct sbx_arena *arena, struct sbx_diags *diags,
                                     struct sbx_credentials *ret, struct sbx_err *err);
/** The whole file anew, behind `head`. */
enum sbx_code sbx_credentials_write(const struct sbx_credentials *c, const char *head,
                                    struct sbx_buf *out);
/** One binding or remembered choice as lines with this indentation. */
enum sbx_code sbx_credentials_write_one(const struct sbx_binding *b, unsigned indent,
                                        struct sbx_buf *out);
/** The section of remembered choices; nothing if there are none. */
enum sbx_code sbx_credentials_write_remembered(const struct sbx_credentials *c, struct sbx_buf *out);
/** A string in double quotes, as JSON and YAML both have it; SBX_SCHEMA: not UTF-8. */
enum sbx_code sbx_bindings_quote(const char *value, struct sbx_buf *out);
/** The lock of a file that is about to change; the directory is made. */
enum sbx_code sbx_bindings_lock(const char *path, int *ret, struct sbx_err *err);
/** Replace the file, through a link to it. */
enum sbx_code sbx_bindings_replace(const char *path, const struct sbx_buf *text,
                                   struct sbx_err *err);
const char *sbx_bindings_head(struct sbx_arena *arena, const char *text); /* comment lines at the top */
/** Report at the place where the value of a field was written; `key` as in the file. */
void sbx_bindings_report(struct sbx_decoder *d, enum sbx_severity severity, const void *field,
                         struct sbx_pos fallback, const char *key, const char *hint,
                         const char *fmt, ...) SBX_PRINTF(7, 8);
/** Is `value` one of the NULL-terminated words? Reports if not: "want a, b or c". */
bool sbx_bindings_word(struct sbx_decoder *d, const char *const *field, const char *key,
                       const char *const *words);

#endif
