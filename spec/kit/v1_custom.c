/* Fields of version 1 whose shape a row cannot say. */
#include <stdio.h>
#include <string.h>

#include "v1.h"

/* `credentials:` is a mapping with sources, or already the list of version 2. */
void sbx_v1_custom_credentials(struct sbx_decoder *d, const struct sbx_field *f,
                               const struct sbx_yaml_node *n, void *base)
{
    static const struct sbx_field list = { .key = "credentials", .type = SBX_FIELD_LIST,
                                           .block = &sbx_v1_credential_block };
    struct sbx_v1 *v = base;

    if (n->kind == SBX_YAML_SEQUENCE)
        sbx_decode_list(d, &list, n, &v->a.credentials);
    else if (n->kind == SBX_YAML_MAPPING)
        sbx_decode_block(d, f->block, n, v);
    else
        sbx_decode_type_error(d, n, f->want);
}

/* `volumes:` is a mapping from path to size, or already the list of version 2. */
void sbx_v1_custom_volumes(struct sbx_decoder *d, const struct sbx_field *f,
                           const struct sbx_yaml_node *n, void *base)
{
    struct sbx_v1 *v = base;

    if (n->kind == SBX_YAML_SEQUENCE)
        sbx_decode_list(d, f, n, &v->a.volumes);
    else if (n->kind == SBX_YAML_MAPPING)
        sbx_decode_pairs(d, f, n, &v->volumes);
    else
        sbx_decode_type_error(d, n, f->want);
}

/* memoryMB: version 2 writes the same with a unit. */
void sbx_v1_custom_memory(struct sbx_decoder *d, const struct sbx_field *f,
                          const struct sbx_yaml_node *n, void *base)
{
    struct sbx_resources *r = base;
    char text[32];
    bool cut;

    if (!sbx_yaml_int(n, &r->memory_mb, &cut)) {
        sbx_decode_type_error(d, n, f->want);
        return;
    }
    if (r->memory_mb < 0) {
        sbx_decode_report(d, SBX_ERROR, "bad-size", n->pos, "write the number of MiB, such as 1024",
                          "must not be negative (%lld)", (long long)r->memory_mb);
        return;
    }
    if (cut)
        sbx_decode_report(d, SBX_WARNING, "loose-type", n->pos, "write a whole number",
                          "%s is read as %lld", n->text, (long long)r->memory_mb);
    if (!r->memory_mb)
        return; /* no limit */
    snprintf(text, sizeof(text), "%lldm", (long long)r->memory_mb);
    r->memory = sbx_arena_strdup(d->arena, text);
    if (!r->memory)
        d->no_memory = true;
    sbx_decode_place(d, &r->memory, n->pos);
}

/* What has no effect is not looked into. */
void sbx_v1_custom_anything(struct sbx_decoder *d, const struct sbx_field *f,
                            const struct sbx_yaml_node *n, void *base)
{
    (void)base;
    if (n->kind != SBX_YAML_MAPPING)
        sbx_decode_type_error(d, n, f->want);
}

/* The row's `doc` is the field to use. */
void sbx_v1_custom_flat(struct sbx_decoder *d, const struct sbx_field *f,
                        const struct sbx_yaml_node *n, void *base)
{
    char hint[120];

    (void)base;
    if (n->kind == SBX_YAML_SCALAR ? !n->text[0] : !n->len)
        return; /* as if not given */
    snprintf(hint, sizeof(hint), "write %s", f->doc);
    sbx_decode_report(d, SBX_ERROR, "removed-field", n->pos, hint,
                      "%s is not read at the top level", f->key);
}
