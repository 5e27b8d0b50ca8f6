#include "sbx/diag.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "sbx/text.h"

enum sbx_code sbx_diags_init(struct sbx_diags *d)
{
    memset(d, 0, sizeof(*d));
    d->arena = sbx_arena_new();
    return d->arena ? SBX_OK : SBX_NO_MEMORY;
}

void sbx_diags_release(struct sbx_diags *d)
{
    sbx_arena_free(d->arena);
    free(d->v);
    memset(d, 0, sizeof(*d));
}

/* Files repeat from finding to finding: keep one copy of each name. */
static const char *keep_file(struct sbx_diags *d, const char *file)
{
    if (!file)
        return NULL;
    for (size_t i = d->len; i-- > 0;)
        if (d->v[i].pos.file && !strcmp(d->v[i].pos.file, file))
            return d->v[i].pos.file;
    return sbx_arena_strdup(d->arena, file);
}

static struct sbx_diag *next_slot(struct sbx_diags *d)
{
    if (d->len >= SBX_DIAGS_MAX && d->len >= d->max)
        return NULL;
    if (d->len == d->cap) {
        size_t cap = d->cap ? d->cap * 2 : 16;
        struct sbx_diag *v = realloc(d->v, cap * sizeof(*v));

        if (!v) {
            d->no_memory = true;
            return NULL;
        }
        d->v = v;
        d->cap = cap;
    }
    return &d->v[d->len];
}

void sbx_diags_add(struct sbx_diags *d, enum sbx_severity severity, const char *code,
                   struct sbx_pos pos, const char *path, const char *hint, const char *fmt, ...)
{
    struct sbx_diag *slot = next_slot(d);
    va_list args;

    if (severity == SBX_ERROR)
        d->errors++;
    if (!slot) {
        d->dropped++;
        return;
    }
    *slot = (struct sbx_diag){ .severity = severity, .code = code, .pos = pos };
    slot->pos.file = keep_file(d, pos.file);
    slot->path = sbx_arena_strdup(d->arena, path ? path : "");
    slot->hint = sbx_arena_strdup(d->arena, hint);
    va_start(args, fmt);
    slot->message = sbx_arena_vprintf(d->arena, fmt, args);
    va_end(args);
    if (slot->path && slot->message && (slot->hint || !hint) && (slot->pos.file || !pos.file)) {
        d->len++;
        return;
    }
    d->dropped++;
    d->no_memory = true;
}

void sbx_diags_append(struct sbx_diags *d, const struct sbx_diags *more)
{
    size_t errors = d->errors + more->errors;

    for (size_t i = 0; i < more->len; i++) {
        const struct sbx_diag *m = &more->v[i];

        sbx_diags_add(d, m->severity, m->code, m->pos, m->path, m->hint, "%s", m->message);
    }
    d->errors = errors;
    d->dropped += more->dropped;
    d->no_memory |= more->no_memory;
}

void sbx_diags_drop(struct sbx_diags *d, enum sbx_severity severity, const char *code)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->len; i++)
        if (d->v[i].severity != severity || strcmp(d->v[i].code, code))
            d->v[kept++] = d->v[i];
    if (severity == SBX_ERROR)
        d->errors -= d->len - kept;
    d->len = kept;
}

static int rank_of_file(const struct sbx_diags *d, const char *file)
{
    for (size_t i = 0; i < d->len; i++)
        if (d->v[i].pos.file == file)
            return (int)i;
    return -1;
}

struct keyed {
    struct sbx_diag diag;
    int file;
    size_t index;
};

static int compare(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->diag.pos.line != y->diag.pos.line)
        return x->diag.pos.line < y->diag.pos.line ? -1 : 1;
    if (x->diag.pos.column != y->diag.pos.column)
        return x->diag.pos.column < y->diag.pos.column ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

void sbx_diags_sort(struct sbx_diags *d)
{
    struct keyed *keyed = d->len ? calloc(d->len, sizeof(*keyed)) : NULL;

    if (!keyed)
        return; /* unsorted is still complete */
    for (size_t i = 0; i < d->len; i++)
        keyed[i] = (struct keyed){ d->v[i], rank_of_file(d, d->v[i].pos.file), i };
    qsort(keyed, d->len, sizeof(*keyed), compare);
    for (size_t i = 0; i < d->len; i++)
        d->v[i] = keyed[i].diag;
    free(keyed);
}

const char *sbx_severity_name(enum sbx_severity s)
{
    static const char *const names[] = { "error", "warning", "note" };

    return names[s];
}

#define LINE_MAX_BYTES (1 << 20) /* of one finding; the longest hold a spec's longest scalar */

static enum sbx_code add_escaped(struct sbx_buf *out, const char *text)
{
    return sbx_text_escape(out, text, strlen(text));
}

static enum sbx_code add_place(const struct sbx_diag *d, struct sbx_buf *out)
{
    enum sbx_code rc = SBX_OK;

    if (d->pos.file)
        rc = add_escaped(out, d->pos.file);
    if (!rc && d->pos.file)
        rc = sbx_buf_adds(out, ":");
    if (!rc && d->pos.line)
        rc = sbx_buf_addf(out, "%u:%u:", d->pos.line, d->pos.column);
    if (!rc && (d->pos.file || d->pos.line))
        rc = sbx_buf_adds(out, " ");
    return rc;
}

enum sbx_code sbx_diag_text(const struct sbx_diag *d, struct sbx_buf *out)
{
    enum sbx_code rc = add_place(d, out);

    if (!rc && d->severity != SBX_ERROR)
        rc = sbx_buf_addf(out, "%s: ", sbx_severity_name(d->severity));
    /* the message of an unknown field names the path itself */
    if (!rc && *d->path && strcmp(d->code, "unknown-field"))
        rc = add_escaped(out, d->path);
    if (!rc && *d->path && strcmp(d->code, "unknown-field"))
        rc = sbx_buf_adds(out, ": ");
    if (!rc)
        rc = add_escaped(out, d->message);
    if (!rc && d->hint)
        rc = sbx_buf_adds(out, "; ");
    if (!rc && d->hint)
        rc = add_escaped(out, d->hint);
    return rc;
}

void sbx_diags_print(const struct sbx_diags *d, FILE *out)
{
    for (size_t i = 0; i < d->len; i++) {
        SBX_AUTO(sbx_buf) line = SBX_BUF_INIT(LINE_MAX_BYTES);
        enum sbx_code rc = sbx_diag_text(&d->v[i], &line);

        /* a cut line still says more than none */
        fprintf(out, "%s%s\n", line.ptr ? line.ptr : "", rc ? "..." : "");
    }
    if (d->dropped)
        fprintf(out, "(and %zu more)\n", d->dropped);
}

/* A string of any bytes as a JSON string; NULL gives no value. 0 or -1. */
static int set_text(json_t *row, const char *key, const char *text)
{
    SBX_AUTO(sbx_buf) repaired = SBX_BUF_INIT(SIZE_MAX);

    if (!text)
        return 0;
    if (sbx_utf8_valid(text, strlen(text)))
        return json_object_set_new(row, key, json_string(text));
    if (sbx_text_repair(&repaired, text, strlen(text)))
        return -1;
    return json_object_set_new(row, key, json_string(repaired.ptr));
}

static json_t *row_json(const struct sbx_diag *d)
{
    json_t *row = json_pack("{s:s, s:s, s:I, s:I}", "severity", sbx_severity_name(d->severity),
                            "code", d->code, "line", (json_int_t)d->pos.line, "column",
                            (json_int_t)d->pos.column);

    if (row && !set_text(row, "file", d->pos.file) && !set_text(row, "path", d->path) &&
        !set_text(row, "message", d->message) && !set_text(row, "hint", d->hint))
        return row;
    json_decref(row);
    return NULL;
}

json_t *sbx_diags_json(const struct sbx_diags *d)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < d->len; i++) {
        if (!json_array_append_new(list, row_json(&d->v[i])))
            continue;
        json_decref(list);
        return NULL;
    }
    return list;
}
