/* Heads of HTTP/1: finding the end, lines, fields. See head.h. */
#include "head.h"

#include <string.h>
#include <strings.h>

#define FIRST_LINE_MAX (SBX_GATE_METHOD_MAX + SBX_GATE_TARGET_MAX + 12) /* " " " " "HTTP/1.1" CRLF */

enum { TOKEN = 1, VALUE = 2, TARGET = 4 };

static bool is_alnum(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static unsigned char_class(unsigned char c)
{
    unsigned class = 0;

    if (is_alnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c)))
        class |= TOKEN;
    if (c == '\t' || (c >= 0x20 && c != 0x7f))
        class |= VALUE;
    if (c > 0x20 && c != 0x7f) /* bytes over 0x7f go through unchanged: clients send raw UTF-8 */
        class |= TARGET;
    return class;
}

static unsigned char classes[256];

__attribute__((constructor)) static void fill_classes(void)
{
    for (unsigned i = 0; i < 256; i++)
        classes[i] = (unsigned char)char_class((unsigned char)i);
}

static bool all(struct sbx_slice s, unsigned class)
{
    for (size_t i = 0; i < s.len; i++)
        if (!(classes[(unsigned char)s.ptr[i]] & class))
            return false;
    return true;
}

bool sbx_head_is_token(struct sbx_slice text)
{
    return all(text, TOKEN);
}

bool sbx_slice_is(struct sbx_slice s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.ptr, text, s.len) == 0;
}

bool sbx_slice_is_nocase(struct sbx_slice s, const char *text)
{
    return s.len == strlen(text) && strncasecmp(s.ptr, text, s.len) == 0;
}

static size_t head_max(const char *buf, size_t len, bool reply)
{
    if (reply)
        return SBX_GATE_REPLY_HEAD_MAX;
    if (len >= 8 && memcmp(buf, "CONNECT ", 8) == 0)
        return SBX_GATE_CONNECT_HEAD_MAX;
    return SBX_GATE_HEAD_MAX;
}

/* Bounds of what came so far, checked before the end is known: a flood is refused early. */
static int check_bounds(const struct sbx_scan *s, const char *buf, size_t len, bool reply,
                        struct sbx_fault *f)
{
    if (!reply && s->lines == 0 && len - s->line > FIRST_LINE_MAX)
        return sbx_refuse(f, 414, "target-too-long");
    if (len > head_max(buf, len, reply) || s->lines > SBX_GATE_FIELDS_MAX + 1)
        return sbx_refuse(f, reply ? 502 : 431, "head-too-large");
    return 0;
}

ssize_t sbx_head_scan(struct sbx_scan *s, const char *buf, size_t len, bool reply,
                      struct sbx_fault *f)
{
    if (len && !(classes[(unsigned char)buf[0]] & TOKEN))
        return sbx_refuse(f, reply ? 502 : 400, "not-http");
    while (s->seen < len) {
        const char *nl = memchr(buf + s->seen, '\n', len - s->seen);
        size_t at;

        if (!nl)
            break;
        at = (size_t)(nl - buf);
        if (at == s->line || buf[at - 1] != '\r')
            return sbx_refuse(f, reply ? 502 : 400, "bare-lf");
        if (check_bounds(s, buf, at + 1, reply, f))
            return -1;
        s->seen = at + 1;
        if (at == s->line + 1)
            return (ssize_t)s->seen;
        s->line = s->seen;
        s->lines++;
    }
    s->seen = len;
    return check_bounds(s, buf, len, reply, f);
}

static const struct known {
    const char *name;
    enum sbx_field_id id;
} known[] = {
    { "host", SBX_FIELD_HOST },
    { "content-length", SBX_FIELD_CONTENT_LENGTH },
    { "transfer-encoding", SBX_FIELD_TRANSFER_ENCODING },
    { "connection", SBX_FIELD_CONNECTION },
    { "keep-alive", SBX_FIELD_HOP },
    { "proxy-connection", SBX_FIELD_HOP },
    { "proxy-authorization", SBX_FIELD_HOP },
    { "proxy-authenticate", SBX_FIELD_HOP },
    { "proxy-authentication-info", SBX_FIELD_HOP },
    { "te", SBX_FIELD_HOP },
    { "trailer", SBX_FIELD_HOP },
    { "upgrade", SBX_FIELD_HOP },
    { "http2-settings", SBX_FIELD_HOP },
    { "alt-svc", SBX_FIELD_ALT_SVC },
    { "x-sbx-policy", SBX_FIELD_POLICY },
};

enum sbx_field_id sbx_field_identify(struct sbx_slice name)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (sbx_slice_is_nocase(name, known[i].name))
            return known[i].id;
    return SBX_FIELD_OTHER;
}

static struct sbx_slice trim(struct sbx_slice s)
{
    while (s.len && (*s.ptr == ' ' || *s.ptr == '\t'))
        s.ptr++, s.len--;
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

static int parse_field(struct sbx_slice line, struct sbx_head *h, struct sbx_fault *f)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    struct sbx_field_line *field;

    if (*line.ptr == ' ' || *line.ptr == '\t')
        return sbx_refuse(f, 400, "folded-field");
    if (!colon || colon == line.ptr)
        return sbx_refuse(f, 400, "bad-field");
    if (h->nfields == SBX_GATE_FIELDS_MAX)
        return sbx_refuse(f, 431, "head-too-large");
    field = &h->fields[h->nfields++];
    field->name = (struct sbx_slice){ line.ptr, (size_t)(colon - line.ptr) };
    field->value = trim((struct sbx_slice){ colon + 1, line.len - field->name.len - 1 });
    field->named = false;
    if (!all(field->name, TOKEN)) /* a blank before the colon ends here too */
        return sbx_refuse(f, 400, "bad-field");
    if (!all(field->value, VALUE)) /* NUL, bare CR, other controls */
        return sbx_refuse(f, 400, "bad-field-value");
    field->id = sbx_field_identify(field->name);
    return 0;
}

/* Take one line off; the scan has proved that lines end in CRLF. */
static struct sbx_slice next_line(const char **p, const char *end)
{
    const char *nl = memchr(*p, '\n', (size_t)(end - *p));
    struct sbx_slice line = { *p, 0 };

    if (!nl || nl == *p) {
        *p = end;
        return line;
    }
    line.len = (size_t)(nl - *p) - 1;
    *p = nl + 1;
    return line;
}

static void strike(struct sbx_head *h, struct sbx_slice name)
{
    for (unsigned i = 0; i < h->nfields; i++)
        if (h->fields[i].name.len == name.len &&
            strncasecmp(h->fields[i].name.ptr, name.ptr, name.len) == 0)
            h->fields[i].named = true;
}

static int read_connection(struct sbx_head *h, struct sbx_slice value, unsigned *tokens,
                           struct sbx_fault *f)
{
    while (value.len) {
        const char *comma = memchr(value.ptr, ',', value.len);
        size_t len = comma ? (size_t)(comma - value.ptr) : value.len;
        struct sbx_slice name = trim((struct sbx_slice){ value.ptr, len });

        value.ptr += len + (comma != NULL);
        value.len -= len + (comma != NULL);
        if (!name.len)
            continue;
        if (!all(name, TOKEN) || ++*tokens > SBX_GATE_CONNECTION_TOKENS_MAX)
            return sbx_refuse(f, 400, "bad-connection");
        if (sbx_slice_is_nocase(name, "close"))
            h->close = true;
        else if (sbx_slice_is_nocase(name, "keep-alive"))
            h->keep_alive = true;
        else
            strike(h, name);
    }
    return 0;
}

static int parse_fields(const char *p, const char *end, struct sbx_head *h, struct sbx_fault *f)
{
    unsigned tokens = 0;

    h->nfields = 0;
    while (p < end) {
        struct sbx_slice line = next_line(&p, end);

        if (!line.len)
            break;
        if (parse_field(line, h, f))
            return -1;
    }
    for (unsigned i = 0; i < h->nfields; i++)
        if (h->fields[i].id == SBX_FIELD_CONNECTION &&
            read_connection(h, h->fields[i].value, &tokens, f))
            return -1;
    return 0;
}

/* "HTTP/1.0" and "HTTP/1.1" only; another well-formed version is 505. */
static int parse_version(struct sbx_slice v, unsigned *minor, struct sbx_fault *f)
{
    if (v.len != 8 || memcmp(v.ptr, "HTTP/", 5) || v.ptr[6] != '.' || v.ptr[5] < '0' ||
        v.ptr[5] > '9' || v.ptr[7] < '0' || v.ptr[7] > '9')
        return sbx_refuse(f, 400, "bad-request-line");
    if (v.ptr[5] != '1' || v.ptr[7] > '1')
        return sbx_refuse(f, 505, "http-version");
    *minor = (unsigned)(v.ptr[7] - '0');
    return 0;
}

int sbx_head_parse_request(const char *buf, size_t len, struct sbx_head *ret, struct sbx_fault *f)
{
    const char *p = buf, *end = buf + len;
    struct sbx_slice line = next_line(&p, end);
    const char *first = line.len ? memchr(line.ptr, ' ', line.len) : NULL;
    const char *second = first ? memchr(first + 1, ' ', line.len - (size_t)(first + 1 - line.ptr))
                               : NULL;

    ret->close = ret->keep_alive = false;
    if (!second)
        return sbx_refuse(f, 400, "bad-request-line");
    ret->method = (struct sbx_slice){ line.ptr, (size_t)(first - line.ptr) };
    ret->target = (struct sbx_slice){ first + 1, (size_t)(second - first) - 1 };
    if (!ret->method.len || ret->method.len > SBX_GATE_METHOD_MAX || !all(ret->method, TOKEN))
        return sbx_refuse(f, 400, "bad-method");
    if (parse_version((struct sbx_slice){ second + 1, (size_t)(line.ptr + line.len - second) - 1 },
                      &ret->minor, f))
        return -1;
    if (ret->target.len > SBX_GATE_TARGET_MAX)
        return sbx_refuse(f, 414, "target-too-long");
    if (!ret->target.len || !all(ret->target, TARGET))
        return sbx_refuse(f, 400, "bad-target");
    return parse_fields(p, end, ret, f);
}

int sbx_head_parse_reply(const char *buf, size_t len, struct sbx_head *ret, struct sbx_fault *f)
{
    const char *p = buf, *end = buf + len;
    struct sbx_slice line = next_line(&p, end);

    ret->close = ret->keep_alive = false;
    if (line.len < 12 || line.ptr[8] != ' ' || (line.len > 12 && line.ptr[12] != ' '))
        return sbx_refuse(f, 502, "bad-reply");
    if (parse_version((struct sbx_slice){ line.ptr, 8 }, &ret->minor, f))
        return sbx_refuse(f, 502, "bad-reply");
    ret->status = 0;
    for (unsigned i = 9; i < 12; i++) {
        if (line.ptr[i] < '0' || line.ptr[i] > '9')
            return sbx_refuse(f, 502, "bad-reply");
        ret->status = ret->status * 10 + (unsigned)(line.ptr[i] - '0');
    }
    ret->phrase = (struct sbx_slice){ line.ptr + 12, line.len - 12 };
    if (ret->phrase.len)
        ret->phrase.ptr++, ret->phrase.len--;
    if (ret->status < 100 || ret->status > 599 || !all(ret->phrase, VALUE))
        return sbx_refuse(f, 502, "bad-reply");
    if (parse_fields(p, end, ret, f))
        return sbx_refuse(f, 502, "bad-reply");
    return 0;
}

int sbx_head_parse_fields(const char *buf, size_t len, struct sbx_head *ret, struct sbx_fault *f)
{
    ret->close = ret->keep_alive = false;
    return parse_fields(buf, buf + len, ret, f);
}
