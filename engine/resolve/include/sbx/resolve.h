/**
 * @file
 * From what the user wrote to one composed artifact: references are classified, loaded, checked
 * against what is built, and composed. No network, no container. Decisions C4, C5, S24, S30.
 */
#ifndef SBX_RESOLVE_H
#define SBX_RESOLVE_H

#include "sbx/kit.h"
#include "sbx/ref.h"

#define SBX_KITS_MAX 100 /* kits of one sandbox; a bound against mistakes, not a need */

/** Brings kits from elsewhere; filled in by whoever fetches. */
struct sbx_remote {
    void *data;
    /**
     * Load the kit that an immutable git or registry reference names.
     * @param options as sbx_kit_load_with() takes them
     */
    enum sbx_code (*load)(void *data, const struct sbx_ref *ref,
                          const struct sbx_kit_options *options, struct sbx_diags *diags,
                          struct sbx_artifact **ret, struct sbx_err *err);
    /**
     * What a reference that can move leads to now: the one to write instead, in arena. NULL: nobody knows.
     * @param hurry it only makes a message better: give up after 3 s
     */
    enum sbx_code (*look)(void *data, const struct sbx_ref *ref, bool hurry,
                          struct sbx_arena *arena, const char **ret, struct sbx_err *err);
};
/** SBX_OK, or SBX_SCHEMA with the immutable reference to write, looked up where it can be (C5, C11). */
SBX_MUST_USE enum sbx_code sbx_remote_require_immutable(const struct sbx_remote *remote,
                                                        const struct sbx_ref *ref,
                                                        struct sbx_arena *arena,
                                                        struct sbx_err *err);

/** What a command takes kits and values from. */
struct sbx_resolve {
    const char *word;        /**< first positional of run, create or plan; NULL: none */
    const char *const *kits; /**< --kit, in order */
    size_t n_kits;
    const char *const *args; /**< --kit-arg */
    size_t n_args;
    const char *const *args_files; /**< --kit-args-file */
    size_t n_args_files;
    bool any_args; /**< values that no kit declares are no error: they are for other kits of the run */
    const struct sbx_remote *remote; /**< NULL: remote references are refused by name */
};

/**
 * Find the base agent in any of its three ways (C4): `word` is a built-in name or the reference of a
 * sandbox kit, or one of `kits` is the sandbox kit. Then `word` may repeat that kit's name; any other
 * `word` is left to the caller as a path. What the base extends and the mixins it names are loaded and
 * merged too, arguments are filled in.
 *
 * @param diags    gathers every finding of every kit
 * @param ret      composed; the caller's: sbx_artifact_free()
 * @param ret_used is `word` the agent (or its name), not a path?
 * @return SBX_OK; SBX_USAGE (no agent, unknown name, a value that no kit declares); SBX_NOT_FOUND (a path); SBX_UNSUPPORTED (no
 *         place for a cache); SBX_SCHEMA, SBX_SYNTAX, SBX_CONFLICT (diags has the errors)
 */
SBX_MUST_USE enum sbx_code sbx_resolve(const struct sbx_resolve *r, struct sbx_diags *diags,
                                       struct sbx_artifact **ret, bool *ret_used,
                                       struct sbx_err *err);

/**
 * A kit as the user of `kit validate` and its like names it: "my-kit" is the directory of that name where it has a
 * spec, as for `kit push`; what --kit, extends and mixins take is "./my-kit". In arena or `word` itself; NULL: no memory.
 */
const char *sbx_resolve_word(const char *word, struct sbx_arena *arena);
/**
 * Load one kit by any reference, alone: `kit inspect`, `kit validate`. A name is a built-in kit; "-"
 * reads standard input; a file is a spec without files/. Nothing is merged.
 *
 * @param r      remote; word and kits are not looked at
 * @param values NULL: arguments are not filled in
 */
SBX_MUST_USE enum sbx_code sbx_resolve_load(const struct sbx_resolve *r, const char *reference,
                                            struct sbx_arg_values *values, struct sbx_diags *diags,
                                            struct sbx_artifact **ret, struct sbx_err *err);
/**
 * Can what a sandbox kit names in extends and mixins be had, and be merged with it? Built-in kits and directories are
 * loaded, without their arguments; of kits elsewhere only the spelling is checked, with a note. Nothing for a mixin.
 *
 * @param reference the kit's, as sbx_resolve_load() took it
 * @return SBX_OK; else what stands in the way (diags has the errors)
 */
SBX_MUST_USE enum sbx_code sbx_resolve_named(const struct sbx_resolve *r, const char *reference,
                                             const struct sbx_artifact *a, struct sbx_diags *diags,
                                             struct sbx_err *err);
/** The values of r->args and r->args_files; the caller's: sbx_arg_values_free(). */
SBX_MUST_USE enum sbx_code sbx_resolve_values(const struct sbx_resolve *r,
                                              struct sbx_arg_values **ret, struct sbx_err *err);

/** Is this word the name of a built-in agent? */
bool sbx_resolve_is_agent(const char *word);

#endif
