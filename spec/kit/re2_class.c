/* Characters and sets of characters: escapes, \d and \p, classes in brackets. */
#include <string.h>

#include "re2.h"
#include "sbx/text.h"

#define MAX_RUNE 0x10ffff

enum sbx_code sbx_re2_fail(struct re2 *p, const char *why)
{
    return sbx_err_set(p->err, SBX_SCHEMA, "not an RE2 pattern: %s", why);
}

enum sbx_code sbx_re2_next(struct re2 *p, uint32_t *ret)
{
    size_t n = sbx_utf8_next(p->at, strlen(p->at), ret);

    if (!n)
        return sbx_re2_fail(p, *p->at ? "it is not UTF-8" : "it ends too early");
    p->at += n;
    return SBX_OK;
}

static bool is_surrogate(uint32_t c) { return c >= 0xd800 && c <= 0xdfff; }

enum sbx_code sbx_re2_literal(struct re2 *p, uint32_t c)
{
    if (is_surrogate(c)) /* RE2 takes it, and no text has it */
        return sbx_buf_adds(p->out, "(?!)");
    return sbx_buf_addf(p->out, "\\x{%x}", (unsigned)c);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Behind "\x". */
static enum sbx_code hexadecimal(struct re2 *p, uint32_t *ret)
{
    uint32_t value = 0;
    size_t n = 0;

    if (*p->at != '{') {
        if (hex(p->at[0]) < 0 || hex(p->at[1]) < 0)
            return sbx_re2_fail(p, "\\x wants two hexadecimal digits, or {digits}");
        *ret = (uint32_t)(hex(p->at[0]) * 16 + hex(p->at[1]));
        p->at += 2;
        return SBX_OK;
    }
    for (p->at++; hex(*p->at) >= 0 && value <= MAX_RUNE; p->at++, n++)
        value = value * 16 + (uint32_t)hex(*p->at);
    if (!n || *p->at != '}' || value > MAX_RUNE)
        return sbx_re2_fail(p, "\\x{...} wants the hexadecimal number of a character");
    p->at++;
    *ret = value;
    return SBX_OK;
}

/* \0, \07, \12, \123; a single digit from 1 on would be a back-reference. */
static enum sbx_code octal(struct re2 *p, uint32_t *ret)
{
    char first = p->at[-1];

    *ret = (uint32_t)(first - '0');
    if (first != '0' && (p->at[0] < '0' || p->at[0] > '7'))
        return sbx_re2_fail(p, "back-references are not part of it");
    for (int i = 0; i < 2 && *p->at >= '0' && *p->at <= '7'; i++)
        *ret = *ret * 8 + (uint32_t)(*p->at++ - '0');
    return SBX_OK;
}

enum sbx_code sbx_re2_escaped(struct re2 *p, uint32_t *ret)
{
    static const char names[] = "aftnrv", codes[] = "\a\f\t\n\r\v";
    char c = *p->at;
    const char *name;

    if (!c)
        return sbx_re2_fail(p, "a backslash at the end");
    p->at++;
    if (c >= '0' && c <= '7')
        return octal(p, ret);
    if (c == 'x')
        return hexadecimal(p, ret);
    name = strchr(names, c);
    if (name) {
        *ret = (unsigned char)codes[name - names];
        return SBX_OK;
    }
    if ((unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
        (c >= 'a' && c <= 'z'))
        return sbx_re2_fail(p, c == '8' || c == '9' ? "back-references are not part of it"
                                                     : "this escape is not part of it");
    *ret = (unsigned char)c;
    return SBX_OK;
}

/* Behind "\p" or "\P". Script, not script extensions; upper, lower and title case fold together. */
static enum sbx_code property(struct re2 *p, bool in_class, bool negated)
{
    const char *name = p->at, *end = name + 1;
    size_t len;
    bool cased;

    if (*name == '{') {
        end = strchr(++name, '}');
        if (!end)
            return sbx_re2_fail(p, "\\p{ without }");
    } else if (!*name) {
        return sbx_re2_fail(p, "\\p wants a name");
    }
    p->at = *end == '}' && name[-1] == '{' ? end + 1 : end;
    if (*name == '^') {
        negated = !negated;
        name++;
    }
    len = (size_t)(end - name);
    if (sbx_re2_is_script(name, len))
        return sbx_buf_addf(p->out, "\\%c{sc:%.*s}", negated ? 'P' : 'p', (int)len, name);
    if (!sbx_re2_is_category(name, len))
        return sbx_re2_fail(p, "\\p with a name that is neither a category nor a script");
    cased = p->flags & RE2_FOLD && len == 2 && *name == 'L' && strchr("ult", name[1]);
    if (cased && !negated)
        return sbx_buf_adds(p->out, in_class ? "\\p{Lu}\\p{Ll}\\p{Lt}" : "[\\p{Lu}\\p{Ll}\\p{Lt}]");
    return sbx_buf_addf(p->out, "\\%c{%.*s}", negated ? 'P' : 'p', (int)len, name);
}

enum sbx_code sbx_re2_set(struct re2 *p, bool in_class, bool *ret_found)
{
    char c = p->at[1];

    *ret_found = c && strchr("dDwWsSpP", c);
    if (!*ret_found)
        return SBX_OK;
    p->at += 2;
    if (c == 'p' || c == 'P')
        return property(p, in_class, c == 'P');
    if (c == 's') /* without the vertical tab, which PCRE2 counts in */
        return sbx_buf_adds(p->out, in_class ? "\\t\\n\\f\\r\\x20" : "[\\t\\n\\f\\r\\x20]");
    if (c == 'S')
        return sbx_buf_adds(p->out, in_class ? "\\S\\x0b" : "[^\\t\\n\\f\\r\\x20]");
    return sbx_buf_addf(p->out, "\\%c", c);
}

/* "[:name:]" or "[:^name:]" at p->at; *ret_found false: an ordinary bracket. */
static enum sbx_code posix(struct re2 *p, bool *ret_found)
{
    static const char names[] = " alnum alpha ascii blank cntrl digit graph lower print punct space upper "
                                "word xdigit ";
    const char *start = p->at + 2, *end = strstr(start, ":]"), *name = start;
    size_t len;

    *ret_found = end != NULL;
    if (!end)
        return SBX_OK;
    name += *name == '^';
    len = (size_t)(end - name);
    for (const char *s = names; (s = strchr(s, ' ')) && s[1]; s++) {
        if (!len || memchr(name, ' ', len) || strncmp(s + 1, name, len) || s[1 + len] != ' ')
            continue;
        p->at = end + 2;
        return sbx_buf_addf(p->out, "[:%.*s:]", (int)(end - start), start);
    }
    return sbx_re2_fail(p, "[:name:] with an unknown name");
}

static enum sbx_code member(struct re2 *p, uint32_t *ret)
{
    if (*p->at != '\\')
        return sbx_re2_next(p, ret);
    p->at++;
    return sbx_re2_escaped(p, ret);
}

static enum sbx_code range(struct re2 *p)
{
    uint32_t lo, hi;
    enum sbx_code rc = member(p, &lo);

    hi = lo;
    if (!rc && p->at[0] == '-' && p->at[1] && p->at[1] != ']') {
        p->at++;
        rc = member(p, &hi);
        if (!rc && hi < lo)
            rc = sbx_re2_fail(p, "a range of characters that runs backwards");
    }
    if (rc)
        return rc;
    if (is_surrogate(lo))
        lo = 0xe000;
    if (is_surrogate(hi))
        hi = 0xd7ff;
    return lo > hi ? SBX_OK : sbx_buf_addf(p->out, "\\x{%x}-\\x{%x}", (unsigned)lo, (unsigned)hi);
}

static enum sbx_code one_member(struct re2 *p)
{
    bool found = false;
    enum sbx_code rc = SBX_OK;

    if (p->at[0] == '[' && p->at[1] == ':')
        rc = posix(p, &found);
    else if (p->at[0] == '\\')
        rc = sbx_re2_set(p, true, &found);
    return rc || found ? rc : range(p);
}

enum sbx_code sbx_re2_class(struct re2 *p)
{
    size_t start = p->out->len, empty;
    bool negated = p->at[1] == '^', first = true;
    enum sbx_code rc = sbx_buf_adds(p->out, negated ? "[^" : "[");

    empty = p->out->len;
    p->at += 1 + negated;
    for (; !rc && (first || *p->at != ']'); first = false) {
        if (!*p->at)
            return sbx_re2_fail(p, "[ without ]");
        rc = one_member(p);
    }
    if (rc)
        return rc;
    p->at++;
    if (p->out->len > empty)
        return sbx_buf_adds(p->out, "]");
    p->out->len = start; /* only characters that no text has */
    return sbx_buf_adds(p->out, negated ? "(?s:.)" : "(?!)");
}
