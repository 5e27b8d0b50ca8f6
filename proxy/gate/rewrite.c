/* Heads as they go on to the next hop: what is meant for one hop ends here. No Via is added: common
 * servers stop compressing when they see one, and a loop cannot arise (the gate never dials its own
 * doors). */
#include "target.h"

#include "inject.h"

#define UPGRADE "Connection: Upgrade\r\nUpgrade: websocket\r\n"

static enum sbx_code add_slice(struct sbx_buf *out, struct sbx_slice s)
{
    return s.len ? sbx_buf_add(out, s.ptr, s.len) : SBX_OK;
}

static enum sbx_code add_field(struct sbx_buf *out, const struct sbx_field_line *f)
{
    return add_slice(out, f->name) ?: sbx_buf_add(out, ": ", 2) ?: add_slice(out, f->value)
           ?: sbx_buf_add(out, "\r\n", 2);
}

/* Origin-form: "/" where the URI has no path, "*" for OPTIONS on the server as a whole. */
static enum sbx_code add_path(struct sbx_buf *out, const struct sbx_head *h,
                              const struct sbx_target *t)
{
    if (!t->path.len && sbx_slice_is(h->method, "OPTIONS"))
        return sbx_buf_adds(out, "*");
    if (t->path.len && t->path.ptr[0] == '/')
        return add_slice(out, t->path);
    return sbx_buf_adds(out, "/") ?: add_slice(out, t->path);
}

/* The name as it was judged, not as it was spelled: what the server reads is what was allowed. */
static enum sbx_code add_host(struct sbx_buf *out, const struct sbx_target *t)
{
    bool v6 = t->host.kind == SBX_HOST_IPV6;
    enum sbx_code rc = sbx_buf_addf(out, v6 ? "[%s]" : "%s", t->host.text);

    return (rc || t->port == (t->secure ? 443 : 80)) ? rc : sbx_buf_addf(out, ":%u", t->port);
}

enum sbx_code sbx_rewrite_request(const struct sbx_head *h, const struct sbx_target *t,
                                  const struct sbx_body *body, struct sbx_buf *out)
{
    enum sbx_code rc = add_slice(out, h->method) ?: sbx_buf_adds(out, " ") ?: add_path(out, h, t)
                       ?: sbx_buf_adds(out, " HTTP/1.1\r\nHost: ") ?: add_host(out, t)
                       ?: sbx_buf_adds(out, "\r\n");

    for (unsigned i = 0; i < h->nfields && !rc; i++) {
        const struct sbx_field_line *f = &h->fields[i];

        if (f->named || (f->id != SBX_FIELD_OTHER && f->id != SBX_FIELD_ALT_SVC) ||
            sbx_inject_strikes(t->strike, t->nstrike, f->name))
            continue;
        rc = add_field(out, f);
    }
    if (!rc && t->upgrade)
        rc = sbx_buf_adds(out, UPGRADE);
    if (rc)
        return rc;
    if (body->kind == SBX_BODY_CHUNKED)
        return sbx_buf_adds(out, "Transfer-Encoding: chunked\r\n\r\n");
    if (body->kind == SBX_BODY_LENGTH)
        return sbx_buf_addf(out, "Content-Length: %llu\r\n\r\n", (unsigned long long)body->length);
    return sbx_buf_adds(out, "\r\n");
}

enum sbx_code sbx_rewrite_reply(const struct sbx_head *h, const struct sbx_body *body,
                                const struct sbx_reply_plan *plan, struct sbx_buf *out)
{
    enum sbx_code rc = sbx_buf_addf(out, "HTTP/1.1 %03u ", h->status) ?: add_slice(out, h->phrase)
                       ?: sbx_buf_adds(out, "\r\n");

    for (unsigned i = 0; i < h->nfields && !rc; i++) {
        const struct sbx_field_line *f = &h->fields[i];
        bool keep = f->id == SBX_FIELD_OTHER ||
                    (f->id == SBX_FIELD_CONTENT_LENGTH && plan->keep_length);

        if (keep && !f->named)
            rc = add_field(out, f);
    }
    if (!rc && plan->upgrade)
        rc = sbx_buf_adds(out, UPGRADE);
    if (!rc && plan->chunked)
        rc = sbx_buf_adds(out, "Transfer-Encoding: chunked\r\n");
    if (!rc && body->kind == SBX_BODY_LENGTH)
        rc = sbx_buf_addf(out, "Content-Length: %llu\r\n", (unsigned long long)body->length);
    if (!rc && plan->close)
        rc = sbx_buf_adds(out, "Connection: close\r\n");
    return rc ?: sbx_buf_adds(out, "\r\n");
}

enum sbx_code sbx_rewrite_trailers(const struct sbx_buf *lines, struct sbx_buf *out)
{
    enum sbx_code rc = SBX_OK;
    struct sbx_head h;
    struct sbx_fault f;

    if (lines->len <= 2)
        return sbx_buf_adds(out, "\r\n");
    if (sbx_head_parse_fields(lines->ptr, lines->len, &h, &f))
        return SBX_SYNTAX;
    for (unsigned i = 0; i < h.nfields && !rc; i++)
        if (h.fields[i].id == SBX_FIELD_OTHER)
            rc = add_field(out, &h.fields[i]);
    return rc ?: sbx_buf_adds(out, "\r\n");
}
