#include <stdio.h>
#include <string.h>

#include "decode.h"

/* Every SBX_LIST looks like this but for the element type. */
struct any_list {
    void *v;
    size_t len;
    bool set;
};

static void put_list(void *where, void *v, size_t len)
{
    bool set = true;

    memcpy((char *)where + offsetof(struct any_list, v), &v, sizeof(v));
    memcpy((char *)where + offsetof(struct any_list, len), &len, sizeof(len));
    memcpy((char *)where + offsetof(struct any_list, set), &set, sizeof(set));
}

void *sbx_decode_alloc(struct sbx_decoder *d, size_t n, size_t size)
{
    void *p = sbx_arena_array(d->arena, n, size);

    if (!p)
        d->no_memory = true;
    return p;
}

struct sbx_origin sbx_decode_origin(const struct sbx_decoder *d, const struct sbx_yaml_node *n)
{
    return (struct sbx_origin){ d->kit, n->pos };
}

void sbx_decode_place(struct sbx_decoder *d, const void *field, struct sbx_pos pos)
{
    struct sbx_places *p = d->places;

    if (p->len == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 64;
        struct sbx_place *v = sbx_decode_alloc(d, cap, sizeof(*v));

        if (!v)
            return;
        if (p->len)
            memcpy(v, p->v, p->len * sizeof(*v));
        p->v = v;
        p->cap = cap;
    }
    p->v[p->len++] = (struct sbx_place){ field, pos, d->kit };
}

static const char *item_text(struct sbx_decoder *d, const struct sbx_yaml_node *n, const char *want)
{
    const char *text = sbx_yaml_string(d->arena, n);

    if (!text)
        sbx_decode_type_error(d, n, want);
    return text;
}

static void dropped_item(struct sbx_decoder *d, const struct sbx_yaml_node *n)
{
    sbx_decode_report(d, SBX_WARNING, "null-dropped", n->pos, "remove it, or write \"\"",
                      "empty list item is dropped");
}

/* Rules compare the items of a list with each other, so its length has a bound. */
static bool too_long(struct sbx_decoder *d, const struct sbx_yaml_node *n)
{
    if (n->len <= SBX_KIT_ITEMS_MAX)
        return false;
    sbx_decode_report(d, SBX_ERROR, "too-many", n->pos, NULL, "more than %d entries (%zu)",
                      SBX_KIT_ITEMS_MAX, n->len);
    return true;
}

void sbx_decode_strings(struct sbx_decoder *d, const struct sbx_field *f,
                        const struct sbx_yaml_node *n, struct sbx_strs *out)
{
    if (n->kind != SBX_YAML_SEQUENCE) {
        sbx_decode_list_error(d, f, n);
        return;
    }
    if (too_long(d, n))
        return;
    out->set = true;
    out->v = sbx_decode_alloc(d, n->len, sizeof(*out->v));
    out->at = sbx_decode_alloc(d, n->len, sizeof(*out->at));
    if (!out->v || !out->at)
        return;
    for (size_t i = 0; i < n->len; i++) {
        size_t mark = sbx_decode_enter_index(d, i);
        const char *text = NULL;

        if (sbx_yaml_is_null(n->items[i]))
            dropped_item(d, n->items[i]);
        else
            text = item_text(d, n->items[i], "a string");
        if (text) {
            out->at[out->len] = sbx_decode_origin(d, n->items[i]);
            out->v[out->len++] = text;
        }
        sbx_decode_leave(d, mark);
    }
}

static void null_key(struct sbx_decoder *d, const struct sbx_yaml_node *key)
{
    sbx_decode_report(d, SBX_WARNING, "null-dropped", key->pos, "give the key a name",
                      "entry with an empty key is dropped");
}

/* Is this a key that names something? Reports those that are not. */
static bool usable_key(struct sbx_decoder *d, const struct sbx_yaml_node *key)
{
    if (key->type == SBX_YAML_NULL && key->kind == SBX_YAML_SCALAR) {
        null_key(d, key);
        return false;
    }
    return item_text(d, key, "a string as the key") != NULL;
}

/* From the key to the end of the value, if they stand together. */
static struct sbx_origin entry_origin(struct sbx_decoder *d, const struct sbx_yaml_entry *e)
{
    struct sbx_origin at = sbx_decode_origin(d, e->key);

    if (e->value->pos.from >= at.pos.to)
        at.pos.to = e->value->pos.to;
    return at;
}

void sbx_decode_pairs(struct sbx_decoder *d, const struct sbx_field *f,
                      const struct sbx_yaml_node *n, struct sbx_pairs *out)
{
    if (n->kind != SBX_YAML_MAPPING) {
        sbx_decode_type_error(d, n, sbx_decode_wanted(f));
        return;
    }
    if (too_long(d, n))
        return;
    out->set = true;
    out->v = sbx_decode_alloc(d, n->len, sizeof(*out->v));
    for (size_t i = 0; out->v && !n->broken && i < n->len; i++) {
        const struct sbx_yaml_entry *e = &n->entries[i];
        const char *value;
        size_t mark;

        if (!usable_key(d, e->key))
            continue;
        mark = sbx_decode_enter(d, e->key->text);
        value = item_text(d, e->value, "a string");
        if (value)
            out->v[out->len++] = (struct sbx_pair){ e->key->text, value, entry_origin(d, e) };
        sbx_decode_leave(d, mark);
    }
}

void sbx_decode_list(struct sbx_decoder *d, const struct sbx_field *f,
                     const struct sbx_yaml_node *n, void *where)
{
    char *v;
    size_t len = 0;

    if (n->kind != SBX_YAML_SEQUENCE) {
        sbx_decode_list_error(d, f, n);
        return;
    }
    if (too_long(d, n))
        return;
    v = sbx_decode_alloc(d, n->len, f->block->size);
    for (size_t i = 0; v && i < n->len; i++) {
        size_t mark = sbx_decode_enter_index(d, i);

        if (sbx_yaml_is_null(n->items[i]))
            dropped_item(d, n->items[i]);
        else
            sbx_decode_block(d, f->block, n->items[i], v + f->block->size * len++);
        sbx_decode_leave(d, mark);
    }
    put_list(where, v, len);
}

static void decode_named(struct sbx_decoder *d, const struct sbx_field *f,
                         const struct sbx_yaml_node *n, void *where)
{
    char *v;
    size_t len = 0;

    if (n->kind != SBX_YAML_MAPPING) {
        sbx_decode_type_error(d, n, sbx_decode_wanted(f));
        return;
    }
    if (too_long(d, n))
        return;
    v = sbx_decode_alloc(d, n->len, f->block->size);
    for (size_t i = 0; v && !n->broken && i < n->len; i++) {
        const struct sbx_yaml_entry *e = &n->entries[i];
        char *item = v + f->block->size * len;
        size_t mark;

        if (!usable_key(d, e->key))
            continue;
        mark = sbx_decode_enter(d, e->key->text);
        memcpy(item + f->block->name_field, &e->key->text, sizeof(e->key->text));
        *(struct sbx_origin *)(void *)(item + f->block->at) = sbx_decode_origin(d, e->key);
        if (!sbx_yaml_is_null(e->value))
            sbx_decode_block(d, f->block, e->value, item);
        len++;
        sbx_decode_leave(d, mark);
    }
    put_list(where, v, len);
}

static void decode_bool(struct sbx_decoder *d, const struct sbx_field *f,
                        const struct sbx_yaml_node *n, bool *out)
{
    bool word;

    if (!sbx_yaml_bool(n, out, &word))
        sbx_decode_type_error(d, n, sbx_decode_wanted(f));
    else if (word)
        sbx_decode_report(d, SBX_WARNING, "loose-type", n->pos, "write true or false",
                          "\"%s\" is read as %s", n->text, *out ? "true" : "false");
}

static void decode_int(struct sbx_decoder *d, const struct sbx_field *f,
                       const struct sbx_yaml_node *n, int *out)
{
    int64_t value;
    bool cut;

    if (!sbx_yaml_int(n, &value, &cut) || value < INT32_MIN || value > INT32_MAX) {
        sbx_decode_type_error(d, n, sbx_decode_wanted(f));
        return;
    }
    *out = (int)value;
    if (cut)
        sbx_decode_report(d, SBX_WARNING, "loose-type", n->pos, "write a whole number",
                          "%s is read as %d", n->text, *out);
}

static void decode_scalar(struct sbx_decoder *d, const struct sbx_field *f,
                          const struct sbx_yaml_node *n, void *where)
{
    const char *text;

    switch (f->type) {
    case SBX_FIELD_STRING:
        text = item_text(d, n, sbx_decode_wanted(f));
        memcpy(where, &text, sizeof(text));
        break;
    case SBX_FIELD_BOOL:
        decode_bool(d, f, n, where);
        break;
    case SBX_FIELD_INT:
        decode_int(d, f, n, where);
        break;
    default:
        if (!sbx_yaml_float(n, where))
            sbx_decode_type_error(d, n, sbx_decode_wanted(f));
        break;
    }
    sbx_decode_place(d, where, n->pos);
}

static void decode_field(struct sbx_decoder *d, const struct sbx_field *f,
                         const struct sbx_yaml_node *n, void *base)
{
    char *where = (char *)base + f->offset;

    if (sbx_yaml_is_null(n))
        return; /* as if not given */
    if (f->set)
        *((char *)base + f->set - 1) = true;
    switch (f->type) {
    case SBX_FIELD_STRINGS:
        sbx_decode_strings(d, f, n, (void *)where);
        sbx_decode_place(d, where, n->pos);
        break;
    case SBX_FIELD_PAIRS:
        sbx_decode_pairs(d, f, n, (void *)where);
        break;
    case SBX_FIELD_BLOCK:
        sbx_decode_place(d, where, n->pos);
        sbx_decode_block(d, f->block, n, where);
        break;
    case SBX_FIELD_LIST:
        sbx_decode_place(d, where, n->pos);
        sbx_decode_list(d, f, n, where);
        break;
    case SBX_FIELD_NAMED:
        decode_named(d, f, n, where);
        break;
    case SBX_FIELD_CUSTOM:
        f->custom(d, f, n, base);
        break;
    case SBX_FIELD_IGNORED:
        sbx_decode_report(d, SBX_WARNING, "ignored-field", n->pos, f->doc, "has no effect");
        break;
    default:
        decode_scalar(d, f, n, where);
        break;
    }
}

static const struct sbx_field *find_field(const struct sbx_block *block,
                                          const struct sbx_yaml_node *key)
{
    for (size_t i = 0; i < block->n_fields; i++)
        if (sbx_yaml_is(key, block->fields[i].key))
            return &block->fields[i];
    return NULL;
}

static void decode_entry(struct sbx_decoder *d, const struct sbx_block *block,
                         const struct sbx_yaml_entry *e, void *base)
{
    const struct sbx_field *f;
    size_t mark;

    if (!usable_key(d, e->key))
        return;
    f = find_field(block, e->key);
    if (!f) {
        sbx_decode_unknown(d, block, e->key);
        return;
    }
    mark = sbx_decode_enter(d, f->key);
    decode_field(d, f, e->value, base);
    sbx_decode_leave(d, mark);
}

/* "a mapping with command, user, description" */
static void block_type_error(struct sbx_decoder *d, const struct sbx_block *block,
                             const struct sbx_yaml_node *n)
{
    char want[400] = "a mapping with ";
    size_t len = strlen(want), shown = block->n_fields > 6 ? 3 : block->n_fields;

    for (size_t i = 0; i < shown && len < sizeof(want) - 1; i++)
        if (block->fields[i].type != SBX_FIELD_IGNORED)
            len += (size_t)snprintf(want + len, sizeof(want) - len, "%s%s", i ? ", " : "",
                                    block->fields[i].key);
    if (shown < block->n_fields && len < sizeof(want))
        snprintf(want + len, sizeof(want) - len, " and more");
    sbx_decode_type_error(d, n, want);
}

void sbx_decode_block(struct sbx_decoder *d, const struct sbx_block *block,
                      const struct sbx_yaml_node *n, void *base)
{
    if (block->at >= 0 && block->name_field < 0)
        *(struct sbx_origin *)(void *)((char *)base + block->at) = sbx_decode_origin(d, n);
    if (n->kind != SBX_YAML_MAPPING) {
        block_type_error(d, block, n);
        return;
    }
    if (n->broken)
        return; /* reported by the parser */
    for (size_t i = 0; i < n->len && !d->no_memory; i++)
        decode_entry(d, block, &n->entries[i], base);
    if (block->finish)
        block->finish(d, n, base);
}
