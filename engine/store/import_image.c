/* One image: its layers unpacked under other names, then all of it named at once. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "import.h"
#include "sbx/file.h"

#define MEDIA_CONFIG "application/vnd.oci.image.config.v1+json"
#define MEDIA_LAYER "application/vnd.oci.image.layer.v1.tar"

/* One image on its way: layers unpacked but not named yet. */
struct pending {
    struct sbx_config config;
    struct sbx_record record;
    char (*blobs)[SBX_DIGEST_TEXT_SIZE]; /* layers in the cache; "" where it was not needed */
    char (*tmp)[SBX_LAYER_TMP_SIZE];
    int64_t *sizes;
};

static enum sbx_code no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static bool same_earlier(const struct pending *p, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(p->config.diff_ids[j], p->config.diff_ids[i]) == 0)
            return true;
    return false;
}

/* Bring layer i, unless it is here already (another image has it, or this one twice). */
static enum sbx_code bring_layer(struct import *im, struct pending *p, size_t i, const char *from,
                                 const char *expect, struct sbx_err *err)
{
    const char *diff_id = p->config.diff_ids[i];
    int64_t budget = SBX_STORE_SIZE_MAX - p->record.size, before = budget;
    enum sbx_code rc;

    rc = sbx_source_blob(im->src, from, expect, p->blobs[i], err);
    if (rc || same_earlier(p, i))
        return rc;
    if (sbx_layer_present(im->store, diff_id)) {
        p->record.size += sbx_layer_size(im->store, diff_id);
        return SBX_OK;
    }
    rc = sbx_layer_unpack(im->store, p->blobs[i], diff_id, &budget, p->tmp[i], err);
    if (rc)
        return rc;
    p->sizes[i] = before - budget;
    p->record.size += p->sizes[i];
    return SBX_OK;
}

static enum sbx_code prepare(struct import *im, struct pending *p, const struct sbx_manifest *m,
                             const char *text, size_t len, struct sbx_err *err)
{
    struct sbx_store_platform ours = sbx_store_platform();
    char id[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc = sbx_config_parse(text, len, im->arena, &p->config, err);

    if (!rc)
        rc = sbx_digest(text, len, id);
    if (rc)
        return sbx_err_wrap(err, rc, "configuration %s", m->config);
    if (strcmp(p->config.os, ours.os) != 0 ||
        (*p->config.architecture && strcmp(p->config.architecture, ours.architecture) != 0))
        return sbx_err_set(err, SBX_UNSUPPORTED, "the image is for %.40s/%.40s, this is %s/%s",
                           p->config.os, p->config.architecture, ours.os, ours.architecture);
    if (p->config.n_layers != m->n_layers)
        return sbx_err_set(err, SBX_SCHEMA, "%zu layers, but %zu diff ids in the configuration",
                           m->n_layers, p->config.n_layers);
    p->record = (struct sbx_record){
        .id = sbx_arena_strdup(im->arena, id),
        .diff_ids = p->config.diff_ids,
        .n_layers = m->n_layers,
        .config = sbx_arena_memdup(im->arena, text, len),
    };
    p->blobs = sbx_arena_array(im->arena, m->n_layers + 1, sizeof(*p->blobs));
    p->tmp = sbx_arena_array(im->arena, m->n_layers + 1, sizeof(*p->tmp));
    p->sizes = sbx_arena_array(im->arena, m->n_layers + 1, sizeof(*p->sizes));
    if (!p->record.id || !p->record.config || !p->blobs || !p->tmp || !p->sizes)
        return no_memory(err);
    return SBX_OK;
}

static const char *layer_media(struct sbx_store *s, const char *digest, int64_t *ret_size)
{
    static const char *const types[] = { MEDIA_LAYER, MEDIA_LAYER "+gzip", MEDIA_LAYER "+zstd" };
    unsigned char magic[4] = { 0 };
    SBX_AUTO_FD int fd = -1;
    struct stat st = { 0 };

    if (sbx_blob_open(s->cache, digest, &fd, NULL) || fstat(fd, &st) ||
        pread(fd, magic, sizeof(magic), 0) < 0)
        return types[0];
    *ret_size = st.st_size;
    if (magic[0] == 0x1f && magic[1] == 0x8b)
        return types[1];
    return magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd ? types[2]
                                                                                        : types[0];
}

/* For what has none of OCI's kind: the one its blobs would be pushed with. Other tools read no other from a layout. */
static enum sbx_code write_manifest(struct import *im, struct pending *p, const char **ret_digest,
                                    size_t *ret_size, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *layers = json_array(), *root = NULL;
    SBX_AUTO_FREE char *text = NULL;
    char digest[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc;

    for (size_t i = 0; i < p->record.n_layers; i++) {
        int64_t size = 0;
        const char *media = layer_media(im->store, p->blobs[i], &size);

        if (json_array_append_new(layers, json_pack("{s:s, s:s, s:I}", "mediaType", media, "digest",
                                                    p->blobs[i], "size", (json_int_t)size)))
            return no_memory(err);
    }
    root = json_pack("{s:i, s:s, s:{s:s, s:s, s:I}, s:O}", "schemaVersion", 2, "mediaType",
                     MEDIA_MANIFEST, "config", "mediaType", MEDIA_CONFIG, "digest", p->record.id,
                     "size", (json_int_t)strlen(p->record.config), "layers", layers);
    text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    if (!text)
        return no_memory(err);
    rc = sbx_blob_put_mem(im->store->cache, text, strlen(text), NULL, digest, err);
    *ret_digest = sbx_arena_strdup(im->arena, digest);
    *ret_size = strlen(text);
    return rc || *ret_digest ? rc : no_memory(err);
}

/* Configuration and manifest; a name is there last, as one that leads nowhere is taken away. */
static enum sbx_code to_cache(struct import *im, struct pending *p, const struct sbx_manifest *m,
                              const char *text, size_t len, struct sbx_err *err)
{
    const char *name = m->digest; /* of what other tools find */
    char digest[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc;

    rc = sbx_blob_put_mem(im->store->cache, p->record.config, strlen(p->record.config), p->record.id,
                          digest, err);
    if (!rc && m->digest)
        rc = sbx_blob_put_mem(im->store->cache, text, len, m->digest, digest, err);
    if (!rc && !m->is_oci)
        rc = write_manifest(im, p, &name, &len, err);
    p->record.manifest = m->digest ? m->digest : name;
    for (size_t i = 0; !rc && i < m->n_names; i++)
        rc = sbx_blob_index(im->store->cache, name, len, MEDIA_MANIFEST, m->names[i], err);
    return rc;
}

/* All layers are there before a name leads to them. */
static enum sbx_code settle(struct import *im, struct pending *p, const struct sbx_manifest *m,
                            struct sbx_err *err)
{
    enum sbx_code rc;

    for (size_t i = 0; i < p->record.n_layers; i++) {
        if (!p->tmp[i][0])
            continue;
        rc = sbx_layer_settle(im->store, p->tmp[i], p->config.diff_ids[i], p->sizes[i], err);
        if (rc)
            return rc;
        p->tmp[i][0] = '\0';
    }
    return sbx_record_add(im->store, &p->record, (const char *const *)m->names, m->n_names, err);
}

static enum sbx_code remember_names(struct import *im, const struct pending *p,
                                    const struct sbx_manifest *m, struct sbx_err *err)
{
    size_t n = m->n_names ? m->n_names : 1;
    const char **grown = sbx_arena_array(im->arena, im->n_names + n + 1, sizeof(*grown));

    if (!grown)
        return no_memory(err);
    if (im->n_names)
        memcpy(grown, im->names, im->n_names * sizeof(*grown));
    for (size_t i = 0; i < n; i++) {
        grown[im->n_names] = m->n_names ? sbx_store_familiar_name(im->arena, m->names[i])
                                        : p->record.id;
        if (!grown[im->n_names++])
            return no_memory(err);
    }
    im->names = grown;
    return SBX_OK;
}

enum sbx_code sbx_import_image(struct import *im, const struct sbx_manifest *m,
                               const char *manifest, size_t manifest_len, struct sbx_err *err)
{
    struct pending p = { 0 };
    char from[128];
    const char *text;
    size_t len;
    enum sbx_code rc;

    if (m->digest) /* OCI: names are digests */
        snprintf(from, sizeof(from), "blobs/sha256/%s", m->config + strlen("sha256:"));
    rc = sbx_source_text(im->src, m->digest ? from : m->config, &text, &len, err);
    if (!rc)
        rc = prepare(im, &p, m, text, len, err);
    if (!rc && m->digest && strcmp(p.record.id, m->config) != 0)
        rc = sbx_err_set(err, SBX_SCHEMA, "configuration is %s, not %s", p.record.id, m->config);
    for (size_t i = 0; !rc && i < m->n_layers; i++) {
        if (m->digest)
            snprintf(from, sizeof(from), "blobs/sha256/%s", m->layers[i] + strlen("sha256:"));
        rc = bring_layer(im, &p, i, m->digest ? from : m->layers[i],
                         m->digest ? m->layers[i] : NULL, err);
        if (rc)
            rc = sbx_err_wrap(err, rc, "layer %zu (%.100s)", i + 1, m->layers[i]);
    }
    if (!rc)
        rc = to_cache(im, &p, m, manifest, manifest_len, err);
    if (!rc)
        rc = settle(im, &p, m, err);
    for (size_t i = 0; p.tmp && i < p.record.n_layers; i++)
        if (p.tmp[i][0] && sbx_dir_remove(im->store->layers, p.tmp[i], NULL))
            break; /* the next import removes them */
    return rc ? rc : remember_names(im, &p, m, err);
}
