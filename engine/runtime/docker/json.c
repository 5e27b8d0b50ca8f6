#include "docker.h"

#include <string.h>

const char *const *docker_texts(const json_t *list, struct sbx_arena *arena)
{
    size_t n = json_array_size(list), used = 0;
    const char **out = sbx_arena_array(arena, n + 1, sizeof(*out));

    for (size_t i = 0; out && i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (!text)
            continue;
        out[used] = sbx_arena_strdup(arena, text);
        if (!out[used++])
            return NULL;
    }
    return out;
}

const char *const *docker_pairs(const json_t *object, struct sbx_arena *arena)
{
    size_t n = json_object_size(object), used = 0;
    const char **out = sbx_arena_array(arena, n + 1, sizeof(*out));
    const char *key;
    json_t *value;

    if (!out)
        return NULL;
    json_object_foreach((json_t *)object, key, value) {
        const char *text = json_string_value(value);

        out[used] = sbx_arena_printf(arena, "%s=%s", key, text ? text : "");
        if (!out[used++])
            return NULL;
    }
    return out;
}

json_t *docker_pairs_json(const char *const *pairs)
{
    json_t *out = json_object();

    for (; out && pairs && *pairs; pairs++) {
        const char *eq = strchr(*pairs, '=');
        size_t len = eq ? (size_t)(eq - *pairs) : strlen(*pairs);
        char *key = strndup(*pairs, len);

        if (!key || json_object_set_new(out, key, json_string(eq ? eq + 1 : ""))) {
            json_decref(out);
            out = NULL;
        }
        free(key);
    }
    return out;
}
