/*
 * What a kit or a command line may say that the engine cannot do yet, and the one place that refuses
 * it by name. Building a feature deletes its row.
 */
#include <string.h>

#include "resolve_impl.h"

static bool is_git(const struct sbx_ref *r) { return r->kind == SBX_REF_GIT; }
static bool is_oci(const struct sbx_ref *r) { return r->kind == SBX_REF_OCI; }
static bool has_args(const struct sbx_artifact *a) { return a->args.len > 0; }
/* On a mixin (of version 1) it means requires.agent. */
static bool has_extends(const struct sbx_artifact *a)
{
    return a->extends && *a->extends && !strcmp(a->kind, "sandbox");
}
static bool has_mixins(const struct sbx_artifact *a) { return a->mixins.len > 0; }
static bool gives_args(const struct sbx_resolve *r) { return r->n_args || r->n_args_files; }

static const struct {
    const char *what;
    bool (*of_ref)(const struct sbx_ref *r);
    bool (*of_kit)(const struct sbx_artifact *a);
    bool (*of_options)(const struct sbx_resolve *r);
} rows[] = {
    { "a kit from a git repository", .of_ref = is_git },
    { "a kit from a registry", .of_ref = is_oci },
    { "args", .of_kit = has_args },
    { "extends", .of_kit = has_extends },
    { "mixins", .of_kit = has_mixins },
    { "a value for a kit's argument (--kit-arg, --kit-args-file)", .of_options = gives_args },
};

static enum sbx_code refuse(const char *subject, const char *what, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_UNSUPPORTED, "%s%s%s: not built yet in this version",
                       subject ? subject : "", subject ? ": " : "", what);
}

enum sbx_code sbx_unbuilt_ref(const struct sbx_ref *ref, struct sbx_err *err)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        if (rows[i].of_ref && rows[i].of_ref(ref))
            return refuse(NULL, rows[i].what, err);
    return SBX_OK;
}

enum sbx_code sbx_unbuilt_kit(const struct sbx_artifact *a, struct sbx_err *err)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        if (rows[i].of_kit && rows[i].of_kit(a))
            return refuse(a->name, rows[i].what, err);
    return SBX_OK;
}

enum sbx_code sbx_unbuilt_options(const struct sbx_resolve *r, struct sbx_err *err)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        if (rows[i].of_options && rows[i].of_options(r))
            return refuse(NULL, rows[i].what, err);
    return SBX_OK;
}
