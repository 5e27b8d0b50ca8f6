/* The table-driven decoder: a tree and a block in, a filled struct and findings out. */
#ifndef SBX_KIT_DECODE_H
#define SBX_KIT_DECODE_H

#include "field.h"

#define SBX_PATH_MAX 512 /* bytes of a field path in a finding; longer ones are cut */

/* Where each scalar field was written: the address of the field in the artifact to its position. */
struct sbx_place {
    const void *field;
    struct sbx_pos pos;
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
/* "<path>: want a list of strings, got a mapping" */
void sbx_decode_type_error(struct sbx_decoder *d, const struct sbx_yaml_node *n, const char *want);
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

/* Decode a v2 tree into `a` (custom.c, grammar.c). */
void sbx_decode_v2(struct sbx_decoder *d, const struct sbx_yaml_node *root,
                   struct sbx_artifact *a);

#endif
