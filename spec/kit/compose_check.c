/* What must hold before kits are merged. All of it is said at once. */
#include <stdio.h>
#include <string.h>

#include "compose.h"

static void check_kinds(struct sbx_composer *c)
{
    const struct sbx_artifact *base = c->kits[0];

    if (strcmp(base->kind, "sandbox"))
        sbx_compose_conflict(c, "wrong-kind", base->at, "kind",
                             "name an agent, or a kit with kind: sandbox, as the base",
                             "compose: kit %s must be kind sandbox, got %s", base->name, base->kind);
    for (size_t i = 1; i < c->n; i++)
        if (strcmp(c->kits[i]->kind, "mixin"))
            sbx_compose_conflict(c, "wrong-kind", c->kits[i]->at, "kind",
                                 "a composition has one sandbox kit; leave one of them out",
                                 "compose: kit %s must be kind mixin, got %s", c->kits[i]->name,
                                 c->kits[i]->kind);
}

static void check_names(struct sbx_composer *c)
{
    for (size_t i = 1; i < c->n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(c->kits[i]->name, c->kits[k]->name))
                continue;
            sbx_compose_conflict(c, "duplicate-kit", c->kits[i]->at, "name",
                                 "give one of them another name, or leave it out",
                                 "compose: duplicate kit name \"%s\" — each kit must have a unique "
                                 "name",
                                 c->kits[i]->name);
            break;
        }
    }
}

/* A name that users trust must not turn out to be someone else's kit (S30). */
static void check_reserved(struct sbx_composer *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct sbx_artifact *a = c->kits[i];
        const char *own = NULL;

        if (a->embedded || !sbx_kit_name_reserved(a->name))
            continue;
        if (c->opts->builtin_digest)
            own = c->opts->builtin_digest(a->name, c->opts->data);
        if (own && a->digest && !strcmp(own, a->digest))
            continue;
        sbx_compose_conflict(c, "reserved-name", a->at, "name",
                             "give the kit another name; extends takes over the built-in agent",
                             "compose: built-in agents cannot be overridden by a kit (%s)", a->name);
    }
}

/* The agent itself, or one that the agent extends: a variant of it. */
static bool is_agent(const struct sbx_artifact *base, const char *wanted)
{
    for (size_t i = 0; i < base->parents.len; i++)
        if (!strcmp(base->parents.v[i].name, wanted))
            return true;
    return !strcmp(base->name, wanted) || (base->extends && !strcmp(base->extends, wanted));
}

static void check_requires(struct sbx_composer *c)
{
    const struct sbx_artifact *base = c->kits[0];

    for (size_t i = 1; i < c->n; i++) {
        const struct sbx_artifact *a = c->kits[i];
        const char *agent = sbx_artifact_agent(a);
        bool by_requires = agent && agent == a->requires_agent;
        char hint[200];

        if (!agent || is_agent(base, agent))
            continue;
        snprintf(hint, sizeof(hint), "run it with %.80s, or leave the kit out", agent);
        sbx_compose_conflict(c, "wrong-agent", by_requires ? a->requires_at : a->extends_at,
                             by_requires ? "requires.agent" : "extends", hint,
                             "compose: kit %s requires the agent %s, got %s", a->name, agent,
                             base->name);
    }
}

void sbx_compose_check(struct sbx_composer *c)
{
    check_kinds(c);
    check_names(c);
    check_reserved(c);
    if (!strcmp(c->kits[0]->kind, "sandbox"))
        check_requires(c);
}
