/**
 * @file
 * Inside spec/ref: one parser a kind. `text` is the whole reference; fields of `ret` are the arena's.
 */
#ifndef SBX_REF_INT_H
#define SBX_REF_INT_H

#include <stddef.h>

#include "sbx/ref.h"

#define GIT_SHA_LEN 40 /* hexadecimal digits of a commit; the seed names no other length */

enum sbx_code sbx_ref_git(const char *text, struct sbx_arena *a, struct sbx_ref *ret,
                          struct sbx_err *err);
/** @param rest `text` without oci:// */
enum sbx_code sbx_ref_oci(const char *rest, struct sbx_arena *a, struct sbx_ref *ret,
                          struct sbx_err *err);
/** @param rest `text` without oci-layout: */
enum sbx_code sbx_ref_layout(const char *rest, struct sbx_arena *a, struct sbx_ref *ret,
                             struct sbx_err *err);
/** Could the first path component of `text` be a registry: has a dot or port, or is localhost? */
bool sbx_ref_has_registry(const char *text);

/**
 * Join and clean two relative paths: no ".", no "//". NULL with *ret_escapes set when ".." leaves the
 * root, else NULL: no memory. The root itself is "".
 */
char *sbx_ref_join(struct sbx_arena *a, const char *dir, const char *path, bool *ret_escapes);

#endif
