/* The headers of an answer. */
#include <string.h>
#include <strings.h>

#include "http.h"
#include "sbx/text.h"

static const char *const names[HTTP_N_HEADERS] = {
    [HTTP_LOCATION] = "location",
    [HTTP_DIGEST] = "docker-content-digest",
    [HTTP_TYPE] = "content-type",
    [HTTP_LINK] = "link",
    [HTTP_RANGE] = "range",
    [HTTP_CONTENT_RANGE] = "content-range",
    [HTTP_RETRY_AFTER] = "retry-after",
    [HTTP_SUBJECT] = "oci-subject",
    [HTTP_CHUNK_MIN] = "oci-chunk-min-length",
};

/* 299 - "text" (OCI Distribution Specification 1.1, "Warnings"); codes of caches are not for users. */
static void note_warning(const struct sbx_http *h, const char *value)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(4 * HTTP_WARNING_MAX + 1);
    const char *start = value ? strchr(value, '"') : NULL, *end = start ? strrchr(start, '"') : NULL;
    size_t len = end > start ? (size_t)(end - start) - 1 : 0;

    if (!h->warned || !len || strncmp(value, "299 ", 4) != 0)
        return;
    if (!sbx_text_escape(&text, start + 1, len < HTTP_WARNING_MAX ? len : HTTP_WARNING_MAX))
        h->warned(h->warned_ctx, text.ptr);
}

static void note_header(struct sbx_call *c, const char *name, size_t len, const char *value)
{
    if (len == 16 && !strncasecmp(name, "www-authenticate", len) &&
        c->n_challenges < HTTP_CHALLENGES_MAX && value)
        c->challenges[c->n_challenges++] = value;
    for (size_t i = 0; i < HTTP_N_HEADERS; i++)
        if (strlen(names[i]) == len && !strncasecmp(name, names[i], len))
            c->headers[i] = value;
}

/* Of one answer: what 1xx and a proxy's CONNECT brought before it is not the registry's word. */
void sbx_http_forget_headers(struct sbx_call *c)
{
    c->n_challenges = 0;
    memset(c->headers, 0, sizeof(c->headers));
}

void sbx_http_take_header(struct sbx_http *h, struct sbx_call *c, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len), *value;
    size_t end = len, start;

    if (len > 5 && !strncmp(line, "HTTP/", 5))
        sbx_http_forget_headers(c);
    if (!colon || memchr(line, '\0', len))
        return;
    start = (size_t)(colon - line) + 1;
    while (end > start && strchr(" \t\r\n", line[end - 1]))
        end--;
    while (start < end && (line[start] == ' ' || line[start] == '\t'))
        start++;
    value = sbx_arena_memdup(c->arena, line + start, end - start);
    note_header(c, line, (size_t)(colon - line), value);
    if (colon - line == 7 && !strncasecmp(line, "warning", 7))
        note_warning(h, value);
}
