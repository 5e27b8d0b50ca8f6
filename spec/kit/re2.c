/*
 * RE2's syntax by a positive grammar: what is not listed here is refused (S11). The translation is
 * written so that PCRE2 has no room for a meaning of its own: literals are numbers, anchors explicit.
 */
#include "re2.h"

#include <stdio.h>
#include <string.h>

#define REPEAT_MAX 1000 /* RE2's own bound, of one repetition and of nested ones multiplied */
#define DEPTH_MAX 1000  /* groups within groups, as RE2's */
#define OPEN "(" /* PCRE2_NO_AUTO_CAPTURE: no group captures, and plain ones may nest deepest */

/* A group that is not closed yet. */
struct level {
    size_t start;   /* of the group in `out` */
    unsigned flags; /* around it */
    unsigned repeat; /* largest product of repetitions inside so far */
};

struct parser {
    struct re2 re;
    struct level levels[DEPTH_MAX];
    size_t depth;
    size_t atom, atom_end; /* the last operand in `out` */
    unsigned atom_repeat;  /* product of repetitions inside it */
    bool has_atom, bare;   /* bare: a single character or set, which needs no group */
    bool repeated, after_repeat; /* this step is a repetition; the last one was */
    unsigned repeat;       /* of the level: largest product so far */
    const char *names[DEPTH_MAX]; /* of groups, in the pattern */
    size_t n_names;
};

static enum sbx_code fail(struct parser *p, const char *why) { return sbx_re2_fail(&p->re, why); }

static void set_atom(struct parser *p, size_t start, bool bare, unsigned repeat)
{
    p->atom = start;
    p->atom_end = p->re.out->len;
    p->atom_repeat = repeat;
    p->has_atom = true;
    p->bare = bare;
}

/* Put text into `out` before what stands there. */
static enum sbx_code insert(struct sbx_buf *b, size_t at, const char *text)
{
    size_t len = strlen(text), tail = b->len - at;
    enum sbx_code rc = sbx_buf_add(b, text, len);

    if (rc)
        return rc;
    memmove(b->ptr + at + len, b->ptr + at, tail);
    memcpy(b->ptr + at, text, len);
    return SBX_OK;
}

/* A decimal number without leading zeros; -1: none, or far too large. */
static long number(const char **s)
{
    long n = 0;
    const char *start = *s;

    if (s[0][0] == '0' && s[0][1] >= '0' && s[0][1] <= '9')
        return -1;
    while (**s >= '0' && **s <= '9') {
        if (n <= REPEAT_MAX)
            n = n * 10 + (**s - '0');
        (*s)++;
    }
    return *s == start ? -1 : n;
}

/* "{n}", "{n,}", "{n,m}" at `s`; false: literal text. *max -1: no bound. */
static bool read_bounds(const char *s, long *min, long *max, const char **ret_end)
{
    s++;
    *min = *max = number(&s);
    if (*min < 0)
        return false;
    if (*s == ',') {
        s++;
        *max = -1;
        if (*s != '}' && (*max = number(&s)) < 0)
            return false;
    }
    if (*s != '}')
        return false;
    *ret_end = s + 1;
    return true;
}

/* Apply a repetition, already in PCRE2's spelling, to the last operand. */
static enum sbx_code repeat(struct parser *p, const char *text, unsigned times, const char *end)
{
    unsigned product = times > 1 ? p->atom_repeat * times : p->atom_repeat;
    enum sbx_code rc = SBX_OK;

    if (p->after_repeat)
        return fail(p, "a repetition of a repetition (write a group between)");
    if (!p->has_atom)
        return fail(p, "a repetition of nothing");
    if (product > REPEAT_MAX)
        return fail(p, "more than 1000 repetitions");
    if (!p->bare) {
        rc = insert(p->re.out, p->atom_end, ")");
        p->atom_end++;
        if (!rc)
            rc = insert(p->re.out, p->atom, OPEN);
        p->atom_end += strlen(OPEN);
    }
    if (!rc)
        rc = insert(p->re.out, p->atom_end, text);
    p->atom_end += strlen(text);
    p->atom_repeat = product;
    p->bare = false;
    p->repeated = true;
    p->re.at = *end == '?' ? end + 1 : end; /* lazy: the same texts match */
    return rc;
}

static enum sbx_code on_brace(struct parser *p)
{
    const char *end;
    char text[32];
    long min, max;
    size_t start = p->re.out->len;
    enum sbx_code rc;

    if (read_bounds(p->re.at, &min, &max, &end)) {
        if (min > REPEAT_MAX || max > REPEAT_MAX || (max >= 0 && max < min))
            return fail(p, "bounds of a repetition: at most 1000, and not backwards");
        snprintf(text, sizeof(text), max < 0 ? "{%ld,}" : "{%ld,%ld}", min, max);
        return repeat(p, text, (unsigned)(max > 0 ? max : min), end);
    }
    p->re.at++;
    rc = sbx_re2_literal(&p->re, '{');
    set_atom(p, start, true, 1);
    return rc;
}

/* "name>" behind "(?P<" or "(?<". */
static enum sbx_code read_name(struct parser *p)
{
    const char *start = p->re.at;
    size_t len = strspn(start, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

    if (!len || start[len] != '>')
        return fail(p, "a group's name has letters, digits and \"_\", and ends with \">\"");
    for (size_t i = 0; i < p->n_names; i++)
        if (!strncmp(p->names[i], start, len + 1))
            return fail(p, "two groups of one name");
    p->names[p->n_names++] = start;
    p->re.at += len + 1;
    return SBX_OK;
}

static enum sbx_code push(struct parser *p, unsigned flags)
{
    bool fold = flags & RE2_FOLD, folded = p->re.flags & RE2_FOLD;

    if (p->depth == DEPTH_MAX)
        return fail(p, "groups nested deeper than 1000");
    p->levels[p->depth++] = (struct level){ p->re.out->len, p->re.flags, p->repeat };
    p->re.flags = flags;
    p->repeat = 1;
    p->has_atom = false;
    return sbx_buf_adds(p->re.out, fold == folded ? OPEN : fold ? "(?i:" : "(?-i:");
}

/* "(?" and flags, up to ")" or ":". */
static enum sbx_code on_flags(struct parser *p)
{
    static const char letters[] = "imsU";
    static const unsigned bits[] = { RE2_FOLD, RE2_MULTI, RE2_DOT_ALL, 0 };
    unsigned flags = p->re.flags;
    bool negative = false, seen = false;

    for (; *p->re.at && *p->re.at != ')' && *p->re.at != ':'; p->re.at++) {
        const char *letter = strchr(letters, *p->re.at);

        if (*p->re.at == '-' && !negative) {
            negative = true;
            seen = false;
            continue;
        }
        if (!letter)
            return fail(p, "a group that is none of (...), (?:...), (?P<name>...), (?flags)");
        seen = true;
        flags = negative ? flags & ~bits[letter - letters] : flags | bits[letter - letters];
    }
    if (!*p->re.at || (negative && !seen))
        return fail(p, "flags of a group that are cut off");
    if (*p->re.at++ == ':')
        return push(p, flags);
    if ((flags ^ p->re.flags) & RE2_FOLD && sbx_buf_adds(p->re.out, flags & RE2_FOLD ? "(?i)" : "(?-i)"))
        return SBX_NO_MEMORY;
    p->re.flags = flags;
    return SBX_OK;
}

static enum sbx_code on_open(struct parser *p)
{
    enum sbx_code rc = SBX_OK;

    if (p->re.at[1] != '?') {
        p->re.at++;
        return push(p, p->re.flags);
    }
    p->re.at += 2;
    if (!strncmp(p->re.at, "P<", 2) || (*p->re.at == '<' && p->re.at[1] != '=' && p->re.at[1] != '!')) {
        p->re.at += *p->re.at == 'P' ? 2 : 1;
        rc = read_name(p);
        return rc ? rc : push(p, p->re.flags);
    }
    if (*p->re.at == '=' || *p->re.at == '!')
        return fail(p, "look-ahead is not part of it");
    if (*p->re.at == '<')
        return fail(p, "look-behind is not part of it");
    return on_flags(p);
}

static enum sbx_code on_close(struct parser *p)
{
    struct level l;
    unsigned inside = p->has_atom && p->atom_repeat > p->repeat ? p->atom_repeat : p->repeat;
    enum sbx_code rc;

    if (!p->depth)
        return fail(p, ") without (");
    l = p->levels[--p->depth];
    p->re.flags = l.flags;
    p->repeat = l.repeat;
    p->re.at++;
    rc = sbx_buf_adds(p->re.out, ")");
    set_atom(p, l.start, false, inside);
    return rc;
}

/* "\Q...\E": literal text; without the end all that follows. */
static enum sbx_code on_quote(struct parser *p)
{
    const char *end = strstr(p->re.at + 2, "\\E");
    enum sbx_code rc = SBX_OK;

    p->re.at += 2;
    while (!rc && *p->re.at && p->re.at != end) {
        size_t start = p->re.out->len;
        uint32_t c;

        rc = sbx_re2_next(&p->re, &c);
        if (!rc)
            rc = sbx_re2_literal(&p->re, c);
        set_atom(p, start, true, 1);
    }
    if (end)
        p->re.at = end + 2;
    return rc;
}

static enum sbx_code on_backslash(struct parser *p)
{
    char c = p->re.at[1];
    size_t start = p->re.out->len;
    bool set = false;
    uint32_t literal;
    enum sbx_code rc;

    if (c == 'Q')
        return on_quote(p);
    if (c && strchr("AzbB", c)) {
        p->re.at += 2;
        rc = sbx_buf_addf(p->re.out, "\\%c", c);
        set_atom(p, start, false, 1);
        return rc;
    }
    rc = sbx_re2_set(&p->re, false, &set);
    if (!rc && !set) {
        p->re.at++;
        rc = sbx_re2_escaped(&p->re, &literal);
        if (!rc)
            rc = sbx_re2_literal(&p->re, literal);
    }
    set_atom(p, start, true, 1);
    return rc;
}

/* ".", "^", "$" and characters that stand for themselves */
static enum sbx_code on_character(struct parser *p)
{
    size_t start = p->re.out->len;
    bool multi = p->re.flags & RE2_MULTI, bare = true;
    uint32_t c;
    enum sbx_code rc = sbx_re2_next(&p->re, &c);

    if (rc)
        return rc;
    if (c == '.') {
        rc = sbx_buf_adds(p->re.out, p->re.flags & RE2_DOT_ALL ? "(?s:.)" : "[^\\n]");
    } else if (c == '^') {
        rc = sbx_buf_adds(p->re.out, multi ? "(?:\\A|(?<=\\n))" : "\\A");
        bare = false;
    } else if (c == '$') {
        rc = sbx_buf_adds(p->re.out, multi ? "(?:\\z|(?=\\n))" : "\\z");
        bare = false;
    } else {
        rc = sbx_re2_literal(&p->re, c);
    }
    set_atom(p, start, bare, 1);
    return rc;
}

static enum sbx_code step(struct parser *p)
{
    const char *at = p->re.at;
    char text[2] = { *at, '\0' };
    size_t start = p->re.out->len;
    enum sbx_code rc;

    switch (*at) {
    case '*':
    case '+':
    case '?':
        return repeat(p, text, 1, at + 1);
    case '{':
        return on_brace(p);
    case '(':
        return on_open(p);
    case ')':
        return on_close(p);
    case '|':
        p->has_atom = false;
        p->re.at++;
        return sbx_buf_adds(p->re.out, "|");
    case '[':
        rc = sbx_re2_class(&p->re);
        set_atom(p, start, true, 1);
        return rc;
    case '\\':
        return on_backslash(p);
    default:
        return on_character(p);
    }
}

enum sbx_code sbx_re2_translate(const char *pattern, struct sbx_buf *out, struct sbx_err *err)
{
    SBX_AUTO_FREE struct parser *p = calloc(1, sizeof(*p));
    enum sbx_code rc = SBX_OK;

    if (!p)
        return SBX_NO_MEMORY;
    p->re = (struct re2){ .at = pattern, .out = out, .err = err };
    p->repeat = 1;
    while (!rc && *p->re.at) {
        p->after_repeat = p->repeated;
        p->repeated = false;
        rc = step(p);
        if (p->has_atom && p->atom_repeat > p->repeat)
            p->repeat = p->atom_repeat;
    }
    if (!rc && p->depth)
        rc = fail(p, "( without )");
    if (rc == SBX_LIMIT)
        return sbx_err_set(err, SBX_SCHEMA, "not an RE2 pattern: too large");
    return rc;
}
