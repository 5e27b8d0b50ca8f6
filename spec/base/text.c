#include "sbx/text.h"

#include <string.h>

static size_t utf8_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

size_t sbx_utf8_next(const char *text, size_t len, uint32_t *ret)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *s = (const unsigned char *)text;
    size_t n = len ? utf8_length(s[0]) : 0;
    uint32_t c;

    if (!n || n > len)
        return 0;
    c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret = c;
    return n;
}

bool sbx_utf8_valid(const char *text, size_t len)
{
    uint32_t c;

    for (size_t n; len; text += n, len -= n) {
        n = sbx_utf8_next(text, len, &c);
        if (!n)
            return false;
    }
    return true;
}

/* Bidirectional marks, embeddings, overrides and isolates, line and paragraph separators. */
static bool reorders(uint32_t c)
{
    return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

static enum sbx_code escape_one(struct sbx_buf *out, uint32_t c, const char *text, size_t n)
{
    if (c == '\n')
        return sbx_buf_adds(out, "\\n");
    if (c == '\r')
        return sbx_buf_adds(out, "\\r");
    if (c == '\t')
        return sbx_buf_adds(out, "\\t");
    if (c < 0x20 || c == 0x7f)
        return sbx_buf_addf(out, "\\x%02x", (unsigned)c);
    if ((c >= 0x80 && c < 0xa0) || reorders(c))
        return sbx_buf_addf(out, "\\u%04x", (unsigned)c);
    return sbx_buf_add(out, text, n);
}

static enum sbx_code add_text(struct sbx_buf *out, const char *text, size_t len, bool escape)
{
    enum sbx_code rc = SBX_OK;

    for (size_t n; len && !rc; text += n, len -= n) {
        uint32_t c = 0;

        n = sbx_utf8_next(text, len, &c);
        if (!n) {
            n = 1;
            rc = sbx_buf_addf(out, "\\x%02x", (unsigned char)*text);
        } else {
            rc = escape ? escape_one(out, c, text, n) : sbx_buf_add(out, text, n);
        }
    }
    return rc;
}

enum sbx_code sbx_text_escape(struct sbx_buf *out, const char *text, size_t len)
{
    return add_text(out, text, len, true);
}

enum sbx_code sbx_text_repair(struct sbx_buf *out, const char *text, size_t len)
{
    return add_text(out, text, len, false);
}
