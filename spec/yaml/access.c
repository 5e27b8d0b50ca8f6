/* What a node may stand for besides numbers: text, names for messages, JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "yaml_impl.h"

const struct sbx_yaml_node *sbx_yaml_get(const struct sbx_yaml_node *map, const char *key)
{
    if (!map || map->kind != SBX_YAML_MAPPING)
        return NULL;
    for (size_t i = 0; i < map->len; i++)
        if (sbx_yaml_is(map->entries[i].key, key))
            return map->entries[i].value;
    return NULL;
}

bool sbx_yaml_is(const struct sbx_yaml_node *n, const char *text)
{
    return n->kind == SBX_YAML_SCALAR && *n->text == *text && n->len == strlen(text) &&
           !memcmp(n->text, text, n->len);
}

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decode base64 with white space between; NULL: malformed, or a NUL would be inside. */
static const char *decode_base64(struct sbx_arena *arena, const char *text)
{
    char *out = sbx_arena_alloc(arena, strlen(text) / 4 * 3 + 4);
    size_t n = 0, digits = 0, pads = 0;
    unsigned bits = 0;

    for (; out && *text; text++) {
        int v = base64_value(*text);

        if (strchr(" \t\r\n", *text))
            continue;
        if (*text == '=' && ++pads <= 2)
            v = 0;
        else if (v < 0 || pads)
            return NULL;
        bits = bits << 6 | (unsigned)v;
        if (++digits % 4)
            continue;
        for (size_t i = 0; i < 3 - pads; i++)
            out[n++] = (char)(bits >> (16 - 8 * i));
        bits = 0;
    }
    if (!out || digits % 4 || memchr(out, 0, n))
        return NULL;
    out[n] = '\0';
    return out;
}

const char *sbx_yaml_string(struct sbx_arena *arena, const struct sbx_yaml_node *n)
{
    if (n->kind != SBX_YAML_SCALAR || n->misfit || strlen(n->text) != n->len)
        return NULL;
    if (n->type == SBX_YAML_NULL)
        return "";
    return n->type == SBX_YAML_BINARY ? decode_base64(arena, n->text) : n->text;
}

const char *sbx_yaml_type_name(const struct sbx_yaml_node *n)
{
    static const char *const names[] = {
        [SBX_YAML_NULL] = "!!null",           [SBX_YAML_BOOL] = "!!bool",
        [SBX_YAML_INT] = "!!int",             [SBX_YAML_FLOAT] = "!!float",
        [SBX_YAML_TIMESTAMP] = "!!timestamp", [SBX_YAML_STR] = "!!str",
        [SBX_YAML_BINARY] = "!!binary",       [SBX_YAML_MERGE] = "!!merge",
        [SBX_YAML_SEQ] = "!!seq",             [SBX_YAML_MAP] = "!!map",
    };

    return n->type == SBX_YAML_OTHER ? n->tag : names[n->type];
}

const char *sbx_yaml_noun(const struct sbx_yaml_node *n)
{
    static const char *const nouns[] = {
        [SBX_YAML_NULL] = "nothing",         [SBX_YAML_BOOL] = "a boolean",
        [SBX_YAML_INT] = "a number",         [SBX_YAML_FLOAT] = "a number",
        [SBX_YAML_TIMESTAMP] = "a date",     [SBX_YAML_STR] = "a string",
        [SBX_YAML_BINARY] = "binary data",   [SBX_YAML_MERGE] = "\"<<\"",
        [SBX_YAML_SEQ] = "a list",           [SBX_YAML_MAP] = "a mapping",
        [SBX_YAML_OTHER] = "a tagged value",
    };

    return nouns[n->type];
}

/* A date as RFC 3339, as the reference prints it. */
static json_t *date_json(const char *text)
{
    unsigned year, month, day, hour = 0, minute = 0;
    char out[96], rest[64] = "00", zone[16] = "Z";
    const char *z;

    if (sscanf(text, "%4u-%2u-%2u", &year, &month, &day) != 3)
        return NULL;
    text += strcspn(text, "Tt ");
    if (*text && sscanf(text + 1, "%2u:%2u:%20[0-9.]", &hour, &minute, rest) != 3)
        return NULL;
    z = strpbrk(text, "Z+-");
    if (z && *z != 'Z')
        snprintf(zone, sizeof(zone), "%.10s", z);
    snprintf(out, sizeof(out), "%04u-%02u-%02uT%02u:%02u:%s%.30s%s", year, month, day, hour,
             minute, strcspn(rest, ".") == 1 ? "0" : "", rest, zone);
    return json_string(out);
}

static enum sbx_code scalar_json(struct sbx_arena *arena, const struct sbx_yaml_node *n,
                                 json_t **ret, struct sbx_err *err)
{
    const char *text;
    int64_t i;
    double d = 0;
    bool b = false;

    switch (n->type) {
    case SBX_YAML_NULL:
        *ret = json_null();
        return SBX_OK;
    case SBX_YAML_BOOL:
        sbx_yaml_bool(n, &b, &(bool){ false });
        *ret = json_boolean(b);
        return SBX_OK;
    case SBX_YAML_INT:
    case SBX_YAML_FLOAT:
        if (n->type == SBX_YAML_INT && sbx_yaml_int(n, &i, &(bool){ false }))
            *ret = json_integer(i);
        else if (!sbx_yaml_float(n, &d) || !isfinite(d))
            return sbx_err_at(err, SBX_SCHEMA, n->pos, "JSON has no number %s", n->text);
        else
            *ret = json_real(d);
        break;
    case SBX_YAML_TIMESTAMP:
        *ret = date_json(n->text);
        break;
    default:
        text = sbx_yaml_string(arena, n);
        if (!text)
            return sbx_err_at(err, SBX_SCHEMA, n->pos, "not text that JSON can hold");
        *ret = json_string(text);
    }
    return *ret ? SBX_OK : SBX_NO_MEMORY;
}

static enum sbx_code node_json(struct sbx_arena *arena, const struct sbx_yaml_node *n,
                               unsigned depth, json_t **ret, struct sbx_err *err);

static enum sbx_code sequence_json(struct sbx_arena *arena, const struct sbx_yaml_node *n,
                                   unsigned depth, json_t *list, struct sbx_err *err)
{
    for (size_t i = 0; i < n->len; i++) {
        json_t *item = NULL;
        enum sbx_code rc = node_json(arena, n->items[i], depth + 1, &item, err);

        if (rc)
            return rc;
        if (json_array_append_new(list, item))
            return SBX_NO_MEMORY;
    }
    return SBX_OK;
}

static enum sbx_code mapping_json(struct sbx_arena *arena, const struct sbx_yaml_node *n,
                                  unsigned depth, json_t *map, struct sbx_err *err)
{
    for (size_t i = 0; i < n->len; i++) {
        const struct sbx_yaml_node *key = n->entries[i].key;
        json_t *value = NULL;
        enum sbx_code rc;

        if (key->type != SBX_YAML_STR || !sbx_yaml_string(arena, key))
            return sbx_err_at(err, SBX_SCHEMA, key->pos, "JSON keys are strings, not %s; quote it",
                              sbx_yaml_noun(key));
        rc = node_json(arena, n->entries[i].value, depth + 1, &value, err);
        if (rc)
            return rc;
        if (json_object_set_new(map, key->text, value))
            return SBX_NO_MEMORY;
    }
    return SBX_OK;
}

/* Recursive, but only to SBX_YAML_JSON_DEPTH_MAX. */
static enum sbx_code node_json(struct sbx_arena *arena, const struct sbx_yaml_node *n,
                               unsigned depth, json_t **ret, struct sbx_err *err)
{
    json_t *value;
    enum sbx_code rc;

    if (depth > SBX_YAML_JSON_DEPTH_MAX)
        return sbx_err_at(err, SBX_LIMIT, n->pos, "nested deeper than %d levels",
                          SBX_YAML_JSON_DEPTH_MAX);
    if (n->kind == SBX_YAML_SCALAR)
        return scalar_json(arena, n, ret, err);
    value = n->kind == SBX_YAML_SEQUENCE ? json_array() : json_object();
    if (!value)
        return SBX_NO_MEMORY;
    rc = n->kind == SBX_YAML_SEQUENCE ? sequence_json(arena, n, depth, value, err)
                                      : mapping_json(arena, n, depth, value, err);
    if (rc)
        json_decref(value);
    else
        *ret = value;
    return rc;
}

enum sbx_code sbx_yaml_json(struct sbx_arena *arena, const struct sbx_yaml_node *n, json_t **ret,
                            struct sbx_err *err)
{
    return node_json(arena, n, 0, ret, err);
}
