/* Composition: one sandbox kit and mixins become one artifact (seed "composition"). */
#include "compose.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sbx_compose_conflict(struct sbx_composer *c, const char *code, struct sbx_origin at,
                          const char *path, const char *hint, const char *fmt, ...)
{
    char message[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    sbx_diags_add(c->diags, SBX_ERROR, code, at.pos, path, hint, "%s", message);
    c->conflict = true;
}

/*
 * What a single kit is only warned of and no sandbox is made with (S18), and what only now is certain
 * (S9). All other remarks were made when the kits were loaded.
 */
static bool counts(const struct sbx_diag *d, enum sbx_severity *ret)
{
    *ret = d->severity;
    if (!strcmp(d->code, "unwired-credential") && d->severity == SBX_WARNING)
        *ret = SBX_ERROR;
    return *ret == SBX_ERROR || !strcmp(d->code, "uncovered-domain");
}

/* The same validator again, over the whole (S23). */
static enum sbx_code validate(const struct sbx_artifact *a, struct sbx_diags *diags)
{
    SBX_AUTO(sbx_diags) found = { 0 };

    if (sbx_diags_init(&found))
        return SBX_NO_MEMORY;
    sbx_artifact_validate(a, true, &found);
    sbx_diags_drop(diags, SBX_WARNING, "uncovered-domain"); /* another kit may have allowed it */
    for (size_t i = 0; i < found.len; i++) {
        const struct sbx_diag *d = &found.v[i];
        enum sbx_severity severity;

        if (counts(d, &severity))
            sbx_diags_add(diags, severity, d->code, d->pos, d->path, d->hint, "%s", d->message);
    }
    return SBX_OK;
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

static enum sbx_code sum_up(const struct sbx_composer *c, size_t before, struct sbx_err *err)
{
    enum sbx_code rc = c->conflict ? SBX_CONFLICT : SBX_SCHEMA;
    const struct sbx_diag *first = NULL;

    for (size_t i = 0; i < c->diags->len && !first; i++)
        if (c->diags->v[i].severity == SBX_ERROR)
            first = &c->diags->v[i];
    if (c->diags->errors - before != 1 || before || !first)
        return sbx_err_set(err, rc, "compose: %zu errors", c->diags->errors - before);
    return sbx_err_set(err, rc, "%s%s", strncmp(first->message, "compose:", 8) ? "compose: " : "",
                       first->message);
}

static void merge(struct sbx_composer *c)
{
    sbx_compose_base(c, c->kits[0]);
    sbx_compose_sections(c);
    sbx_compose_credentials(c);
    sbx_compose_files(c);
}

static enum sbx_code run(struct sbx_composer *c, struct sbx_err *err)
{
    size_t before = c->diags->errors;
    enum sbx_code rc = SBX_OK;

    sbx_compose_check(c);
    if (c->diags->errors == before)
        merge(c);
    if (!c->no_memory && c->diags->errors == before)
        rc = validate(c->out, c->diags);
    if (c->no_memory || rc)
        return sbx_err_set(err, SBX_NO_MEMORY, "compose: no memory");
    return c->diags->errors == before ? SBX_OK : sum_up(c, before, err);
}

enum sbx_code sbx_compose(const struct sbx_artifact *base, const struct sbx_artifact *const *mixins,
                          size_t n, const struct sbx_compose_opts *opts, struct sbx_diags *diags,
                          struct sbx_artifact **ret, struct sbx_err *err)
{
    static const struct sbx_compose_opts none;
    SBX_AUTO_PTR(sbx_artifact) out = new_artifact();
    SBX_AUTO_FREE const struct sbx_artifact **kits = calloc(n + 1, sizeof(*kits));
    struct sbx_composer c = { .out = out, .kits = kits, .n = n + 1, .diags = diags };
    enum sbx_code rc;

    if (!out || !kits)
        return sbx_err_set(err, SBX_NO_MEMORY, "compose: no memory");
    c.opts = opts ? opts : &none;
    kits[0] = base;
    for (size_t i = 0; i < n; i++)
        kits[i + 1] = mixins[i];
    rc = run(&c, err);
    if (!rc)
        *ret = SBX_TAKE(out);
    return rc;
}
