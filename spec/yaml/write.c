/* Strings as scalars, in the style that reads best and means the same. */
#include <string.h>
#include <strings.h>

#include "sbx/text.h"
#include "yaml_impl.h"

/* Words that other readers of YAML 1.1 take for a boolean, even if this one does not. */
static bool is_old_boolean(const char *s)
{
    static const char *const words[] = { "y", "n", "yes", "no", "on", "off", "true", "false" };

    for (size_t i = 0; i < SBX_ARRAY_LEN(words); i++)
        if (!strcasecmp(s, words[i]))
            return true;
    return false;
}

/* 1:30, base 60 in YAML 1.1 */
static bool is_base_60(const char *s)
{
    const char *colon = strchr(s, ':');

    return colon && strspn(s, "0123456789_+-:.") == strlen(s) && s[strspn(s, "+-")] >= '0' &&
           s[strspn(s, "+-")] <= '9' && colon[1];
}

/* In quotes, a reference to a kit's argument stays a string whatever its value is. */
static bool needs_quotes(const char *s)
{
    return strstr(s, "${{") || sbx_yaml_plain_type(s) != SBX_YAML_STR || is_old_boolean(s) || is_base_60(s);
}

/* What a text holds that decides its style. */
struct look {
    bool newline, tab, special; /* special: only escapes can write it */
    bool space_break;           /* a space before a newline, or at the end */
};

/* Printable beyond ASCII: no control, line separator, byte order mark or non-character. */
static bool is_printable(uint32_t c)
{
    return c >= 0xa0 && c != 0x2028 && c != 0x2029 && c != 0xfeff && (c & 0xfffe) != 0xfffe;
}

static struct look look_at(const char *s)
{
    struct look l = { false };
    size_t len = strlen(s);

    for (size_t i = 0; i < len;) {
        uint32_t c = 0;
        size_t n = sbx_utf8_next(s + i, len - i, &c);

        if (c == '\n')
            l.newline = true;
        else if (c == '\t')
            l.tab = true;
        else if (!n || c < ' ' || c == 0x7f || (c > 0x7f && !is_printable(c)))
            l.special = true;
        if (c == ' ' && (i + 1 == len || s[i + 1] == '\n'))
            l.space_break = true;
        i += n ? n : 1;
    }
    return l;
}

/* Has it the shape of a plain scalar inside a block? */
static bool can_be_plain(const char *s)
{
    size_t len = strlen(s);

    if (strchr("#,[]{}&*!|>'\"%@` ", *s) || s[len - 1] == ' ' || s[len - 1] == ':')
        return false;
    if (strchr("-?:", *s) && (!s[1] || s[1] == ' '))
        return false;
    if (!strncmp(s, "---", 3) || !strncmp(s, "...", 3))
        return false;
    return !strstr(s, ": ") && !strstr(s, " #");
}

static enum sbx_code add_escape(struct sbx_buf *out, uint32_t c)
{
    switch (c) {
    case '"':
        return sbx_buf_adds(out, "\\\"");
    case '\\':
        return sbx_buf_adds(out, "\\\\");
    case '\n':
        return sbx_buf_adds(out, "\\n");
    case '\r':
        return sbx_buf_adds(out, "\\r");
    case '\t':
        return sbx_buf_adds(out, "\\t");
    default:
        if (c <= 0xff)
            return sbx_buf_addf(out, "\\x%02X", (unsigned)c);
        return sbx_buf_addf(out, c <= 0xffff ? "\\u%04X" : "\\U%08X", (unsigned)c);
    }
}

static enum sbx_code add_double(struct sbx_buf *out, const char *s)
{
    enum sbx_code rc = sbx_buf_adds(out, "\"");
    size_t len = strlen(s);

    while (!rc && len) {
        uint32_t c;
        size_t n = sbx_utf8_next(s, len, &c);

        if (!n)
            return SBX_SCHEMA;
        if (c == '"' || c == '\\' || c < ' ' || c == 0x7f || (c > 0x7f && !is_printable(c)))
            rc = add_escape(out, c);
        else
            rc = sbx_buf_add(out, s, n);
        s += n;
        len -= n;
    }
    return rc ? rc : sbx_buf_adds(out, "\"");
}

static enum sbx_code add_single(struct sbx_buf *out, const char *s)
{
    enum sbx_code rc = sbx_buf_adds(out, "'");

    for (; !rc && *s; s++)
        rc = sbx_buf_add(out, *s == '\'' ? "''" : s, *s == '\'' ? 2 : 1);
    return rc ? rc : sbx_buf_adds(out, "'");
}

/* "|", its indicators, and the lines without the last newline. */
static enum sbx_code add_literal(struct sbx_buf *out, const char *s, unsigned indent)
{
    size_t len = strlen(s);
    bool ends = s[len - 1] == '\n', more = ends && (len == 1 || s[len - 2] == '\n');
    enum sbx_code rc = sbx_buf_addf(out, "|%s%s", strchr(" \t\n", *s) ? "2" : "",
                                    more ? "+" : ends ? "" : "-");

    if (ends)
        len--;
    for (const char *end = s + len; !rc && s <= end;) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        size_t n = (size_t)((newline ? newline : end) - s);

        rc = sbx_buf_addf(out, "\n%*s", n ? (int)indent : 0, "");
        if (!rc)
            rc = sbx_buf_add(out, s, n);
        s += n + 1;
    }
    return rc;
}

static enum sbx_code add_line(struct sbx_buf *out, const char *s, const struct look *l)
{
    if (l->special || l->tab || l->newline || needs_quotes(s))
        return add_double(out, s);
    return can_be_plain(s) ? sbx_buf_adds(out, s) : add_single(out, s);
}

enum sbx_code sbx_yaml_write_text(struct sbx_buf *out, const char *text, unsigned indent)
{
    struct look l = look_at(text);

    if (l.newline && !l.special && !l.space_break)
        return add_literal(out, text, indent);
    return add_line(out, text, &l);
}

enum sbx_code sbx_yaml_write_key(struct sbx_buf *out, const char *text, unsigned indent)
{
    struct look l = look_at(text);
    SBX_AUTO(sbx_buf) key = SBX_BUF_INIT(out->max);
    enum sbx_code rc = add_line(&key, text, &l);

    if (rc)
        return rc;
    if (key.len <= SBX_YAML_SIMPLE_KEY_MAX) { /* as written: an escape takes up to ten bytes */
        rc = sbx_buf_add(out, key.ptr, key.len);
        return rc ? rc : sbx_buf_adds(out, ":");
    }
    rc = sbx_buf_adds(out, "? ");
    if (!rc)
        rc = sbx_buf_add(out, key.ptr, key.len);
    return rc ? rc : sbx_buf_addf(out, "\n%*s:", (int)indent, "");
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

/* Compare the numbers that begin at or before `at` and run on in both. */
static int compare_numbers(const char *a, const char *b, size_t at)
{
    size_t from = at, la, lb;

    while (from && is_digit(a[from - 1]))
        from--;
    a += from + strspn(a + from, "0");
    b += from + strspn(b + from, "0");
    la = strspn(a, "0123456789");
    lb = strspn(b, "0123456789");
    if (la != lb)
        return la < lb ? -1 : 1;
    return strncmp(a, b, la);
}

int sbx_yaml_key_order(const char *a, const char *b)
{
    size_t i = 0;
    bool behind_digit;
    int order;

    while (a[i] && a[i] == b[i])
        i++;
    if (!a[i] || !b[i])
        return (unsigned char)a[i] - (unsigned char)b[i];
    behind_digit = i && is_digit(a[i - 1]);
    if (is_letter(a[i]) != is_letter(b[i]))
        return is_letter(a[i]) == behind_digit ? -1 : 1;
    if (is_digit(a[i]) || is_digit(b[i])) {
        order = compare_numbers(a, b, i);
        if (order)
            return order;
    }
    return (unsigned char)a[i] - (unsigned char)b[i];
}
