#include "docker.h"

#include <stdio.h>
#include <string.h>

#include "../names.h"

static enum sbx_code no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static bool is_ours(const struct docker *d, const json_t *volume)
{
    const json_t *labels = json_object_get(volume, "Labels");

    return strcmp(sbx_json_text_of(labels, SBX_LABEL_APP), sbx_name_app(d->app)) == 0;
}

static bool is_sized(const json_t *volume)
{
    return *sbx_json_text_of(json_object_get(volume, "Options"), "size") != '\0';
}

static json_t *body_of(const struct docker *d, const char *full, const char *name, int64_t size,
                       bool with_size)
{
    json_t *labels = json_pack("{s:s, s:s}", SBX_LABEL_APP, sbx_name_app(d->app), SBX_LABEL_VOLUME,
                               name);
    json_t *options = json_object();

    if (size)
        json_object_set_new(labels, SBX_LABEL_SIZE, json_sprintf("%lld", (long long)size));
    if (with_size)
        json_object_set_new(options, "size", json_sprintf("%lld", (long long)size));
    return json_pack("{s:s, s:s, s:o, s:o}", "Name", full, "Driver", "local", "DriverOpts", options,
                     "Labels", labels);
}

static enum sbx_code make(struct docker *d, const char *full, const char *name, int64_t size,
                          bool with_size, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    SBX_AUTO_JSON json_t *body = body_of(d, full, name, size, with_size);

    return body ? docker_do(d, &c, err, "POST", body, "/volumes/create") : no_memory(err);
}

enum sbx_code docker_volume_ensure(struct sbx_runtime *rt, const char *name, int64_t size,
                                   bool *ret_sized, bool *ret_created, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    const char *full = docker_container(d, &c, name);
    enum sbx_code rc;

    if (!full)
        return no_memory(err);
    rc = docker_do(d, &c, err, "GET", NULL, "/volumes/%s", full);
    if (rc && rc != SBX_NOT_FOUND)
        return rc;
    if (rc == SBX_OK && !is_ours(d, c.json))
        return sbx_err_set(err, SBX_EXISTS, "volume %s exists and is not of this app", full);
    *ret_created = rc == SBX_NOT_FOUND;
    *ret_sized = rc == SBX_OK && is_sized(c.json);
    if (rc == SBX_OK)
        return SBX_OK;
    if (size) { /* only some file systems hold a volume to a size: the attempt is the probe */
        rc = make(d, full, name, size, true, NULL);
        *ret_sized = rc == SBX_OK;
        if (rc == SBX_OK)
            return SBX_OK;
    }
    return make(d, full, name, size, false, err);
}

enum sbx_code docker_volume_remove(struct sbx_runtime *rt, const char *name, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    const char *full = docker_container(d, &c, name);
    enum sbx_code rc;

    if (!full)
        return no_memory(err);
    rc = docker_do(d, &c, err, "DELETE", NULL, "/volumes/%s", full);
    if (rc == SBX_CONFLICT)
        return err ? err->code = SBX_BUSY : SBX_BUSY;
    return rc == SBX_NOT_FOUND ? SBX_OK : rc;
}

enum sbx_code docker_volume_list(struct sbx_runtime *rt, struct sbx_arena *arena, const char ***ret,
                                 size_t *ret_n, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    const char *filter = docker_app_filter(d, &c), **list;
    enum sbx_code rc;
    json_t *volumes, *v;
    size_t i, n = 0;

    if (!filter)
        return no_memory(err);
    rc = docker_do(d, &c, err, "GET", NULL, "/volumes?filters=%s", filter);
    if (rc)
        return rc;
    volumes = json_object_get(c.json, "Volumes");
    list = sbx_arena_array(arena, json_array_size(volumes) + 1, sizeof(*list));
    if (!list)
        return no_memory(err);
    json_array_foreach(volumes, i, v) {
        const char *name = sbx_json_text_of(json_object_get(v, "Labels"), SBX_LABEL_VOLUME);

        if (!*name)
            continue;
        list[n] = sbx_arena_strdup(arena, name);
        if (!list[n++])
            return no_memory(err);
    }
    *ret = list;
    *ret_n = n;
    return SBX_OK;
}
