/* Block-style YAML of JSON values. JSON strings are valid YAML, so quoting is always safe. */
#include <ctype.h>
#include <string.h>

#include "out.h"

static enum sbx_code put_value(const json_t *v, int depth, bool inlined, struct sbx_buf *out);

static bool is_plain(const char *s, size_t len)
{
    static const char *const words[] = {
        "null", "true", "false", "yes", "no", "on", "off", "y", "n"
    };

    if (!len || !isalpha((unsigned char)s[0]) || s[len - 1] == ' ')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("_-./ @+", s[i]))
            return false;
    for (size_t i = 0; i < SBX_ARRAY_LEN(words); i++)
        if (!strcasecmp(words[i], s))
            return false;
    return true;
}

static enum sbx_code put_scalar(const json_t *v, struct sbx_buf *out)
{
    char *text;
    enum sbx_code rc;

    if (json_is_string(v) && is_plain(json_string_value(v), json_string_length(v)))
        return sbx_buf_adds(out, json_string_value(v));
    text = json_dumps(v, JSON_ENCODE_ANY);
    if (!text)
        return SBX_NO_MEMORY;
    rc = sbx_buf_adds(out, text);
    free(text);
    return rc;
}

static enum sbx_code put_indent(int depth, struct sbx_buf *out)
{
    return sbx_buf_addf(out, "%*s", depth * 2, "");
}

static bool is_block(const json_t *v)
{
    return (json_is_object(v) && json_object_size(v)) || (json_is_array(v) && json_array_size(v));
}

static enum sbx_code put_object(const json_t *v, int depth, bool inlined, struct sbx_buf *out)
{
    const char *key;
    json_t *item;
    enum sbx_code rc = SBX_OK;

    json_object_foreach((json_t *)v, key, item) {
        SBX_AUTO_JSON json_t *name = json_string(key);

        rc = inlined ? SBX_OK : put_indent(depth, out);
        inlined = false;
        if (!rc)
            rc = name ? put_scalar(name, out) : SBX_NO_MEMORY;
        if (!rc)
            rc = sbx_buf_adds(out, is_block(item) ? ":\n" : ": ");
        if (!rc)
            rc = put_value(item, depth + 1, false, out);
        if (rc)
            return rc;
    }
    return rc;
}

static enum sbx_code put_array(const json_t *v, int depth, struct sbx_buf *out)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < json_array_size(v); i++) {
        const json_t *item = json_array_get(v, i);

        rc = put_indent(depth, out);
        if (!rc)
            rc = sbx_buf_adds(out, json_is_array(item) && is_block(item) ? "-\n" : "- ");
        if (!rc)
            rc = put_value(item, depth + 1, true, out);
    }
    return rc;
}

/* `inlined`: the cursor already stands where the first key goes (behind "- "). */
static enum sbx_code put_value(const json_t *v, int depth, bool inlined, struct sbx_buf *out)
{
    enum sbx_code rc;

    if (depth > SBX_JSON_DEPTH_MAX)
        return SBX_LIMIT;
    if (is_block(v))
        return json_is_object(v) ? put_object(v, depth, inlined, out) : put_array(v, depth, out);
    if (json_is_object(v))
        return sbx_buf_adds(out, "{}\n");
    if (json_is_array(v))
        return sbx_buf_adds(out, "[]\n");
    rc = put_scalar(v, out);
    return rc ? rc : sbx_buf_adds(out, "\n");
}

enum sbx_code sbx_yaml_write(const json_t *value, struct sbx_buf *out)
{
    return put_value(value, 0, false, out);
}
