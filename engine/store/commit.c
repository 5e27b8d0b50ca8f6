#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sbx/file.h"
#include "store.h"

/* A new layer, and the configuration of its base with that layer added. */

static enum sbx_code upper_blob(struct sbx_store *s, const char *upper,
                                char digest[SBX_DIGEST_TEXT_SIZE], struct sbx_err *err)
{
    SBX_AUTO_FD int dir = open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SBX_AUTO_FD int tar = openat(s->layers, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    struct sbx_pack what = { .dir = dir, .overlay = true };
    enum sbx_code rc;

    if (dir < 0)
        return sbx_err_errno(err, "open %s", upper);
    if (tar < 0)
        return sbx_err_errno(err, "make a temporary file");
    rc = sbx_tree_pack(&what, sbx_tree_to_fd, &tar, err);
    if (!rc && lseek(tar, 0, SEEK_SET))
        rc = sbx_err_errno(err, "read layer");
    return rc ? rc : sbx_blob_put(s->cache, sbx_tree_from_fd, &tar, NULL, SBX_STORE_SIZE_MAX, digest, NULL, err);
}

static enum sbx_code new_config(const struct sbx_record *base, const char *diff_id, char **ret,
                                struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = json_loads(base->config, 0, NULL);
    json_t *ids = json_object_get(json_object_get(root, "rootfs"), "diff_ids");
    json_t *history = json_object_get(root, "history");
    time_t now = time(NULL);
    struct tm tm;
    char created[32];

    gmtime_r(&now, &tm);
    strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (!json_is_array(ids) || json_array_append_new(ids, json_string(diff_id)) ||
        json_object_set_new(root, "created", json_string(created)))
        return sbx_err_set(err, SBX_SCHEMA, "the base image's configuration is broken");
    if (json_is_array(history))
        json_array_append_new(history,
                              json_pack("{s:s, s:s}", "created", created, "created_by", "sbx"));
    *ret = json_dumps(root, JSON_COMPACT);
    return *ret ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code add_layer(struct sbx_store *s, const char *diff_id, int64_t *ret_size,
                               struct sbx_err *err)
{
    int64_t budget = SBX_STORE_SIZE_MAX;
    char tmp[SBX_LAYER_TMP_SIZE] = "";
    enum sbx_code rc;

    if (sbx_layer_present(s, diff_id)) {
        *ret_size = sbx_layer_size(s, diff_id);
        return SBX_OK;
    }
    rc = sbx_layer_unpack(s, diff_id, diff_id, &budget, tmp, err);
    if (rc)
        return rc;
    *ret_size = SBX_STORE_SIZE_MAX - budget;
    return sbx_layer_settle(s, tmp, diff_id, *ret_size, err);
}

static enum sbx_code add_image(struct sbx_store *s, const struct sbx_record *base,
                               const char *diff_id, int64_t size, const char *full,
                               struct sbx_err *err)
{
    SBX_AUTO_FREE char *config = NULL;
    const char *ids[SBX_STORE_LAYERS_MAX + 1];
    char id[SBX_DIGEST_TEXT_SIZE];
    struct sbx_record r = { .id = id,
                            .diff_ids = ids,
                            .n_layers = base->n_layers + 1,
                            .manifest = "",
                            .size = base->size + size };
    enum sbx_code rc;

    if (r.n_layers > SBX_STORE_LAYERS_MAX)
        return sbx_err_set(err, SBX_LIMIT, "the image would have more than %d layers",
                           SBX_STORE_LAYERS_MAX);
    memcpy(ids, base->diff_ids, base->n_layers * sizeof(*ids));
    ids[base->n_layers] = diff_id;
    rc = new_config(base, diff_id, &config, err);
    if (!rc)
        rc = sbx_blob_put_mem(s->cache, config, strlen(config), NULL, id, err);
    r.config = config;
    return rc ? rc : sbx_record_add(s, &r, &full, 1, err);
}

enum sbx_code sbx_store_commit(struct sbx_store *s, const char *base, const char *upper,
                               const char *reference, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const char *full = arena ? sbx_store_full_name(arena, reference) : NULL;
    char diff_id[SBX_DIGEST_TEXT_SIZE];
    struct sbx_store_image image;
    struct sbx_record record;
    SBX_AUTO_FD int lock = -1, use = -1;
    int64_t size = 0;
    enum sbx_code rc;

    if (!full || strchr(full, '@'))
        return sbx_err_set(err, SBX_SCHEMA, "\"%.300s\" is not a name for an image", reference);
    rc = sbx_store_lock(s, "import.lock", true, &lock, err);
    if (!rc)
        rc = sbx_cache_use(s->cache, &use, err);
    if (!rc)
        rc = sbx_store_find(s, base, arena, &image, err);
    if (!rc)
        rc = sbx_record_read(s, image.id + strlen("sha256:"), arena, &record, err);
    if (!rc)
        rc = upper_blob(s, upper, diff_id, err);
    if (!rc)
        rc = add_layer(s, diff_id, &size, err);
    return rc ? rc : add_image(s, &record, diff_id, size, full, err);
}
