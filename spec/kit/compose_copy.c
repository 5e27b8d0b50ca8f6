/* Deep copies: a composed artifact outlives the kits that it was made of. */
#include <string.h>

#include "compose.h"

const char *sbx_copy_text(struct sbx_composer *c, const char *text)
{
    const char *copy = sbx_arena_strdup(c->out->arena, text);

    if (text && !copy)
        c->no_memory = true;
    return copy;
}

void *sbx_copy_array(struct sbx_composer *c, size_t n, size_t size)
{
    void *v = n ? sbx_arena_array(c->out->arena, n, size) : NULL;

    if (n && !v)
        c->no_memory = true;
    return v;
}

struct sbx_origin sbx_copy_origin(struct sbx_composer *c, struct sbx_origin at)
{
    struct sbx_origin copy = at;

    if (at.pos.file && at.pos.file == c->file_from) {
        copy.pos.file = c->file_to;
    } else if (at.pos.file) {
        c->file_from = at.pos.file;
        c->file_to = copy.pos.file = sbx_copy_text(c, at.pos.file);
    }
    copy.kit = NULL;
    for (size_t i = 0; at.kit && i < c->out->kits.len && !copy.kit; i++)
        if (!strcmp(at.kit, c->out->kits.v[i].name))
            copy.kit = c->out->kits.v[i].name;
    if (at.kit && !copy.kit) /* an origin from before extends */
        copy.kit = sbx_copy_text(c, at.kit);
    return copy;
}

struct sbx_strs sbx_copy_strs(struct sbx_composer *c, const struct sbx_strs *from)
{
    struct sbx_strs to = { .set = from->set };

    to.v = sbx_copy_array(c, from->len, sizeof(*to.v));
    to.at = from->at ? sbx_copy_array(c, from->len, sizeof(*to.at)) : NULL;
    if (c->no_memory)
        return to;
    to.len = from->len;
    for (size_t i = 0; i < from->len; i++) {
        to.v[i] = sbx_copy_text(c, from->v[i]);
        if (from->at)
            to.at[i] = sbx_copy_origin(c, from->at[i]);
    }
    return to;
}

struct sbx_pairs sbx_copy_pairs(struct sbx_composer *c, const struct sbx_pairs *from)
{
    struct sbx_pairs to = { .set = from->set };

    to.v = sbx_copy_array(c, from->len, sizeof(*to.v));
    if (c->no_memory)
        return to;
    to.len = from->len;
    for (size_t i = 0; i < from->len; i++)
        to.v[i] = (struct sbx_pair){ sbx_copy_text(c, from->v[i].name),
                                     sbx_copy_text(c, from->v[i].value),
                                     sbx_copy_origin(c, from->v[i].at) };
    return to;
}

static struct sbx_inject copy_inject(struct sbx_composer *c, const struct sbx_inject *from)
{
    return (struct sbx_inject){
        .at = sbx_copy_origin(c, from->at),
        .domain = sbx_copy_text(c, from->domain),
        .header = sbx_copy_text(c, from->header),
        .format = sbx_copy_text(c, from->format),
        .username = sbx_copy_text(c, from->username),
        .scheme = sbx_copy_text(c, from->scheme),
    };
}

static struct sbx_api_key copy_api_key(struct sbx_composer *c, const struct sbx_api_key *from)
{
    struct sbx_api_key to = *from;

    to.at = sbx_copy_origin(c, from->at);
    to.name = sbx_copy_text(c, from->name);
    to.inject.v = sbx_copy_array(c, from->inject.len, sizeof(*to.inject.v));
    for (size_t i = 0; i < from->inject.len && !c->no_memory; i++)
        to.inject.v[i] = copy_inject(c, &from->inject.v[i]);
    return to;
}

static json_t *copy_json(struct sbx_composer *c, json_t *from)
{
    json_t *copy = from ? json_deep_copy(from) : NULL;

    if (from && (!copy || sbx_arena_defer(c->out->arena, (void (*)(void *))json_decref, copy))) {
        json_decref(copy);
        c->no_memory = true;
        return NULL;
    }
    return copy;
}

static struct sbx_oauth copy_oauth(struct sbx_composer *c, const struct sbx_oauth *from)
{
    struct sbx_oauth to = *from;
    const char **const texts[] = {
        &to.token_host, &to.token_path, &to.sentinel_access, &to.sentinel_refresh, &to.file_path,
        &to.file_template, &to.field_access, &to.field_refresh, &to.field_expires, &to.field_scope,
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(texts); i++)
        *texts[i] = sbx_copy_text(c, *texts[i]);
    to.at = sbx_copy_origin(c, from->at);
    to.resource_hosts = sbx_copy_strs(c, &from->resource_hosts);
    to.skip_if_env = sbx_copy_strs(c, &from->skip_if_env);
    to.file_structure = copy_json(c, from->file_structure);
    return to;
}

struct sbx_credential sbx_copy_credential(struct sbx_composer *c, const struct sbx_credential *from)
{
    struct sbx_credential to = *from;

    to.at = sbx_copy_origin(c, from->at);
    to.service = sbx_copy_text(c, from->service);
    to.description = sbx_copy_text(c, from->description);
    to.provider = sbx_copy_text(c, from->provider);
    to.api_key = copy_api_key(c, &from->api_key);
    to.oauth = copy_oauth(c, &from->oauth);
    return to;
}

struct sbx_volume sbx_copy_volume(struct sbx_composer *c, const struct sbx_volume *from)
{
    return (struct sbx_volume){
        .at = sbx_copy_origin(c, from->at),
        .path = sbx_copy_text(c, from->path),
        .type = sbx_copy_text(c, from->type),
        .size = sbx_copy_text(c, from->size),
        .mode = sbx_copy_text(c, from->mode),
    };
}

/* Bytes of a built-in kit are the program's and stay; others are the kit's. */
struct sbx_static_file sbx_copy_file(struct sbx_composer *c, const struct sbx_static_file *from)
{
    struct sbx_static_file to = *from;

    to.at = sbx_copy_origin(c, from->at);
    to.path = sbx_copy_text(c, from->path);
    to.source = sbx_copy_text(c, from->source);
    if (!from->data || from->borrowed)
        return to;
    to.data = sbx_arena_memdup(c->out->arena, from->data, from->size);
    if (!to.data)
        c->no_memory = true;
    return to;
}
