/* Shared by the files of this folder. */
#ifndef SBX_YAML_IMPL_H
#define SBX_YAML_IMPL_H

#include "sbx/yaml.h"

#define TAG_PREFIX "tag:yaml.org,2002:"

/* Set `type` of a scalar; false: its explicit tag does not fit its text. */
bool sbx_yaml_resolve(struct sbx_yaml_node *n);
bool sbx_yaml_int_text(const char *text, bool *negative, uint64_t *ret);
bool sbx_yaml_float_text(const char *text, double *ret);
bool sbx_yaml_is_date(const char *text);

/* The state of one parse. */
struct sbx_yaml_builder {
    struct sbx_arena *arena;
    struct sbx_diags *diags;
    size_t added; /* nodes that aliases and merges added so far */
};

/* Report keys given twice and apply `<<`. SBX_OK, or SBX_SYNTAX/SBX_LIMIT with a finding. */
enum sbx_code sbx_yaml_finish_mapping(struct sbx_yaml_builder *b, struct sbx_yaml_node *map);
/* Count nodes that an alias or a merge adds; SBX_OK or SBX_LIMIT with a finding at `pos`. */
enum sbx_code sbx_yaml_add_nodes(struct sbx_yaml_builder *b, size_t n, struct sbx_pos pos);

/* What to write instead at byte `at` of a text that is not YAML; NULL: no idea. */
const char *sbx_yaml_syntax_hint(const char *problem, const char *context, const char *text, size_t len,
                                 size_t at);

/* Characters to bytes, for texts that are not plain ASCII. */
struct sbx_yaml_offsets {
    const char *text;
    size_t len, start; /* start: behind a byte order mark */
    bool ascii, unknown; /* unknown: UTF-16, no byte positions */
    size_t at_char, at_byte; /* the last answer: the next is usually near behind it */
};

void sbx_yaml_offsets_init(struct sbx_yaml_offsets *o, const char *text, size_t len);
size_t sbx_yaml_offset(struct sbx_yaml_offsets *o, size_t character);

#endif
