/* Blobs to a registry: mounted, in one piece, or after a cut in chunks that go on where it was. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "registry.h"

#define CHUNK (8 << 20)         /* bytes; clouds want at least 5 MiB, and a cut costs at most this much */
#define CHUNK_MAX (256 << 20)   /* bytes: what a registry may ask for as its least chunk */
#define SESSIONS_MAX ATTEMPTS_MAX /* uploads begun anew for one blob: registries of distribution 2.8 lose one that is cut */

struct push {
    struct sbx_registry *r;
    const char *repository, *digest, *scope;
    int64_t size;
    int fd;
    struct sbx_arena *arena; /* of the call's life: locations move with each answer */
    const char *location;
    int64_t chunk;
    bool resumed;     /* the registry has bytes of an attempt that was cut */
    int64_t at;       /* where the body that is on its way begins in the blob */
    const char *told; /* Retry-After of the last answer; NULL: none */
};

static const char *resolve(struct push *p, const struct sbx_call *c)
{
    const char *location = c->headers[HTTP_LOCATION];

    return location ? sbx_url_resolve(&p->r->http, p->arena, c->answered, location) : NULL;
}

static void on_sent(void *ctx, int64_t bytes)
{
    struct push *p = ctx;

    if (p->r->progress && p->r->progress->bytes && p->at + bytes < p->size)
        p->r->progress->bytes(p->r->progress->ctx, p->digest, p->at + bytes, p->size);
}

/* Log-ins are for the registry: a location elsewhere has its own permission in its address. */
static enum sbx_code send_one(struct push *p, struct sbx_call *c, struct sbx_err *err)
{
    const char *home = sbx_url_origin(&p->r->http, p->arena, p->r->base);
    const char *there = sbx_url_origin(&p->r->http, p->arena, c->url);

    c->max = HTTP_ERROR_MAX;
    if (home && there && !strcmp(home, there))
        return registry_call_once(p->r, c, p->scope, err);
    if (!strncmp(p->r->base, "https:", 6) && strncmp(c->url, "https:", 6) != 0)
        return sbx_err_set(err, SBX_FAILED, "%s wants the upload sent without TLS", p->r->host);
    return sbx_http_send(&p->r->http, c, err);
}

static enum sbx_code transmit(struct push *p, struct sbx_call *c, struct sbx_err *err)
{
    const char *told;
    enum sbx_code rc;

    p->at = c->body_at;
    if (c->body_fd >= 0) {
        c->sent = on_sent;
        c->sent_ctx = p;
    }
    rc = send_one(p, c, err);
    told = rc ? NULL : c->headers[HTTP_RETRY_AFTER];
    p->told = told ? sbx_arena_strdup(p->arena, told) : NULL;
    return rc;
}

static enum sbx_code start(struct push *p, const char *query, bool *ret_done, bool *again,
                           struct sbx_err *err)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    const char *least;
    enum sbx_code rc;

    c.url = registry_url(p->r, &c, err, p->repository, "blobs/uploads/%s", query);
    if (!c.url)
        return err && err->code ? err->code : SBX_UNAVAILABLE;
    c.method = "POST";
    rc = transmit(p, &c, err);
    *again = rc ? c.passing : registry_passing(&c);
    if (rc)
        return rc;
    *ret_done = c.status == 201;
    if (c.status != 201 && c.status != 202)
        return registry_refused(p->r, &c, err);
    p->location = resolve(p, &c);
    if (!*ret_done && !p->location)
        return sbx_err_set(err, SBX_SCHEMA, "%s opens an upload without saying where", p->r->host);
    least = c.headers[HTTP_CHUNK_MIN];
    p->chunk = CHUNK;
    if (least && atoll(least) > CHUNK && atoll(least) <= CHUNK_MAX)
        p->chunk = atoll(least);
    return SBX_OK;
}

/* With `len` bytes from the start, or none behind the last chunk. */
static enum sbx_code finish(struct push *p, int64_t len, bool *again, struct sbx_err *err)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    enum sbx_code rc;

    c.arena = sbx_arena_new();
    c.url = c.arena ? sbx_arena_printf(c.arena, "%s%sdigest=%s", p->location,
                                       strchr(p->location, '?') ? "&" : "?", p->digest)
                    : NULL;
    if (!c.url)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    c.method = "PUT";
    if (len) {
        c.body_fd = p->fd;
        c.body_len = len;
    }
    rc = transmit(p, &c, err);
    *again = rc ? c.passing : registry_passing(&c);
    if (rc || c.status == 201 || c.status == 204)
        return rc;
    if (p->resumed && (c.status == 400 || c.status == 404 || c.status == 416))
        *again = true; /* what it kept was not what was sent: anew */
    return registry_refused(p->r, &c, err);
}

/* "0-1048575": what the registry has. */
static int64_t held(const struct sbx_call *c)
{
    const char *range = c->headers[HTTP_RANGE];
    long long first, last;

    if (!range || sscanf(range, "%lld-%lld", &first, &last) != 2 || first != 0 || last < 0 ||
        last == LLONG_MAX)
        return 0;
    return last ? last + 1 : 0; /* "0-0" is how nothing is written too */
}

/* Ask how far it came. */
static enum sbx_code status(struct push *p, int64_t *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    const char *moved;
    enum sbx_code rc;

    c.method = "GET";
    c.url = p->location;
    rc = transmit(p, &c, err);
    if (rc)
        return rc;
    if (c.status != 204)
        return registry_refused(p->r, &c, err);
    moved = resolve(p, &c);
    if (moved)
        p->location = moved;
    *ret = held(&c);
    return SBX_OK;
}

static enum sbx_code one_chunk(struct push *p, int64_t *at, bool *again, struct sbx_err *err)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    int64_t len = p->size - *at < p->chunk ? p->size - *at : p->chunk;
    const char *moved;
    char range[64];
    enum sbx_code rc;

    snprintf(range, sizeof(range), "%lld-%lld", (long long)*at, (long long)(*at + len - 1));
    c.method = "PATCH";
    c.url = p->location;
    c.content_range = range;
    c.body_fd = p->fd;
    c.body_at = *at;
    c.body_len = len;
    rc = transmit(p, &c, err);
    *again = rc ? c.passing : registry_passing(&c) || c.status == 416;
    if (rc)
        return rc;
    if (c.status != 202)
        return registry_refused(p->r, &c, err);
    moved = resolve(p, &c);
    if (moved)
        p->location = moved;
    *at += len;
    if (p->r->progress && p->r->progress->bytes)
        p->r->progress->bytes(p->r->progress->ctx, p->digest, *at, p->size);
    return SBX_OK;
}

static enum sbx_code chunks(struct push *p, int64_t at, bool *again, struct sbx_err *err)
{
    int64_t most = at; /* never asked for more attempts by a registry that forgets */
    unsigned failed = 0;

    while (at < p->size) {
        bool retry = false;
        enum sbx_code rc = one_chunk(p, &at, &retry, err);

        if (at > most) {
            most = at;
            failed = 0;
        }
        if (!rc)
            continue;
        *again = retry && (++failed == ATTEMPTS_MAX || registry_wait(p->r, p->told, failed));
        if (!*again || failed == ATTEMPTS_MAX)
            return rc;
        if (status(p, &at, NULL) || at > p->size || at < 0) /* the session is lost: begin a new one */
            return rc;
        p->resumed = true;
        if (at > most) {
            most = at;
            failed = 0;
        }
    }
    return finish(p, 0, again, err);
}

/* One piece first: clouds like it best. After a cut in chunks, from where the registry has it if it tells. */
static enum sbx_code send_all(struct push *p, bool whole, bool *again, struct sbx_err *err)
{
    struct sbx_err unused = SBX_ERR_INIT;
    int64_t at = 0;
    enum sbx_code rc = whole ? finish(p, p->size, again, err) : SBX_OK;

    if (whole && (!rc || !*again))
        return rc;
    if (whole) {
        *again = registry_wait(p->r, p->told, 1);
        if (!*again || status(p, &at, &unused) || at <= 0 || at > p->size)
            return rc; /* a new session then */
        p->resumed = true;
    }
    return chunks(p, at, again, err);
}

/* An upload that is not wanted: the registry would keep it for a week. */
static void give_up(struct push *p)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    struct sbx_err unused = SBX_ERR_INIT;

    c.method = "DELETE";
    c.url = p->location;
    if (transmit(p, &c, &unused))
        return;
}

static enum sbx_code upload(struct push *p, const char *query, struct sbx_err *err)
{
    for (unsigned i = 1;; i++) {
        bool done = false, again = false;
        enum sbx_code rc = start(p, query, &done, &again, err);

        p->resumed = false;
        if (!rc && done)
            return SBX_OK;
        if (!rc)
            rc = send_all(p, i == 1, &again, err);
        if (rc == SBX_CANCELED && p->location)
            give_up(p);
        if (!rc || !again || i == SESSIONS_MAX || !registry_wait(p->r, p->told, i))
            return rc;
        if (p->location)
            give_up(p);
        p->location = NULL;
        query = "";
    }
}

enum sbx_code sbx_registry_has_blob(struct sbx_registry *r, const char *repository,
                                    const char *digest, bool *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    enum sbx_code rc;

    c.url = registry_url(r, &c, err, repository, "blobs/%s", digest);
    if (!c.url)
        return err && err->code ? err->code : SBX_UNAVAILABLE;
    c.method = "HEAD";
    rc = registry_call(r, &c, registry_scope(&c, repository, "pull,push"), err);
    if (rc)
        return rc;
    *ret = c.status == 200;
    return *ret || c.status == 404 ? SBX_OK : registry_refused(r, &c, err);
}

static enum sbx_code prepare(struct push *p, const char *from, struct sbx_err *err)
{
    p->arena = sbx_arena_new();
    p->scope = NULL;
    if (p->arena)
        p->scope = from ? sbx_arena_printf(p->arena, "repository:%s:pull,push repository:%s:pull",
                                           p->repository, from)
                        : sbx_arena_printf(p->arena, "repository:%s:pull,push", p->repository);
    return p->scope ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

enum sbx_code sbx_registry_push_blob(struct sbx_registry *r, const char *repository,
                                     const char *digest, int64_t size, int fd, const char *from,
                                     struct sbx_err *err)
{
    struct push p = { .r = r, .repository = repository, .digest = digest, .size = size, .fd = fd };
    const char *query = "";
    bool there = false;
    enum sbx_code rc = sbx_registry_has_blob(r, repository, digest, &there, err);

    if (!rc && !there)
        rc = prepare(&p, from, err);
    if (!rc && !there && from) {
        query = sbx_arena_printf(p.arena, "?mount=%s&from=%s", digest, from);
        if (!query)
            rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    if (!rc && !there)
        rc = upload(&p, query, err);
    if (!rc && r->progress && r->progress->bytes)
        r->progress->bytes(r->progress->ctx, digest, size, size);
    sbx_arena_free(p.arena);
    return rc ? sbx_err_wrap(err, rc, "blob %s", digest) : SBX_OK;
}

enum sbx_code sbx_registry_mount_blob(struct sbx_registry *r, const char *repository,
                                      const char *digest, const char *from, bool *ret,
                                      struct sbx_err *err)
{
    struct push p = { .r = r, .repository = repository, .digest = digest, .fd = -1 };
    bool again = false;
    char query[512];
    enum sbx_code rc = sbx_registry_has_blob(r, repository, digest, ret, err);

    if (rc || *ret)
        return rc;
    rc = prepare(&p, from, err);
    snprintf(query, sizeof(query), "?mount=%s&from=%s", digest, from);
    if (!rc)
        rc = start(&p, query, ret, &again, err);
    if (!rc && !*ret)
        give_up(&p);
    sbx_arena_free(p.arena);
    return rc ? sbx_err_wrap(err, rc, "mount blob %s", digest) : SBX_OK;
}
