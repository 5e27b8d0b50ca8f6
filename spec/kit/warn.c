/* Warnings of an artifact, and what both versions say after their tables were read. */
#include <string.h>

#include "decode.h"

void sbx_decode_warn(struct sbx_decoder *d, struct sbx_artifact *a, const char *code,
                     struct sbx_pos pos, const char *path, const char *hint, const char *message,
                     const char *text)
{
    struct sbx_strs *w = &a->warnings;

    if (!w->v) {
        w->v = sbx_decode_alloc(d, SBX_WARNINGS_MAX, sizeof(*w->v));
        w->at = sbx_decode_alloc(d, SBX_WARNINGS_MAX, sizeof(*w->at));
    }
    if (!w->v || !w->at || w->len == SBX_WARNINGS_MAX)
        return;
    w->at[w->len] = (struct sbx_origin){ d->kit, pos };
    w->v[w->len++] = text;
    w->set = true;
    sbx_diags_add(d->diags, SBX_WARNING, code, pos, path, hint, "%s", message);
}

static const struct sbx_yaml_entry *entry_of(const struct sbx_yaml_node *n, const char *key,
                                             size_t len)
{
    for (size_t i = 0; n && n->kind == SBX_YAML_MAPPING && i < n->len; i++)
        if (n->entries[i].key->kind == SBX_YAML_SCALAR && n->entries[i].key->len == len &&
            !memcmp(n->entries[i].key->text, key, len))
            return &n->entries[i];
    return NULL;
}

/* The entry at a dotted path; NULL: not written. */
static const struct sbx_yaml_entry *entry_at(const struct sbx_yaml_node *n, const char *path)
{
    for (;;) {
        size_t len = strcspn(path, ".");
        const struct sbx_yaml_entry *e = entry_of(n, path, len);

        if (!e || !path[len])
            return e;
        n = e->value;
        path += len + 1;
    }
}

bool sbx_decode_has(const struct sbx_yaml_node *root, const char *path)
{
    const struct sbx_yaml_entry *e = entry_at(root, path);

    return e && !sbx_yaml_is_null(e->value);
}

struct sbx_pos sbx_decode_pos(const struct sbx_yaml_node *root, const char *path)
{
    const struct sbx_yaml_entry *e = entry_at(root, path);

    return e ? e->key->pos : root->pos;
}

/* entrypoint[1:] and then `tail`; false: no memory */
static bool join(struct sbx_arena *arena, const struct sbx_strs *entrypoint,
                 const struct sbx_strs *tail, struct sbx_strs *out)
{
    size_t fixed = entrypoint->len ? entrypoint->len - 1 : 0;

    *out = (struct sbx_strs){ .v = sbx_arena_array(arena, fixed + tail->len, sizeof(*out->v)) };
    out->at = sbx_arena_array(arena, fixed + tail->len, sizeof(*out->at));
    if (!out->v || !out->at)
        return false;
    for (size_t i = 0; i < fixed; i++) {
        out->at[out->len] = entrypoint->at[i + 1];
        out->v[out->len++] = entrypoint->v[i + 1];
    }
    for (size_t i = 0; i < tail->len; i++) {
        out->at[out->len] = tail->at[i];
        out->v[out->len++] = tail->v[i];
    }
    out->set = out->len > 0;
    return true;
}

bool sbx_flatten_launch(struct sbx_artifact *a)
{
    const struct sbx_launch *l = &a->launch;

    if (l->entrypoint.len)
        a->binary = l->entrypoint.v[0];
    return join(a->arena, &l->entrypoint, &l->noninteractive, &a->run_options) &&
           join(a->arena, &l->entrypoint,
                l->interactive.set ? &l->interactive : &l->noninteractive,
                &a->interactive_options);
}

static void not_applied(struct sbx_decoder *d, struct sbx_artifact *a, struct sbx_pos pos,
                        const char *path, const char *text)
{
    sbx_decode_warn(d, a, "not-applied", pos, path, NULL, text, text);
}

void sbx_decode_not_applied(struct sbx_decoder *d, const struct sbx_yaml_node *root,
                            struct sbx_artifact *a)
{
    bool mixin = a->kind && !strcmp(a->kind, "mixin");

    if (a->build.set && a->image && *a->image)
        not_applied(d, a, a->build.at.pos, "sandbox.build",
                    "sandbox.build is accepted in the schema but not yet implemented; "
                    "sandbox.image is used");
    if (a->mixins.len && (mixin || !d->for_use))
        not_applied(d, a, sbx_decode_pos(root, "mixins"), "mixins",
                    mixin ? "mixins is accepted in the schema, but only a sandbox kit's are ever "
                            "applied"
                          : "mixins is accepted in the schema, and applied when a sandbox is made");
    if (mixin && a->ai_filename && *a->ai_filename) {
        not_applied(d, a, sbx_decode_pos(root, "agentInstructions.filename"),
                    "agentInstructions.filename",
                    "agentInstructions.filename is ignored: the file belongs to the sandbox kit");
        a->ai_filename = NULL;
    }
}
