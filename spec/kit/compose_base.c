/* The sandbox kit's own part, and the list of what was composed. */
#include <string.h>

#include "compose.h"

static void list_kits(struct sbx_composer *c)
{
    struct sbx_artifact *out = c->out;

    out->kits.v = sbx_copy_array(c, c->n, sizeof(*out->kits.v));
    if (c->no_memory)
        return;
    out->kits.set = true;
    for (; out->kits.len < c->n && !c->no_memory; out->kits.len++) {
        const struct sbx_artifact *a = c->kits[out->kits.len];
        const char *reference = c->opts->references ? c->opts->references[out->kits.len] : NULL;

        out->kits.v[out->kits.len] = (struct sbx_kit_ref){
            .name = sbx_copy_text(c, a->name),
            .kind = sbx_copy_text(c, a->kind),
            .reference = sbx_copy_text(c, reference),
            .digest = sbx_copy_text(c, a->digest),
            .schema_version = sbx_copy_text(c, a->schema_version),
            .agent_context = out->kits.len ? sbx_copy_text(c, a->agent_context) : NULL,
        };
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

static void copy_manifest(struct sbx_composer *c, const struct sbx_artifact *from)
{
    struct sbx_artifact *to = c->out;

    to->schema_version = sbx_copy_text(c, from->schema_version);
    to->kind = sbx_copy_text(c, from->kind);
    to->name = sbx_copy_text(c, from->name);
    to->version = sbx_copy_text(c, from->version);
    to->display_name = sbx_copy_text(c, from->display_name);
    to->description = sbx_copy_text(c, from->description);
    to->source_url = sbx_copy_text(c, from->source_url);
    to->sandbox_set = from->sandbox_set;
    to->image = sbx_copy_text(c, from->image);
    to->binary = sbx_copy_text(c, from->binary);
    to->ai_filename = sbx_copy_text(c, from->ai_filename);
}

void sbx_compose_base(struct sbx_composer *c, const struct sbx_artifact *from)
{
    struct sbx_artifact *to = c->out;

    list_kits(c);
    copy_manifest(c, from);
    to->at = sbx_copy_origin(c, from->at);
    to->run_options = sbx_copy_strs(c, &from->run_options);
    to->interactive_options = sbx_copy_strs(c, &from->interactive_options);
    to->launch.entrypoint = sbx_copy_strs(c, &from->launch.entrypoint);
    to->launch.interactive = sbx_copy_strs(c, &from->launch.interactive);
    to->launch.noninteractive = sbx_copy_strs(c, &from->launch.noninteractive);
    copy_build(c, &from->build);
    to->resources = from->resources;
    to->resources.at = sbx_copy_origin(c, from->resources.at);
    to->resources.memory = sbx_copy_text(c, from->resources.memory);
    to->resources.gpu = sbx_copy_text(c, from->resources.gpu);
    to->agent_context = sbx_copy_text(c, from->agent_context);
    to->agent_context_at = sbx_copy_origin(c, from->agent_context_at);
}
