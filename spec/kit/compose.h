/* Inside composition: the artifact under construction, copies of elements, merges of sections. */
#ifndef SBX_KIT_COMPOSE_H
#define SBX_KIT_COMPOSE_H

#include "load.h"
#include "sbx/kit.h"

struct sbx_composer {
    struct sbx_artifact *out;
    bool extends; /* two sandbox kits, the parent first: the rules of `extends` */
    const struct sbx_artifact *const *kits; /* base first */
    size_t n;
    const struct sbx_compose_opts *opts; /* never NULL */
    const char *const *references; /* parallel to kits; NULL: none */
    struct sbx_places *places; /* of out, while it grows */
    struct sbx_diags *diags;
    bool conflict;  /* a finding is about two kits, not one */
    bool no_memory; /* sticks: looked at once at the end */
    const char *file_from, *file_to; /* the file name last copied: most elements share it */
};

/* Copies into the arena of `out` (compose_copy.c). */
const char *sbx_copy_text(struct sbx_composer *c, const char *text);
struct sbx_origin sbx_copy_origin(struct sbx_composer *c, struct sbx_origin at);
struct sbx_strs sbx_copy_strs(struct sbx_composer *c, const struct sbx_strs *from);
struct sbx_pairs sbx_copy_pairs(struct sbx_composer *c, const struct sbx_pairs *from);
struct sbx_credential sbx_copy_credential(struct sbx_composer *c, const struct sbx_credential *from);
struct sbx_volume sbx_copy_volume(struct sbx_composer *c, const struct sbx_volume *from);
struct sbx_static_file sbx_copy_file(struct sbx_composer *c, const struct sbx_static_file *from);
void *sbx_copy_array(struct sbx_composer *c, size_t n, size_t size); /* NULL with no_memory, or n 0 */

/* An element of a list that is united by a key, in the order of the kits. */
struct sbx_keyed {
    const char *key;
    const void *element;
    size_t kit, index; /* where it stands */
    size_t order, first, last; /* its number, and those of the first and last with this key */
};
/*
 * All kits' elements of one list, grouped by key in n log n, since a kit may bring 100,000. `list` gives
 * a kit's i-th element and its key, NULL past the end. NULL: no memory (set), or *ret_n is 0.
 */
typedef const void *sbx_list_fn(const struct sbx_artifact *a, size_t i, const char **ret_key);
struct sbx_keyed *sbx_compose_group(struct sbx_composer *c, sbx_list_fn *list, size_t *ret_n);

/* Copy where the field of a kit was written, for the field of `out` (compose_base.c). */
void sbx_copy_place(struct sbx_composer *c, const struct sbx_artifact *from, const void *field,
                    const void *copy);
struct sbx_kit_ref sbx_copy_ref(struct sbx_composer *c, const struct sbx_kit_ref *from);
/* opts->fetch, with a finding at `at` where it fails without one (compose.c). */
enum sbx_code sbx_compose_fetch(const struct sbx_compose_opts *opts, const char *reference,
                                struct sbx_origin at, const char *path, struct sbx_diags *diags,
                                struct sbx_artifact **ret, struct sbx_err *err);
/* err for the errors that composing added to diags; the code (compose.c). */
enum sbx_code sbx_compose_sum_up(const struct sbx_composer *c, size_t before, struct sbx_err *err);
/* Merge all sections of c->kits into c->out (compose.c). */
void sbx_compose_merge(struct sbx_composer *c);
/* Is something that a parent locked changed? (compose_locked.c) */
void sbx_compose_locked(struct sbx_composer *c);

/* The manifest and what only the sandbox kit has (compose_base.c). */
void sbx_compose_base(struct sbx_composer *c);
/* Sections that all kits have (compose_merge.c). */
void sbx_compose_sections(struct sbx_composer *c);
void sbx_compose_credentials(struct sbx_composer *c); /* compose_credential.c */
void sbx_compose_files(struct sbx_composer *c);       /* compose_files.c */
/* Kinds, names, requires.agent: before anything is merged (compose_check.c). */
void sbx_compose_check(struct sbx_composer *c);

/* An error about two kits. */
void sbx_compose_conflict(struct sbx_composer *c, const char *code, struct sbx_origin at,
                          const char *path, const char *hint, const char *fmt, ...)
    SBX_PRINTF(6, 7);

#endif
