/* Which sandbox is the one that a create would make again: `run` attaches to it. */
#include "box.h"

#include <stdio.h>
#include <string.h>

/* A kit that was moved, or is named from another directory, is the same by its digest; one that was
 * edited is the same by its reference: the sandbox stays as it was made. */
static bool same_kit(const struct sbx_kit_ref *a, const struct sbx_kit_ref *b)
{
    if (strcmp(a->name, b->name))
        return false;
    if (a->digest && b->digest && !strcmp(a->digest, b->digest))
        return true;
    return a->reference && b->reference && !strcmp(a->reference, b->reference);
}

static bool same_kits(const struct sbx_plan *a, const struct sbx_plan *b)
{
    if (a->n_kits != b->n_kits)
        return false;
    for (size_t i = 0; i < a->n_kits; i++)
        if (!same_kit(&a->kits[i], &b->kits[i]))
            return false;
    return true;
}

static const struct sbx_plan_mount *next_workspace(const struct sbx_plan *p, size_t *i)
{
    while (*i < p->n_mounts && p->mounts[*i].kind != SBX_PLAN_WORKSPACE)
        ++*i;
    return *i < p->n_mounts ? &p->mounts[(*i)++] : NULL;
}

static bool same_workspaces(const struct sbx_plan *a, const struct sbx_plan *b)
{
    size_t i = 0, k = 0;

    for (;;) {
        const struct sbx_plan_mount *x = next_workspace(a, &i), *y = next_workspace(b, &k);

        if (!x || !y)
            return !x && !y;
        if (strcmp(x->source, y->source) || x->read_only != y->read_only)
            return false;
    }
}

/* What counts for the key of v[i] (up to its "=") is the last one. */
static const char *value_of(const char *const *v, const char *key)
{
    size_t len = strcspn(key, "=") + 1;
    const char *last = NULL;

    for (; v && *v; v++)
        if (!strncmp(*v, key, len))
            last = *v;
    return last;
}

static bool all_in(const char *const *a, const char *const *b)
{
    for (const char *const *v = a; v && *v; v++) {
        const char *other = value_of(b, *v);

        if (!other || strcmp(other, value_of(a, *v)))
            return false;
    }
    return true;
}

static const char *difference(const struct sbx_box *box, const struct sbx_plan *want,
                              const struct sbx_create *c, const char *runtime, unsigned what)
{
    const char *const *args = box->record.kit_args;

    if ((what & SBX_SAME_KITS) && !same_kits(box->plan, want))
        return "kits";
    if ((what & SBX_SAME_ARGS) && (!all_in(args, c->kit_args) || !all_in(c->kit_args, args)))
        return "values for kits";
    if ((what & SBX_SAME_WORKSPACES) && !same_workspaces(box->plan, want))
        return "directories";
    if ((what & SBX_SAME_RUNTIME) && strcmp(box->record.runtime, runtime))
        return "runtime";
    return NULL;
}

static const char *runtime_name(enum sbx_runtime_kind kind)
{
    return kind == SBX_RUNTIME_DOCKER ? "docker" : kind == SBX_RUNTIME_OCI ? "oci" : "fake";
}

/* Looking asks for no consent, and its remarks are those of the create. */
static enum sbx_code want_plan(struct sbx_engine *e, const struct sbx_create *c,
                               struct sbx_plan **ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_diags) unheard = { 0 };
    struct sbx_create as = *c;

    as.allow_privileged = true;
    return sbx_diags_init(&unheard) ? sbx_out_of_memory(err)
                                    : sbx_sandbox_plan(e, &as, &unheard, ret, err);
}

enum sbx_code sbx_sandbox_differs(struct sbx_engine *e, const char *name,
                                  const struct sbx_create *c, unsigned what, const char **ret,
                                  struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    SBX_AUTO_PTR(sbx_plan) want = NULL;
    enum sbx_code rc = sbx_box_peek(e, name, &box, err);

    *ret = NULL;
    if (!rc && !box.has_record)
        return SBX_OK; /* broken: what is done with it says so */
    if (!rc)
        rc = sbx_planfile_read(&box, err);
    if (!rc && (what & (SBX_SAME_KITS | SBX_SAME_WORKSPACES)))
        rc = want_plan(e, c, &want, err);
    if (!rc)
        *ret = difference(&box, want, c, runtime_name(c->runtime), what);
    return rc;
}

static enum sbx_code consider(struct sbx_engine *e, const char *name, const struct sbx_create *c,
                              const struct sbx_plan *want, unsigned what, struct sbx_arena *arena,
                              struct sbx_found *ret)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    const char *differs;

    if (sbx_box_peek(e, name, &box, NULL) || !box.has_record ||
        box.record.phase != SBX_STATE_READY || strcmp(box.record.agent, want->agent) ||
        sbx_planfile_read(&box, NULL) || strcmp(box.plan->workdir, want->workdir))
        return SBX_OK;
    differs = difference(&box, want, c, runtime_name(c->runtime), what);
    if (differs && strcmp(name, want->name))
        return SBX_OK;
    if (differs) {
        ret->differs = differs;
        ret->near = sbx_arena_strdup(arena, name);
        return ret->near ? SBX_OK : SBX_NO_MEMORY;
    }
    ret->names = sbx_arena_printf(arena, "%s%s%s", ret->n ? ret->names : "", ret->n ? ", " : "", name);
    ret->name = sbx_arena_strdup(arena, name);
    ret->n++;
    return ret->names && ret->name ? SBX_OK : SBX_NO_MEMORY;
}

enum sbx_code sbx_sandbox_find(struct sbx_engine *e, const struct sbx_create *c, bool runtime,
                               struct sbx_arena *arena, struct sbx_found *ret, struct sbx_err *err)
{
    unsigned what = SBX_SAME_KITS | SBX_SAME_ARGS | SBX_SAME_WORKSPACES |
                    (runtime ? SBX_SAME_RUNTIME : 0);
    SBX_AUTO_PTR(sbx_plan) want = NULL;
    const char *const *names;
    size_t n = 0;
    enum sbx_code rc;

    *ret = (struct sbx_found){ 0 };
    if (!c->n_workspaces)
        return SBX_OK;
    rc = want_plan(e, c, &want, err);
    if (!rc)
        rc = sbx_sandbox_names(e, arena, &names, &n, err);
    for (size_t i = 0; !rc && i < n; i++)
        if (consider(e, names[i], c, want, what, arena, ret))
            rc = sbx_out_of_memory(err);
    return rc;
}
