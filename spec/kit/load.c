#include "load.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "decode.h"
#include "sbx/file.h"

void sbx_artifact_free(struct sbx_artifact *a)
{
    if (a)
        sbx_arena_free(a->arena); /* the artifact itself lies in it */
}

static struct sbx_artifact *new_artifact(void)
{
    struct sbx_arena *arena = sbx_arena_new();
    struct sbx_artifact *a = arena ? sbx_arena_alloc(arena, sizeof(*a)) : NULL;

    if (!a) {
        sbx_arena_free(arena);
        return NULL;
    }
    a->arena = arena;
    return a;
}

static enum sbx_code no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
}

/* "spec.yaml: 3 errors", or the one error itself. */
static enum sbx_code sum_up(const char *file, const struct sbx_diags *diags, size_t before,
                            enum sbx_code rc, struct sbx_err *err)
{
    const struct sbx_diag *first = NULL;

    for (size_t i = 0; i < diags->len && !first; i++)
        if (diags->v[i].severity == SBX_ERROR)
            first = &diags->v[i];
    if (diags->errors - before != 1 || !first)
        return sbx_err_set(err, rc, "%s: %zu errors", file, diags->errors - before);
    return sbx_err_at(err, rc, first->pos, "%s:%u: %s%s%s", file, first->pos.line,
                      strstr(first->message, first->path) ? "" : first->path,
                      strstr(first->message, first->path) ? "" : ": ", first->message);
}

/* A finding of the validator says nothing new where the decoder found a fault at or around it. */
static bool is_echo(const struct sbx_diags *diags, size_t from, size_t to, const struct sbx_diag *d)
{
    for (size_t i = from; i < to; i++) {
        const char *path = diags->v[i].path;
        size_t len = strlen(path), other = strlen(d->path);
        const char *dot = strrchr(path, '.');
        size_t parent = dot ? (size_t)(dot - path) : 0;

        if (diags->v[i].severity != SBX_ERROR)
            continue;
        if (!strncmp(path, d->path, len < other ? len : other))
            return true;
        /* a misspelt key explains a missing one beside it */
        if (!strcmp(diags->v[i].code, "unknown-field") && !strcmp(d->code, "missing-field") &&
            !strncmp(path, d->path, parent))
            return true;
    }
    return false;
}

static enum sbx_code validate(const struct sbx_artifact *a, struct sbx_diags *diags, size_t from)
{
    SBX_AUTO(sbx_diags) found = { 0 };
    size_t decoded = diags->len;

    if (sbx_diags_init(&found))
        return SBX_NO_MEMORY;
    sbx_artifact_validate(a, false, &found);
    for (size_t i = 0; i < found.len; i++) {
        const struct sbx_diag *d = &found.v[i];

        if (!is_echo(diags, from, decoded, d))
            sbx_diags_add(diags, d->severity, d->code, d->pos, d->path, d->hint, "%s", d->message);
    }
    return SBX_OK;
}

static enum sbx_code refuse(struct sbx_diags *diags, const char *code, struct sbx_pos pos,
                            const char *path, const char *hint, const char *message)
{
    sbx_diags_add(diags, SBX_ERROR, code, pos, path, hint, "%s", message);
    return SBX_SCHEMA;
}

/* Which grammar is it? Only the one that is read goes on. */
static enum sbx_code check_version(const char *file, const struct sbx_yaml_node *root,
                                   struct sbx_diags *diags)
{
    struct sbx_pos pos = { .file = file, .line = 1, .column = 1 };
    const struct sbx_yaml_node *n;

    if (!root)
        return refuse(diags, "empty-file", pos, "", "begin with schemaVersion: \"2\"",
                      "the file is empty");
    if (root->kind != SBX_YAML_MAPPING || !(n = sbx_yaml_get(root, "schemaVersion")))
        return SBX_OK; /* reported with the rest */
    if (sbx_yaml_is(n, "1"))
        return refuse(diags, "bad-version", n->pos, "schemaVersion",
                      "write it in the grammar of schemaVersion: \"2\"",
                      "kits of version 1 are not read yet");
    if (sbx_yaml_is(n, "3"))
        return refuse(diags, "bad-version", n->pos, "schemaVersion",
                      "use the kit's version 2, or write schemaVersion: \"2\"",
                      "this is a kit of version 3, which sbx does not read");
    return SBX_OK;
}

static enum sbx_code decode_tree(const struct sbx_yaml_node *root, struct sbx_artifact *a,
                                 struct sbx_diags *diags)
{
    struct sbx_places *places = sbx_arena_alloc(a->arena, sizeof(*places));
    struct sbx_decoder d = { .arena = a->arena, .diags = diags, .places = places };
    const struct sbx_yaml_node *name = sbx_yaml_get(root, "name");

    if (!places)
        return SBX_NO_MEMORY;
    d.kit = name ? sbx_yaml_string(a->arena, name) : NULL;
    if (!d.kit)
        d.kit = "";
    a->places = places;
    a->at = (struct sbx_origin){ d.kit, root->pos };
    sbx_decode_v2(&d, root, a);
    return d.no_memory ? SBX_NO_MEMORY : SBX_OK;
}

static enum sbx_code decode_into(const char *file, const char *text, size_t len,
                                 struct sbx_artifact *a, struct sbx_diags *diags)
{
    const struct sbx_yaml_node *root = NULL;
    size_t from = diags->len;
    enum sbx_code rc = sbx_yaml_parse(a->arena, file, text, len, diags, &root);

    if (!rc)
        rc = check_version(file, root, diags);
    if (!rc)
        rc = decode_tree(root, a, diags);
    if (!rc)
        rc = validate(a, diags, from);
    return rc;
}

enum sbx_code sbx_kit_decode(const char *file, const char *text, size_t len, struct sbx_diags *diags,
                             struct sbx_artifact **ret, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) a = new_artifact();
    size_t before = diags->errors;
    enum sbx_code rc;

    if (!a)
        return no_memory(err);
    if (len > SBX_SPEC_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%s: larger than %d bytes", file, SBX_SPEC_MAX);
    file = sbx_arena_strdup(a->arena, file);
    if (!file)
        return no_memory(err);
    rc = decode_into(file, text, len, a, diags);
    if (rc == SBX_NO_MEMORY)
        return no_memory(err);
    sbx_diags_sort(diags);
    if (!rc && diags->errors > before)
        rc = SBX_SCHEMA;
    if (rc)
        return sum_up(file, diags, before, rc, err);
    *ret = SBX_TAKE(a);
    return SBX_OK;
}

enum sbx_code sbx_kit_load_bytes(const char *file, const char *text, size_t len,
                                 struct sbx_diags *diags, struct sbx_artifact **ret,
                                 struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    enum sbx_code rc = sbx_kit_decode(file, text, len, diags, &a, err);

    if (!rc)
        rc = sbx_kit_set_digest(a, text, len, err);
    if (!rc)
        *ret = SBX_TAKE(a);
    return rc;
}

static enum sbx_code load_stdin(struct sbx_diags *diags, struct sbx_artifact **ret,
                                struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX + 1); /* one more tells that it is too long */

    for (;;) {
        char *room = sbx_buf_room(&text, 4096);
        size_t want = 4096;
        ssize_t n;

        if (!room) {
            want = text.max - text.len;
            room = want ? sbx_buf_room(&text, want) : NULL;
        }
        if (!room)
            break;
        n = read(STDIN_FILENO, room, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sbx_err_errno(err, "standard input");
        if (!n)
            break;
        sbx_buf_commit(&text, (size_t)n);
    }
    return sbx_kit_load_bytes("<stdin>", text.ptr ? text.ptr : "", text.len, diags, ret, err);
}

/* spec.yaml, else spec.yml; only if the first does not exist is the second looked at. */
static enum sbx_code read_spec(int dir, const char *path, struct sbx_buf *text, char **ret_name,
                               struct sbx_err *err)
{
    static const char *const names[] = { "spec.yaml", "spec.yml" };
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++) {
        rc = sbx_file_read(dir, names[i], text, err);
        if (rc == SBX_NOT_FOUND)
            continue;
        if (rc)
            return sbx_err_wrap(err, rc, "kit %s", path);
        return asprintf(ret_name, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/",
                        names[i]) < 0 ? no_memory(err) : SBX_OK;
    }
    return sbx_err_set(err, SBX_NOT_FOUND, "kit %s: no spec.yaml or spec.yml in this directory", path);
}

static enum sbx_code load_directory(int dir, const char *path, struct sbx_diags *diags,
                                    struct sbx_artifact **ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX);
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    SBX_AUTO_FREE char *name = NULL;
    size_t before = diags->errors;
    enum sbx_code rc;

    rc = read_spec(dir, path, &text, &name, err);
    if (!rc)
        rc = sbx_kit_decode(name, text.ptr, text.len, diags, &a, err);
    if (rc)
        return rc;
    rc = sbx_kit_walk_files(dir, path, a, diags, err);
    if (rc == SBX_SCHEMA)
        return sum_up(name, diags, before, rc, err);
    if (!rc)
        rc = sbx_kit_set_digest(a, text.ptr, text.len, err);
    if (rc)
        return sbx_err_wrap(err, rc, "kit %s", path);
    *ret = SBX_TAKE(a);
    return SBX_OK;
}

enum sbx_code sbx_kit_load(const char *path, struct sbx_diags *diags, struct sbx_artifact **ret,
                           struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX);
    SBX_AUTO_FD int fd = -1;
    enum sbx_code rc;

    if (!strcmp(path, "-"))
        return load_stdin(diags, ret, err);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        return load_directory(fd, path, diags, ret, err);
    if (errno != ENOTDIR)
        return sbx_err_errno(err, "kit %s", path);
    rc = sbx_file_read(AT_FDCWD, path, &text, err);
    if (rc)
        return sbx_err_wrap(err, rc, "kit");
    return sbx_kit_load_bytes(path, text.ptr, text.len, diags, ret, err);
}
