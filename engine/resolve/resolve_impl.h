/* Shared by the files of this folder. */
#ifndef SBX_RESOLVE_IMPL_H
#define SBX_RESOLVE_IMPL_H

#include "sbx/ref.h"
#include "sbx/resolve.h"

/** SBX_OK, or SBX_UNSUPPORTED naming what is not built yet (unbuilt.c has the one table). */
SBX_MUST_USE enum sbx_code sbx_unbuilt_ref(const struct sbx_ref *ref, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_unbuilt_kit(const struct sbx_artifact *a, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_unbuilt_options(const struct sbx_resolve *r, struct sbx_err *err);

/**
 * Load a kit for a composition: directories and built-in names; refuses what is not built.
 * @param label what the reference was given as, for messages: "agent", "--kit"
 */
SBX_MUST_USE enum sbx_code sbx_load_for_use(const char *reference, const char *label,
                                            struct sbx_diags *diags, struct sbx_artifact **ret,
                                            struct sbx_err *err);

/** Digest of the built-in kit of this name, kept in `arena`; NULL: none (sbx_builtin_digest_fn). */
const char *sbx_builtin_digest(const char *name, void *arena);

#endif
