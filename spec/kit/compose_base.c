/* The sandbox kit's own part, of its parent too under `extends`; and the list of what was composed. */
#include <string.h>

#include "args.h"
#include "compose.h"
#include "decode.h"

/* Sandbox kits whose manifests count: under `extends` parent and child, else the base alone. */
static size_t heirs(const struct sbx_composer *c) { return c->extends ? 2 : 1; }

static const struct sbx_artifact *last_heir(const struct sbx_composer *c)
{
    return c->kits[heirs(c) - 1];
}

struct sbx_kit_ref sbx_copy_ref(struct sbx_composer *c, const struct sbx_kit_ref *from)
{
    return (struct sbx_kit_ref){
        .name = sbx_copy_text(c, from->name),
        .kind = sbx_copy_text(c, from->kind),
        .reference = sbx_copy_text(c, from->reference),
        .digest = sbx_copy_text(c, from->digest),
        .agent_context = sbx_copy_text(c, from->agent_context),
        .schema_version = sbx_copy_text(c, from->schema_version),
    };
}

static void list_kits(struct sbx_composer *c)
{
    struct sbx_artifact *out = c->out;

    out->kits.v = sbx_copy_array(c, c->n, sizeof(*out->kits.v));
    if (c->no_memory)
        return;
    out->kits.set = true;
    for (; out->kits.len < c->n && !c->no_memory; out->kits.len++) {
        const struct sbx_artifact *a = c->kits[out->kits.len];
        struct sbx_kit_ref ref = {
            .name = a->name,
            .kind = a->kind,
            .reference = c->references ? c->references[out->kits.len] : NULL,
            .digest = a->digest,
            .schema_version = a->schema_version,
            .agent_context = out->kits.len ? a->agent_context : NULL,
        };

        out->kits.v[out->kits.len] = sbx_copy_ref(c, &ref);
    }
}

static void list_parents(struct sbx_composer *c)
{
    const struct sbx_artifact *from = c->kits[0];
    struct sbx_artifact *out = c->out;

    out->parents.v = sbx_copy_array(c, from->parents.len, sizeof(*out->parents.v));
    out->parents.set = from->parents.len > 0;
    for (size_t i = 0; i < from->parents.len && !c->no_memory; i++)
        out->parents.v[out->parents.len++] = sbx_copy_ref(c, &from->parents.v[i]);
}

void sbx_copy_place(struct sbx_composer *c, const struct sbx_artifact *from, const void *field,
                    const void *copy)
{
    struct sbx_decoder d = { .arena = c->out->arena, .places = c->places };

    for (size_t i = 0; from->places && c->places && i < from->places->len; i++) {
        const struct sbx_place *p = &from->places->v[i];
        struct sbx_origin at;

        if (p->field != field)
            continue;
        at = sbx_copy_origin(c, (struct sbx_origin){ p->kit, p->pos });
        d.kit = at.kit;
        sbx_decode_place(&d, copy, at.pos);
        c->no_memory |= d.no_memory;
        return;
    }
}

/* A string of the manifest: the last kit that gives it. */
static void take_text(struct sbx_composer *c, size_t offset)
{
    const char **to = (const char **)(void *)((char *)c->out + offset);

    for (size_t k = heirs(c); k-- > 0 && !*to;) {
        const char *const *from = (const void *)((const char *)c->kits[k] + offset);

        if (!*from)
            continue;
        *to = sbx_copy_text(c, *from);
        sbx_copy_place(c, c->kits[k], from, to);
    }
}

static void copy_build(struct sbx_composer *c, const struct sbx_build *from)
{
    struct sbx_build *to = &c->out->build;

    *to = *from;
    to->at = sbx_copy_origin(c, from->at);
    to->context = sbx_copy_text(c, from->context);
    to->dockerfile = sbx_copy_text(c, from->dockerfile);
    to->target = sbx_copy_text(c, from->target);
    to->args = sbx_copy_pairs(c, &from->args);
    to->platforms = sbx_copy_strs(c, &from->platforms);
}

static void take_resources(struct sbx_composer *c)
{
    struct sbx_resources *to = &c->out->resources;

    for (size_t k = 0; k < heirs(c); k++) {
        const struct sbx_resources *from = &c->kits[k]->resources;

        if (!from->set)
            continue;
        to->set = true;
        to->at = sbx_copy_origin(c, from->at);
        if (from->cpu_set) {
            to->cpu_set = true;
            to->cpu = from->cpu;
            sbx_copy_place(c, c->kits[k], &from->cpu, &to->cpu);
        }
        if (from->memory)
            to->memory_mb = from->memory_mb;
    }
    take_text(c, offsetof(struct sbx_artifact, resources.memory));
    take_text(c, offsetof(struct sbx_artifact, resources.gpu));
}

static void take_strs(struct sbx_composer *c, const struct sbx_artifact *from,
                      const struct sbx_strs *list, struct sbx_strs *to)
{
    *to = sbx_copy_strs(c, list);
    sbx_copy_place(c, from, list, to);
}

/* entrypoint and command are each replaced as a whole (S20). */
static void take_launch(struct sbx_composer *c)
{
    const struct sbx_artifact *e = c->kits[0], *m = c->kits[0];
    struct sbx_artifact *to = c->out;

    for (size_t k = 0; k < heirs(c); k++) {
        const struct sbx_launch *l = &c->kits[k]->launch;

        if (l->entrypoint.set)
            e = c->kits[k];
        if (l->interactive.set || l->noninteractive.set)
            m = c->kits[k];
    }
    take_strs(c, e, &e->launch.entrypoint, &to->launch.entrypoint);
    take_strs(c, m, &m->launch.interactive, &to->launch.interactive);
    take_strs(c, m, &m->launch.noninteractive, &to->launch.noninteractive);
    sbx_copy_place(c, m, &m->launch, &to->launch);
    if (e != m) {
        c->no_memory |= !sbx_flatten_launch(to);
        return;
    }
    to->binary = sbx_copy_text(c, e->binary);
    to->run_options = sbx_copy_strs(c, &e->run_options);
    to->interactive_options = sbx_copy_strs(c, &e->interactive_options);
}

/* Which arguments filled in what, for provenance; the values are in their places already. */
static void copy_uses(struct sbx_composer *c)
{
    struct sbx_substitution *to = sbx_copy_array(c, 1, sizeof(*to));
    size_t n = 0;

    for (size_t k = 0; k < c->n; k++)
        n += c->kits[k]->substitution ? c->kits[k]->substitution->n_uses : 0;
    if (!to || !n)
        return;
    to->uses = sbx_copy_array(c, n, sizeof(*to->uses));
    for (size_t k = 0; k < c->n && to->uses; k++) {
        const struct sbx_substitution *from = c->kits[k]->substitution;

        for (size_t i = 0; from && i < from->n_uses; i++)
            to->uses[to->n_uses++] = (struct sbx_arg_use){
                sbx_copy_origin(c, (struct sbx_origin){ NULL, from->uses[i].pos }).pos,
                sbx_copy_text(c, from->uses[i].names),
            };
    }
    c->out->substitution = to;
}

static void take_identity(struct sbx_composer *c)
{
    const struct sbx_artifact *from = last_heir(c);
    struct sbx_artifact *to = c->out;

    to->schema_version = sbx_copy_text(c, from->schema_version);
    to->kind = sbx_copy_text(c, from->kind);
    to->name = sbx_copy_text(c, from->name);
    to->at = sbx_copy_origin(c, from->at);
    sbx_copy_place(c, from, &from->schema_version, &to->schema_version);
    sbx_copy_place(c, from, &from->kind, &to->kind);
    sbx_copy_place(c, from, &from->name, &to->name);
}

void sbx_compose_base(struct sbx_composer *c)
{
    static const size_t texts[] = {
        offsetof(struct sbx_artifact, version),      offsetof(struct sbx_artifact, display_name),
        offsetof(struct sbx_artifact, description),  offsetof(struct sbx_artifact, source_url),
        offsetof(struct sbx_artifact, image),        offsetof(struct sbx_artifact, ai_filename),
        offsetof(struct sbx_artifact, agent_context),
    };
    struct sbx_artifact *to = c->out;

    c->places = sbx_copy_array(c, 1, sizeof(*c->places));
    to->places = c->places;
    list_kits(c);
    take_identity(c);
    for (size_t i = 0; i < SBX_ARRAY_LEN(texts); i++)
        take_text(c, texts[i]);
    for (size_t k = 0; k < heirs(c); k++) {
        to->sandbox_set = to->sandbox_set || c->kits[k]->sandbox_set;
        if (c->kits[k]->build.set)
            copy_build(c, &c->kits[k]->build);
        if (c->kits[k]->agent_context)
            to->agent_context_at = sbx_copy_origin(c, c->kits[k]->agent_context_at);
    }
    take_launch(c);
    take_resources(c);
    copy_uses(c);
    if (!c->extends)
        list_parents(c);
}
