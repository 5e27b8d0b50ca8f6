/*
 * The artifact as a spec of version 2: the grammar's tables say what is written and in which order, with
 * the layout that migrated kits have (RB 5.2). What is empty is left out, as in the JSON form.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "yaml_out.h"

#define STEP 2 /* columns of one level; list items are one deeper than their key */

static enum sbx_field_type shape_of(const struct sbx_field *f)
{
    return f->type == SBX_FIELD_CUSTOM ? f->as : f->type;
}

static bool is_written(const struct sbx_field *f, const void *base);

static bool has_content(const struct sbx_block *block, const void *base)
{
    for (size_t i = 0; i < block->n_fields; i++)
        if (is_written(&block->fields[i], base))
            return true;
    return false;
}

static bool is_set(const struct sbx_field *f, const void *base)
{
    return !f->set || *((const bool *)base + f->set - 1);
}

static bool is_text_written(const struct sbx_field *f, const char *text)
{
    return f->always || (text && (*text || f->keep));
}

/* Members `len` and `set` of any list (struct sbx_strs has one more pointer before them). */
static bool is_list_written(const struct sbx_field *f, size_t len, bool set)
{
    return f->always || len || (f->keep && set);
}

static bool is_written(const struct sbx_field *f, const void *base)
{
    const void *where = (const char *)base + f->offset;
    const struct sbx_strs *strs = where;
    const struct sbx_pairs *pairs = where; /* the shape of every SBX_LIST */
    double number;

    if (f->sugar)
        return false;
    switch (shape_of(f)) {
    case SBX_FIELD_STRING:
        return is_text_written(f, *(const char *const *)where);
    case SBX_FIELD_BOOL:
        return *(const bool *)where;
    case SBX_FIELD_INT:
        return f->always || *(const int *)where;
    case SBX_FIELD_FLOAT:
        memcpy(&number, where, sizeof(number));
        return number > 0 && isfinite(number);
    case SBX_FIELD_STRINGS:
        return is_list_written(f, strs->len, strs->set);
    case SBX_FIELD_PAIRS:
    case SBX_FIELD_LIST:
    case SBX_FIELD_NAMED:
        return is_list_written(f, pairs->len, pairs->set);
    case SBX_FIELD_BLOCK:
        return is_set(f, base) && ((f->set && f->keep) || has_content(f->block, where));
    case SBX_FIELD_JSON:
        return *(json_t *const *)where && json_object_size(*(json_t *const *)where);
    default:
        return false;
    }
}

static void put_block(struct sbx_yaml_out *o, const struct sbx_block *block, const void *base,
                      unsigned indent, bool inlined);

static void put_strings(struct sbx_yaml_out *o, const struct sbx_strs *s, unsigned indent)
{
    if (!s->len)
        sbx_yaml_out_adds(o, " []");
    for (size_t i = 0; i < s->len; i++) {
        sbx_yaml_out_line(o, indent + STEP);
        sbx_yaml_out_adds(o, "- ");
        sbx_yaml_out_text(o, s->v[i], indent + 2 * STEP);
    }
}

static int by_pair(const void *a, const void *b)
{
    return sbx_yaml_key_order(((const struct sbx_pair *)a)->name, ((const struct sbx_pair *)b)->name);
}

static void put_pairs(struct sbx_yaml_out *o, const struct sbx_pairs *p, unsigned indent)
{
    struct sbx_pair *sorted = malloc((p->len ? p->len : 1) * sizeof(*sorted));

    if (!sorted) {
        o->rc = SBX_NO_MEMORY;
        return;
    }
    if (p->len) {
        memcpy(sorted, p->v, p->len * sizeof(*sorted));
        qsort(sorted, p->len, sizeof(*sorted), by_pair);
    }
    for (size_t i = 0; i < p->len; i++) {
        sbx_yaml_out_line(o, indent + STEP);
        sbx_yaml_out_key(o, sorted[i].name, indent + STEP);
        sbx_yaml_out_adds(o, " ");
        sbx_yaml_out_text(o, sorted[i].value, indent + 2 * STEP);
    }
    free(sorted);
}

/* A list of structs, and its members as any SBX_LIST has them. */
struct structs {
    const char *v;
    size_t len;
};

static struct structs structs_at(const void *where)
{
    struct structs s;

    memcpy(&s.v, where, sizeof(s.v));
    memcpy(&s.len, (const char *)where + sizeof(s.v), sizeof(s.len));
    return s;
}

static void put_list(struct sbx_yaml_out *o, const struct sbx_field *f, const void *where,
                     unsigned indent)
{
    struct structs s = structs_at(where);

    for (size_t i = 0; i < s.len; i++) {
        sbx_yaml_out_line(o, indent + STEP);
        sbx_yaml_out_adds(o, "- ");
        put_block(o, f->block, s.v + i * f->block->size, indent + 2 * STEP, true);
    }
}

static const char *name_of(const struct sbx_block *block, const void *item)
{
    const char *name;

    memcpy(&name, (const char *)item + block->name_field, sizeof(name));
    return name;
}

static int by_named(const void *a, const void *b, void *block)
{
    return sbx_yaml_key_order(name_of(block, *(const char *const *)a),
                              name_of(block, *(const char *const *)b));
}

static void put_named(struct sbx_yaml_out *o, const struct sbx_field *f, const void *where,
                      unsigned indent)
{
    struct structs s = structs_at(where);
    const char **sorted = malloc((s.len ? s.len : 1) * sizeof(*sorted));

    if (!sorted) {
        o->rc = SBX_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < s.len; i++)
        sorted[i] = s.v + i * f->block->size;
    qsort_r(sorted, s.len, sizeof(*sorted), by_named, (void *)(uintptr_t)f->block);
    for (size_t i = 0; i < s.len; i++) {
        sbx_yaml_out_line(o, indent + STEP);
        sbx_yaml_out_key(o, name_of(f->block, sorted[i]), indent + STEP);
        if (has_content(f->block, sorted[i]))
            put_block(o, f->block, sorted[i], indent + 2 * STEP, false);
        else
            sbx_yaml_out_adds(o, " {}");
    }
    free(sorted);
}

static void put_scalar(struct sbx_yaml_out *o, const struct sbx_field *f, const void *where,
                       unsigned indent)
{
    const char *text;
    double number;

    sbx_yaml_out_adds(o, " ");
    switch (shape_of(f)) {
    case SBX_FIELD_BOOL:
        sbx_yaml_out_adds(o, *(const bool *)where ? "true" : "false");
        break;
    case SBX_FIELD_INT:
        sbx_yaml_out_int(o, *(const int *)where);
        break;
    case SBX_FIELD_FLOAT:
        memcpy(&number, where, sizeof(number));
        sbx_yaml_out_number(o, number);
        break;
    default:
        memcpy(&text, where, sizeof(text));
        sbx_yaml_out_text(o, text ? text : "", indent + STEP);
        break;
    }
}

static void put_value(struct sbx_yaml_out *o, const struct sbx_field *f, const void *where,
                      unsigned indent)
{
    switch (shape_of(f)) {
    case SBX_FIELD_STRINGS:
        put_strings(o, where, indent);
        break;
    case SBX_FIELD_PAIRS:
        put_pairs(o, where, indent);
        break;
    case SBX_FIELD_BLOCK:
        if (has_content(f->block, where))
            put_block(o, f->block, where, indent + STEP, false);
        else
            sbx_yaml_out_adds(o, " {}");
        break;
    case SBX_FIELD_LIST:
        put_list(o, f, where, indent);
        break;
    case SBX_FIELD_NAMED:
        put_named(o, f, where, indent);
        break;
    case SBX_FIELD_JSON:
        sbx_yaml_out_json(o, *(json_t *const *)where, indent + STEP);
        break;
    default:
        put_scalar(o, f, where, indent);
        break;
    }
}

/* `inlined`: the first key stands behind a dash. */
static void put_block(struct sbx_yaml_out *o, const struct sbx_block *block, const void *base,
                      unsigned indent, bool inlined)
{
    for (size_t i = 0; i < block->n_fields && !o->rc; i++) {
        const struct sbx_field *f = &block->fields[i];

        if (!is_written(f, base))
            continue;
        if (!inlined)
            sbx_yaml_out_line(o, indent);
        inlined = false;
        sbx_yaml_out_key(o, f->key, indent);
        put_value(o, f, (const char *)base + f->offset, indent);
    }
}

enum sbx_code sbx_artifact_yaml(const struct sbx_artifact *a, struct sbx_buf *out,
                                struct sbx_err *err)
{
    struct sbx_yaml_out o = { .out = out };
    struct sbx_artifact copy = *a;

    copy.schema_version = "2";
    if (a->kind && !strcmp(a->kind, "mixin")) { /* version 1 could say it with extends */
        copy.requires_agent = sbx_artifact_agent(a);
        copy.requires_set = a->requires_set || copy.requires_agent;
        copy.extends = NULL;
    }
    put_block(&o, &sbx_kit_v2, &copy, 0, true);
    sbx_yaml_out_adds(&o, "\n");
    if (o.rc)
        return sbx_err_set(err, o.rc, "%s: write as YAML: %s", a->name, sbx_code_name(o.rc));
    return SBX_OK;
}
