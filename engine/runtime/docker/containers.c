#include "docker.h"

#include <stdio.h>
#include <string.h>

#include "../names.h"

static enum sbx_code no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

enum sbx_code docker_start(struct sbx_runtime *rt, const char *id, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    const char *name = docker_container(d, &c, id);

    return name ? docker_do(d, &c, err, "POST", NULL, "/containers/%s/start", name)
                : no_memory(err);
}

enum sbx_code docker_stop(struct sbx_runtime *rt, const char *id, int timeout_s,
                          struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    const char *name = docker_container(d, &c, id);
    const struct docker_extra extra = { .timeout_ms = SBX_DOCKER_CHANGE_MS + timeout_s * 1000L };
    enum sbx_code rc;

    if (!name)
        return no_memory(err);
    rc = docker_send(d, &c, err, "POST", NULL, &extra, "/containers/%s/stop?t=%d", name, timeout_s);
    if (rc)
        return rc;
    return c.status >= 400 ? docker_failed(&c, err) : SBX_OK;
}

/* Someone else removes it already: wait until it is gone. */
static enum sbx_code wait_gone(struct docker *d, const char *name, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    enum sbx_code rc = docker_do(d, &c, err, "POST", NULL, "/containers/%s/wait?condition=removed",
                                 name);

    return rc == SBX_NOT_FOUND ? SBX_OK : rc;
}

enum sbx_code docker_remove(struct sbx_runtime *rt, const char *id, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    const char *name = docker_container(d, &c, id);
    enum sbx_code rc;

    if (!name)
        return no_memory(err);
    /* v=1: the anonymous volumes of an image's VOLUME lines go too */
    rc = docker_do(d, &c, err, "DELETE", NULL, "/containers/%s?force=1&v=1", name);
    if (rc == SBX_CONFLICT)
        return wait_gone(d, name, err);
    return rc == SBX_NOT_FOUND ? SBX_OK : rc;
}

/* The Engine's name without our prefix, for a container without our label. */
static const char *plain_name(const json_t *json)
{
    const char *name = sbx_json_text_of(json, "Name");

    return *name == '/' ? name + 1 : name;
}

static enum sbx_code fill(const json_t *json, struct sbx_arena *arena, struct sbx_container *ret)
{
    const json_t *state = json_object_get(json, "State");
    const json_t *labels = json_object_get(json_object_get(json, "Config"), "Labels");
    const char *name = sbx_json_text_of(labels, SBX_LABEL_SANDBOX);
    const char *started = sbx_json_text_of(state, "StartedAt");
    struct sbx_container c = {
        .id = sbx_arena_strdup(arena, sbx_json_text_of(json, "Id")),
        .name = sbx_arena_strdup(arena, *name ? name : plain_name(json)),
        .labels = docker_pairs(labels, arena),
        .running = json_is_true(json_object_get(state, "Running")),
        .pid = (pid_t)json_integer_value(json_object_get(state, "Pid")),
        .exit_code = (int)json_integer_value(json_object_get(state, "ExitCode")),
        /* the Engine writes year 1 for "never" */
        .started_at = sbx_arena_strdup(arena, strncmp(started, "0001-", 5) == 0 ? "" : started),
    };

    if (!c.id || !c.name || !c.labels || !c.started_at)
        return SBX_NO_MEMORY;
    *ret = c;
    return SBX_OK;
}

enum sbx_code docker_inspect(struct sbx_runtime *rt, const char *id, struct sbx_arena *arena,
                             struct sbx_container *ret, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    const char *name = docker_container(d, &c, id);
    enum sbx_code rc;

    if (!name)
        return no_memory(err);
    rc = docker_do(d, &c, err, "GET", NULL, "/containers/%s/json", name);
    if (rc)
        return rc;
    return fill(c.json, arena, ret) ? no_memory(err) : SBX_OK;
}

/* The list lacks pid, exit code and start time, so each is asked for; one that went is left out. */
enum sbx_code docker_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                          struct sbx_container **ret, size_t *ret_n, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    const char *filter = docker_app_filter(d, &c);
    struct sbx_container *list;
    size_t n, used = 0;
    enum sbx_code rc;

    if (!filter)
        return no_memory(err);
    rc = docker_do(d, &c, err, "GET", NULL, "/containers/json?all=1&filters=%s", filter);
    if (rc)
        return rc;
    n = json_array_size(c.json);
    list = sbx_arena_array(arena, n + 1, sizeof(*list));
    if (!list)
        return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        rc = docker_inspect(rt, sbx_json_text_of(json_array_get(c.json, i), "Id"), arena,
                            &list[used], err);
        if (rc && rc != SBX_NOT_FOUND)
            return rc;
        used += rc == SBX_OK;
    }
    *ret = list;
    *ret_n = used;
    return SBX_OK;
}
