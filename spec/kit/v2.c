/* What follows the tables: the flat fields, and the deprecation warnings of the reference. */
#include <string.h>

#include "decode.h"

static void warn(struct sbx_decoder *d, struct sbx_artifact *a, struct sbx_pos pos, const char *path,
                 const char *text)
{
    struct sbx_strs *w = &a->warnings;

    if (!w->v) {
        w->v = sbx_decode_alloc(d, 3, sizeof(*w->v)); /* one per rule below */
        w->at = sbx_decode_alloc(d, 3, sizeof(*w->at));
    }
    if (!w->v || !w->at)
        return;
    w->at[w->len] = (struct sbx_origin){ d->kit, pos };
    w->v[w->len++] = text;
    w->set = true;
    sbx_diags_add(d->diags, SBX_WARNING, "not-applied", pos, path, NULL, "%s", text);
}

/* entrypoint[1:] and then `tail` */
static void join(struct sbx_decoder *d, const struct sbx_strs *entrypoint,
                 const struct sbx_strs *tail, struct sbx_strs *out)
{
    size_t fixed = entrypoint->len ? entrypoint->len - 1 : 0;

    out->v = sbx_decode_alloc(d, fixed + tail->len, sizeof(*out->v));
    out->at = sbx_decode_alloc(d, fixed + tail->len, sizeof(*out->at));
    if (!out->v || !out->at)
        return;
    for (size_t i = 0; i < fixed; i++) {
        out->at[out->len] = entrypoint->at[i + 1];
        out->v[out->len++] = entrypoint->v[i + 1];
    }
    for (size_t i = 0; i < tail->len; i++) {
        out->at[out->len] = tail->at[i];
        out->v[out->len++] = tail->v[i];
    }
    out->set = out->len > 0;
}

static void flatten_launch(struct sbx_decoder *d, struct sbx_artifact *a)
{
    const struct sbx_launch *l = &a->launch;

    if (l->entrypoint.len)
        a->binary = l->entrypoint.v[0];
    join(d, &l->entrypoint, &l->noninteractive, &a->run_options);
    join(d, &l->entrypoint, l->interactive.set ? &l->interactive : &l->noninteractive,
         &a->interactive_options);
}

static struct sbx_pos pos_of(const struct sbx_yaml_node *root, const char *key)
{
    const struct sbx_yaml_node *n = sbx_yaml_get(root, key);

    return n ? n->pos : root->pos;
}

static void add_warnings(struct sbx_decoder *d, const struct sbx_yaml_node *root,
                         struct sbx_artifact *a)
{
    bool mixin = a->kind && !strcmp(a->kind, "mixin");

    if (a->mixins.len && (mixin || !d->for_use))
        warn(d, a, pos_of(root, "mixins"), "mixins",
             mixin ? "mixins is accepted in the schema, but only a sandbox kit's are ever applied"
                   : "mixins is accepted in the schema, and applied when a sandbox is made");
    if (a->build.set && a->image && *a->image)
        warn(d, a, a->build.at.pos, "sandbox.build",
             "sandbox.build is accepted in the schema but not yet implemented; sandbox.image is used");
    if (mixin && a->ai_filename && *a->ai_filename) {
        warn(d, a, pos_of(sbx_yaml_get(root, "agentInstructions"), "filename"),
             "agentInstructions.filename",
             "agentInstructions.filename is ignored: the file belongs to the sandbox kit");
        a->ai_filename = NULL;
    }
}

void sbx_decode_v2(struct sbx_decoder *d, const struct sbx_yaml_node *root, struct sbx_artifact *a)
{
    sbx_decode_block(d, &sbx_kit_v2, root, a);
    flatten_launch(d, a);
    if (root->kind == SBX_YAML_MAPPING)
        add_warnings(d, root, a);
}
