#include "load.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "args.h"
#include "decode.h"
#include "sbx/file.h"
#include "version.h"

#define READ_STEP 16384 /* bytes asked for at once; most specs fit */

void sbx_artifact_free(struct sbx_artifact *a)
{
    if (a)
        sbx_arena_free(a->arena); /* the artifact itself lies in it */
}

struct sbx_artifact *sbx_artifact_new(void)
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
enum sbx_code sbx_kit_sum_up(const char *file, const struct sbx_diags *diags, size_t before,
                             enum sbx_code rc, struct sbx_err *err)
{
    const struct sbx_diag *first = NULL;

    for (size_t i = 0; i < diags->len; i++)
        if (diags->v[i].severity == SBX_ERROR)
            first = &diags->v[i];
    if (diags->errors - before != 1 || before || !first)
        return sbx_err_set(err, rc, "%s: %zu errors", file, diags->errors - before);
    return sbx_err_at(err, rc, first->pos, "%s:%u: %s%s%s", file, first->pos.line,
                      strstr(first->message, first->path) ? "" : first->path,
                      strstr(first->message, first->path) ? "" : ": ", first->message);
}

/* Does the hint of a misspelt key name the field that the validator misses? */
static bool hint_names(const struct sbx_diag *unknown, const struct sbx_diag *missing)
{
    const char *dot = strrchr(unknown->path, '.'), *last = strrchr(missing->path, '.');
    size_t parent = dot ? (size_t)(dot - unknown->path) : 0;
    size_t other = last ? (size_t)(last - missing->path) : 0;
    char quoted[300];

    if (!unknown->hint)
        return false;
    snprintf(quoted, sizeof(quoted), "\"%.290s\"", missing->path);
    if (strstr(unknown->hint, quoted))
        return true;
    if (parent != other || strncmp(unknown->path, missing->path, parent))
        return false;
    snprintf(quoted, sizeof(quoted), "\"%.290s\"", last ? last + 1 : missing->path);
    return strstr(unknown->hint, quoted) != NULL;
}

static bool is_about_absence(const struct sbx_diag *d)
{
    return !strcmp(d->code, "missing-field") || !strcmp(d->code, "no-image");
}

/* A finding of the validator says nothing new where the decoder found a fault at or around it. */
static bool is_echo(const struct sbx_diags *diags, size_t from, size_t to, const struct sbx_diag *d)
{
    for (size_t i = from; i < to; i++) {
        const struct sbx_diag *e = &diags->v[i];
        size_t len = strlen(e->path), other = strlen(d->path);

        if (e->severity != SBX_ERROR)
            continue;
        if (!strcmp(e->code, "duplicate-key")) { /* its mapping was not decoded at all */
            if (is_about_absence(d))
                return true;
        } else if (!strncmp(e->path, d->path, len < other ? len : other)) {
            return true;
        } else if (!strcmp(e->code, "unknown-field") && is_about_absence(d) && hint_names(e, d)) {
            return true;
        }
    }
    return false;
}

static enum sbx_code validate(const struct sbx_artifact *a, const struct sbx_yaml_node *root, bool whole,
                              struct sbx_diags *diags, size_t from)
{
    SBX_AUTO(sbx_diags) found = { 0 };
    size_t decoded = diags->len;
    char hint[120];

    if (sbx_diags_init(&found))
        return SBX_NO_MEMORY;
    sbx_artifact_validate(a, false, &found);
    if (found.no_memory)
        return SBX_NO_MEMORY;
    for (size_t i = 0; i < found.len; i++) {
        const struct sbx_diag *d = &found.v[i];

        if (!whole && strcmp(d->path, "schemaVersion"))
            continue;
        if (!strcmp(d->code, "bad-version"))
            sbx_kit_version_hint(root, hint, sizeof(hint));
        if (!is_echo(diags, from, decoded, d))
            sbx_diags_add(diags, d->severity, d->code, d->pos, d->path,
                          strcmp(d->code, "bad-version") ? d->hint : hint, "%s", d->message);
    }
    return SBX_OK;
}

static enum sbx_code decode_tree(const struct sbx_yaml_node *root,
                                 const struct sbx_kit_options *options, struct sbx_artifact *a,
                                 struct sbx_diags *diags)
{
    struct sbx_places *places = sbx_arena_alloc(a->arena, sizeof(*places));
    struct sbx_decoder d = { .arena = a->arena, .diags = diags, .places = places,
                             .for_use = options->for_use };
    const struct sbx_yaml_node *name = sbx_yaml_get(root, "name");

    if (!places)
        return SBX_NO_MEMORY;
    d.kit = name ? sbx_yaml_string(a->arena, name) : NULL;
    if (!d.kit)
        d.kit = "";
    a->places = places;
    a->at = (struct sbx_origin){ d.kit, root->pos };
    if (sbx_kit_is_version_2(root))
        sbx_decode_v2(&d, root, a);
    else
        sbx_decode_v1(&d, root, a);
    return d.no_memory ? SBX_NO_MEMORY : SBX_OK;
}

/* The arguments of the value that a finding is about; NULL: it has none. */
static const char *open_names(const struct sbx_substitution *s, const struct sbx_pos *pos)
{
    for (size_t i = 0; i < s->n_uses; i++)
        if (pos->line && s->uses[i].pos.from == pos->from && s->uses[i].pos.to == pos->to)
            return s->uses[i].names;
    return NULL;
}

/* What is wrong with a value that arguments will give is no fault of it yet. */
static void forgive_open(const struct sbx_substitution *s, struct sbx_diags *diags, size_t from)
{
    size_t kept = from;

    for (size_t i = from; i < diags->len; i++) {
        struct sbx_diag d = diags->v[i];
        const char *names = open_names(s, &d.pos);

        if (names && d.severity == SBX_ERROR)
            diags->errors--;
        if (names && strcmp(d.code, "wrong-type"))
            continue;
        if (names) {
            d = (struct sbx_diag){ SBX_NOTE, "open-argument", d.pos, d.path, NULL, NULL };
            d.message = sbx_arena_printf(
                diags->arena, "its value comes from the argument %s and is not known here", names);
            diags->no_memory |= !d.message;
        }
        diags->v[kept++] = d;
    }
    diags->len = kept;
}

static enum sbx_code decode_into(const char *file, const char *text, size_t len,
                                 const struct sbx_kit_options *options, struct sbx_artifact *a,
                                 struct sbx_diags *diags)
{
    const struct sbx_yaml_node *root = NULL;
    size_t from = diags->len, before = diags->errors;
    enum sbx_code rc = sbx_yaml_parse(a->arena, file, text, len, diags, &root);

    if (!rc && root && options->args)
        rc = sbx_args_substitute(a, root, options->args, diags);
    else if (!rc && root && options->open_args)
        rc = sbx_args_find(a, root);
    if (!rc)
        rc = sbx_kit_check_version(file, root, diags);
    if (!rc)
        rc = decode_tree(root, options, a, diags);
    if (!rc && !root->broken) /* version 1 is folded only if all of it was read */
        rc = validate(a, root, diags->errors == before || sbx_kit_is_version_2(root), diags, from);
    if (!rc && a->substitution && a->substitution->open)
        forgive_open(a->substitution, diags, from);
    return rc;
}

enum sbx_code sbx_kit_decode(const char *file, const char *text, size_t len,
                             const struct sbx_kit_options *options, struct sbx_diags *diags,
                             struct sbx_artifact **ret, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) a = sbx_artifact_new();
    size_t before = diags->errors;
    enum sbx_code rc;

    if (!a)
        return no_memory(err);
    if (len > SBX_SPEC_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%s: larger than %d bytes", file, SBX_SPEC_MAX);
    file = sbx_arena_strdup(a->arena, file);
    if (!file)
        return no_memory(err);
    rc = decode_into(file, text, len, options, a, diags);
    if (diags->no_memory)
        rc = SBX_NO_MEMORY;
    if (rc == SBX_NO_MEMORY)
        return no_memory(err);
    sbx_diags_sort(diags);
    if (!rc && diags->errors > before)
        rc = SBX_SCHEMA;
    if (rc)
        return sbx_kit_sum_up(file, diags, before, rc, err);
    *ret = SBX_TAKE(a);
    return SBX_OK;
}

/* What a loader was asked for. */
struct request {
    const char *path;
    struct sbx_kit_options options;
    struct sbx_diags *diags;
    struct sbx_err *err;
};

static enum sbx_code load_bytes(const struct request *q, const char *file, const char *text,
                                size_t len, struct sbx_artifact **ret)
{
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    enum sbx_code rc = sbx_kit_decode(file, text, len, &q->options, q->diags, &a, q->err);

    if (!rc && q->options.digest)
        rc = sbx_kit_set_digest(a, text, len, q->err);
    if (!rc)
        *ret = SBX_TAKE(a);
    return rc;
}

enum sbx_code sbx_kit_load_bytes(const char *file, const char *text, size_t len,
                                 struct sbx_diags *diags, struct sbx_artifact **ret,
                                 struct sbx_err *err)
{
    return load_bytes(&(struct request){ file, { .digest = true }, diags, err }, file, text, len, ret);
}

static enum sbx_code load_stdin(const struct request *q, struct sbx_artifact **ret)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX + 1); /* one more tells that it is too long */

    while (text.len < text.max) {
        size_t left = text.max - text.len, want = left < READ_STEP ? left : READ_STEP;
        char *room = sbx_buf_room(&text, want);
        ssize_t n = room ? read(STDIN_FILENO, room, want) : 0;

        if (!room)
            return no_memory(q->err);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sbx_err_errno(q->err, "standard input");
        if (!n)
            break;
        sbx_buf_commit(&text, (size_t)n);
    }
    return load_bytes(q, "<stdin>", text.ptr ? text.ptr : "", text.len, ret);
}

/* spec.yaml, else spec.yml; only if the first does not exist is the second looked at. */
enum sbx_code sbx_kit_read_spec(int dir, const char *path, struct sbx_buf *text, char **ret_name,
                                struct sbx_err *err)
{
    static const char *const names[] = SBX_KIT_SPEC_NAMES;
    const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++) {
        SBX_AUTO_FD int fd = sbx_kit_open_below(dir, names[i]);
        enum sbx_code rc;

        if (fd < 0 && errno == EXDEV)
            return sbx_err_set(err, SBX_IO, "kit %s: %s is a link that leads out of the kit",
                               path, names[i]);
        rc = sbx_file_read(dir, names[i], text, err);
        if (rc == SBX_NOT_FOUND)
            continue;
        if (rc)
            return sbx_err_wrap(err, rc, "kit %s", path);
        return asprintf(ret_name, "%s%s%s", path, slash, names[i]) < 0 ? no_memory(err)
                                                                          : SBX_OK;
    }
    return sbx_err_set(err, SBX_NOT_FOUND,
                       "kit %s: no spec.yaml or spec.yml in this directory", path);
}

static enum sbx_code load_directory(int dir, const struct request *q, struct sbx_artifact **ret)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX);
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    SBX_AUTO_FREE char *name = NULL;
    size_t before = q->diags->errors;
    enum sbx_code rc;

    rc = sbx_kit_read_spec(dir, q->path, &text, &name, q->err);
    if (!rc)
        rc = sbx_kit_decode(name, text.ptr, text.len, &q->options, q->diags, &a, q->err);
    if (rc)
        return rc;
    rc = sbx_kit_walk_files(dir, q->path, a, q->diags, q->err);
    if (rc == SBX_SCHEMA)
        return sbx_kit_sum_up(name, q->diags, before, rc, q->err);
    if (!rc && q->options.digest)
        rc = sbx_kit_set_digest(a, text.ptr, text.len, q->err);
    if (!rc)
        rc = sbx_args_files(a, q->path, q->diags, q->err);
    if (rc == SBX_SCHEMA)
        return sbx_kit_sum_up(name, q->diags, before, rc, q->err);
    if (rc)
        return sbx_err_wrap(q->err, rc, "kit %s", q->path);
    *ret = SBX_TAKE(a);
    return SBX_OK;
}

static enum sbx_code load(const struct request *q, struct sbx_artifact **ret)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX);
    SBX_AUTO_FD int fd = -1;
    enum sbx_code rc;

    if (!strcmp(q->path, "-"))
        return load_stdin(q, ret);
    fd = open(q->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        return load_directory(fd, q, ret);
    if (errno != ENOTDIR)
        return sbx_err_errno(q->err, "kit %s", q->path);
    rc = sbx_file_read(AT_FDCWD, q->path, &text, q->err);
    if (rc)
        return sbx_err_wrap(q->err, rc, "kit");
    return load_bytes(q, q->path, text.ptr, text.len, ret);
}

enum sbx_code sbx_kit_load(const char *path, struct sbx_diags *diags, struct sbx_artifact **ret,
                           struct sbx_err *err)
{
    return load(&(struct request){ path, { .digest = true }, diags, err }, ret);
}

enum sbx_code sbx_kit_check(const char *path, struct sbx_diags *diags, struct sbx_artifact **ret,
                            struct sbx_err *err)
{
    return load(&(struct request){ path, { .digest = false }, diags, err }, ret);
}

enum sbx_code sbx_kit_load_with(const char *path, const struct sbx_kit_options *options,
                                struct sbx_diags *diags, struct sbx_artifact **ret,
                                struct sbx_err *err)
{
    return load(&(struct request){ path, *options, diags, err }, ret);
}
