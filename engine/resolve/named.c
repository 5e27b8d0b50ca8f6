/* What a kit names in extends and mixins, looked at without making anything of it. */
#include <string.h>
#include <sys/stat.h>

#include "resolve_impl.h"

/* The kit's own reference, that relative ones count from: of a file its directory, of standard input nothing. */
static enum sbx_code own_ref(const char *reference, struct sbx_arena *arena, struct sbx_ref *ret,
                             struct sbx_err *err)
{
    const char *slash = strrchr(reference, '/');
    struct stat st;

    *ret = (struct sbx_ref){ .kind = SBX_REF_NAME, .text = reference, .name = reference };
    if (!strcmp(reference, "-"))
        return SBX_OK;
    if (!sbx_is_path_here(reference))
        return sbx_ref_parse(reference, arena, ret, err);
    ret->kind = SBX_REF_DIRECTORY;
    if (stat(reference, &st) || S_ISDIR(st.st_mode))
        ret->path = reference;
    else
        ret->path = slash ? sbx_arena_memdup(arena, reference, (size_t)(slash - reference) + 1) : ".";
    return ret->path ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code check_parents(struct sbx_loader *l, const struct sbx_artifact *a,
                                   struct sbx_diags *diags, struct sbx_artifact **ret,
                                   struct sbx_err *err)
{
    struct sbx_compose_opts opts = { .fetch = sbx_load_for_kit, .fetch_data = l };
    enum sbx_code rc = sbx_kit_extend(a, &opts, diags, ret, err);

    if (rc != SBX_UNSUPPORTED || !l->met_elsewhere)
        return rc;
    sbx_diags_drop(diags, SBX_ERROR, "unresolved-kit"); /* the note stands for it */
    return SBX_OK;
}

static enum sbx_code check_mixin(struct sbx_loader *l, const char *reference, struct sbx_origin at,
                                 struct sbx_diags *diags, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) mixin = NULL;
    size_t errors = diags->errors;
    enum sbx_code rc;

    l->met_elsewhere = false;
    rc = sbx_load_for_kit(l, reference, at, diags, &mixin, err);
    if (rc == SBX_UNSUPPORTED && l->met_elsewhere)
        return SBX_OK;
    if (rc && diags->errors == errors)
        sbx_diags_add(diags, SBX_ERROR, "unresolved-kit", at.pos, "mixins", NULL, "%s", err->text);
    if (rc)
        return sbx_err_wrap(err, rc, "mixins: %s", reference);
    if (!strcmp(mixin->kind, "mixin"))
        return SBX_OK;
    sbx_err_set(err, SBX_CONFLICT, "kit %s must be kind mixin, got %s", mixin->name, mixin->kind);
    sbx_diags_add(diags, SBX_ERROR, "wrong-kind", at.pos, "mixins",
                  "a kit extends one sandbox kit and names mixins", "%s", err->text);
    return SBX_CONFLICT;
}

static enum sbx_code check(struct sbx_loader *l, const struct sbx_artifact *a,
                           struct sbx_diags *diags, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) merged = NULL;
    enum sbx_code first = check_parents(l, a, diags, &merged, err);
    const struct sbx_strs *mixins = merged ? &merged->mixins : &a->mixins;

    for (size_t i = 0; i < mixins->len; i++) {
        struct sbx_err why = SBX_ERR_INIT; /* also of what is only not fetched: no error */
        enum sbx_code rc = check_mixin(l, mixins->v[i], mixins->at[i], diags, &why);

        if (!rc || first)
            continue;
        first = rc;
        if (err)
            *err = why;
    }
    return first;
}

enum sbx_code sbx_resolve_named(const struct sbx_resolve *r, const char *reference,
                                const struct sbx_artifact *a, struct sbx_diags *diags,
                                struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO(sbx_diags) found = { 0 };
    struct sbx_loader l = { .options = { .open_args = true, .for_use = true },
                            .remote = r->remote,
                            .arena = arena,
                            .here_only = true };
    struct sbx_ref ref;
    enum sbx_code rc;

    if (!sbx_is_sandbox(a) || ((!a->extends || !*a->extends) && !a->mixins.len))
        return SBX_OK;
    if (!arena || sbx_diags_init(&found))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = own_ref(reference, arena, &ref, err);
    if (!rc)
        rc = sbx_load_remember(&l, a, &ref, err);
    if (!rc)
        rc = check(&l, a, &found, err);
    for (size_t i = 0; i < found.len; i++) {
        const struct sbx_diag *d = &found.v[i];

        if (d->severity == SBX_ERROR ||
            !strcmp(d->code, "not-fetched")) /* remarks are for their own authors */
            sbx_diags_add(diags, d->severity, d->code, d->pos, d->path, d->hint, "%s", d->message);
    }
    return rc;
}
