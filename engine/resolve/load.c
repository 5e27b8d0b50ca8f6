/* One reference to one artifact: built-in names, directories, spec files. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "resolve_impl.h"
#include "sbx/builtin.h"
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

/* A reference that was found: a built-in kit, or a path. */
struct found {
    const struct sbx_embedded_kit *built_in;
    const char *path;
};

static enum sbx_code find(const char *reference, bool directory_only, struct sbx_arena *arena,
                          struct found *ret, struct sbx_err *err)
{
    struct sbx_ref ref;
    struct stat st;
    enum sbx_code rc = sbx_ref_parse(reference, arena, &ref, err);

    if (!rc)
        rc = sbx_unbuilt_ref(&ref, err);
    if (rc)
        return rc;
    if (ref.kind == SBX_REF_NAME) {
        ret->built_in = sbx_builtin_kit(ref.name);
        return ret->built_in ? SBX_OK : unknown_name(ref.name, err);
    }
    ret->path = expand(ref.path, arena);
    if (!ret->path)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (stat(ret->path, &st)) {
        rc = errno == ENOENT || errno == ENOTDIR ? SBX_NOT_FOUND : SBX_IO;
        return sbx_err_set(err, rc, "%s", strerror(errno));
    }
    if (directory_only && !S_ISDIR(st.st_mode))
        return sbx_err_set(err, SBX_USAGE, "is a file; give the directory that holds spec.yaml");
    return SBX_OK;
}

/* The loader's own errors name the kit already; those of finding it get `label` and reference. */
static enum sbx_code load(const char *reference, const char *label, bool for_use,
                          struct sbx_diags *diags, struct sbx_artifact **ret, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct found found = { 0 };
    enum sbx_code rc;

    if (!arena)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = find(reference, for_use, arena, &found, err);
    if (rc)
        return sbx_err_wrap(err, rc, "%s %s", label, reference);
    return found.built_in ? sbx_kit_load_embedded(found.built_in, diags, ret, err)
           : for_use      ? sbx_kit_load(found.path, diags, ret, err)
                          : sbx_kit_check(found.path, diags, ret, err);
}

enum sbx_code sbx_load_for_use(const char *reference, const char *label, struct sbx_diags *diags,
                               struct sbx_artifact **ret, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    enum sbx_code rc = load(reference, label, true, diags, &a, err);

    if (!rc)
        rc = sbx_unbuilt_kit(a, err);
    if (rc)
        return rc;
    *ret = SBX_TAKE(a);
    return SBX_OK;
}

enum sbx_code sbx_resolve_load(const char *reference, struct sbx_diags *diags,
                               struct sbx_artifact **ret, struct sbx_err *err)
{
    struct stat st;

    if (!strcmp(reference, "-"))
        return sbx_kit_check(reference, diags, ret, err);
    /* A spec file or a directory needs no "./" here: no built-in name is a path with a dot or slash. */
    if (!stat(reference, &st) && (S_ISREG(st.st_mode) || strchr(reference, '/')))
        return sbx_kit_check(reference, diags, ret, err);
    return load(reference, "kit", false, diags, ret, err);
}

bool sbx_resolve_is_agent(const char *word)
{
    const struct sbx_embedded_kit *kit = sbx_builtin_kit(word);

    return kit && kit->agent;
}
