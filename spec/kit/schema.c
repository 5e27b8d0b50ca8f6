/*
 * The grammar's tables as JSON Schema (draft 2020-12), for editors. What the loader takes without a
 * finding is valid: an empty value counts as not given, and any scalar is a string.
 */
#include <string.h>

#include "field.h"
#include "json_build.h"

static json_t *object_of(struct writer *w, const char *type, bool or_null)
{
    json_t *o = json_object(), *types;

    if (!or_null) {
        put(w, o, "type", json_string(type));
        return o;
    }
    types = json_array();
    add(w, types, json_string(type));
    add(w, types, json_string("null"));
    put(w, o, "type", types);
    return o;
}

/* 1.20 and yes are strings too, as they are written. */
static json_t *text_schema(struct writer *w, bool or_null)
{
    json_t *o = json_object(), *types = json_array();

    add(w, types, json_string("string"));
    add(w, types, json_string("number"));
    add(w, types, json_string("boolean"));
    if (or_null)
        add(w, types, json_string("null"));
    put(w, o, "type", types);
    return o;
}

static json_t *words_schema(struct writer *w, const char *const *words)
{
    json_t *o = json_object(), *list = json_array();
    bool may_be_empty = false;

    for (; *words; words++) {
        add(w, list, json_string(*words));
        may_be_empty = may_be_empty || !**words;
    }
    if (may_be_empty)
        add(w, list, json_null());
    put(w, o, "enum", list);
    return o;
}

static json_t *block_schema(struct writer *w, const struct sbx_block *block, bool or_null);

static json_t *list_of(struct writer *w, json_t *items, bool or_null)
{
    json_t *o = object_of(w, "array", or_null);

    put(w, o, "items", items);
    return o;
}

static json_t *map_of(struct writer *w, json_t *values, bool or_null)
{
    json_t *o = object_of(w, "object", or_null);

    put(w, o, "additionalProperties", values);
    return o;
}

static json_t *shape_schema(struct writer *w, const struct sbx_field *f, enum sbx_field_type shape,
                            const struct sbx_block *block)
{
    bool or_null = !f->required;

    switch (shape) {
    case SBX_FIELD_STRING:
        return f->words ? words_schema(w, f->words) : text_schema(w, or_null);
    case SBX_FIELD_BOOL:
        return object_of(w, "boolean", or_null);
    case SBX_FIELD_INT:
        return object_of(w, "integer", or_null);
    case SBX_FIELD_FLOAT:
        return object_of(w, "number", or_null);
    case SBX_FIELD_STRINGS:
        return list_of(w, text_schema(w, false), or_null);
    case SBX_FIELD_PAIRS:
        return map_of(w, text_schema(w, true), or_null);
    case SBX_FIELD_BLOCK:
        return block_schema(w, block, or_null);
    case SBX_FIELD_LIST:
        return list_of(w, block_schema(w, block, false), or_null);
    case SBX_FIELD_NAMED:
        return map_of(w, block_schema(w, block, true), or_null);
    case SBX_FIELD_JSON:
        return object_of(w, "object", or_null);
    default: /* accepted without effect */
        return json_pack("{s:b}", "deprecated", 1);
    }
}

static json_t *field_schema(struct writer *w, const struct sbx_field *f)
{
    json_t *o, *shapes;

    if (f->type != SBX_FIELD_CUSTOM) {
        o = shape_schema(w, f, f->type, f->block);
    } else if (f->as == f->other) {
        o = shape_schema(w, f, f->as, f->block);
    } else {
        o = json_object();
        shapes = json_array();
        add(w, shapes, shape_schema(w, f, f->as, f->block));
        add(w, shapes, shape_schema(w, f, f->other, f->other_block));
        put(w, o, "anyOf", shapes);
    }
    put(w, o, "description", json_string(f->doc));
    return o;
}

static void put_fields(struct writer *w, json_t *o, const struct sbx_block *block)
{
    json_t *properties = json_object(), *required = json_array();

    for (size_t i = 0; i < block->n_fields; i++) {
        const struct sbx_field *f = &block->fields[i];

        if (f->type == SBX_FIELD_CUSTOM && f->as == SBX_FIELD_IGNORED)
            continue; /* known, and refused */
        put(w, properties, f->key, field_schema(w, f));
        if (f->required)
            add(w, required, json_string(f->key));
    }
    put(w, o, "properties", properties);
    if (json_array_size(required))
        put(w, o, "required", required);
    else
        json_decref(required);
    put(w, o, "additionalProperties", json_false());
}

static json_t *block_schema(struct writer *w, const struct sbx_block *block, bool or_null)
{
    json_t *o = object_of(w, "object", or_null);

    put_fields(w, o, block);
    return o;
}

/* What the rules ask of every kit, and the rows cannot say without saying it twice. */
static void put_identity(struct writer *w, json_t *o, const char *version)
{
    json_t *required = json_pack("[s,s,s]", "schemaVersion", "kind", "name");
    json_t *properties = json_object_get(o, "properties");
    json_t *name = json_object_get(properties, "name");

    put(w, o, "required", required);
    put(w, name, "type", json_string("string"));
    put(w, name, "pattern", json_string("^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"));
    put(w, properties, "schemaVersion",
        json_pack("{s:s,s:s+}", "const", version, "description", "Always the string ", version));
}

json_t *sbx_kit_schema(unsigned version)
{
    struct writer w = { false };
    json_t *o;

    if (version != 1 && version != 2)
        return NULL;
    o = json_object();
    put(&w, o, "$schema", json_string("https://json-schema.org/draft/2020-12/schema"));
    put(&w, o, "title", json_string(version == 1 ? "sbx kit, schemaVersion 1"
                                                 : "sbx kit, schemaVersion 2"));
    if (version == 1)
        put(&w, o, "deprecated", json_true());
    put(&w, o, "type", json_string("object"));
    put_fields(&w, o, version == 1 ? &sbx_kit_v1 : &sbx_kit_v2);
    put_identity(&w, o, version == 1 ? "1" : "2");
    if (!w.bad)
        return o;
    json_decref(o);
    return NULL;
}
