/* What to write instead: the parser's words say what it missed, not what a person did. */
#include <string.h>

#include "yaml_impl.h"

#define ANY 0

/* The first row that fits counts. */
static const struct {
    const char *problem, *context; /* parts of the parser's texts; NULL: any */
    char at;                       /* what stands at the place */
    const char *hint;
} rows[] = {
    { "tab character", NULL, ANY, "indent with spaces; tabs are not allowed there" },
    { "cannot start any token", NULL, '\t', "indent with spaces; tabs are not allowed there" },
    { "cannot start any token", NULL, ANY, "write the value in quotes: no plain one begins with this character" },
    { "alphabetic or numeric", "alias", ANY, "write the value in quotes: \"*\" at its start means an alias" },
    { "alphabetic or numeric", "anchor", ANY, "write the value in quotes: \"&\" at its start means an anchor" },
    { "undefined tag handle", NULL, ANY, "write the value in quotes: \"!\" at its start means a tag" },
    { "block sequence entries", NULL, ANY, "begin the list on the next line" },
    { "unexpected end of stream", "quoted scalar", ANY, "close the quotes" },
    { "unknown escape", NULL, ANY, "write \\\\ for a backslash, or use single quotes" },
    { "could not find expected ':'", NULL, ANY, "write \"key: value\", with a space behind the colon" },
    { "unexpected ':'", NULL, ANY, "write a space behind the colon" },
    { "expected node content", NULL, ',', "remove one of the commas" },
    { "comment or line break", "block scalar", ANY, "begin the text on the next line" },
    { "control characters", NULL, ANY, "write it as an escape in double quotes, such as \"\\x07\"" },
    { "UTF-8", NULL, ANY, "save the file as UTF-8" },
};

static bool has(const char *text, const char *part)
{
    return !part || (text && strstr(text, part));
}

/* The line that a byte is on: its text up to there, and all of it. */
struct line {
    const char *start;
    size_t before, len;
};

static struct line line_at(const char *text, size_t len, size_t at)
{
    struct line l;
    size_t from = at, to = at;

    while (from && text[from - 1] != '\n')
        from--;
    while (to < len && text[to] != '\n')
        to++;
    l = (struct line){ text + from, at - from, to - from };
    return l;
}

static bool holds(const char *text, size_t len, const char *part)
{
    return memmem(text, len, part, strlen(part)) != NULL;
}

static const char *hint_of_colon(const struct line *l)
{
    if (holds(l->start, l->before, ": "))
        return "write the value in quotes: \": \" may not stand in a plain one";
    if (l->before && l->start[0] != ' ')
        return "write the line before it as \"key: value\", with a space behind the colon";
    return "indent this line like the keys around it";
}

static const char *hint_of_key(const struct line *l)
{
    size_t blanks = 0;

    while (blanks < l->before && l->start[blanks] == ' ')
        blanks++;
    if (blanks < l->before)
        return "write the whole value in quotes, or remove what stands behind it";
    if (l->len > l->before && l->start[l->before] == '-')
        return "indent the items of a list alike, below their key";
    return "indent this line like the keys around it";
}

/* An unclosed list or mapping; an argument in it that has to be quoted. */
static const char *hint_of_flow(const struct line *l, const char *problem)
{
    if (holds(l->start, l->len, "${{"))
        return "write \"${{ ... }}\" in quotes inside [ ] and { }";
    return strchr(problem, ']') ? "close the list with \"]\", and put a comma between items"
                                : "close the mapping with \"}\", and put a comma between entries";
}

const char *sbx_yaml_syntax_hint(const char *problem, const char *context, const char *text, size_t len,
                                 size_t at)
{
    struct line l = line_at(text, len, at < len ? at : len);

    if (has(problem, "mapping values are not allowed"))
        return hint_of_colon(&l);
    if (has(problem, "expected key"))
        return hint_of_key(&l);
    if (has(problem, "expected ','"))
        return hint_of_flow(&l, problem);
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        if (has(problem, rows[i].problem) && has(context, rows[i].context) &&
            (rows[i].at == ANY || (at < len && text[at] == rows[i].at)))
            return rows[i].hint;
    return NULL;
}
