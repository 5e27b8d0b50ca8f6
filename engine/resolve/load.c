/* One reference to one artifact: built-in names, directories, spec files. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resolve_impl.h"
#include "sbx/builtin.h"
#include "sbx/kit_artifact.h"
#include "sbx/suggest.h"

static enum sbx_code unknown_name(const char *name, struct sbx_err *err)
{
    struct sbx_suggest s = SBX_SUGGEST_INIT(name, strlen(name));
    struct stat st;

    if (!stat(name, &st))
        return sbx_err_set(err, SBX_NOT_FOUND,
                           "no built-in kit of that name; for the directory write ./%s", name);
    for (size_t i = 0; i < sbx_builtin_kits_n; i++)
        sbx_suggest_try(&s, sbx_builtin_kits[i].name);
    if (s.best)
        return sbx_err_set(err, SBX_NOT_FOUND, "no built-in kit of that name; did you mean \"%s\"?",
                           s.best);
    return sbx_err_set(err, SBX_NOT_FOUND,
                       "no built-in kit of that name; a directory is written ./%s", name);
}

/* "~" and "~/x" as a shell would have it; others as they are. */
static const char *expand(const char *path, struct sbx_arena *arena)
{
    const char *home = getenv("HOME");

    if (path[0] != '~' || (path[1] && path[1] != '/') || !home || !*home)
        return path;
    return sbx_arena_printf(arena, "%s%s", home, path + 1);
}

/* Neither can be a spec file. */
static bool is_archive(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && (!strcasecmp(dot, ".zip") || !strcasecmp(dot, ".tar"));
}

/* A local reference as a path that exists. */
static enum sbx_code find_path(struct sbx_ref *ref, bool directory_only, struct sbx_arena *arena,
                               struct sbx_err *err)
{
    struct stat st;

    ref->path = expand(ref->path, arena);
    if (!ref->path)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (stat(ref->path, &st))
        return sbx_err_set(err, errno == ENOENT || errno == ENOTDIR ? SBX_NOT_FOUND : SBX_IO, "%s",
                           strerror(errno));
    if (directory_only && !S_ISDIR(st.st_mode))
        return sbx_kit_not_a_directory(ref->path, err);
    return SBX_OK;
}

/* What the reference is of and what it leads to: loading errors name the kit, others `label`. */
static enum sbx_code load_ref(struct sbx_loader *l, struct sbx_ref *ref, const char *label,
                              struct sbx_diags *diags, struct sbx_artifact **ret,
                              struct sbx_err *err)
{
    const struct sbx_embedded_kit *built_in = NULL;
    enum sbx_code rc = SBX_OK;

    if (ref->kind == SBX_REF_NAME) {
        built_in = sbx_builtin_kit(ref->name);
        rc = built_in ? SBX_OK : unknown_name(ref->name, err);
    } else if (ref->kind == SBX_REF_DIRECTORY) {
        rc = find_path(ref, l->options.for_use, l->arena, err);
    } else if (l->remote) {
        rc = sbx_remote_require_immutable(l->remote, ref, l->arena, err);
        return rc ? rc : l->remote->load(l->remote->data, ref, &l->options, diags, ret, err);
    } else {
        rc = sbx_err_set(err, SBX_UNSUPPORTED, "cannot be fetched: no place for a cache (is HOME set?)");
    }
    if (rc)
        return sbx_err_wrap(err, rc, "%s %s", label, ref->text);
    return built_in ? sbx_kit_load_embedded_with(built_in, &l->options, diags, ret, err)
                    : sbx_kit_load_with(ref->path, &l->options, diags, ret, err);
}

enum sbx_code sbx_load_remember(struct sbx_loader *l, const struct sbx_artifact *a,
                                const struct sbx_ref *ref, struct sbx_err *err)
{
    if (l->n_kits == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 16;
        struct sbx_loaded *v = sbx_arena_array(l->arena, cap, sizeof(*v));

        if (!v)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (l->n_kits)
            memcpy(v, l->kits, l->n_kits * sizeof(*v));
        l->kits = v;
        l->cap = cap;
    }
    l->kits[l->n_kits].ref = *ref;
    l->kits[l->n_kits].file = sbx_arena_strdup(l->arena, a->at.pos.file ? a->at.pos.file : "");
    if (!l->kits[l->n_kits].file)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    l->n_kits++;
    return SBX_OK;
}

static enum sbx_code load_for_use(struct sbx_loader *l, struct sbx_ref *ref, const char *label,
                                  struct sbx_diags *diags, struct sbx_artifact **ret,
                                  struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    enum sbx_code rc = load_ref(l, ref, label, diags, &a, err);

    if (!rc)
        rc = sbx_load_remember(l, a, ref, err);
    if (!rc)
        *ret = SBX_TAKE(a);
    return rc;
}

/* References outlive the call: their texts stay in the loader. */
static enum sbx_code parse(struct sbx_loader *l, const struct sbx_ref *declaring,
                           const char *reference, struct sbx_ref *ret, struct sbx_err *err)
{
    const char *text = sbx_arena_strdup(l->arena, reference);

    if (!text)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return declaring ? sbx_ref_parse_in(declaring, text, l->arena, ret, err)
                     : sbx_ref_parse(text, l->arena, ret, err);
}

enum sbx_code sbx_load_for_use(struct sbx_loader *l, const char *reference, const char *label,
                               struct sbx_diags *diags, struct sbx_artifact **ret,
                               struct sbx_err *err)
{
    struct sbx_ref ref;
    enum sbx_code rc = parse(l, NULL, reference, &ref, err);

    return rc ? sbx_err_wrap(err, rc, "%s", label) : load_for_use(l, &ref, label, diags, ret, err);
}

static const struct sbx_ref *declaring_ref(const struct sbx_loader *l, const char *file)
{
    for (size_t i = 0; file && i < l->n_kits; i++)
        if (!strcmp(l->kits[i].file, file))
            return &l->kits[i].ref;
    return NULL;
}

/* Links may not lead where the text may not (S24). */
static enum sbx_code stays_inside(const struct sbx_ref *declaring, const struct sbx_ref *ref,
                                  struct sbx_err *err)
{
    SBX_AUTO_FREE char *root = NULL;
    SBX_AUTO_FREE char *path = NULL;
    size_t len;

    if (declaring->kind != SBX_REF_DIRECTORY || ref->kind != SBX_REF_DIRECTORY)
        return SBX_OK;
    root = realpath(declaring->path, NULL);
    path = realpath(ref->path, NULL);
    if (!root || !path)
        return SBX_OK; /* loading it says why */
    len = strlen(root);
    if (strncmp(root, path, len) || (path[len] && path[len] != '/'))
        return sbx_err_set(err, SBX_SCHEMA, "a link that leads out of the directory of the kit");
    return SBX_OK;
}

/* What stands elsewhere and is only looked at from here. */
static enum sbx_code leave_elsewhere(struct sbx_loader *l, const struct sbx_ref *ref,
                                     struct sbx_origin at, struct sbx_diags *diags,
                                     struct sbx_err *err)
{
    enum sbx_code rc = sbx_ref_require_immutable(ref, err);

    if (rc)
        return rc;
    l->met_elsewhere = true;
    sbx_diags_add(diags, SBX_NOTE, "not-fetched", at.pos, "", NULL,
                  "%s is not fetched here; only its spelling was checked", ref->text);
    return sbx_err_set(err, SBX_UNSUPPORTED, "not fetched here");
}

enum sbx_code sbx_load_for_kit(void *loader, const char *reference, struct sbx_origin at,
                               struct sbx_diags *diags, struct sbx_artifact **ret,
                               struct sbx_err *err)
{
    struct sbx_loader *l = loader;
    const struct sbx_ref *declaring = declaring_ref(l, at.pos.file);
    struct sbx_ref ref;
    enum sbx_code rc;

    if (!declaring)
        return sbx_err_set(err, SBX_FAILED, "%s: unknown kit", at.pos.file ? at.pos.file : "?");
    rc = parse(l, declaring, reference, &ref, err);
    if (rc && !strcmp(declaring->text, "-") && strchr("./~", *reference))
        return sbx_err_set(err, rc, "\"%s\" counts from the directory of the spec, and standard input has none; "
                                    "give the file or its directory", reference);
    if (!rc && l->here_only && (ref.kind == SBX_REF_GIT || ref.kind == SBX_REF_OCI))
        return leave_elsewhere(l, &ref, at, diags, err);
    if (!rc)
        rc = stays_inside(declaring, &ref, err);
    return rc ? rc : load_for_use(l, &ref, "kit", diags, ret, err);
}

bool sbx_has_spec(const char *dir)
{
    static const char *const names[] = SBX_KIT_SPEC_NAMES;

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++) {
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), "%s/%s", dir, names[i]) < (int)sizeof(path) &&
            !access(path, F_OK))
            return true;
    }
    return false;
}

const char *sbx_resolve_word(const char *word, struct sbx_arena *arena)
{
    return strchr(word, '/') || !sbx_has_spec(word) ? word : sbx_arena_printf(arena, "./%s", word);
}

bool sbx_is_path_here(const char *reference)
{
    struct stat st;

    return !stat(reference, &st) && (S_ISREG(st.st_mode) || strchr(reference, '/'));
}

enum sbx_code sbx_resolve_load(const struct sbx_resolve *r, const char *reference,
                               struct sbx_arg_values *values, struct sbx_diags *diags,
                               struct sbx_artifact **ret, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_loader l = { .options = { .args = values, .open_args = !values }, .remote = r->remote, .arena = arena };
    struct sbx_ref ref;
    enum sbx_code rc;

    if (!arena)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!strcmp(reference, "-") || sbx_is_path_here(reference)) {
        if (is_archive(reference))
            return sbx_err_wrap(err, sbx_kit_not_a_directory(reference, err), "kit %s", reference);
        return sbx_kit_load_with(reference, &l.options, diags, ret, err);
    }
    rc = parse(&l, NULL, reference, &ref, err);
    return rc ? rc : load_ref(&l, &ref, "kit", diags, ret, err);
}

enum sbx_code sbx_resolve_values(const struct sbx_resolve *r, struct sbx_arg_values **ret,
                                 struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arg_values) v = sbx_arg_values_new();
    enum sbx_code rc = SBX_OK;

    if (!v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; !rc && i < r->n_args_files; i++)
        rc = sbx_arg_values_read(v, r->args_files[i], err);
    for (size_t i = 0; !rc && i < r->n_args; i++)
        rc = sbx_arg_values_add(v, r->args[i], err);
    if (!rc)
        *ret = SBX_TAKE(v);
    return rc;
}

bool sbx_resolve_is_agent(const char *word)
{
    const struct sbx_embedded_kit *kit = sbx_builtin_kit(word);

    return kit && kit->agent;
}
