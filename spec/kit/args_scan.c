/* References to arguments in text: `${{ kit.args.NAME }}`, and the escape `$${{` (RB 1.2). */
#include <string.h>

#include "args.h"
#include "sbx/text.h"

#define OPENER "${{"
#define PREFIX "kit.args."
#define EXCERPT 60 /* bytes of a reference in a message */

/* White space as the reference's scanner has it: Unicode White_Space, no BOM, no zero-width space. */
static bool is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

static const char *skip_space(const char *s, const char *end)
{
    uint32_t c;
    size_t n;

    while (s < end && (n = sbx_utf8_next(s, (size_t)(end - s), &c)) && is_space(c))
        s += n;
    return s;
}

static const char *trim_end(const char *s, const char *end)
{
    while (end > s) {
        const char *last = end - 1;
        uint32_t c;

        while (last > s && ((unsigned char)*last & 0xc0) == 0x80)
            last--;
        if (sbx_utf8_next(last, (size_t)(end - last), &c) != (size_t)(end - last) || !is_space(c))
            break;
        end = last;
    }
    return end;
}

static const char *find(const char *s, const char *end, const char *what)
{
    return memmem(s, (size_t)(end - s), what, strlen(what));
}

static bool starts(const char *s, const char *end, const char *what)
{
    return (size_t)(end - s) >= strlen(what) && !memcmp(s, what, strlen(what));
}

static bool is_name(const char *s, size_t len)
{
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789-";

    if (!len || (*s >= '0' && *s <= '9') || *s == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!s[i] || !strchr(set, s[i]))
            return false;
    return true;
}

/* At most EXCERPT bytes, cut between characters. */
static int excerpt(const char *s, const char *end, const char **ret_dots)
{
    size_t len = (size_t)(end - s);

    *ret_dots = len > EXCERPT ? "\xe2\x80\xa6" : "";
    if (len > EXCERPT)
        for (len = EXCERPT; len && ((unsigned char)s[len] & 0xc0) == 0x80;)
            len--;
    return (int)len;
}

static enum sbx_code unterminated(const char *opener, const char *end, struct sbx_err *err)
{
    const char *dots;
    int len = excerpt(opener, end, &dots);

    return sbx_err_set(err, SBX_SYNTAX,
                       "unterminated argument reference \"%.*s%s\": close it with }}", len, opener,
                       dots);
}

static enum sbx_code malformed(const char *opener, const char *end, struct sbx_err *err)
{
    const char *dots;
    int len = excerpt(opener, end, &dots);

    return sbx_err_set(err, SBX_SYNTAX,
                       "malformed argument reference \"%.*s%s\": a name has letters, digits, \"_\" "
                       "and \"-\", no digit first; a dot is not part of a name",
                       len, opener, dots);
}

struct scan {
    const char *at, *end; /* what was not copied yet */
    sbx_arg_find_fn *find;
    void *data;
    struct sbx_buf *out;
    bool *changed;
    struct sbx_err *err;
};

static enum sbx_code copy(struct scan *s, const char *to)
{
    enum sbx_code rc = sbx_buf_add(s->out, s->at, (size_t)(to - s->at));

    s->at = to;
    return rc;
}

/* A reference of our own begins at `opener`; `inner` is its "kit.args.". */
static enum sbx_code replace(struct scan *s, const char *opener, const char *inner)
{
    const char *close = find(inner, s->end, "}}"), *name = inner + strlen(PREFIX), *value, *stop;
    enum sbx_code rc;

    if (!close)
        return unterminated(opener, s->end, s->err);
    stop = trim_end(inner, close);
    if (stop < name || !is_name(name, (size_t)(stop - name)))
        return malformed(opener, close + 2, s->err);
    value = s->find(s->data, name, (size_t)(stop - name));
    if (!value)
        return copy(s, close + 2);
    rc = copy(s, opener);
    if (!rc)
        rc = sbx_buf_adds(s->out, value);
    s->at = close + 2;
    *s->changed = true;
    return rc;
}

static enum sbx_code step(struct scan *s, const char *opener)
{
    const char *inner;
    enum sbx_code rc;

    if (opener > s->at && opener[-1] == '$') {
        *s->changed = true;
        rc = copy(s, opener - 1);
        s->at = opener;
        return rc ? rc : copy(s, opener + strlen(OPENER));
    }
    inner = skip_space(opener + strlen(OPENER), s->end);
    if (!starts(inner, s->end, PREFIX)) /* another's; a reference may stand within it */
        return copy(s, opener + strlen(OPENER));
    return replace(s, opener, inner);
}

enum sbx_code sbx_args_expand(const char *text, size_t len, sbx_arg_find_fn *find_value, void *data,
                              struct sbx_buf *out, bool *changed, struct sbx_err *err)
{
    struct scan s = { text, text + len, find_value, data, out, changed, err };
    enum sbx_code rc = SBX_OK;

    for (const char *opener; !rc && (opener = find(s.at, s.end, OPENER));)
        rc = step(&s, opener);
    if (!rc)
        rc = copy(&s, s.end);
    if (rc == SBX_LIMIT)
        return sbx_err_set(err, rc, "larger than %zu bytes with its arguments filled in", out->max);
    if (rc == SBX_NO_MEMORY)
        return sbx_err_set(err, rc, "no memory");
    return rc;
}

bool sbx_args_mentioned(const char *text, size_t len)
{
    const char *end = text + len, *at = text;

    while ((at = find(at, end, OPENER))) {
        at += strlen(OPENER);
        if (starts(skip_space(at, end), end, PREFIX))
            return true;
    }
    return false;
}
