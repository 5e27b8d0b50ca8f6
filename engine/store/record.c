#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "sbx/file.h"
#include "store.h"

#define NAMES_FILE "names.json"
#define RECORD_MAX (2 * SBX_STORE_JSON_MAX) /* bytes: the configuration, escaped, and our fields */

static enum sbx_code write_json(int dir, const char *name, const json_t *value, struct sbx_err *err)
{
    SBX_AUTO_FREE char *text = json_dumps(value, JSON_INDENT(1) | JSON_SORT_KEYS);

    if (!text)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return sbx_file_write(dir, name, text, strlen(text), 0600, err);
}

static enum sbx_code read_json(int dir, const char *name, json_t **ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(RECORD_MAX);
    enum sbx_code rc = sbx_file_read(dir, name, &text, err);
    json_error_t e;

    if (rc)
        return rc;
    *ret = json_loadb(text.ptr ? text.ptr : "", text.len, JSON_REJECT_DUPLICATES, &e);
    if (!*ret)
        return sbx_err_set(err, SBX_SYNTAX, "image table %s, line %d: %s", name, e.line, e.text);
    return SBX_OK;
}

static enum sbx_code write_record(struct sbx_store *s, const struct sbx_record *r,
                                  struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *layers = json_array(), *root = NULL;
    char name[HEX + 8];

    for (size_t i = 0; i < r->n_layers; i++)
        if (json_array_append_new(layers, json_string(r->diff_ids[i])))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    root = json_pack("{s:i, s:s, s:O, s:s, s:I, s:s}", "version", 1, "id", r->id, "layers", layers,
                     "manifest", r->manifest, "size", (json_int_t)r->size, "config", r->config);
    if (!root)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    snprintf(name, sizeof(name), "%s.json", r->id + strlen("sha256:"));
    return write_json(s->images, name, root, err);
}

static enum sbx_code layers_of(const json_t *root, struct sbx_arena *arena, struct sbx_record *ret,
                               struct sbx_err *err)
{
    const json_t *list = json_object_get(root, "layers");
    const char **ids;

    ret->n_layers = json_array_size(list);
    ids = sbx_arena_array(arena, ret->n_layers + 1, sizeof(*ids));
    if (!ids)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < ret->n_layers; i++) {
        const char *id = json_string_value(json_array_get(list, i));

        if (!id || !sbx_digest_valid(id))
            return sbx_err_set(err, SBX_SCHEMA, "layer %zu is no digest", i);
        ids[i] = sbx_arena_strdup(arena, id);
    }
    ret->diff_ids = ids;
    return SBX_OK;
}

enum sbx_code sbx_record_read(struct sbx_store *s, const char *hex, struct sbx_arena *arena,
                              struct sbx_record *ret, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL;
    const char *config, *manifest;
    char name[HEX + 8];
    enum sbx_code rc;

    snprintf(name, sizeof(name), "%.64s.json", hex);
    rc = read_json(s->images, name, &root, err);
    if (rc)
        return rc;
    config = json_string_value(json_object_get(root, "config"));
    manifest = json_string_value(json_object_get(root, "manifest"));
    if (json_integer_value(json_object_get(root, "version")) != 1 || !config || !manifest)
        return sbx_err_set(err, SBX_SCHEMA, "image record %s is not of this version", name);
    rc = layers_of(root, arena, ret, err);
    if (rc)
        return sbx_err_wrap(err, rc, "image record %s", name);
    ret->id = sbx_arena_printf(arena, "sha256:%.64s", hex);
    ret->config = sbx_arena_strdup(arena, config);
    ret->manifest = sbx_arena_strdup(arena, manifest);
    ret->size = json_integer_value(json_object_get(root, "size"));
    if (!ret->id || !ret->config || !ret->manifest)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return SBX_OK;
}

enum sbx_code sbx_names_read(struct sbx_store *s, json_t **ret, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL;
    enum sbx_code rc = read_json(s->images, NAMES_FILE, &root, err);

    if (rc == SBX_NOT_FOUND) {
        *ret = json_object();
        return *ret ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    if (rc)
        return rc;
    *ret = json_incref(json_object_get(root, "names"));
    if (!json_is_object(*ret))
        return sbx_err_set(err, SBX_SCHEMA, "%s has no names", NAMES_FILE);
    return SBX_OK;
}

enum sbx_code sbx_names_write(struct sbx_store *s, json_t *names, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = json_pack("{s:i, s:O}", "version", 1, "names", names);

    if (!root)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return write_json(s->images, NAMES_FILE, root, err);
}

enum sbx_code sbx_record_add(struct sbx_store *s, const struct sbx_record *r,
                             const char *const *names, size_t n, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *table = NULL;
    SBX_AUTO_FD int lock = -1;
    enum sbx_code rc = sbx_store_lock(s, "images.lock", true, &lock, err);

    if (!rc)
        rc = sbx_names_read(s, &table, err);
    if (!rc)
        rc = write_record(s, r, err); /* before the names: a name always leads somewhere */
    if (rc || !n)
        return rc;
    for (size_t i = 0; i < n; i++)
        if (json_object_set_new(table, names[i], json_string(r->id)))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return sbx_names_write(s, table, err);
}
