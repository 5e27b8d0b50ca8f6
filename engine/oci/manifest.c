/* Manifests and tags. */
#include <stdio.h>
#include <string.h>

#include "put.h"

#define ACCEPT                                                                                     \
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "        \
    "application/vnd.docker.distribution.manifest.v2+json, "                                       \
    "application/vnd.docker.distribution.manifest.list.v2+json"
#define TAGS_TEXT_MAX (16 << 20) /* bytes of one page of tags; registries send at most 10,000 */

static enum sbx_code get(struct sbx_registry *r, const char *method, const char *repository,
                         const char *reference, struct sbx_call *c, struct sbx_err *err)
{
    c->url = registry_url(r, c, err, repository, "manifests/%s", reference);
    if (!c->url)
        return err ? err->code : SBX_UNAVAILABLE;
    c->method = method;
    c->accept = ACCEPT;
    c->max = SBX_REGISTRY_MANIFEST_MAX;
    return registry_call(r, c, registry_scope(c, repository, "pull"), err);
}

static const char *media_type(const struct sbx_call *c, struct sbx_arena *arena)
{
    const char *type = c->headers[HTTP_TYPE] ? c->headers[HTTP_TYPE] : "";

    return sbx_arena_memdup(arena, type, strcspn(type, "; \t"));
}

/* What a tag leads to may be anything, also the half of an answer that was cut in its head, or the page of a portal. */
static bool is_manifest(const struct sbx_oci_doc *doc)
{
    SBX_AUTO_JSON json_t *root = json_loadb(doc->text, doc->len, 0, NULL);

    return json_is_object(root);
}

/* What is wanted of a manifest, and where it goes. */
struct want {
    const char *reference;
    struct sbx_arena *arena;
    struct sbx_oci_doc *ret;
};

static enum sbx_code fetch(struct sbx_registry *r, const char *repository, void *ctx,
                           struct sbx_err *err)
{
    const struct want *w = ctx;
    const char *reference = w->reference, *wanted = reference;
    struct sbx_arena *arena = w->arena;
    struct sbx_oci_doc *ret = w->ret;
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    enum sbx_code rc = get(r, "GET", repository, reference, &c, err);

    if (rc || c.status != 200)
        return rc ? rc : registry_refused(r, &c, err);
    *ret = (struct sbx_oci_doc){ .len = c.text.len };
    ret->text = sbx_arena_memdup(arena, c.text.ptr ? c.text.ptr : "", c.text.len);
    ret->media_type = media_type(&c, arena);
    if (!ret->text || !ret->media_type || sbx_digest(ret->text, ret->len, ret->digest))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!sbx_digest_valid(reference)) /* a tag: what the registry says of it must be true */
        wanted = c.headers[HTTP_DIGEST];
    if (wanted && sbx_digest_valid(wanted) && strcmp(wanted, ret->digest) != 0)
        return sbx_err_set(err, SBX_SCHEMA, "%s sent a manifest whose digest is %s, not %s",
                           r->host, ret->digest, wanted);
    if (!sbx_digest_valid(reference) && !is_manifest(ret))
        return sbx_err_set(err, SBX_SCHEMA, "%s answers with %s", r->host,
                           ret->len ? "what is no manifest" : "nothing, not with a manifest");
    return SBX_OK;
}

static enum sbx_code look(struct sbx_registry *r, const char *repository, void *ctx,
                          struct sbx_err *err)
{
    const struct want *w = ctx;
    struct sbx_oci_doc *ret = w->ret;
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    enum sbx_code rc = get(r, "HEAD", repository, w->reference, &c, err);
    const char *digest = rc ? NULL : c.headers[HTTP_DIGEST];

    if (rc || registry_passing(&c) || c.status == 401) /* a wrong log-in is not tried again for words */
        return rc ? rc : registry_refused(r, &c, err);
    /* The digest need not be sent; and only a refusal of GET has words, the registry's own. */
    if (c.status != 200 || !digest || !sbx_digest_valid(digest))
        return fetch(r, repository, ctx, err);
    *ret = (struct sbx_oci_doc){ .media_type = media_type(&c, w->arena) };
    memcpy(ret->digest, digest, sizeof(ret->digest));
    return ret->media_type ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

enum sbx_code sbx_registry_manifest(struct sbx_registry *r, const char *repository,
                                    const char *reference, struct sbx_arena *arena,
                                    struct sbx_oci_doc *ret, struct sbx_err *err)
{
    struct want w = { reference, arena, ret };

    return registry_read(r, repository, fetch, &w, err);
}

enum sbx_code sbx_registry_look(struct sbx_registry *r, const char *repository,
                                const char *reference, struct sbx_arena *arena,
                                struct sbx_oci_doc *ret, struct sbx_err *err)
{
    struct want w = { reference, arena, ret };

    return registry_read(r, repository, look, &w, err);
}

enum sbx_code registry_put_manifest(struct sbx_registry *r, const char *repository,
                                    const char *reference, const char *type, const char *text,
                                    size_t len, bool *ret_subject, struct sbx_err *err)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    char digest[SBX_DIGEST_TEXT_SIZE];
    const char *told;
    enum sbx_code rc = sbx_digest(text, len, digest);

    c.url = rc ? NULL
               : registry_url(r, &c, err, repository, "manifests/%s",
                              reference ? reference : digest);
    if (!c.url)
        return err && err->code ? err->code : SBX_UNAVAILABLE;
    c.method = "PUT";
    c.content_type = type;
    c.body = text;
    c.body_len = (int64_t)len;
    c.max = HTTP_ERROR_MAX;
    rc = registry_call(r, &c, registry_scope(&c, repository, "pull,push"), err);
    if (rc)
        return rc;
    if (c.status != 201)
        return registry_refused(r, &c, err);
    told = c.headers[HTTP_DIGEST];
    if (told && sbx_digest_valid(told) && strcmp(told, digest) != 0)
        return sbx_err_set(err, SBX_SCHEMA, "%s stored the manifest as %s, not %s", r->host, told,
                           digest);
    *ret_subject = c.headers[HTTP_SUBJECT] != NULL;
    return SBX_OK;
}

enum sbx_code sbx_registry_delete(struct sbx_registry *r, const char *repository,
                                  const char *reference, struct sbx_err *err)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    enum sbx_code rc;

    c.url = registry_url(r, &c, err, repository, "manifests/%s", reference);
    if (!c.url)
        return err && err->code ? err->code : SBX_UNAVAILABLE;
    c.method = "DELETE";
    c.max = HTTP_ERROR_MAX;
    rc = registry_call(r, &c, registry_scope(&c, repository, "pull,push,delete"), err);
    if (rc || c.status == 202 || c.status == 200)
        return rc;
    return registry_refused(r, &c, err);
}

/* ---- tags ---- */

struct tags {
    struct sbx_arena *arena;
    const char **v;
    size_t n, cap;
};

static enum sbx_code add_tag(struct tags *t, const char *text, struct sbx_err *err)
{
    if (t->n == SBX_REGISTRY_TAGS_MAX)
        return sbx_err_set(err, SBX_LIMIT, "more than %d tags", SBX_REGISTRY_TAGS_MAX);
    if (t->n + 1 >= t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        const char **grown = sbx_arena_array(t->arena, cap, sizeof(*grown));

        if (!grown)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (t->n)
            memcpy(grown, t->v, t->n * sizeof(*grown));
        t->v = grown;
        t->cap = cap;
    }
    t->v[t->n] = sbx_arena_strdup(t->arena, text);
    return t->v[t->n++] ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code take_page(struct tags *t, const struct sbx_call *c, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = json_loadb(c->text.ptr ? c->text.ptr : "", c->text.len, 0, NULL);
    const json_t *list = json_object_get(root, "tags");
    enum sbx_code rc = SBX_OK;
    const json_t *item;
    size_t i;

    if (!json_is_object(root) || (list && !json_is_array(list) && !json_is_null(list)))
        return sbx_err_set(err, SBX_SCHEMA, "the list of tags is not one");
    json_array_foreach(list, i, item)
        if (!rc && json_is_string(item))
            rc = add_tag(t, json_string_value(item), err);
    return rc;
}

enum sbx_code sbx_registry_tags(struct sbx_registry *r, const char *repository,
                                struct sbx_arena *arena, const char *const **ret, size_t *ret_n,
                                struct sbx_err *err)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    struct tags t = { arena, NULL, 0, 0 };
    enum sbx_code rc = SBX_OK;

    c.url = registry_url(r, &c, err, repository, "tags/list");
    if (!c.url)
        return err && err->code ? err->code : SBX_UNAVAILABLE;
    c.method = "GET";
    c.max = TAGS_TEXT_MAX;
    while (!rc && c.url) {
        size_t before = t.n;

        rc = registry_call(r, &c, registry_scope(&c, repository, "pull"), err);
        if (!rc && c.status != 200)
            rc = registry_refused(r, &c, err);
        if (!rc)
            rc = take_page(&t, &c, err);
        if (!rc)
            rc = registry_next_page(r, &c, err);
        if (t.n == before) /* it goes nowhere */
            break;
    }
    *ret = t.v;
    *ret_n = t.n;
    return rc;
}
