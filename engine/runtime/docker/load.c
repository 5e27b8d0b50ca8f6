#include "docker.h"

#include <fcntl.h>
#include <string.h>

#include "lines.h"

struct loaded {
    struct sbx_arena *arena;
    const char **names;
    size_t n, cap;
};

static enum sbx_code add(struct loaded *l, const char *name, struct sbx_err *err)
{
    if (l->n + 1 >= l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 8;
        const char **more = sbx_arena_array(l->arena, cap, sizeof(*more));

        if (!more)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (l->n)
            memcpy(more, l->names, l->n * sizeof(*more));
        l->names = more;
        l->cap = cap;
    }
    l->names[l->n] = sbx_arena_memdup(l->arena, name, strcspn(name, "\r\n"));
    return l->names[l->n++] ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

/* "Loaded image: a:1" or "Loaded image ID: sha256:…" */
static enum sbx_code take(void *ctx, const json_t *value, struct sbx_err *err)
{
    const char *text = docker_text(value, "stream"), *error = docker_text(value, "error");

    if (*error)
        return sbx_err_set(err, SBX_SYNTAX, "the Engine does not take it: %s", error);
    if (strncmp(text, "Loaded image: ", 14) == 0)
        return add(ctx, text + 14, err);
    if (strncmp(text, "Loaded image ID: ", 17) == 0)
        return add(ctx, text + 17, err);
    return SBX_OK;
}

enum sbx_code docker_image_load(struct sbx_runtime *rt, const char *path, struct sbx_arena *arena,
                                const char ***ret_names, size_t *ret_n, struct sbx_err *err)
{
    struct loaded l = { arena, NULL, 0, 0 };
    SBX_AUTO(docker_lines) lines = DOCKER_LINES_INIT(take, &l);
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    SBX_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    const struct docker_extra extra = { .upload = true, .fd = fd, .sink = docker_lines_feed,
                                        .ctx = &lines };
    enum sbx_code rc;

    if (fd < 0)
        return sbx_err_errno(err, "open");
    rc = docker_send((struct docker *)rt, &c, err, "POST", NULL, &extra, "/images/load?quiet=1");
    if (!rc && c.status >= 400)
        rc = docker_failed(&c, err);
    if (!rc)
        rc = docker_lines_end(&lines, err);
    if (!rc && !l.n)
        rc = sbx_err_set(err, SBX_SYNTAX, "no image was found in it");
    if (rc)
        return rc;
    *ret_names = l.names;
    *ret_n = l.n;
    return SBX_OK;
}
