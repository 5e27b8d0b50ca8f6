/* Findings in forms for other eyes: SARIF for code scanners, the source line with a caret for people. */
#include <fcntl.h>
#include <jansson.h>
#include <string.h>

#include "sbx/diag.h"
#include "sbx/file.h"
#include "sbx/json.h"
#include "sbx/text.h"

#define SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"
#define SOURCE_MAX 4194304 /* bytes of a file that a line is shown of; specs have at most one MiB */
#define LINE_SHOWN 160     /* bytes; longer lines are not shown, the caret would be off the screen */

/* A path as a URI reference (RFC 3986): all but unreserved characters and slashes escaped. */
static json_t *uri_of(const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SIZE_MAX);
    bool absolute = *path == '/';

    if (absolute && sbx_buf_adds(&out, "file://"))
        return NULL;
    for (; *path; path++)
        if (strchr(plain, *path) ? sbx_buf_add(&out, path, 1)
                                 : sbx_buf_addf(&out, "%%%02X", (unsigned char)*path))
            return NULL;
    return json_string(out.ptr ? out.ptr : "");
}

static json_t *message_of(const struct sbx_diag *d)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SIZE_MAX);
    bool named = !*d->path || !strcmp(d->code, "unknown-field");

    if (sbx_text_repair(&text, named ? "" : d->path, named ? 0 : strlen(d->path)) ||
        sbx_buf_adds(&text, named ? "" : ": ") ||
        sbx_text_repair(&text, d->message, strlen(d->message)) ||
        (d->hint && (sbx_buf_adds(&text, "; ") || sbx_text_repair(&text, d->hint, strlen(d->hint)))))
        return NULL;
    return json_pack("{s:s}", "text", text.ptr);
}

/* Its line of the text, without the end; NULL: it has none. */
static const char *find_line(const struct sbx_buf *text, unsigned line, size_t *ret_len)
{
    const char *at = text->ptr, *end = at ? at + text->len : NULL, *next;

    for (; at && line > 1; line--) {
        next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : NULL;
    }
    if (!at || at >= end)
        return NULL;
    next = memchr(at, '\n', (size_t)(end - at));
    *ret_len = (size_t)((next ? next : end) - at);
    if (*ret_len && at[*ret_len - 1] == '\r')
        --*ret_len;
    return at;
}

/* The file that the last finding was in: findings of one file follow each other. */
struct source {
    const char *file;
    struct sbx_buf text;
};

static const char *line_of(struct source *s, const struct sbx_pos *pos, size_t *ret_len)
{
    if (!s->file || strcmp(s->file, pos->file)) {
        sbx_buf_clear(&s->text);
        s->file = pos->file;
        if (sbx_file_read(AT_FDCWD, pos->file, &s->text, NULL))
            sbx_buf_clear(&s->text);
    }
    return find_line(&s->text, pos->line, ret_len);
}

/* UTF-16 code units of UTF-8; a byte that is none counts as one, as it is shown. */
static int utf16_units(const char *text, size_t len)
{
    int units = 0;

    for (size_t i = 0; i < len; units++) {
        uint32_t c = 0;
        size_t n = sbx_utf8_next(text + i, len - i, &c);

        units += c >= 0x10000;
        i += n ? n : 1;
    }
    return units;
}

/*
 * Columns of SARIF are UTF-16 code units. Of a file that cannot be read (standard input, a built-in kit)
 * only the line is given, unless nothing stands before the place.
 */
static json_t *region_of(const struct sbx_diag *d, struct source *s)
{
    size_t len = 0, column = d->pos.column ? d->pos.column - 1 : 0, span = d->pos.to - d->pos.from;
    const char *line = column || span ? line_of(s, &d->pos, &len) : "";
    json_t *region = json_pack("{s:i}", "startLine", (int)d->pos.line);
    int start;

    if (!region || !line || column > len)
        return region;
    start = utf16_units(line, column) + 1;
    if (json_object_set_new(region, "startColumn", json_integer(start)) ||
        (d->pos.to > d->pos.from && span <= len - column &&
         json_object_set_new(region, "endColumn", json_integer(start + utf16_units(line + column, span))))) {
        json_decref(region);
        return NULL;
    }
    return region;
}

static json_t *location_of(const struct sbx_diag *d, struct source *s)
{
    json_t *physical = json_pack("{s:{s:o}}", "artifactLocation", "uri", uri_of(d->pos.file));

    if (physical && d->pos.line && json_object_set_new(physical, "region", region_of(d, s))) {
        json_decref(physical);
        return NULL;
    }
    return json_pack("{s:o}", "physicalLocation", physical);
}

static json_t *result_of(const struct sbx_diag *d, struct source *s)
{
    json_t *locations = d->pos.file ? json_pack("[o]", location_of(d, s)) : json_array();

    return json_pack("{s:s,s:s,s:o,s:o}", "ruleId", d->code, "level",
                     sbx_severity_name(d->severity), "message", message_of(d), "locations",
                     locations);
}

/* Each code once. */
static bool is_first(const struct sbx_diags *d, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(d->v[k].code, d->v[i].code))
            return false;
    return true;
}

json_t *sbx_diags_sarif(const struct sbx_diags *d, const char *version)
{
    SBX_AUTO_JSON json_t *results = json_array();
    SBX_AUTO_JSON json_t *rules = json_array();
    struct source source = { NULL, SBX_BUF_INIT(SOURCE_MAX) };
    bool failed = false;

    for (size_t i = 0; i < d->len && !failed; i++)
        failed = json_array_append_new(results, result_of(&d->v[i], &source)) ||
                 (is_first(d, i) &&
                  json_array_append_new(rules, json_pack("{s:s}", "id", d->v[i].code)));
    sbx_buf_release(&source.text);
    return failed ? NULL
                  : json_pack("{s:s,s:s,s:[{s:{s:{s:s,s:s,s:O}},s:s,s:O}]}", "$schema", SCHEMA, "version",
                              "2.1.0", "runs", "tool", "driver", "name", "sbx", "version", version,
                              "rules", rules, "columnKind", "utf16CodeUnits", "results", results);
}

/* Columns that text takes on a terminal; tabs and control characters were escaped before. */
static size_t width_of(const char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static enum sbx_code add_caret(const struct sbx_diag *d, const char *line, size_t len,
                               struct sbx_buf *out)
{
    size_t column = d->pos.column ? d->pos.column - 1 : 0, span = d->pos.to - d->pos.from, before;
    SBX_AUTO(sbx_buf) shown = SBX_BUF_INIT(10 * LINE_SHOWN);
    enum sbx_code rc;

    column = column > len ? len : column;
    if (d->pos.to < d->pos.from || span > len - column)
        span = len - column;
    rc = sbx_text_escape(&shown, line, column);
    before = width_of(shown.ptr ? shown.ptr : "", shown.len);
    sbx_buf_clear(&shown);
    if (!rc)
        rc = sbx_text_escape(&shown, line + column, span);
    span = width_of(shown.ptr ? shown.ptr : "", shown.len);
    if (!rc)
        rc = sbx_buf_addf(out, "      | %*s^", (int)before, "");
    for (size_t i = 1; !rc && i < span; i++)
        rc = sbx_buf_adds(out, "~");
    return rc;
}

enum sbx_code sbx_diag_excerpt(const struct sbx_diag *d, struct sbx_buf *out)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SOURCE_MAX);
    const char *line;
    size_t len;
    enum sbx_code rc;

    if (!d->pos.file || !d->pos.line || sbx_file_read(AT_FDCWD, d->pos.file, &text, NULL))
        return SBX_OK; /* standard input, a built-in kit, gone by now */
    line = find_line(&text, d->pos.line, &len);
    if (!line || len > LINE_SHOWN)
        return SBX_OK;
    rc = sbx_buf_addf(out, "%5u | ", d->pos.line);
    if (!rc)
        rc = sbx_text_escape(out, line, len);
    if (!rc)
        rc = sbx_buf_adds(out, "\n");
    return rc ? rc : add_caret(d, line, len, out);
}
