#include "docker.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "layout.h"
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
    const char *text = sbx_json_text_of(value, "stream"), *error = sbx_json_text_of(value, "error");

    if (*error)
        return sbx_err_set(err, SBX_SYNTAX, "the Engine does not take it: %s", error);
    if (strncmp(text, "Loaded image: ", 14) == 0)
        return add(ctx, text + 14, err);
    if (strncmp(text, "Loaded image ID: ", 17) == 0)
        return add(ctx, text + 17, err);
    return SBX_OK;
}

static enum sbx_code upload(struct docker *d, const struct docker_extra *how, struct loaded *l,
                            struct sbx_err *err)
{
    SBX_AUTO(docker_lines) lines = DOCKER_LINES_INIT(take, l);
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    struct docker_extra extra = *how;
    enum sbx_code rc;

    extra.upload = true;
    extra.stream = true;
    extra.sink = docker_lines_feed;
    extra.ctx = &lines;
    rc = docker_send(d, &c, err, "POST", NULL, &extra, "/images/load?quiet=1");
    if (!rc && c.status >= 400)
        rc = docker_failed(&c, err);
    if (!rc)
        rc = docker_lines_end(&lines, err);
    if (!rc && !l->n)
        rc = sbx_err_set(err, SBX_SYNTAX, "no image was found in it");
    return rc;
}

static ssize_t from_parts(void *ctx, char *room, size_t len, struct sbx_err *err)
{
    return docker_parts_read(ctx, room, len, err);
}

static enum sbx_code list(struct docker_parts *in, bool *ret_directory, struct sbx_err *err)
{
    struct stat st;

    if (fstat(in->fd, &st))
        return sbx_err_errno(err, "stat");
    *ret_directory = S_ISDIR(st.st_mode);
    return *ret_directory ? docker_parts_walk(in, err) : docker_parts_scan(in, err);
}

/* A file with `docker save` in it, or compressed, goes as it is; the rest is made into one. */
static enum sbx_code load(struct docker *d, int fd, struct loaded *l, struct sbx_err *err)
{
    SBX_AUTO(docker_parts) in = DOCKER_PARTS_INIT(l->arena, fd);
    SBX_AUTO(docker_parts) out = DOCKER_PARTS_INIT(l->arena, fd);
    struct docker_extra how = { .fd = fd };
    bool directory = false, saved;
    enum sbx_code rc = list(&in, &directory, err);

    if (rc)
        return rc;
    saved = docker_parts_find(&in, "manifest.json") || docker_parts_find(&in, "repositories");
    if (!saved && docker_parts_find(&in, "index.json")) {
        rc = docker_layout(&in, d->arch, &out, err);
        how.source = from_parts;
        how.source_ctx = &out;
    } else if (directory) {
        if (!saved)
            return sbx_err_set(err, SBX_SCHEMA,
                               "neither an OCI image layout (index.json) nor an unpacked "
                               "`docker save` (manifest.json)");
        how.source = from_parts;
        how.source_ctx = &in;
    }
    return rc ? rc : upload(d, &how, l, err);
}

enum sbx_code docker_image_load(struct sbx_runtime *rt, const char *path, struct sbx_arena *arena,
                                const char ***ret_names, size_t *ret_n, struct sbx_err *err)
{
    struct loaded l = { arena, NULL, 0, 0 };
    SBX_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum sbx_code rc;

    if (fd < 0)
        return sbx_err_errno(err, "open");
    rc = load((struct docker *)rt, fd, &l, err);
    if (rc)
        return rc;
    *ret_names = l.names;
    *ret_n = l.n;
    return SBX_OK;
}
