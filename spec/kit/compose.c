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
    if (found.no_memory)
        return SBX_NO_MEMORY;
    sbx_diags_drop(diags, SBX_WARNING, "uncovered-domain"); /* another kit may have allowed it */
    for (size_t i = 0; i < found.len; i++) {
        const struct sbx_diag *d = &found.v[i];
        enum sbx_severity severity;

        if (counts(d, &severity))
            sbx_diags_add(diags, severity, d->code, d->pos, d->path, d->hint, "%s", d->message);
    }
    return SBX_OK;
}

enum sbx_code sbx_compose_sum_up(const struct sbx_composer *c, size_t before, struct sbx_err *err)
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

void sbx_compose_merge(struct sbx_composer *c)
{
    sbx_compose_base(c);
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
        sbx_compose_merge(c);
    if (!c->no_memory && c->diags->errors == before)
        rc = validate(c->out, c->diags);
    if (c->no_memory || rc || c->diags->no_memory)
        return sbx_err_set(err, SBX_NO_MEMORY, "compose: no memory");
    return c->diags->errors == before ? SBX_OK : sbx_compose_sum_up(c, before, err);
}

/* The kits of one composition: the base, the mixins that it names, the caller's. */
struct gathered {
    struct sbx_artifact *extended; /* the base with its parents; NULL: it has none */
    struct sbx_artifact **own;     /* loaded mixins of the base */
    size_t n_own;
    const struct sbx_artifact **kits;
    const char **references;
    size_t n;
};

static void gathered_release(struct gathered *g)
{
    sbx_artifact_free(g->extended);
    for (size_t i = 0; i < g->n_own; i++)
        sbx_artifact_free(g->own[i]);
    free(g->own);
    free(g->kits);
    free(g->references);
}
SBX_DEFINE_AUTO(gathered, gathered_release);

enum sbx_code sbx_compose_fetch(const struct sbx_compose_opts *opts, const char *reference,
                                struct sbx_origin at, const char *path, struct sbx_diags *diags,
                                struct sbx_artifact **ret, struct sbx_err *err)
{
    struct sbx_err why = SBX_ERR_INIT;
    size_t before = diags->errors;
    enum sbx_code rc = opts->fetch(opts->fetch_data, reference, at, diags, ret, &why);

    if (!rc)
        return SBX_OK;
    if (diags->errors == before && rc != SBX_NO_MEMORY)
        sbx_diags_add(diags, SBX_ERROR, "unresolved-kit", at.pos, path, NULL, "%s", why.text);
    return sbx_err_set(err, rc, "kit %s: %s %s: %s", at.kit ? at.kit : "?", path, reference,
                       why.text);
}

static enum sbx_code load_mixins(struct gathered *g, const struct sbx_artifact *base,
                                 const struct sbx_compose_opts *opts, struct sbx_diags *diags,
                                 struct sbx_err *err)
{
    const struct sbx_strs *m = &base->mixins;

    g->own = calloc(m->len + 1, sizeof(*g->own));
    if (!g->own)
        return sbx_err_set(err, SBX_NO_MEMORY, "compose: no memory");
    for (; opts->fetch && g->n_own < m->len; g->n_own++) {
        enum sbx_code rc = sbx_compose_fetch(opts, m->v[g->n_own], m->at[g->n_own], "mixins",
                                             diags, &g->own[g->n_own], err);

        if (rc)
            return rc;
    }
    return SBX_OK;
}

static enum sbx_code line_up(struct gathered *g, const struct sbx_artifact *base,
                             const struct sbx_artifact *const *mixins, size_t n,
                             const struct sbx_compose_opts *opts, struct sbx_err *err)
{
    const char *const *given = opts->references;
    size_t at = 0;

    g->n = 1 + g->n_own + n;
    g->kits = calloc(g->n, sizeof(*g->kits));
    g->references = calloc(g->n, sizeof(*g->references));
    if (!g->kits || !g->references)
        return sbx_err_set(err, SBX_NO_MEMORY, "compose: no memory");
    g->kits[at] = base;
    g->references[at++] = given ? given[0] : NULL;
    for (size_t i = 0; i < g->n_own; i++) {
        g->kits[at] = g->own[i];
        g->references[at++] = base->mixins.v[i];
    }
    for (size_t i = 0; i < n; i++) {
        g->kits[at] = mixins[i];
        g->references[at++] = given ? given[i + 1] : NULL;
    }
    return SBX_OK;
}

enum sbx_code sbx_compose(const struct sbx_artifact *base, const struct sbx_artifact *const *mixins,
                          size_t n, const struct sbx_compose_opts *opts, struct sbx_diags *diags,
                          struct sbx_artifact **ret, struct sbx_err *err)
{
    static const struct sbx_compose_opts none;
    SBX_AUTO_PTR(sbx_artifact) out = sbx_artifact_new();
    SBX_AUTO(gathered) g = { .n = 0 };
    struct sbx_composer c = { .out = out, .diags = diags, .opts = opts ? opts : &none };
    enum sbx_code rc = SBX_OK;

    if (!out)
        return sbx_err_set(err, SBX_NO_MEMORY, "compose: no memory");
    if (c.opts->fetch)
        rc = sbx_kit_extend(base, c.opts, diags, &g.extended, err);
    if (g.extended)
        base = g.extended;
    if (!rc)
        rc = load_mixins(&g, base, c.opts, diags, err);
    if (!rc)
        rc = line_up(&g, base, mixins, n, c.opts, err);
    if (rc)
        return rc;
    c.kits = g.kits;
    c.n = g.n;
    c.references = g.references;
    rc = run(&c, err);
    if (!rc)
        *ret = SBX_TAKE(out);
    return rc;
}
