#include "known.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbx/file.h"

struct search {
    const struct sbx_kit_io *io;
    struct sbx_cache *cache;
    const struct sbx_artifact *a;
    const char *spec_digest;
    struct sbx_arena *arena;
    struct kit_known *ret;
    char content[SBX_DIGEST_TEXT_SIZE]; /* of the files of `a`; "": not taken yet */
};

static enum sbx_code to_hasher(void *ctx, const void *data, size_t len, struct sbx_err *err)
{
    (void)err;
    sbx_hasher_add(ctx, data, len);
    return SBX_OK;
}

/* Two kits with equal files have the same one. */
static bool content_of(const struct sbx_artifact *a, char out[SBX_DIGEST_TEXT_SIZE])
{
    SBX_AUTO_PTR(sbx_hasher) h = sbx_hasher_new();

    if (!h || sbx_kit_archive(a, to_hasher, h, NULL))
        return false;
    sbx_hasher_text(h, out);
    return true;
}

/* "HOST/REPOSITORY@DIGEST" as it stands in the cache's index, or "kit@DIGEST" of one from a layout. */
static bool place_of(struct search *s, const char *name, const char *digest, struct sbx_place *ret)
{
    char *registry = sbx_arena_strdup(s->arena, name), *slash, *at;

    *ret = (struct sbx_place){ .text = name, .digest = sbx_arena_strdup(s->arena, digest) };
    at = registry ? strchr(registry, '@') : NULL;
    if (!at || !ret->digest)
        return false;
    *at = '\0';
    slash = strchr(registry, '/');
    ret->layout = !slash;
    if (!slash) {
        ret->path = "";
        return true;
    }
    *slash = '\0';
    ret->registry = registry;
    ret->repository = slash + 1;
    return true;
}

/* Its files, unpacked from the cache, beside those that are pushed. */
static bool has_these_files(struct search *s, const char *name, const char *digest)
{
    SBX_AUTO_PTR(sbx_artifact) b = NULL;
    SBX_AUTO(sbx_diags) unused = { 0 };
    SBX_AUTO_FREE char *dir = NULL;
    char content[SBX_DIGEST_TEXT_SIZE] = "";
    struct sbx_place place;
    bool mine = false, same;

    if (!place_of(s, name, digest, &place) || (!s->content[0] && !content_of(s->a, s->content)) ||
        sbx_diags_init(&unused) || sbx_kit_unpack(s->io, &place, &mine, &dir, NULL))
        return false;
    same = !sbx_kit_check(dir, &unused, &b, NULL) && content_of(b, content) &&
           !strcmp(content, s->content);
    if (mine && sbx_dir_remove(AT_FDCWD, dir, NULL))
        return same; /* the next command removes it */
    return same;
}

/* Looking is no use: the cache keeps what was used. */
static bool read_manifest(struct search *s, const char *digest, struct sbx_buf *out)
{
    char path[4096];

    snprintf(path, sizeof(path), "%.3900s/blobs/sha256/%s", sbx_cache_dir(s->cache),
             digest + strlen("sha256:"));
    return !sbx_file_read(AT_FDCWD, path, out, NULL) && out->len;
}

/* Cheap questions first. */
static bool try_one(void *ctx, const char *digest, const char *name)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_REGISTRY_MANIFEST_MAX);
    struct search *s = ctx;
    struct kit_manifest m;

    if (!read_manifest(s, digest, &text) || kit_manifest_parse(text.ptr, text.len, &m, NULL) ||
        strcmp(m.config.digest, s->spec_digest) != 0 || !sbx_blob_has(s->cache, m.config.digest, NULL) ||
        (m.has_layer && !sbx_blob_has(s->cache, m.layer.digest, NULL)) ||
        !has_these_files(s, name, digest))
        return true;
    s->ret->m = m;
    s->ret->len = text.len;
    s->ret->text = sbx_arena_memdup(s->arena, text.ptr, text.len);
    return false;
}

enum sbx_code kit_known_find(const struct sbx_kit_io *io, struct sbx_cache *cache,
                             const struct sbx_artifact *a, const char *spec_digest,
                             struct sbx_arena *arena, struct kit_known *ret, struct sbx_err *err)
{
    const char *date = getenv("SOURCE_DATE_EPOCH");
    struct search s = { io, cache, a, spec_digest, arena, ret, "" };

    *ret = (struct kit_known){ .text = NULL };
    if (date && *date) /* another date was asked for */
        return SBX_OK;
    sbx_blob_index_each(cache, try_one, &s);
    return ret->len && !ret->text ? sbx_err_set(err, SBX_NO_MEMORY, "out of memory") : SBX_OK;
}
