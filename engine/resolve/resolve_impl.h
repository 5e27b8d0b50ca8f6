/* Shared by the files of this folder. */
#ifndef SBX_RESOLVE_IMPL_H
#define SBX_RESOLVE_IMPL_H

#include "sbx/ref.h"
#include "sbx/resolve.h"

/** Is there a spec.yaml or spec.yml in it? */
bool sbx_has_spec(const char *dir);
/** `kit inspect` and its like take a file, and a directory with a slash in its name, without "./". */
bool sbx_is_path_here(const char *reference);
bool sbx_is_sandbox(const struct sbx_artifact *a); /**< a sandbox kit, not a mixin */

/** Where a loaded kit came from: what its own relative references count from. */
struct sbx_loaded {
    const char *file; /**< its spec, as positions name it */
    struct sbx_ref ref;
};

/** What all kits of one composition are loaded with. */
struct sbx_loader {
    struct sbx_kit_options options;
    const struct sbx_remote *remote; /**< NULL: remote references are refused by name */
    struct sbx_arena *arena;         /**< of all below, and of digests of built-in kits */
    bool here_only;                  /**< what kits name elsewhere is not fetched, only noted */
    bool met_elsewhere;              /**< there was such a kit */
    struct sbx_loaded *kits;
    size_t n_kits, cap;
};

/**
 * Load a kit for a composition.
 * @param label what the reference was given as, for messages: "agent", "--kit"
 */
SBX_MUST_USE enum sbx_code sbx_load_for_use(struct sbx_loader *l, const char *reference,
                                            const char *label, struct sbx_diags *diags,
                                            struct sbx_artifact **ret, struct sbx_err *err);
/** The same for what a kit names in extends or mixins (sbx_kit_fetch_fn; data: struct sbx_loader). */
SBX_MUST_USE enum sbx_code sbx_load_for_kit(void *loader, const char *reference,
                                            struct sbx_origin at, struct sbx_diags *diags,
                                            struct sbx_artifact **ret, struct sbx_err *err);

/** What this kit names by relative paths is looked for beside it. `a` need not stay. */
SBX_MUST_USE enum sbx_code sbx_load_remember(struct sbx_loader *l, const struct sbx_artifact *a,
                                             const struct sbx_ref *ref, struct sbx_err *err);

/** Digest of the built-in kit of this name; NULL: none (sbx_builtin_digest_fn; data: the loader). */
const char *sbx_builtin_digest(const char *name, void *loader);

#endif
