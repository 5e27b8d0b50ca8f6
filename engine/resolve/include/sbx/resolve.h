/**
 * @file
 * From what the user wrote to one composed artifact: references are classified, loaded, checked
 * against what is built, and composed. No network, no container. Decisions C4, C5, S24, S30.
 */
#ifndef SBX_RESOLVE_H
#define SBX_RESOLVE_H

#include "sbx/kit.h"

#define SBX_KITS_MAX 100 /* kits of one sandbox; a bound against mistakes, not a need */

struct sbx_resolve {
    const char *word;        /**< first positional of run, create or plan; NULL: none */
    const char *const *kits; /**< --kit, in order */
    size_t n_kits;
    const char *const *args; /**< --kit-arg */
    size_t n_args;
    const char *const *args_files; /**< --kit-args-file */
    size_t n_args_files;
};

/**
 * Find the base agent in any of its three ways (C4): `word` is a built-in name or the reference of a
 * sandbox kit, or one of `kits` is the sandbox kit. Then `word` may repeat that kit's name; any other
 * `word` is left to the caller as a path.
 *
 * @param diags    gathers every finding of every kit
 * @param ret      composed; the caller's: sbx_artifact_free()
 * @param ret_used is `word` the agent (or its name), not a path?
 * @return SBX_OK; SBX_USAGE (no agent, unknown name); SBX_NOT_FOUND (a path); SBX_UNSUPPORTED (what
 *         a kit uses is not built yet); SBX_SCHEMA, SBX_SYNTAX, SBX_CONFLICT (diags has the errors)
 */
SBX_MUST_USE enum sbx_code sbx_resolve(const struct sbx_resolve *r, struct sbx_diags *diags,
                                       struct sbx_artifact **ret, bool *ret_used,
                                       struct sbx_err *err);

/**
 * Load one kit by any reference, alone: `kit inspect`, `kit validate`. A name is a built-in kit; "-"
 * reads standard input; a file is a spec without files/.
 */
SBX_MUST_USE enum sbx_code sbx_resolve_load(const char *reference, struct sbx_diags *diags,
                                            struct sbx_artifact **ret, struct sbx_err *err);

/** Is this word the name of a built-in agent? */
bool sbx_resolve_is_agent(const char *word);

#endif
