#include "out.h"

#include <string.h>

#include "sbx/text.h"

enum sbx_code sbx_out_value(struct sbx_cli *cli, json_t *value, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *mine = value;
    SBX_AUTO(sbx_buf) yaml = SBX_BUF_INIT(SBX_OUT_MAX);

    if (!mine)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (cli->printed)
        return SBX_OK;
    cli->printed = true;
    if (cli->format != SBX_FORMAT_YAML) {
        if (json_dumpf(mine, cli->out, JSON_INDENT(2) | JSON_ENCODE_ANY) ||
            fputc('\n', cli->out) < 0)
            return sbx_err_errno(err, "write to standard output");
        return SBX_OK;
    }
    if (sbx_yaml_write(mine, &yaml))
        return sbx_err_set(err, SBX_LIMIT, "output is over %d bytes", SBX_OUT_MAX);
    if (fwrite(yaml.ptr, 1, yaml.len, cli->out) != yaml.len)
        return sbx_err_errno(err, "write to standard output");
    return SBX_OK;
}

void sbx_out_event(const struct sbx_cli *cli, json_t *event)
{
    SBX_AUTO_FREE char *line = event ? json_dumps(event, JSON_COMPACT) : NULL;

    json_decref(event);
    if (!line)
        return;
    fprintf(cli->err, "%s\n", line);
    fflush(cli->err);
}

json_t *sbx_out_event_of(const char *kind, const char *text)
{
    SBX_AUTO(sbx_buf) repaired = SBX_BUF_INIT(SBX_OUT_MAX);

    if (sbx_text_repair(&repaired, text, strlen(text)))
        return NULL;
    return json_pack("{s:s,s:s}", "event", kind, "text", repaired.ptr ? repaired.ptr : "");
}

const char *sbx_out_clean(struct sbx_arena *arena, const char *text)
{
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(SBX_OUT_MAX);

    if (!text)
        return "-";
    if (sbx_text_escape(&b, text, strlen(text)))
        return NULL;
    return sbx_arena_memdup(arena, b.ptr ? b.ptr : "", b.len);
}

static enum sbx_code grow(struct sbx_columns *c, struct sbx_err *err)
{
    size_t cap = c->cap ? c->cap * 2 : 16;
    const char **cells = sbx_arena_array(c->arena, cap * c->n, sizeof(*cells));

    if (!cells)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (c->len)
        memcpy(cells, c->cells, c->len * c->n * sizeof(*cells));
    c->cells = cells;
    c->cap = cap;
    return SBX_OK;
}

enum sbx_code sbx_columns_add(struct sbx_columns *c, const char *const *cells, struct sbx_err *err)
{
    if (c->len == c->cap && grow(c, err))
        return SBX_NO_MEMORY;
    for (size_t i = 0; i < c->n; i++) {
        const char **cell = &c->cells[c->len * c->n + i];

        *cell = sbx_out_clean(c->arena, cells[i] && *cells[i] ? cells[i] : "-");
        if (!*cell)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    c->len++;
    return SBX_OK;
}

/* Characters, so far as columns care: bytes that do not continue a UTF-8 sequence. */
static size_t width(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void print_row(const char *const *cells, const size_t *widths, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        fputs(cells[i], out);
        if (i + 1 < n)
            fprintf(out, "%*s", (int)(widths[i] - width(cells[i]) + 3), "");
    }
    fputc('\n', out);
}

void sbx_columns_print(const struct sbx_columns *c, FILE *out)
{
    size_t widths[SBX_COLUMNS_MAX] = { 0 };

    for (size_t i = 0; i < c->n; i++) {
        widths[i] = width(c->head[i]);
        for (size_t r = 0; r < c->len; r++) {
            size_t w = width(c->cells[r * c->n + i]);

            widths[i] = w > widths[i] ? w : widths[i];
        }
    }
    print_row(c->head, widths, c->n, out);
    for (size_t r = 0; r < c->len; r++)
        print_row(c->cells + r * c->n, widths, c->n, out);
}

const char *sbx_out_ago(struct sbx_arena *arena, long long then, long long now)
{
    static const struct {
        long long seconds;
        const char *unit;
    } units[] = { { 31536000, "year" }, { 2592000, "month" }, { 86400, "day" },
                  { 3600, "hour" },     { 60, "minute" },     { 1, "second" } };
    long long past = now - then;

    if (past < 1)
        return "just now";
    for (size_t i = 0; i < SBX_ARRAY_LEN(units); i++) {
        long long n = past / units[i].seconds;

        if (n)
            return sbx_arena_printf(arena, "%lld %s%s ago", n, units[i].unit, n == 1 ? "" : "s");
    }
    return "just now";
}

const char *sbx_out_size(struct sbx_arena *arena, long long bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
    double v = (double)bytes;
    size_t u = 0;

    while (v >= 1000 && u + 1 < SBX_ARRAY_LEN(units)) {
        v /= 1000;
        u++;
    }
    return sbx_arena_printf(arena, v < 10 && u ? "%.1f%s" : "%.0f%s", v, units[u]);
}

/* Does the shell want no ";" behind this? */
static bool goes_on(const char *text, const char *end)
{
    static const char *const words[] = { ";", "&", "|", "{", "(", " then", " do", " else" };

    for (size_t i = 0; i < SBX_ARRAY_LEN(words); i++) {
        size_t len = strlen(words[i]);

        if ((size_t)(end - text) >= len && !memcmp(end - len, words[i], len))
            return true;
    }
    return end == text;
}

/* A script in one line: breaks become ";", but where a line goes on. */
static char *one_line(struct sbx_arena *arena, const char *text)
{
    char *out = sbx_arena_alloc(arena, 2 * strlen(text) + 1), *to = out;

    while (out && *text) {
        size_t blank = strspn(text, " \t\n");

        if (!strncmp(text, "\\\n", 2)) {
            text += 2;
        } else if (!blank) {
            *to++ = *text++;
        } else {
            if (memchr(text, '\n', blank) && text[blank] && !goes_on(out, to))
                *to++ = ';';
            if (text[blank] && to > out && to[-1] != ' ')
                *to++ = ' ';
            text += blank;
        }
    }
    return out;
}

const char *sbx_out_command(struct sbx_arena *arena, const char *const *argv)
{
    const char *text = argv[0];
    size_t len;

    if (argv[1] && !strcmp(argv[1], "-c") && argv[2] &&
        !argv[3]) /* a shell's: the script says it */
        text = argv[2];
    else
        for (argv++; text && *argv; argv++)
            text = sbx_arena_printf(arena, "%s %s", text, *argv);
    text = text ? one_line(arena, text) : NULL;
    len = text ? strlen(text) : 0;
    if (len <= SBX_OUT_COMMAND_MAX)
        return text;
    for (len = SBX_OUT_COMMAND_MAX; len && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
        ; /* not inside a character */
    return sbx_arena_printf(arena, "%.*s...", (int)len, text);
}
