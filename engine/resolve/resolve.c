#include "sbx/resolve.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "resolve_impl.h"

/* The kits of one composition while they are gathered. */
struct stack {
    struct sbx_artifact *kits[SBX_KITS_MAX]; /* parallel to --kit */
    size_t n;
    struct sbx_artifact *agent; /* the agent position's; NULL: it is kits[sandbox] */
    size_t sandbox;             /* index of the sandbox kit among kits; n: none */
};

static void stack_release(struct stack *s)
{
    for (size_t i = 0; i < s->n; i++)
        sbx_artifact_free(s->kits[i]);
    sbx_artifact_free(s->agent);
}
SBX_DEFINE_AUTO(stack, stack_release);

bool sbx_is_sandbox(const struct sbx_artifact *a) { return !strcmp(a->kind, "sandbox"); }

static enum sbx_code two_agents(const char *a, const char *b, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_CONFLICT,
                       "compose: two sandbox kits, \"%s\" and \"%s\": a sandbox has one agent", a,
                       b);
}

static enum sbx_code load_kits(const struct sbx_resolve *r, struct sbx_loader *l,
                               struct stack *s, struct sbx_diags *diags, struct sbx_err *err)
{
    if (r->n_kits > SBX_KITS_MAX)
        return sbx_err_set(err, SBX_LIMIT, "over %d kits", SBX_KITS_MAX);
    for (; s->n < r->n_kits; s->n++) {
        enum sbx_code rc = sbx_load_for_use(l, r->kits[s->n], "--kit", diags, &s->kits[s->n], err);

        if (rc)
            return rc;
    }
    s->sandbox = s->n;
    for (size_t i = 0; i < s->n; i++) {
        if (!sbx_is_sandbox(s->kits[i]))
            continue;
        if (s->sandbox < s->n)
            return two_agents(s->kits[s->sandbox]->name, s->kits[i]->name, err);
        s->sandbox = i;
    }
    return SBX_OK;
}

/* With a sandbox kit among --kit, the first word may only repeat its name; else it is a path. */
static enum sbx_code check_word(const struct sbx_resolve *r, const struct stack *s, bool *ret_used,
                                struct sbx_err *err)
{
    const char *name = s->kits[s->sandbox]->name;
    struct stat st;

    *ret_used = r->word && !strcmp(r->word, name);
    if (!r->word || *ret_used)
        return SBX_OK;
    if (sbx_resolve_is_agent(r->word))
        return two_agents(r->word, name, err);
    if (strchr(r->word, '/') || !strcmp(r->word, ".") || !strcmp(r->word, "..") ||
        !stat(r->word, &st))
        return SBX_OK;
    return sbx_err_set(err, SBX_USAGE,
                       "\"%s\" is neither the agent (%s, by --kit %s) nor an existing path",
                       r->word, name, r->kits[s->sandbox]);
}

static bool is_plain_directory(const char *word)
{
    struct stat st;

    return !stat(word, &st) && S_ISDIR(st.st_mode) && !sbx_has_spec(word);
}

static enum sbx_code load_agent(const struct sbx_resolve *r, struct sbx_loader *l,
                                struct stack *s, struct sbx_diags *diags, struct sbx_err *err)
{
    enum sbx_code rc;

    if (!r->word)
        return sbx_err_set(
            err, SBX_USAGE,
            "which agent? Name one (claude, shell ...), or a sandbox kit (./DIRECTORY)");
    rc = sbx_load_for_use(l, r->word, "agent", diags, &s->agent, err);
    if (rc && is_plain_directory(r->word))
        return sbx_err_set(
            err, SBX_USAGE,
            "%s has no spec.yaml: the first argument is the agent, as in \"shell %s\"", r->word,
            r->word);
    if (rc)
        return rc;
    if (!sbx_is_sandbox(s->agent))
        return sbx_err_set(
            err, SBX_USAGE,
            "kit %s is a mixin, not an agent: add it to one, as in \"shell --kit %s\"",
            s->agent->name, r->word);
    return SBX_OK;
}

static enum sbx_code compose(const struct sbx_resolve *r, struct sbx_loader *l,
                             const struct stack *s, struct sbx_diags *diags, struct sbx_artifact **ret,
                             struct sbx_err *err)
{
    const struct sbx_artifact *mixins[SBX_KITS_MAX], *base = s->agent;
    const char *references[SBX_KITS_MAX + 1] = { r->word };
    struct sbx_compose_opts opts = { references, sbx_builtin_digest, l, sbx_load_for_kit, l };
    size_t n = 0;

    if (!base) {
        base = s->kits[s->sandbox];
        references[0] = r->kits[s->sandbox];
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->kits[i] == base)
            continue;
        mixins[n] = s->kits[i];
        references[++n] = r->kits[i];
    }
    return sbx_compose(base, mixins, n, &opts, diags, ret, err);
}

enum sbx_code sbx_resolve(const struct sbx_resolve *r, struct sbx_diags *diags,
                          struct sbx_artifact **ret, bool *ret_used, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arg_values) values = NULL;
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    SBX_AUTO(stack) s = { .n = 0 };
    struct sbx_loader l = { .remote = r->remote, .arena = arena };
    enum sbx_code rc = arena ? sbx_resolve_values(r, &values, err)
                             : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");

    l.options = (struct sbx_kit_options){ .args = values, .digest = true, .for_use = true };
    if (!rc)
        rc = load_kits(r, &l, &s, diags, err);
    if (rc)
        return rc;
    *ret_used = true;
    rc = s.sandbox < s.n ? check_word(r, &s, ret_used, err) : load_agent(r, &l, &s, diags, err);
    if (!rc)
        rc = compose(r, &l, &s, diags, &a, err);
    if (!rc && !r->any_args)
        rc = sbx_arg_values_finish(values, err);
    if (!rc)
        *ret = SBX_TAKE(a);
    return rc;
}
