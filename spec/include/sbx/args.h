/**
 * @file
 * Values for the arguments that kits declare (`args:`), as the user gives them: on the command line
 * and in files. Loading a kit takes what is meant for it; afterwards a name that no kit declared is
 * an error of usage.
 *
 *     v = sbx_arg_values_new();
 *     sbx_arg_values_read(v, "team.args", &err);
 *     sbx_arg_values_add(v, "my-kit.version=1.20", &err);
 *     ... sbx_kit_load_with(path, &(struct sbx_kit_options){ .args = v }, ...);
 *     sbx_arg_values_finish(v, &err);
 *
 * Precedence (decision S25): the command line over files, a later file over an earlier one; within
 * one of these a value for one kit over a value for all, and then the later over the earlier.
 */
#ifndef SBX_ARGS_H
#define SBX_ARGS_H

#include "sbx/err.h"

#define SBX_ARG_VALUE_MAX 65536     /* bytes of one value; they are words, a certificate is 4 KiB */
#define SBX_ARG_VALUES_MAX 10000    /* values of one run */
#define SBX_ARGS_FILE_MAX 1048576   /* bytes of a --kit-args-file */

struct sbx_arg_values; /* opaque; not for several threads at once */

struct sbx_arg_values *sbx_arg_values_new(void); /**< NULL: no memory */
void sbx_arg_values_free(struct sbx_arg_values *v); /**< NULL is fine */
SBX_DEFINE_AUTO_PTR(sbx_arg_values, sbx_arg_values_free);

/**
 * Take `[KIT.]NAME=VALUE` of the command line.
 * @return SBX_OK, SBX_USAGE (no such form, not UTF-8), SBX_LIMIT, SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_arg_values_add(struct sbx_arg_values *v, const char *text,
                                              struct sbx_err *err);
/**
 * Take a file of lines `[KIT.]NAME=VALUE`; empty lines and those that begin with "#" are skipped, the
 * value is all behind the first "=", verbatim.
 * @return SBX_OK, SBX_USAGE (a line is of no such form), SBX_NOT_FOUND, SBX_IO, SBX_LIMIT,
 *         SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_arg_values_read(struct sbx_arg_values *v, const char *path,
                                               struct sbx_err *err);
/**
 * After all kits were loaded: was every value meant for an argument that some kit declares?
 * @return SBX_OK, or SBX_USAGE naming the first that was not, and the nearest that is declared
 */
SBX_MUST_USE enum sbx_code sbx_arg_values_finish(const struct sbx_arg_values *v,
                                                 struct sbx_err *err);

#endif
