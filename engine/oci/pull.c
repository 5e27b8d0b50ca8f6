/* Blobs from a registry: straight into the cache, verified, going on after a cut. */
#include <stdio.h>
#include <string.h>

#include "registry.h"

struct pull {
    struct sbx_registry *r;
    struct sbx_call *c;
    struct sbx_blob_writer *w;
    const char *digest;
    int64_t size;
    const struct sbx_oci_progress *progress;
    bool begun;  /* the first bytes of this answer were looked at */
    bool misled; /* they are not those that were asked for */
    bool pieced; /* what is here comes from several answers */
};

/* A server may send the whole instead of the rest. */
static enum sbx_code begin(struct pull *p, struct sbx_err *err)
{
    const char *range = p->c->headers[HTTP_CONTENT_RANGE];
    int64_t have = sbx_blob_writer_have(p->w);
    long status = 0;
    long long from = -1;

    p->r->http.curl->easy_getinfo(p->r->http.h, CURLINFO_RESPONSE_CODE, &status);
    p->begun = true;
    if (!have)
        return SBX_OK;
    if (status == 206 && range && sscanf(range, "bytes %lld-", &from) == 1 && from == have)
        return SBX_OK;
    p->misled = status == 206;
    if (p->misled)
        return sbx_err_set(err, SBX_SCHEMA, "asked for the bytes from %lld, but got \"%.40s\"",
                           (long long)have, range ? range : "");
    return sbx_blob_writer_restart(p->w, err);
}

static enum sbx_code take(void *ctx, const void *data, size_t len, struct sbx_err *err)
{
    struct pull *p = ctx;
    const struct sbx_oci_progress *progress = p->progress;
    enum sbx_code rc = p->begun ? SBX_OK : begin(p, err);

    if (!rc)
        rc = sbx_blob_writer_add(p->w, data, len, err);
    if (!rc && progress && progress->bytes)
        progress->bytes(progress->ctx, p->digest, sbx_blob_writer_have(p->w), p->size);
    return rc;
}

/* One request; *again: what failed may pass. */
static enum sbx_code attempt(struct pull *p, const char *repository, bool *again,
                             struct sbx_err *err)
{
    int64_t have = sbx_blob_writer_have(p->w);
    struct sbx_call *c = p->c;
    char range[48];
    enum sbx_code rc;

    *again = false;
    snprintf(range, sizeof(range), "bytes=%lld-", (long long)have);
    c->range = have ? range : NULL;
    p->begun = p->misled = false;
    p->pieced |= have > 0;
    rc = registry_call_once(p->r, c, registry_scope(c, repository, "pull"), err);
    c->range = NULL;
    if (rc) {
        *again = c->passing || p->misled;
        return p->misled && sbx_blob_writer_restart(p->w, NULL) ? SBX_IO : rc;
    }
    if (c->status == 416) { /* what is here is no beginning of it */
        *again = have > 0;
        rc = sbx_blob_writer_restart(p->w, err);
        return rc ? rc : registry_refused(p->r, c, err);
    }
    if (c->status != 200 && c->status != 206) {
        *again = registry_passing(c);
        return registry_refused(p->r, c, err);
    }
    if (sbx_blob_writer_have(p->w) < p->size) {
        *again = true;
        return sbx_err_set(err, SBX_SCHEMA, "only %lld of %lld bytes came",
                           (long long)sbx_blob_writer_have(p->w), (long long)p->size);
    }
    return SBX_OK;
}

static enum sbx_code get_all(struct pull *p, const char *repository, struct sbx_err *err)
{
    int64_t most = sbx_blob_writer_have(p->w);
    unsigned failed = 0;

    while (sbx_blob_writer_have(p->w) < p->size) {
        bool again;
        enum sbx_code rc = attempt(p, repository, &again, err);

        if (!rc)
            break;
        if (sbx_blob_writer_have(p->w) > most) { /* it moves: as often as it takes */
            most = sbx_blob_writer_have(p->w);
            failed = 0;
        }
        if (!again || ++failed == ATTEMPTS_MAX || (p->r->is_mirror && failed > 1))
            return rc;
        if (!registry_wait(p->r, p->c->status ? p->c->headers[HTTP_RETRY_AFTER] : NULL, failed))
            return rc;
    }
    return SBX_OK;
}

/* Which of several pieces is wrong nobody knows: all of it anew, once. */
static enum sbx_code fetch(struct pull *p, const char *repository, struct sbx_err *err)
{
    for (bool anew = false;; anew = true) {
        enum sbx_code rc = get_all(p, repository, err);

        if (rc)
            return rc;
        rc = sbx_blob_writer_finish(p->w, err);
        if (rc != SBX_SCHEMA || !p->pieced || anew)
            return rc;
        p->pieced = false;
    }
}

struct want {
    const char *digest;
    int64_t size;
    struct sbx_blob_writer *w;
    const struct sbx_oci_progress *progress;
};

static enum sbx_code from(struct sbx_registry *r, const char *repository, void *ctx,
                          struct sbx_err *err)
{
    const struct want *want = ctx;
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    struct pull p = { .r = r, .c = &c, .w = want->w, .digest = want->digest, .size = want->size,
                      .progress = want->progress };

    c.url = registry_url(r, &c, err, repository, "blobs/%s", want->digest);
    if (!c.url)
        return err && err->code ? err->code : SBX_UNAVAILABLE;
    c.method = "GET";
    c.sink = take;
    c.sink_ctx = &p;
    return fetch(&p, repository, err);
}

enum sbx_code sbx_registry_pull_blob(struct sbx_registry *r, const char *repository,
                                     const char *digest, int64_t size, struct sbx_cache *cache,
                                     struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_blob_writer) w = NULL;
    struct want want = { .digest = digest, .size = size, .progress = r->progress };
    enum sbx_code rc = sbx_blob_writer_open(cache, digest, size, &w, err);

    if (!rc && w) {
        want.w = w;
        rc = registry_read(r, repository, from, &want, err);
    }
    return rc ? sbx_err_wrap(err, rc, "blob %s", digest) : SBX_OK;
}
