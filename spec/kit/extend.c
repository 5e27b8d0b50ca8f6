/* `extends`: the chain of parents, and their merge from the top down. */
#include <string.h>

#include "compose.h"

/* The kit itself and its parents, nearest first. The first is the caller's. */
struct chain {
    const struct sbx_artifact *kits[SBX_EXTENDS_MAX + 1];
    struct sbx_artifact *loaded[SBX_EXTENDS_MAX + 1]; /* [0] is NULL */
    size_t n;
};

static void chain_release(struct chain *chain)
{
    for (size_t i = 1; i < chain->n; i++)
        sbx_artifact_free(chain->loaded[i]);
}
SBX_DEFINE_AUTO(chain, chain_release);

static bool is_same(const struct sbx_artifact *a, const struct sbx_artifact *b)
{
    if (a->digest && b->digest)
        return !strcmp(a->digest, b->digest);
    return a->at.pos.file && b->at.pos.file && !strcmp(a->at.pos.file, b->at.pos.file);
}

static enum sbx_code refuse(struct sbx_diags *diags, const struct sbx_artifact *child,
                            enum sbx_code rc, const char *code, const char *hint,
                            struct sbx_err *err)
{
    /* err has the message */
    sbx_diags_add(diags, SBX_ERROR, code, child->extends_at.pos, "extends", hint, "%s", err->text);
    return rc;
}

/* "a extends b extends a" */
static enum sbx_code circle(const struct chain *chain, const struct sbx_artifact *again,
                            struct sbx_diags *diags, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) names = SBX_BUF_INIT(1000);

    for (size_t i = 0; i < chain->n; i++)
        if (sbx_buf_addf(&names, "%s extends ", chain->kits[i]->name))
            break; /* long enough */
    sbx_err_set(err, SBX_CONFLICT, "circular extends: %s%s", names.ptr ? names.ptr : "",
                again->name);
    return refuse(diags, chain->kits[chain->n - 1], SBX_CONFLICT, "extends-circle",
                  "remove one of them", err);
}

static enum sbx_code check_parent(const struct chain *chain, const struct sbx_artifact *parent,
                                  struct sbx_diags *diags, struct sbx_err *err)
{
    const struct sbx_artifact *child = chain->kits[chain->n - 1];

    if (strcmp(parent->kind, "sandbox")) {
        sbx_err_set(err, SBX_CONFLICT, "kit %s extends %s, which must be kind sandbox, got %s",
                    child->name, parent->name, parent->kind);
        return refuse(diags, child, SBX_CONFLICT, "wrong-kind",
                      "name a mixin in mixins: instead", err);
    }
    for (size_t i = 0; i < chain->n; i++)
        if (is_same(chain->kits[i], parent))
            return circle(chain, parent, diags, err);
    return SBX_OK;
}

static enum sbx_code climb(struct chain *chain, const struct sbx_compose_opts *opts,
                           struct sbx_diags *diags, struct sbx_err *err)
{
    const struct sbx_artifact *child = chain->kits[chain->n - 1];
    SBX_AUTO_PTR(sbx_artifact) parent = NULL;
    enum sbx_code rc;

    if (chain->n > SBX_EXTENDS_MAX) {
        sbx_err_set(err, SBX_LIMIT, "kit %s: more than %d levels of extends", chain->kits[0]->name,
                    SBX_EXTENDS_MAX);
        return refuse(diags, child, SBX_LIMIT, "extends-depth", "merge some of the parents", err);
    }
    rc = sbx_compose_fetch(opts, child->extends, child->extends_at, "extends", diags, &parent, err);
    if (!rc)
        rc = check_parent(chain, parent, diags, err);
    if (rc)
        return rc;
    chain->kits[chain->n] = parent;
    chain->loaded[chain->n++] = SBX_TAKE(parent);
    return SBX_OK;
}

/* The parent comes first in the list of ancestors, then its own. */
static void list_parents(struct sbx_composer *c, const struct sbx_artifact *parent,
                         const struct sbx_artifact *child)
{
    struct sbx_artifact *out = c->out;
    struct sbx_kit_ref ref = { .name = parent->name, .kind = parent->kind, .reference = child->extends,
                               .digest = parent->digest, .schema_version = parent->schema_version };

    out->parents.v = sbx_copy_array(c, parent->parents.len + 1, sizeof(*out->parents.v));
    if (c->no_memory)
        return;
    out->parents.v[out->parents.len++] = sbx_copy_ref(c, &ref);
    for (size_t i = 0; i < parent->parents.len; i++)
        out->parents.v[out->parents.len++] = sbx_copy_ref(c, &parent->parents.v[i]);
}

static enum sbx_code merge(const struct sbx_artifact *parent, const struct sbx_artifact *child,
                           const struct sbx_compose_opts *opts, struct sbx_diags *diags,
                           struct sbx_artifact **ret, struct sbx_err *err)
{
    const struct sbx_artifact *kits[] = { parent, child };
    SBX_AUTO_PTR(sbx_artifact) out = sbx_artifact_new();
    struct sbx_composer c = { .out = out, .extends = true, .kits = kits, .n = 2, .opts = opts,
                              .diags = diags };
    size_t before = diags->errors;

    if (!out)
        return sbx_err_set(err, SBX_NO_MEMORY, "extends: no memory");
    sbx_compose_locked(&c);
    if (diags->errors > before) /* the merge would say the same in other words */
        return sbx_compose_sum_up(&c, before, err);
    sbx_compose_merge(&c);
    list_parents(&c, parent, child);
    out->embedded = child->embedded;
    out->digest = sbx_copy_text(&c, child->digest);
    out->kits.len = 0; /* not a composition yet */
    if (c.no_memory)
        return sbx_err_set(err, SBX_NO_MEMORY, "extends: no memory");
    if (diags->errors > before)
        return sbx_compose_sum_up(&c, before, err);
    *ret = SBX_TAKE(out);
    return SBX_OK;
}

enum sbx_code sbx_kit_extend(const struct sbx_artifact *kit, const struct sbx_compose_opts *opts,
                             struct sbx_diags *diags, struct sbx_artifact **ret,
                             struct sbx_err *err)
{
    SBX_AUTO(chain) chain = { .kits = { kit }, .n = 1 };
    SBX_AUTO_PTR(sbx_artifact) merged = NULL;
    enum sbx_code rc = SBX_OK;

    *ret = NULL;
    if (strcmp(kit->kind, "sandbox")) /* a version 1 mixin means requires.agent (S19) */
        return SBX_OK;
    for (const char *up = kit->extends; !rc && up && *up; up = chain.kits[chain.n - 1]->extends)
        rc = climb(&chain, opts, diags, err);
    for (size_t i = chain.n - 1; !rc && i-- > 0;) {
        const struct sbx_artifact *parent = merged ? merged : chain.kits[i + 1];
        struct sbx_artifact *next = NULL;

        rc = merge(parent, chain.kits[i], opts, diags, &next, err);
        if (rc)
            break;
        sbx_artifact_free(merged);
        merged = next;
    }
    if (!rc)
        *ret = SBX_TAKE(merged);
    return rc;
}
