/* The table-driven decoder: a tree and a block in, a filled struct and findings out. */
#ifndef SBX_KIT_DECODE_H
#define SBX_KIT_DECODE_H

#include "field.h"

#define SBX_PATH_MAX 512 /* bytes of a field path in a finding; longer ones are cut */

/* Append to a path of `len` bytes; what does not fit is cut. Returns the new length (path.c). */
size_t sbx_path_add(char path[SBX_PATH_MAX], size_t len, const char *text);
size_t sbx_path_add_index(char path[SBX_PATH_MAX], size_t len, size_t index); /* "[7]" */

/* Where each scalar field was written: the address of the field in the artifact to its position. */
struct sbx_place {
    const void *field;
    struct sbx_pos pos;
    const char *kit;
};
struct sbx_places {
    struct sbx_place *v;
    size_t len, cap;
};

struct sbx_decoder {
    struct sbx_arena *arena;
    struct sbx_diags *diags;
    bool for_use; /* extends and mixins will be applied */
    const char *kit; /* for origins; "" until the name is known */
    struct sbx_places *places;
    char path[SBX_PATH_MAX];
    size_t path_len;
    bool no_memory;
};

void sbx_decode_block(struct sbx_decoder *d, const struct sbx_block *block,
                      const struct sbx_yaml_node *n, void *base);
void sbx_decode_strings(struct sbx_decoder *d, const struct sbx_field *f,
                        const struct sbx_yaml_node *n, struct sbx_strs *out);
void sbx_decode_pairs(struct sbx_decoder *d, const struct sbx_field *f,
                      const struct sbx_yaml_node *n, struct sbx_pairs *out);
/* A sequence of structs of f->block into the SBX_LIST at `where`. */
void sbx_decode_list(struct sbx_decoder *d, const struct sbx_field *f,
                     const struct sbx_yaml_node *n, void *where);
/* "<path>: want a list of strings, got a mapping" */
void sbx_decode_type_error(struct sbx_decoder *d, const struct sbx_yaml_node *n, const char *want);
/* The same where a list is wanted; a mapping may be what the other version has there. */
void sbx_decode_list_error(struct sbx_decoder *d, const struct sbx_field *f, const struct sbx_yaml_node *n);
void sbx_decode_unknown(struct sbx_decoder *d, const struct sbx_block *block,
                        const struct sbx_yaml_node *key);
const char *sbx_decode_wanted(const struct sbx_field *f); /* "a list of strings" */
void sbx_decode_report(struct sbx_decoder *d, enum sbx_severity severity, const char *code,
                       struct sbx_pos pos, const char *hint, const char *fmt, ...)
    SBX_PRINTF(6, 7);
void *sbx_decode_alloc(struct sbx_decoder *d, size_t n, size_t size); /* NULL: d->no_memory is set */
void sbx_decode_place(struct sbx_decoder *d, const void *field, struct sbx_pos pos);
struct sbx_origin sbx_decode_origin(const struct sbx_decoder *d, const struct sbx_yaml_node *n);
/* Append ".key" or "[i]"; returns what sbx_decode_leave() wants. */
size_t sbx_decode_enter(struct sbx_decoder *d, const char *key);
size_t sbx_decode_enter_index(struct sbx_decoder *d, size_t index);
void sbx_decode_leave(struct sbx_decoder *d, size_t mark);

#define SBX_WARNINGS_MAX 24 /* of one spec; there are 18 surfaces of version 1 and 3 of version 2 */
/*
 * Add `text` (static) to the artifact's warnings, and a finding with `message`, which need not name the
 * path again; `hint` may be NULL.
 */
void sbx_decode_warn(struct sbx_decoder *d, struct sbx_artifact *a, const char *code,
                     struct sbx_pos pos, const char *path, const char *hint, const char *message,
                     const char *text);
bool sbx_decode_has(const struct sbx_yaml_node *root, const char *path); /* is it written? */
/* Where the key of a dotted path below the root stands; the root's place if there is none. */
struct sbx_pos sbx_decode_pos(const struct sbx_yaml_node *root, const char *path);
/* What follows the tables of both versions: the flat launch lists, and what is not applied. */
bool sbx_flatten_launch(struct sbx_artifact *a); /* false: no memory */
void sbx_decode_not_applied(struct sbx_decoder *d, const struct sbx_yaml_node *root,
                            struct sbx_artifact *a);

/* Decode a v1 tree and fold it into what version 2 would say (v1_fold.c). */
void sbx_decode_v1(struct sbx_decoder *d, const struct sbx_yaml_node *root,
                   struct sbx_artifact *a);
/* Decode a v2 tree into `a` (custom.c, grammar.c). */
void sbx_decode_v2(struct sbx_decoder *d, const struct sbx_yaml_node *root,
                   struct sbx_artifact *a);

#endif
