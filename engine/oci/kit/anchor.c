#include "anchor.h"

#include <stdio.h>
#include <string.h>

#include "sbx/crowd.h"
#include "sbx/json.h"
#include "sbx/store.h"

#define INDEX_DEPTH_MAX 4 /* indexes within indexes; real ones have two */
#define CHILDREN_MAX 1024 /* manifests of an index, layers of a manifest */

struct copy {
    struct kit_remote *from, *to;
    struct sbx_cache *cache;
    struct sbx_arena *arena;
    bool near; /* one registry: blobs are mounted */
};

/* "docker.io/library/alpine:3" in its parts; the name as written, without tag. */
static enum sbx_code split(const char *text, struct sbx_arena *arena, struct kit_image *ret,
                           struct sbx_err *err)
{
    char *full = sbx_store_full_name(arena, text), *slash, *at, *colon;
    const char *name_end;

    if (!full)
        return sbx_err_set(err, SBX_SCHEMA, "not the name of an image");
    slash = strchr(full, '/');
    *slash = '\0';
    ret->place = (struct sbx_place){ .text = text, .registry = full, .repository = slash + 1 };
    at = strchr(slash + 1, '@');
    if (at) {
        *at = '\0';
        ret->place.digest = at + 1;
    }
    colon = strchr(slash + 1, ':');
    if (colon) {
        *colon = '\0';
        ret->place.tag = colon + 1;
    }
    name_end = strrchr(text, ':');
    if (!name_end || strchr(name_end, '/'))
        name_end = text + strlen(text);
    ret->pinned = sbx_arena_memdup(arena, text, (size_t)(name_end - text));
    return ret->pinned ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

enum sbx_code kit_image_pin(const struct sbx_kit_io *io, const char *text, struct sbx_arena *arena,
                            struct kit_image *ret, struct sbx_err *err)
{
    enum sbx_code rc;

    *ret = (struct kit_image){ .pinned = NULL };
    if (strstr(text, "${{"))
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "sandbox.image %.200s: an image that an argument chooses cannot be "
                           "pinned; write it out",
                           text);
    rc = split(text, arena, ret, err);
    if (rc)
        return sbx_err_wrap(err, rc, "sandbox.image %.200s", text);
    if (ret->place.digest) { /* pinned by its author */
        ret->pinned = text;
        memcpy(ret->digest, ret->place.digest, sizeof(ret->digest));
        return SBX_OK;
    }
    rc = sbx_kit_look(io, &ret->place, ret->digest, err);
    if (rc)
        return sbx_err_wrap(err, rc,
                            "sandbox.image cannot be pinned; if only this machine has it: docker "
                            "push %.200s",
                            text);
    ret->pinned = sbx_arena_printf(arena, "%s@%s", ret->pinned, ret->digest);
    return ret->pinned ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

/* What a thread that copies works with. */
struct hand {
    struct kit_remote *from, *to;
    struct sbx_cache *cache;
};

/* The blobs of one manifest. */
struct blobs {
    struct copy *c;
    const json_t **v;
    size_t n;
};

static enum sbx_code copy_blob(const struct copy *c, struct hand *h, const json_t *d,
                               struct sbx_err *err)
{
    const char *digest = json_string_value(json_object_get(d, "digest"));
    int64_t size = json_integer_value(json_object_get(d, "size"));
    SBX_AUTO_FD int fd = -1;
    bool there = false;
    enum sbx_code rc = SBX_OK;

    if (!digest || !sbx_digest_valid(digest) || size < 0 || size > SBX_STORE_SIZE_MAX)
        return sbx_err_set(err, SBX_SCHEMA, "the image has a broken descriptor");
    if (json_object_get(d, "urls")) /* kept elsewhere by design */
        return SBX_OK;
    if (c->near)
        rc = h->to->ops->mount(h->to, digest, h->from->repository, &there, err);
    if (!rc && !there && !h->from->registry && h->to->registry) /* the registry verifies it */
        rc = kit_layout_open_blob(h->from, digest, size, &fd, err);
    else if (!rc && !there)
        rc = h->from->ops->pull_blob(h->from, digest, size, h->cache, err);
    if (!rc && !there && fd < 0)
        rc = sbx_blob_open(h->cache, digest, &fd, err);
    return rc || there ? rc : h->to->ops->push_blob(h->to, digest, size, fd, err);
}

static enum sbx_code hand_begin(void *ctx, void **ret, struct sbx_err *err)
{
    const struct copy *c = ((struct blobs *)ctx)->c;
    struct hand *h = *ret = calloc(1, sizeof(*h));
    enum sbx_code rc = h ? c->from->ops->twin(c->from, &h->from, err)
                         : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");

    if (!rc)
        rc = c->to->ops->twin(c->to, &h->to, err);
    return rc ? rc : sbx_cache_open(sbx_cache_dir(c->cache), &h->cache, err);
}

static enum sbx_code hand_copy(void *ctx, void *state, size_t i, struct sbx_err *err)
{
    const struct blobs *b = ctx;

    return copy_blob(b->c, state, b->v[i], err);
}

static void hand_end(void *state)
{
    struct hand *h = state;

    if (!h)
        return;
    kit_remote_close(h->from);
    kit_remote_close(h->to);
    sbx_cache_close(h->cache);
    free(h);
}

/* Layers and configuration; more than one at once where there are more. */
static enum sbx_code copy_blobs(struct copy *c, const json_t *manifest, struct sbx_err *err)
{
    const json_t *layers = json_object_get(manifest, "layers"), *layer;
    struct blobs b = { c, sbx_arena_array(c->arena, json_array_size(layers) + 1, sizeof(*b.v)), 0 };
    const struct sbx_crowd crowd = { json_array_size(layers) + 1, hand_begin, hand_copy, hand_end,
                                     &b };
    size_t i;

    if (!b.v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    json_array_foreach((json_t *)layers, i, layer)
        b.v[b.n++] = layer;
    b.v[b.n++] = json_object_get(manifest, "config");
    return sbx_crowd_run(&crowd, err);
}

static enum sbx_code copy_manifest(struct copy *c, const char *digest, const char *tag, int depth,
                                   struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL;
    const json_t *children;
    struct sbx_oci_doc doc;
    enum sbx_code rc;
    bool index;
    size_t i;

    if (depth > INDEX_DEPTH_MAX)
        return sbx_err_set(err, SBX_LIMIT, "indexes nested deeper than %d", INDEX_DEPTH_MAX);
    rc = c->from->ops->manifest(c->from, digest, c->arena, &doc, err);
    if (rc)
        return rc;
    root = json_loadb(doc.text, doc.len, 0, NULL);
    index = json_is_array(json_object_get(root, "manifests"));
    children = json_object_get(root, index ? "manifests" : "layers");
    if (!root || json_array_size(children) > CHILDREN_MAX)
        return sbx_err_set(err, SBX_SCHEMA, "%s is no manifest of an image", digest);
    if (!index)
        rc = copy_blobs(c, root, err);
    for (i = 0; !rc && index && i < json_array_size(children); i++) {
        const char *name = json_string_value(
            json_object_get(json_array_get(children, i), "digest"));

        if (!name || !sbx_digest_valid(name))
            return sbx_err_set(err, SBX_SCHEMA, "the image has a broken descriptor");
        rc = copy_manifest(c, name, NULL, depth + 1, err);
    }
    return rc ? rc
              : c->to->ops->push_manifest(c->to, tag, doc.media_type, doc.text, doc.len, err);
}

enum sbx_code kit_copy_whole(struct kit_remote *from, struct kit_remote *to,
                             struct sbx_cache *cache, const char *digest, const char *tag,
                             struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct copy c = { .from = from, .to = to, .cache = cache, .arena = arena };

    if (!arena)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    c.near = to->registry && from->registry && !strcmp(to->registry, from->registry);
    return copy_manifest(&c, digest, tag, 0, err);
}

static enum sbx_code keep(const struct sbx_kit_io *io, const struct kit_image *i,
                          struct kit_remote *to, struct sbx_cache *cache, const char *tag,
                          struct sbx_err *err)
{
    SBX_AUTO_PTR(kit_remote) from = NULL;
    enum sbx_code rc = kit_remote_open(io, &i->place, KIT_READ, &from, err);

    if (!rc)
        rc = kit_copy_whole(from, to, cache, i->digest, tag, err);
    return rc ? sbx_err_wrap(err, rc, "keep image %s with the kit", i->pinned) : SBX_OK;
}

enum sbx_code kit_anchor_make(const struct sbx_kit_io *io, const struct kit_image *i,
                              struct kit_remote *to, struct sbx_cache *cache, enum sbx_anchor how,
                              const char *tag, struct sbx_arena *arena, struct sbx_pushed *ret,
                              struct sbx_err *err)
{
    const char *anchor;
    enum sbx_code rc;

    if (how == SBX_ANCHOR_NONE || !to->registry)
        return SBX_OK;
    if (how == SBX_ANCHOR_AUTO && strcmp(to->registry, i->place.registry) != 0) {
        ret->note = sbx_arena_printf(arena,
                                     "the image is in another registry (%.100s), which may collect "
                                     "it some day; --anchor=copy keeps a copy with the kit",
                                     i->place.registry);
        return ret->note ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    anchor = sbx_arena_printf(arena, "_kit_%s", tag);
    if (!anchor)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (strlen(anchor) > 128)
        return sbx_err_set(err, SBX_USAGE, "tag %s is too long for its anchor _kit_%s", tag, tag);
    rc = keep(io, i, to, cache, anchor, err);
    if (!rc)
        ret->anchor = anchor;
    return rc;
}
