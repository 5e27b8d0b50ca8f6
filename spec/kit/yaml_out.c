#include "yaml_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void sbx_yaml_out_adds(struct sbx_yaml_out *o, const char *text)
{
    if (!o->rc)
        o->rc = sbx_buf_adds(o->out, text);
}

void sbx_yaml_out_line(struct sbx_yaml_out *o, unsigned indent)
{
    if (!o->rc)
        o->rc = sbx_buf_addf(o->out, "\n%*s", (int)indent, "");
}

void sbx_yaml_out_key(struct sbx_yaml_out *o, const char *key, unsigned indent)
{
    if (!o->rc)
        o->rc = sbx_yaml_write_key(o->out, key, indent);
}

void sbx_yaml_out_text(struct sbx_yaml_out *o, const char *text, unsigned indent)
{
    if (!o->rc)
        o->rc = sbx_yaml_write_text(o->out, text, indent);
}

void sbx_yaml_out_int(struct sbx_yaml_out *o, int64_t value)
{
    if (!o->rc)
        o->rc = sbx_buf_addf(o->out, "%lld", (long long)value);
}

void sbx_yaml_out_number(struct sbx_yaml_out *o, double value)
{
    char text[40];

    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    sbx_yaml_out_adds(o, text);
}

static void put_scalar(struct sbx_yaml_out *o, const json_t *value, unsigned indent)
{
    char *text;

    if (json_is_string(value)) {
        sbx_yaml_out_text(o, json_string_value(value), indent);
        return;
    }
    text = json_dumps(value, JSON_ENCODE_ANY);
    if (text)
        sbx_yaml_out_adds(o, text);
    else if (!o->rc)
        o->rc = SBX_NO_MEMORY;
    free(text);
}

static void put_item(struct sbx_yaml_out *o, const json_t *value, unsigned indent, bool dash);

static int by_key(const void *a, const void *b)
{
    return sbx_yaml_key_order(*(const char *const *)a, *(const char *const *)b);
}

static void put_object(struct sbx_yaml_out *o, const json_t *object, unsigned indent, bool inlined)
{
    size_t n = json_object_size(object), i = 0;
    const char **keys = malloc((n ? n : 1) * sizeof(*keys)), *key;
    json_t *value;

    if (!keys) {
        o->rc = SBX_NO_MEMORY;
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
        keys[i++] = key;
    qsort(keys, n, sizeof(*keys), by_key);
    for (i = 0; i < n; i++) {
        if (i || !inlined)
            sbx_yaml_out_line(o, indent);
        sbx_yaml_out_key(o, keys[i], indent);
        put_item(o, json_object_get(object, keys[i]), indent + 2, false);
    }
    free(keys);
}

static void put_array(struct sbx_yaml_out *o, const json_t *array, unsigned indent, bool inlined)
{
    json_t *value;
    size_t i;

    json_array_foreach(array, i, value) {
        if (i || !inlined)
            sbx_yaml_out_line(o, indent);
        sbx_yaml_out_adds(o, "-");
        put_item(o, value, indent + 2, true);
    }
}

/* `dash`: it stands behind "- ", where a mapping or a list begins on the same line. */
static void put_item(struct sbx_yaml_out *o, const json_t *value, unsigned indent, bool dash)
{
    if (json_is_object(value) && json_object_size(value)) {
        sbx_yaml_out_adds(o, dash ? " " : "");
        put_object(o, value, indent, dash);
    } else if (json_is_array(value) && json_array_size(value)) {
        sbx_yaml_out_adds(o, dash ? " " : "");
        put_array(o, value, indent, dash);
    } else {
        sbx_yaml_out_adds(o, " ");
        put_scalar(o, value, indent);
    }
}

void sbx_yaml_out_json(struct sbx_yaml_out *o, const json_t *value, unsigned indent)
{
    put_item(o, value, indent, false);
}
