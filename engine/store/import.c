/* Archives and layouts to images; which of them are meant. */
#include <stdio.h>
#include <string.h>

#include "import.h"

#define INDEX_DEPTH_MAX 4 /* indexes within indexes; real ones have two */

static enum sbx_code import_docker(struct import *im, struct sbx_err *err)
{
    struct sbx_manifest *list;
    const char *text;
    size_t len, n;
    enum sbx_code rc = sbx_source_text(im->src, "manifest.json", &text, &len, err);

    if (!rc)
        rc = sbx_manifest_docker(text, len, im->arena, &list, &n, err);
    if (rc)
        return sbx_err_wrap(err, rc, "manifest.json");
    for (size_t i = 0; !rc && i < n; i++)
        rc = sbx_import_image(im, &list[i], NULL, 0, err);
    return rc;
}

/* JSON of a blob, verified. */
static enum sbx_code blob_text(struct import *im, const struct sbx_descriptor *d, const char **ret,
                               size_t *ret_len, struct sbx_err *err)
{
    char from[128], digest[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc;

    snprintf(from, sizeof(from), "blobs/sha256/%s", d->digest + strlen("sha256:"));
    rc = sbx_source_text(im->src, from, ret, ret_len, err);
    if (!rc)
        rc = sbx_digest(*ret, *ret_len, digest);
    if (rc)
        return rc;
    if ((int64_t)*ret_len != d->size || strcmp(digest, d->digest) != 0)
        return sbx_err_set(err, SBX_SCHEMA, "content is %s (%zu bytes), not %s (%lld bytes)",
                           digest, *ret_len, d->digest, (long long)d->size);
    return SBX_OK;
}

static enum sbx_code import_manifest(struct import *im, const struct sbx_descriptor *d,
                                     const char *name, struct sbx_err *err)
{
    struct sbx_manifest m;
    const char *text;
    size_t len;
    enum sbx_code rc = blob_text(im, d, &text, &len, err);

    if (!rc)
        rc = sbx_manifest_oci(text, len, im->arena, &m, err);
    if (rc)
        return sbx_err_wrap(err, rc, "manifest %s", d->digest);
    m.digest = d->digest;
    if (name) {
        m.names = &name;
        m.n_names = 1;
    }
    return sbx_import_image(im, &m, text, len, err);
}

static enum sbx_code import_descriptor(struct import *im, const struct sbx_descriptor *d,
                                       const char *name, int depth, struct sbx_err *err);

static enum sbx_code import_index(struct import *im, const char *text, size_t len, const char *name,
                                  int depth, struct sbx_err *err)
{
    struct sbx_store_platform ours = sbx_store_platform();
    struct sbx_index index;
    size_t done = 0;
    enum sbx_code rc = sbx_manifest_index(text, len, &ours, im->arena, &index, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < index.n; i++) {
        const struct sbx_descriptor *d = &index.v[i];

        if (!sbx_media_is_image(d->media_type) || (depth > 0 && i != index.best))
            continue; /* artifacts may lie beside images; below the top an index is one image for many platforms */
        rc = import_descriptor(im, d, index.names[i] ? index.names[i] : name, depth, err);
        if (rc)
            return rc;
        done++;
    }
    if (!done)
        return sbx_err_set(err, SBX_UNSUPPORTED, "no image for %s/%s in it", ours.os,
                           ours.architecture);
    return SBX_OK;
}

static enum sbx_code import_descriptor(struct import *im, const struct sbx_descriptor *d,
                                       const char *name, int depth, struct sbx_err *err)
{
    const char *text;
    size_t len;
    enum sbx_code rc;

    if (!sbx_media_is_index(d->media_type))
        return import_manifest(im, d, name, err);
    if (depth >= INDEX_DEPTH_MAX)
        return sbx_err_set(err, SBX_LIMIT, "indexes nested deeper than %d", INDEX_DEPTH_MAX);
    rc = blob_text(im, d, &text, &len, err);
    if (!rc)
        rc = import_index(im, text, len, name, depth + 1, err);
    return rc ? sbx_err_wrap(err, rc, "index %s", d->digest) : SBX_OK;
}

static enum sbx_code import_oci(struct import *im, struct sbx_err *err)
{
    const char *text;
    size_t len;
    enum sbx_code rc = sbx_source_text(im->src, "oci-layout", &text, &len, err);

    if (!rc)
        rc = sbx_layout_check(text, len, err);
    if (rc)
        return sbx_err_wrap(err, rc, "oci-layout");
    rc = sbx_source_text(im->src, "index.json", &text, &len, err);
    if (!rc)
        rc = import_index(im, text, len, NULL, 0, err);
    return rc ? sbx_err_wrap(err, rc, "index.json") : SBX_OK;
}

enum sbx_code sbx_store_import(struct sbx_store *s, const char *path, struct sbx_arena *arena,
                               const char ***ret_names, size_t *ret_n, struct sbx_err *err)
{
    struct import im = { .store = s, .arena = arena };
    SBX_AUTO_PTR(sbx_source) src = NULL;
    SBX_AUTO_FD int lock = -1, use = -1;
    enum sbx_code rc = sbx_store_lock(s, "import.lock", true, &lock, err);

    if (!rc)
        rc = sbx_cache_use(s->cache, &use, err);
    if (!rc)
        rc = sbx_store_sweep(s, err);
    if (!rc)
        rc = sbx_source_open(s, path, &src, err);
    if (rc)
        return rc;
    im.src = src;
    if (sbx_source_has(src, "manifest.json"))
        rc = import_docker(&im, err);
    else if (sbx_source_has(src, "oci-layout"))
        rc = import_oci(&im, err);
    else
        rc = sbx_err_set(err, SBX_SCHEMA,
                         "neither an archive of `docker save` (manifest.json) nor "
                         "an OCI layout (oci-layout)");
    if (rc)
        return rc;
    *ret_names = im.names;
    *ret_n = im.n_names;
    return SBX_OK;
}

enum sbx_code sbx_store_adopt(struct sbx_store *s, const char *digest, size_t size,
                              const char *name, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_PTR(sbx_source) src = NULL;
    struct import im = { .store = s, .arena = arena };
    struct sbx_descriptor d = { .media_type = MEDIA_MANIFEST, .size = (int64_t)size };
    SBX_AUTO_FD int lock = -1;
    enum sbx_code rc;

    if (!arena)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    snprintf(d.digest, sizeof(d.digest), "%s", digest);
    rc = sbx_store_lock(s, "import.lock", true, &lock, err);
    if (!rc)
        rc = sbx_store_sweep(s, err);
    if (!rc)
        rc = sbx_source_cache(s, &src, err);
    im.src = src;
    return rc ? rc : import_manifest(&im, &d, name, err);
}
