#include "images.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static enum sbx_code no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

enum sbx_code docker_name_parse(const char *reference, struct sbx_arena *arena,
                                struct docker_name *ret, struct sbx_err *err)
{
    char *text = sbx_arena_strdup(arena, reference), *slash, *colon, *at;
    struct docker_name n = { text, "latest", "docker.io" };

    if (!text)
        return no_memory(err);
    if (strpbrk(text, " \t\r\n?#%") || *text == '/' || *text == '-')
        return sbx_err_set(err, SBX_SCHEMA, "not an image reference");
    at = strchr(text, '@');
    if (at) {
        *at = '\0';
        n.tag = at + 1;
    }
    slash = strrchr(text, '/');
    colon = strrchr(slash ? slash : text, ':');
    if (colon) {
        *colon = '\0';
        if (!at)
            n.tag = colon + 1;
    }
    if (!*text || !*n.tag)
        return sbx_err_set(err, SBX_SCHEMA, "not an image reference");
    slash = strchr(text, '/');
    if (slash) {
        size_t len = (size_t)(slash - text);

        if (memchr(text, '.', len) || memchr(text, ':', len) ||
            (len == 9 && strncmp(text, "localhost", 9) == 0))
            n.registry = sbx_arena_memdup(arena, text, len);
    }
    if (!n.registry)
        return no_memory(err);
    *ret = n;
    return SBX_OK;
}

static int64_t unix_time(const char *rfc3339)
{
    struct tm tm = { 0 };

    return strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &tm) ? (int64_t)timegm(&tm) : 0;
}

static enum sbx_code fill(const json_t *json, const char *reference, struct sbx_arena *arena,
                          struct sbx_image *ret, struct sbx_err *err)
{
    const json_t *config = json_object_get(json, "Config");
    struct sbx_image i = {
        .id = sbx_arena_strdup(arena, sbx_json_text_of(json, "Id")),
        .reference = sbx_arena_strdup(arena, reference),
        .env = docker_texts(json_object_get(config, "Env"), arena),
        .workdir = sbx_arena_strdup(arena, sbx_json_text_of(config, "WorkingDir")),
        .user = sbx_arena_strdup(arena, sbx_json_text_of(config, "User")),
        .entrypoint = docker_texts(json_object_get(config, "Entrypoint"), arena),
        .cmd = docker_texts(json_object_get(config, "Cmd"), arena),
        .labels = docker_pairs(json_object_get(config, "Labels"), arena),
        .size = json_integer_value(json_object_get(json, "Size")),
        .created = unix_time(sbx_json_text_of(json, "Created")),
    };

    if (!i.id || !i.reference || !i.env || !i.workdir || !i.user || !i.entrypoint || !i.cmd ||
        !i.labels)
        return no_memory(err);
    *ret = i;
    return SBX_OK;
}

/* The Engine takes it, as it can run it with an emulator; without one its programs cannot be run. */
static void tell_foreign(const struct docker *d, const json_t *image,
                         const struct sbx_progress *progress)
{
    const char *arch = sbx_json_text_of(image, "Architecture");
    char text[128];

    if (!progress || !progress->line || !*arch || !*d->arch || !strcmp(arch, d->arch))
        return;
    snprintf(text, sizeof(text),
             "the image is for %.40s, this Engine is %.40s: it needs an emulator", arch, d->arch);
    progress->line(progress->ctx, text);
}

/* `pulled`: who hears of one that was fetched just now; NULL: it was here. */
static enum sbx_code inspect(struct docker *d, const char *reference,
                             const struct sbx_progress *pulled, struct sbx_arena *arena,
                             struct sbx_image *ret, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    const char *name = docker_escape(&c, reference, "/:@");
    enum sbx_code rc;

    if (!name)
        return no_memory(err);
    rc = docker_do(d, &c, err, "GET", NULL, "/images/%s/json", name);
    if (rc)
        return rc;
    tell_foreign(d, c.json, pulled);
    return fill(c.json, reference, arena, ret, err);
}

enum sbx_code docker_image_ensure(struct sbx_runtime *rt, const char *reference, enum sbx_pull pull,
                                  const struct sbx_progress *progress, struct sbx_arena *arena,
                                  struct sbx_image *ret, struct sbx_err *err)
{
    struct docker *d = (struct docker *)rt;
    struct docker_name name;
    enum sbx_code rc = docker_name_parse(reference, arena, &name, err);

    if (!rc && pull != SBX_PULL_ALWAYS)
        rc = inspect(d, reference, NULL, arena, ret, err);
    else if (!rc)
        rc = SBX_NOT_FOUND;
    if (rc != SBX_NOT_FOUND)
        return rc;
    if (pull == SBX_PULL_NEVER)
        return sbx_err_set(err, SBX_NOT_FOUND,
                           "the Engine does not have it, and pulling was not allowed; --pull missing "
                           "fetches it");
    rc = docker_pull(d, reference, progress, err);
    return rc ? rc : inspect(d, reference, progress, arena, ret, err);
}

/* One row a name; an image without a name is listed by its id. */
static enum sbx_code add_rows(const json_t *image, struct sbx_arena *arena, struct sbx_image *list,
                              size_t *n, struct sbx_err *err)
{
    static const char *const none[] = { NULL };
    const json_t *tags = json_object_get(image, "RepoTags");
    size_t count = json_array_size(tags);

    for (size_t i = 0; i < (count ? count : 1); i++) {
        const char *name = json_string_value(json_array_get(tags, i));
        struct sbx_image row = {
            .id = sbx_arena_strdup(arena, sbx_json_text_of(image, "Id")),
            .env = none,
            .entrypoint = none,
            .cmd = none,
            .workdir = "",
            .user = "",
            .labels = docker_pairs(json_object_get(image, "Labels"), arena),
            .size = json_integer_value(json_object_get(image, "Size")),
            .created = json_integer_value(json_object_get(image, "Created")),
        };

        if (!name || strcmp(name, "<none>:<none>") == 0)
            name = row.id;
        row.reference = name ? sbx_arena_strdup(arena, name) : NULL;
        if (!row.id || !row.labels || !row.reference)
            return no_memory(err);
        list[(*n)++] = row;
    }
    return SBX_OK;
}

enum sbx_code docker_image_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                                struct sbx_image **ret, size_t *ret_n, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    enum sbx_code rc = docker_do(d, &c, err, "GET", NULL, "/images/json");
    struct sbx_image *list;
    size_t rows = 0, n = 0, i;
    json_t *image;

    if (rc)
        return rc;
    json_array_foreach(c.json, i, image)
        rows += json_array_size(json_object_get(image, "RepoTags")) + 1;
    list = sbx_arena_array(arena, rows + 1, sizeof(*list));
    if (!list)
        return no_memory(err);
    json_array_foreach(c.json, i, image) {
        rc = add_rows(image, arena, list, &n, err);
        if (rc)
            return rc;
    }
    *ret = list;
    *ret_n = n;
    return SBX_OK;
}

enum sbx_code docker_image_remove(struct sbx_runtime *rt, const char *reference,
                                  struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker *d = (struct docker *)rt;
    const char *name = docker_escape(&c, reference, "/:@");
    enum sbx_code rc;

    if (!name)
        return no_memory(err);
    rc = docker_do(d, &c, err, "DELETE", NULL, "/images/%s", name);
    if (rc == SBX_CONFLICT)
        return err ? err->code = SBX_BUSY : SBX_BUSY;
    return rc;
}

/* Our labels are emptied: containers that someone makes of the image are not ours. */
static int empty_labels(json_t *config, const json_t *container)
{
    json_t *labels = json_object_get(config, "Labels"), *value;
    const char *key;

    if (!json_is_object(labels)) {
        labels = json_object();
        if (json_object_set_new(config, "Labels", labels))
            return -1;
    }
    json_object_foreach(json_object_get(json_object_get(container, "Config"), "Labels"), key, value)
        if (strncmp(key, "sbx.", 4) == 0 && json_object_set_new(labels, key, json_string("")))
            return -1;
    return 0;
}

/* Entrypoint, command, user and so on of the container are ours, of its image are what the saved
 * image should have. What is left out here the Engine fills in from the container. */
static enum sbx_code commit_body(struct docker *d, const char *container, json_t **ret,
                                 struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    SBX_AUTO(docker_call) i = DOCKER_CALL_INIT;
    SBX_AUTO_JSON json_t *config = NULL;
    enum sbx_code rc = docker_do(d, &c, err, "GET", NULL, "/containers/%s/json", container);

    if (!rc)
        rc = docker_do(d, &i, err, "GET", NULL, "/images/%s/json",
                       sbx_json_text_of(c.json, "Image"));
    if (rc)
        return rc;
    config = json_object_get(i.json, "Config");
    config = config ? json_incref(config) : json_object();
    /* null would take the container's, an empty list is none */
    if (!json_is_array(json_object_get(config, "Entrypoint")))
        json_object_set_new(config, "Entrypoint", json_array());
    if (!config || empty_labels(config, c.json))
        return no_memory(err);
    *ret = SBX_TAKE(config);
    return SBX_OK;
}

enum sbx_code docker_commit(struct sbx_runtime *rt, const char *id, const char *reference,
                            struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct docker *d = (struct docker *)rt;
    const char *container = docker_container(d, &c, id);
    const struct docker_extra slow = { .timeout_ms = SBX_DOCKER_LONG_MS };
    struct docker_name name;
    json_t *body = NULL;
    enum sbx_code rc;

    if (!arena || !container)
        return no_memory(err);
    rc = docker_name_parse(reference, arena, &name, err);
    if (!rc && strchr(reference, '@'))
        rc = sbx_err_set(err, SBX_SCHEMA, "a new image has a tag, not a digest");
    if (!rc)
        rc = commit_body(d, container, &body, err);
    if (!rc)
        rc = docker_send(d, &c, err, "POST", body, &slow, "/commit?container=%s&repo=%s&tag=%s",
                         container, docker_escape(&c, name.repository, "/:"),
                         docker_escape(&c, name.tag, ""));
    if (!rc && c.status >= 400)
        rc = docker_failed(&c, err);
    json_decref(body);
    return rc;
}
