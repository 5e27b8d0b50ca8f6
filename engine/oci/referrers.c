/*
 * What refers to a manifest: the referrers API, and its fall-back, an index under the tag
 * sha256-<hex> (OCI Distribution Specification 1.1, "Referrers Tag Schema").
 */
#include <stdio.h>
#include <string.h>

#include "put.h"

#define INDEX_TYPE "application/vnd.oci.image.index.v1+json"
#define ENTER_MAX 10 /* times that a list is written until what was entered stays in it */
#define REFERRERS_MAX 10000 /* of one manifest; images that are signed every night have some hundred */

static bool is_index(const char *type)
{
    return type && !strncmp(type, INDEX_TYPE, strlen(INDEX_TYPE));
}

/* Add a page to the index of those before it; NULL: it is the first. *ret_more: it had any. */
static enum sbx_code take_page(const struct sbx_call *c, json_t **index, bool *ret_more,
                               struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *page = json_loadb(c->text.ptr ? c->text.ptr : "", c->text.len, 0, NULL);
    json_t *more = json_object_get(page, "manifests"), *have;

    if (json_is_null(more)) { /* as Go writes an empty list */
        more = json_array();
        if (json_object_set_new(page, "manifests", more))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    if (!json_is_array(more))
        return sbx_err_set(err, SBX_SCHEMA, "the list of referrers is no index");
    *ret_more = json_array_size(more) > 0;
    have = json_object_get(*index, "manifests");
    if (json_array_size(have) + json_array_size(more) > REFERRERS_MAX)
        return sbx_err_set(err, SBX_LIMIT, "more than %d referrers", REFERRERS_MAX);
    if (!*index)
        *index = SBX_TAKE(page);
    else if (json_array_extend(have, more))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return SBX_OK;
}

/* All pages; *ret_index NULL: there is no such API. */
static enum sbx_code ask_api(struct sbx_registry *r, const char *repository, const char *digest,
                             json_t **ret_index, struct sbx_err *err)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    bool more = true;
    enum sbx_code rc = SBX_OK;

    c.url = registry_url(r, &c, err, repository, "referrers/%s", digest);
    if (!c.url)
        return err && err->code ? err->code : SBX_UNAVAILABLE;
    c.method = "GET";
    c.accept = INDEX_TYPE;
    c.max = SBX_REGISTRY_MANIFEST_MAX;
    while (!rc && c.url && more) {
        rc = registry_call(r, &c, registry_scope(&c, repository, "pull"), err);
        if (rc)
            return rc;
        if (c.status != 200 || !is_index(c.headers[HTTP_TYPE])) {
            bool refused = *ret_index || c.status == 401 || c.status == 403 || c.status >= 500;

            return refused ? registry_refused(r, &c, err) : SBX_OK; /* 404; others answer 400 or 405 */
        }
        rc = take_page(&c, ret_index, &more, err);
        if (!rc)
            rc = registry_next_page(r, &c, err);
    }
    return rc;
}

static enum sbx_code by_api(struct sbx_registry *r, const char *repository, const char *digest,
                            struct sbx_arena *arena, struct sbx_oci_doc *ret, bool *ret_has,
                            struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *index = NULL;
    SBX_AUTO_FREE char *text = NULL;
    enum sbx_code rc = ask_api(r, repository, digest, &index, err);

    *ret_has = index != NULL;
    if (rc || !index)
        return rc;
    text = json_dumps(index, JSON_COMPACT);
    *ret = (struct sbx_oci_doc){ .media_type = INDEX_TYPE, .len = text ? strlen(text) : 0 };
    ret->text = text ? sbx_arena_strdup(arena, text) : NULL;
    if (!ret->text || sbx_digest(ret->text, ret->len, ret->digest))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return SBX_OK;
}

static void tag_of(const char *digest, char tag[SBX_DIGEST_TEXT_SIZE])
{
    snprintf(tag, SBX_DIGEST_TEXT_SIZE, "sha256-%s", digest + strlen("sha256:"));
}

static enum sbx_code nothing(struct sbx_oci_doc *ret)
{
    static const char none[] = "{\"schemaVersion\":2,\"mediaType\":\"" INDEX_TYPE
                               "\",\"manifests\":[]}";

    *ret = (struct sbx_oci_doc){ .text = none, .len = strlen(none), .media_type = INDEX_TYPE };
    return sbx_digest(none, ret->len, ret->digest);
}

static enum sbx_code by_tag(struct sbx_registry *r, const char *repository, const char *digest,
                            struct sbx_arena *arena, struct sbx_oci_doc *ret, struct sbx_err *err)
{
    char tag[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc;

    tag_of(digest, tag);
    rc = sbx_registry_manifest(r, repository, tag, arena, ret, err);
    return rc == SBX_NOT_FOUND ? nothing(ret) : rc;
}

enum sbx_code sbx_registry_referrers(struct sbx_registry *r, const char *repository,
                                     const char *digest, struct sbx_arena *arena,
                                     struct sbx_oci_doc *ret, struct sbx_err *err)
{
    bool has = false;
    enum sbx_code rc = by_api(r, repository, digest, arena, ret, &has, err);

    if (!rc && !has)
        rc = by_tag(r, repository, digest, arena, ret, err);
    if (!rc && !is_index(ret->media_type)) /* somebody's own tag */
        rc = nothing(ret);
    return rc ? sbx_err_wrap(err, rc, "referrers of %s", digest) : SBX_OK;
}

void sbx_oci_referrer_fill(json_t *entry, const json_t *m)
{
    json_t *kind = json_object_get(m, "artifactType"), *notes = json_object_get(m, "annotations");

    if (!kind)
        kind = json_object_get(json_object_get(m, "config"), "mediaType");
    if (kind)
        json_object_set(entry, "artifactType", kind);
    if (notes)
        json_object_set(entry, "annotations", notes);
}

/* What the list says of a referrer. */
static json_t *entry_of(const json_t *m, const char *type, const char *digest, size_t len)
{
    json_t *entry = json_pack("{s:s,s:s,s:I}", "mediaType", type, "digest", digest, "size",
                              (json_int_t)len);

    if (entry)
        sbx_oci_referrer_fill(entry, m);
    return entry;
}

static bool listed(const json_t *list, const char *digest)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *have = json_string_value(
            json_object_get(json_array_get(list, i), "digest"));

        if (have && !strcmp(have, digest))
            return true;
    }
    return false;
}

/* *ret_there: it was in the list already. */
static enum sbx_code enter_once(struct sbx_registry *r, const char *repository, const char *subject,
                                json_t *entry, bool *ret_there, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_JSON json_t *index = NULL;
    SBX_AUTO_FREE char *text = NULL;
    char tag[SBX_DIGEST_TEXT_SIZE];
    struct sbx_oci_doc doc;
    bool unused;
    json_t *list;
    enum sbx_code rc = arena ? by_tag(r, repository, subject, arena, &doc, err) : SBX_NO_MEMORY;

    if (rc)
        return rc;
    tag_of(subject, tag);
    index = json_loadb(doc.text, doc.len, 0, NULL);
    list = json_object_get(index, "manifests");
    if (!is_index(doc.media_type) || !json_is_array(list))
        return sbx_err_set(err, SBX_SCHEMA, "what lies under the tag %s is no list of referrers", tag);
    *ret_there = listed(list, json_string_value(json_object_get(entry, "digest")));
    if (*ret_there)
        return SBX_OK;
    json_array_append(list, entry);
    text = json_dumps(index, JSON_COMPACT);
    if (!text)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return registry_put_manifest(r, repository, tag, INDEX_TYPE, text, strlen(text), &unused, err);
}

/* Others may write the list at the same time, and the last one wins: it is looked at again. */
static enum sbx_code enter(struct sbx_registry *r, const char *repository, const char *subject,
                           json_t *entry, struct sbx_err *err)
{
    bool there = false;
    enum sbx_code rc = SBX_OK;

    for (int i = 0; !rc && !there; i++) {
        if (i == ENTER_MAX)
            return sbx_err_set(err, SBX_BUSY, "others write its list all the time");
        rc = enter_once(r, repository, subject, entry, &there, err);
    }
    return rc;
}

enum sbx_code sbx_registry_push_manifest(struct sbx_registry *r, const char *repository,
                                         const char *tag, const char *media_type, const char *text,
                                         size_t len, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *m = json_loadb(text, len, 0, NULL), *entry = NULL;
    const char *subject = json_string_value(
        json_object_get(json_object_get(m, "subject"), "digest"));
    char digest[SBX_DIGEST_TEXT_SIZE];
    bool kept = false;
    enum sbx_code rc = sbx_digest(text, len, digest);

    if (!rc)
        rc = registry_put_manifest(r, repository, tag, media_type, text, len, &kept, err);
    if (rc || !subject || kept)
        return rc;
    if (!sbx_digest_valid(subject))
        return sbx_err_set(err, SBX_SCHEMA, "the manifest's subject has no valid digest");
    entry = entry_of(m, media_type, digest, len);
    if (!entry)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = enter(r, repository, subject, entry, err);
    return rc ? sbx_err_wrap(err, rc, "enter it in the referrers of %s", subject) : SBX_OK;
}
