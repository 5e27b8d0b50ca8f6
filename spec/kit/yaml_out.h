/* Pieces of YAML into a buffer; the first failure sticks, so that one check at the end is enough. */
#ifndef SBX_KIT_YAML_OUT_H
#define SBX_KIT_YAML_OUT_H

#include <jansson.h>

#include "sbx/yaml.h"

struct sbx_yaml_out {
    struct sbx_buf *out;
    enum sbx_code rc;
};

void sbx_yaml_out_adds(struct sbx_yaml_out *o, const char *text);
void sbx_yaml_out_line(struct sbx_yaml_out *o, unsigned indent); /* a new line, and its indent */
void sbx_yaml_out_key(struct sbx_yaml_out *o, const char *key, unsigned indent);
void sbx_yaml_out_text(struct sbx_yaml_out *o, const char *text, unsigned indent);
void sbx_yaml_out_int(struct sbx_yaml_out *o, int64_t value);
void sbx_yaml_out_number(struct sbx_yaml_out *o, double value); /* the shortest form */
/* What stands behind "key:": " scalar", or the lines of a mapping or list at `indent`. */
void sbx_yaml_out_json(struct sbx_yaml_out *o, const json_t *value, unsigned indent);

#endif
