/* What the decoder says, and where: paths of fields, type errors, unknown fields. */
#include <stdio.h>
#include <string.h>

#include "decode.h"

void sbx_decode_report(struct sbx_decoder *d, enum sbx_severity severity, const char *code,
                       struct sbx_pos pos, const char *hint, const char *fmt, ...)
{
    char message[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    sbx_diags_add(d->diags, severity, code, pos, d->path, hint, "%s", message);
}

size_t sbx_decode_enter(struct sbx_decoder *d, const char *key)
{
    size_t mark = d->path_len;

    if (mark)
        d->path_len = sbx_path_add(d->path, mark, ".");
    d->path_len = sbx_path_add(d->path, d->path_len, key);
    return mark;
}

size_t sbx_decode_enter_index(struct sbx_decoder *d, size_t index)
{
    size_t mark = d->path_len;

    d->path_len = sbx_path_add_index(d->path, mark, index);
    return mark;
}

void sbx_decode_leave(struct sbx_decoder *d, size_t mark)
{
    d->path_len = mark;
    d->path[mark] = '\0';
}

const char *sbx_decode_wanted(const struct sbx_field *f)
{
    static const char *const by_type[] = {
        [SBX_FIELD_STRING] = "a string",          [SBX_FIELD_BOOL] = "true or false",
        [SBX_FIELD_INT] = "a whole number",       [SBX_FIELD_FLOAT] = "a number",
        [SBX_FIELD_STRINGS] = "a list of strings", [SBX_FIELD_PAIRS] = "a mapping of strings",
        [SBX_FIELD_BLOCK] = "a mapping",          [SBX_FIELD_LIST] = "a list of mappings",
        [SBX_FIELD_NAMED] = "a mapping of mappings", [SBX_FIELD_CUSTOM] = "another value",
        [SBX_FIELD_IGNORED] = "anything",         [SBX_FIELD_JSON] = "a mapping",
    };

    return f->want ? f->want : by_type[f->type];
}

/* "80" where 80 was meant */
static bool is_quoted_number(const struct sbx_yaml_node *n)
{
    return (n->style == SBX_YAML_SINGLE || n->style == SBX_YAML_DOUBLE) && n->len &&
           strspn(n->text, "0123456789.") == n->len;
}

static void shape_error(struct sbx_decoder *d, const struct sbx_yaml_node *n, const char *want,
                        const char *hint)
{
    sbx_decode_report(d, SBX_ERROR, "wrong-type", n->pos, hint, "want %s, got %s", want, sbx_yaml_noun(n));
}

void sbx_decode_list_error(struct sbx_decoder *d, const struct sbx_field *f, const struct sbx_yaml_node *n)
{
    if (n->kind == SBX_YAML_MAPPING)
        shape_error(d, n, sbx_decode_wanted(f), f->old);
    else
        sbx_decode_type_error(d, n, sbx_decode_wanted(f));
}

void sbx_decode_type_error(struct sbx_decoder *d, const struct sbx_yaml_node *n, const char *want)
{
    if (n->kind != SBX_YAML_SCALAR || !*d->path) /* a whole file that is no kit may be a key: its text is not repeated */
        shape_error(d, n, want, NULL);
    else if (strlen(n->text) != n->len)
        sbx_decode_report(d, SBX_ERROR, "wrong-type", n->pos, NULL, "holds a NUL byte");
    else
        sbx_decode_report(d, SBX_ERROR, "wrong-type", n->pos,
                          is_quoted_number(n) ? "remove the quotes" : NULL,
                          "want %s, got %s (%.60s%s)", want, sbx_yaml_noun(n), n->text,
                          n->len > 60 ? "..." : "");
}

void sbx_decode_unknown(struct sbx_decoder *d, const struct sbx_block *block,
                          const struct sbx_yaml_node *key)
{
    char hint[256];
    bool hinted = sbx_hint_for_key(block, key->text, hint, sizeof(hint));
    size_t mark = sbx_decode_enter(d, key->text);

    if (mark)
        sbx_decode_report(d, SBX_ERROR, "unknown-field", key->pos, hinted ? hint : NULL,
                          "unknown field %s", d->path);
    else
        sbx_decode_report(d, SBX_ERROR, "unknown-field", key->pos, hinted ? hint : NULL,
                          "unknown field \"%s\"", d->path);
    sbx_decode_leave(d, mark);
}
