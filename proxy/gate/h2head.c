/* Header lists of HTTP/2: gathered within bounds, and what of them goes on. nghttp2 has checked by then
 * that pseudo-fields are complete, single and in front, that names are tokens in lower case and that
 * nothing speaks of the connection (RFC 9113, 8.2 and 8.3). See h2part.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h2part.h"

#define FIELD_OVERHEAD 32 /* RFC 9113, 6.5.2 */

static size_t list_max(const struct sbx_h2_end *e)
{
    return e->which == SBX_HTTP_CLIENT ? SBX_GATE_HEAD_MAX : SBX_GATE_REPLY_HEAD_MAX;
}

int sbx_h2_list_open(struct sbx_h2_end *e)
{
    struct sbx_h2_list *l = calloc(1, sizeof(*l));

    sbx_h2_list_free(e->list);
    e->list = l;
    e->list_ms = e->h->now_ms;
    e->continuations = 0;
    if (l)
        l->text.max = list_max(e);
    return l ? 0 : -1;
}

void sbx_h2_list_free(struct sbx_h2_list *l)
{
    if (l)
        sbx_buf_release(&l->text);
    free(l);
}

int sbx_h2_list_add(struct sbx_h2_end *e, struct sbx_slice name, struct sbx_slice value, uint8_t flags)
{
    struct sbx_h2_list *l = e->list;
    struct sbx_h2_mark *m;

    l->size += name.len + value.len + FIELD_OVERHEAD;
    if (l->size > SBX_GATE_H2_LIST_MAX) { /* a bomb: each byte of it may be 4 KiB of a list */
        e->why = (struct sbx_h2_why){ "h2-header-bomb", NGHTTP2_ENHANCE_YOUR_CALM };
        return -1;
    }
    if (l->over || l->size > list_max(e) || l->n == SBX_GATE_FIELDS_MAX) {
        l->over = true; /* read to its end all the same: the table of the sender depends on it */
        return 0;
    }
    m = &l->marks[l->n];
    *m = (struct sbx_h2_mark){ (uint32_t)l->text.len, (uint32_t)name.len,
                               (uint32_t)(l->text.len + name.len), (uint32_t)value.len,
                               flags & NGHTTP2_NV_FLAG_NO_INDEX };
    if (sbx_buf_add(&l->text, name.ptr, name.len) || sbx_buf_add(&l->text, value.ptr, value.len))
        return -1;
    l->n++;
    return 0;
}

static struct sbx_slice name_of(const struct sbx_h2_list *l, unsigned i)
{
    return (struct sbx_slice){ l->text.ptr + l->marks[i].name, l->marks[i].name_len };
}

static struct sbx_slice value_of(const struct sbx_h2_list *l, unsigned i)
{
    return (struct sbx_slice){ l->text.ptr + l->marks[i].value, l->marks[i].value_len };
}

struct sbx_slice sbx_h2_list_find(const struct sbx_h2_list *l, const char *name)
{
    for (unsigned i = 0; i < l->n; i++)
        if (sbx_slice_is(name_of(l, i), name))
            return value_of(l, i);
    return (struct sbx_slice){ NULL, 0 };
}

unsigned sbx_h2_list_status(const struct sbx_h2_list *l)
{
    struct sbx_slice v = sbx_h2_list_find(l, ":status");

    if (v.len != 3) /* nghttp2 takes three digits only */
        return 0;
    return (unsigned)(v.ptr[0] - '0') * 100 + (unsigned)(v.ptr[1] - '0') * 10 +
           (unsigned)(v.ptr[2] - '0');
}

void sbx_h2_ask(const struct sbx_h2_list *l, struct sbx_http_ask *ret)
{
    *ret = (struct sbx_http_ask){
        .method = sbx_h2_list_find(l, ":method"),
        .scheme = sbx_h2_list_find(l, ":scheme"),
        .authority = sbx_h2_list_find(l, ":authority"),
        .path = sbx_h2_list_find(l, ":path"),
        .host = sbx_h2_list_find(l, "host"),
    };
}

static void add(struct sbx_h2_fields *f, struct sbx_slice name, struct sbx_slice value, uint8_t flags)
{
    f->v[f->n++] = (nghttp2_nv){ (uint8_t *)name.ptr, (uint8_t *)value.ptr, name.len, value.len, flags };
}

void sbx_h2_add(struct sbx_h2_fields *f, const char *name, struct sbx_slice value, uint8_t flags)
{
    add(f, (struct sbx_slice){ name, strlen(name) }, value, flags);
}

static uint8_t flags_of(const struct sbx_h2_list *l, unsigned i)
{
    return l->marks[i].secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
}

/* Does a field of a request go on? "te: trailers" does: trailers of the reply go on too. */
static bool passes(const struct sbx_h2 *h, struct sbx_slice name)
{
    enum sbx_field_id id = sbx_field_identify(name);
    bool te = sbx_slice_is(name, "te");

    if (!name.len || name.ptr[0] == ':')
        return false;
    if (id != SBX_FIELD_OTHER && id != SBX_FIELD_CONTENT_LENGTH && id != SBX_FIELD_ALT_SVC && !te)
        return false;
    return !h->host.strikes(h->host.ctx, name);
}

/* The name as it was judged, not as it was spelled: what the server reads is what was allowed. */
static void write_authority(const struct sbx_http_ask *ask, char *out)
{
    struct sbx_slice a = ask->authority.len ? ask->authority : ask->host;
    struct sbx_host host;
    uint16_t port;
    bool v6;

    *out = '\0';
    if (sbx_target_parse(a.ptr, a.len, 443, &host, &port, NULL))
        return; /* not reached: it was judged */
    v6 = host.kind == SBX_HOST_IPV6;
    if (port == 443)
        snprintf(out, SBX_HOST_MAX + 16, v6 ? "[%s]" : "%s", host.text);
    else
        snprintf(out, SBX_HOST_MAX + 16, v6 ? "[%s]:%u" : "%s:%u", host.text, port);
}

int sbx_h2_request_fields(struct sbx_h2 *h, const struct sbx_h2_list *l, char *authority,
                          struct sbx_h2_fields *ret)
{
    struct sbx_http_ask ask;
    struct sbx_http_field extra;
    unsigned i;

    sbx_h2_ask(l, &ask);
    write_authority(&ask, authority);
    ret->n = 0;
    sbx_h2_add(ret, ":method", ask.method, NGHTTP2_NV_FLAG_NONE);
    sbx_h2_add(ret, ":scheme", ask.scheme, NGHTTP2_NV_FLAG_NONE);
    sbx_h2_add(ret, ":authority", (struct sbx_slice){ authority, strlen(authority) },
               NGHTTP2_NV_FLAG_NONE);
    sbx_h2_add(ret, ":path", ask.path, NGHTTP2_NV_FLAG_NONE);
    for (i = 0; i < l->n; i++)
        if (passes(h, name_of(l, i)))
            add(ret, name_of(l, i), value_of(l, i), flags_of(l, i));
    for (i = 0; h->host.add(h->host.ctx, i, &extra); i++) {
        if (i == SBX_GATE_H2_ADDED)
            return -1;
        add(ret, extra.name, extra.value, NGHTTP2_NV_FLAG_NO_INDEX);
    }
    return 0;
}

/* What only the gate says, what is for one hop, and what leads around the gate (GC D21) ends here. */
static void add_passing(const struct sbx_h2_list *l, struct sbx_h2_fields *ret, bool trailers)
{
    for (unsigned i = 0; i < l->n; i++) {
        struct sbx_slice name = name_of(l, i);
        enum sbx_field_id id = sbx_field_identify(name);
        bool pass = id == SBX_FIELD_OTHER || sbx_slice_is(name, "trailer") ||
                    (id == SBX_FIELD_CONTENT_LENGTH && !trailers);

        if (pass && name.len && name.ptr[0] != ':')
            add(ret, name, value_of(l, i), flags_of(l, i));
    }
}

void sbx_h2_reply_fields(const struct sbx_h2_list *l, struct sbx_h2_fields *ret)
{
    ret->n = 0;
    sbx_h2_add(ret, ":status", sbx_h2_list_find(l, ":status"), NGHTTP2_NV_FLAG_NONE);
    add_passing(l, ret, false);
}

void sbx_h2_trailer_fields(const struct sbx_h2_list *l, struct sbx_h2_fields *ret)
{
    ret->n = 0;
    add_passing(l, ret, true);
}
