#include <string.h>
#include <time.h>

#include "store.h"

/* "2026-01-02T03:04:05.678Z"; what is not a time counts as the epoch. */
static int64_t time_of(const char *text)
{
    struct tm tm = { 0 };
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    return end ? (int64_t)timegm(&tm) : 0;
}

static enum sbx_code labels_of(const json_t *config, struct sbx_arena *arena,
                               const char *const **ret, struct sbx_err *err)
{
    const json_t *labels = json_object_get(config, "Labels"), *v;
    const char **list, *key;
    size_t n = 0;

    if (labels && !json_is_null(labels) && !json_is_object(labels))
        return sbx_err_set(err, SBX_SCHEMA, "Labels is not an object");
    list = sbx_arena_array(arena, json_object_size(labels) + 1, sizeof(*list));
    if (!list)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    json_object_foreach((json_t *)labels, key, v) {
        if (!json_is_string(v))
            return sbx_err_set(err, SBX_SCHEMA, "a label is not a string");
        list[n] = sbx_arena_printf(arena, "%s=%s", key, json_string_value(v));
        if (!list[n++])
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    *ret = list;
    return SBX_OK;
}

#define ITEMS_MAX 10000 /* of env, entrypoint, cmd: beyond what exec() takes anyway */

static enum sbx_code inner_config(const json_t *c, struct sbx_arena *arena, struct sbx_config *ret,
                                  struct sbx_err *err)
{
    const char **env = NULL, **entrypoint = NULL, **cmd = NULL;
    enum sbx_code rc;

    if (c && !json_is_null(c) && !json_is_object(c))
        return sbx_err_set(err, SBX_SCHEMA, "config is not an object");
    rc = sbx_json_list(c, "Env", ITEMS_MAX, arena, &env, NULL, err);
    if (!rc)
        rc = sbx_json_list(c, "Entrypoint", ITEMS_MAX, arena, &entrypoint, NULL, err);
    if (!rc)
        rc = sbx_json_list(c, "Cmd", ITEMS_MAX, arena, &cmd, NULL, err);
    if (!rc)
        rc = sbx_json_text(c, "WorkingDir", "", arena, &ret->workdir, err);
    if (!rc)
        rc = sbx_json_text(c, "User", "", arena, &ret->user, err);
    if (!rc)
        rc = labels_of(c, arena, &ret->labels, err);
    ret->env = env;
    ret->entrypoint = entrypoint;
    ret->cmd = cmd;
    return rc;
}

static enum sbx_code diff_ids(const json_t *root, struct sbx_arena *arena, struct sbx_config *ret,
                              struct sbx_err *err)
{
    const json_t *fs = json_object_get(root, "rootfs");
    enum sbx_code rc;

    if (!json_is_object(fs))
        return sbx_err_set(err, SBX_SCHEMA, "rootfs is missing");
    rc = sbx_json_list(fs, "diff_ids", SBX_STORE_LAYERS_MAX, arena, &ret->diff_ids, &ret->n_layers,
                       err);
    for (size_t i = 0; !rc && i < ret->n_layers; i++)
        if (!sbx_digest_valid(ret->diff_ids[i]))
            return sbx_err_set(err, SBX_SCHEMA, "diff_ids[%zu] is not sha256:<64 hex digits>", i);
    return rc;
}

enum sbx_code sbx_config_parse(const char *text, size_t len, struct sbx_arena *arena,
                               struct sbx_config *ret, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL;
    const char *created;
    enum sbx_code rc = sbx_text_json(text, len, &root, err);

    *ret = (struct sbx_config){ 0 };
    if (rc)
        return rc;
    if (!json_is_object(root))
        return sbx_err_set(err, SBX_SCHEMA, "not an object");
    rc = sbx_json_text(root, "os", "linux", arena, &ret->os, err);
    if (!rc)
        rc = sbx_json_text(root, "architecture", "", arena, &ret->architecture, err);
    if (!rc)
        rc = sbx_json_text(root, "created", "", arena, &created, err);
    if (!rc)
        rc = diff_ids(root, arena, ret, err);
    if (!rc)
        rc = inner_config(json_object_get(root, "config"), arena, ret, err);
    if (!rc)
        ret->created = time_of(created);
    return rc;
}
