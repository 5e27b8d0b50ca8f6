#include "sbx/image_pull.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "sbx/crowd.h"
#include "sbx/json.h"

#define LAYERS_MAX SBX_STORE_LAYERS_MAX
#define INDEX_DEPTH_MAX 4 /* indexes within indexes; real ones have two */

struct want {
    char digest[SBX_DIGEST_TEXT_SIZE];
    int64_t size;
};

struct pull {
    struct sbx_store *store;
    struct sbx_arena *arena;
    struct sbx_cache *cache;
    struct sbx_registry_opts opts;
    struct sbx_registry *r;
    const char *repository, *full;
    const struct sbx_oci_progress *progress; /* the caller's; ours takes turns */
    struct sbx_oci_progress own;
    struct want wants[LAYERS_MAX + 1]; /* configuration, layers */
    size_t n;
    /* shared by the threads */
    pthread_mutex_t lock;
};

static void on_bytes(void *ctx, const char *digest, int64_t done, int64_t total)
{
    struct pull *p = ctx;

    pthread_mutex_lock(&p->lock);
    if (p->progress && p->progress->bytes)
        p->progress->bytes(p->progress->ctx, digest, done, total);
    pthread_mutex_unlock(&p->lock);
}

static void on_line(void *ctx, const char *text)
{
    struct pull *p = ctx;

    pthread_mutex_lock(&p->lock);
    if (p->progress && p->progress->line)
        p->progress->line(p->progress->ctx, text);
    pthread_mutex_unlock(&p->lock);
}

/* What a thread works with. */
struct hand {
    struct sbx_registry *r;
    struct sbx_cache *cache;
};

static enum sbx_code hand_begin(void *ctx, void **ret, struct sbx_err *err)
{
    struct pull *p = ctx;
    struct hand *h = *ret = calloc(1, sizeof(*h));
    enum sbx_code rc = h ? sbx_registry_open(&p->opts, &h->r, err)
                         : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");

    return rc ? rc : sbx_cache_open(sbx_cache_dir(p->cache), &h->cache, err);
}

static enum sbx_code hand_pull(void *ctx, void *state, size_t i, struct sbx_err *err)
{
    struct pull *p = ctx;
    struct hand *h = state;

    return sbx_registry_pull_blob(h->r, p->repository, p->wants[i].digest, p->wants[i].size,
                                  h->cache, err);
}

static void hand_end(void *state)
{
    struct hand *h = state;

    if (!h)
        return;
    sbx_registry_close(h->r);
    sbx_cache_close(h->cache);
    free(h);
}

static enum sbx_code pull_blobs(struct pull *p, struct sbx_err *err)
{
    const struct sbx_crowd crowd = { p->n, hand_begin, hand_pull, hand_end, p };

    return sbx_crowd_run(&crowd, err);
}

static enum sbx_code take_want(struct pull *p, const json_t *d, const char *what,
                               struct sbx_err *err)
{
    const char *digest = json_string_value(json_object_get(d, "digest"));
    const json_t *size = json_object_get(d, "size");
    struct want *w = &p->wants[p->n];

    if (!digest || !sbx_digest_valid(digest) || !json_is_integer(size) ||
        json_integer_value(size) < 0)
        return sbx_err_set(err, SBX_SCHEMA, "%s: no digest and size", what);
    if (json_integer_value(size) > SBX_STORE_SIZE_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%s: %lld bytes", what,
                           (long long)json_integer_value(size));
    memcpy(w->digest, digest, sizeof(w->digest));
    w->size = json_integer_value(size);
    p->n++;
    return SBX_OK;
}

static enum sbx_code take_manifest(struct pull *p, const json_t *root, struct sbx_err *err)
{
    const json_t *layers = json_object_get(root, "layers"), *layer;
    enum sbx_code rc;
    size_t i;

    if (json_integer_value(json_object_get(root, "schemaVersion")) == 1)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "an image in Docker's format of before 2016 (schema 1): pull it with an old "
                           "Docker and push it again with a newer one");
    if (json_integer_value(json_object_get(root, "schemaVersion")) != 2 || !json_is_array(layers))
        return sbx_err_set(err, SBX_UNSUPPORTED, "its manifest is not one of an image of schemaVersion 2");
    if (json_array_size(layers) > LAYERS_MAX)
        return sbx_err_set(err, SBX_LIMIT, "more than %d layers", LAYERS_MAX);
    rc = take_want(p, json_object_get(root, "config"), "configuration", err);
    json_array_foreach((json_t *)layers, i, layer)
        if (!rc)
            rc = take_want(p, layer, "layer", err);
    return rc;
}

/* The manifest that is for us; NULL: none. */
static const char *choose(const json_t *list, const struct sbx_store_platform *ours)
{
    const char *found = NULL;
    const json_t *entry;
    int best = 0;
    size_t i;

    json_array_foreach((json_t *)list, i, entry) {
        int rank = sbx_store_platform_rank(json_object_get(entry, "platform"), ours);
        const char *digest = json_string_value(json_object_get(entry, "digest"));

        if (rank <= best || !digest || !sbx_digest_valid(digest))
            continue;
        best = rank;
        found = digest;
    }
    return found;
}

/* From the name to the manifest of our platform, which is put into the cache. */
static enum sbx_code find(struct pull *p, const char *reference, struct sbx_oci_doc *ret,
                          struct sbx_err *err)
{
    struct sbx_store_platform ours = sbx_store_platform();
    char unused[SBX_DIGEST_TEXT_SIZE];

    for (int depth = 0; depth < INDEX_DEPTH_MAX; depth++) {
        SBX_AUTO_JSON json_t *root = NULL;
        const char *next;
        enum sbx_code rc = sbx_registry_manifest(p->r, p->repository, reference, p->arena, ret, err);

        if (!rc)
            rc = sbx_blob_put_mem(p->cache, ret->text, ret->len, ret->digest, unused, err);
        if (rc)
            return rc;
        root = json_loadb(ret->text, ret->len, JSON_REJECT_DUPLICATES, NULL);
        if (!root)
            return sbx_err_set(err, SBX_SYNTAX, "manifest %s is not JSON", ret->digest);
        if (!json_is_array(json_object_get(root, "manifests")))
            return take_manifest(p, root, err);
        if (json_object_get(root, "layers") || json_object_get(root, "config")) /* read either way by somebody */
            return sbx_err_set(err, SBX_SCHEMA, "%s is both an image and an index", ret->digest);
        next = choose(json_object_get(root, "manifests"), &ours);
        if (!next)
            return sbx_err_set(err, SBX_UNSUPPORTED, "no image for %s/%s in it", ours.os,
                               ours.architecture);
        reference = sbx_arena_strdup(p->arena, next);
        if (!reference)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    return sbx_err_set(err, SBX_LIMIT, "indexes nested deeper than %d", INDEX_DEPTH_MAX);
}

/* "docker.io/library/alpine:3" in its parts; *ret is tag or digest. */
static enum sbx_code split(struct pull *p, const char *text, const char **ret, struct sbx_err *err)
{
    char *copy, *slash, *mark;

    p->full = sbx_store_full_name(p->arena, text);
    copy = p->full ? sbx_arena_strdup(p->arena, p->full) : NULL;
    if (!copy)
        return sbx_err_set(err, SBX_SCHEMA, "not the name of an image");
    slash = strchr(copy, '/');
    *slash = '\0';
    mark = strpbrk(slash + 1, "@:");
    *ret = mark + 1;
    *mark = '\0';
    p->opts.host = copy;
    p->repository = slash + 1;
    return SBX_OK;
}

static enum sbx_code pull(struct pull *p, const char *text, struct sbx_err *err)
{
    struct sbx_oci_doc doc;
    const char *reference = NULL;
    enum sbx_code rc = split(p, text, &reference, err);

    if (rc)
        return rc;
    p->own = (struct sbx_oci_progress){ .line = on_line, .bytes = on_bytes, .ctx = p };
    p->opts.progress = &p->own;
    rc = sbx_registry_open(&p->opts, &p->r, err);
    if (!rc)
        rc = find(p, reference, &doc, err);
    if (!rc)
        rc = pull_blobs(p, err);
    return rc ? rc : sbx_store_adopt(p->store, doc.digest, doc.len, p->full, err);
}

enum sbx_code sbx_image_pull(struct sbx_store *s, const char *reference,
                             const struct sbx_oci_progress *progress, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct pull p = { .store = s, .arena = arena, .progress = progress };
    SBX_AUTO_FD int use = -1;
    enum sbx_code rc;

    if (!arena)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    p.cache = sbx_store_cache(s);
    pthread_mutex_init(&p.lock, NULL);
    rc = sbx_cache_use(p.cache, &use, err);
    if (!rc)
        rc = pull(&p, reference, err);
    sbx_registry_close(p.r);
    pthread_mutex_destroy(&p.lock);
    return rc ? sbx_err_wrap(err, rc, "pull %.300s", reference) : SBX_OK;
}
