#include <string.h>

#include "custom.h"

static const char *text_of(struct sbx_decoder *d, const struct sbx_field *f,
                           const struct sbx_yaml_node *n)
{
    const char *text = sbx_yaml_string(d->arena, n);

    if (!text)
        sbx_decode_type_error(d, n, f->want ? f->want : "a string");
    return text;
}

void sbx_custom_version(struct sbx_decoder *d, const struct sbx_field *f,
                        const struct sbx_yaml_node *n, void *base)
{
    struct sbx_artifact *a = base;

    a->schema_version = text_of(d, f, n);
    if (n->type == SBX_YAML_INT)
        sbx_decode_report(d, SBX_WARNING, "loose-type", n->pos, "write \"2\" in quotes",
                          "the version is a string, not a number (%s)", n->text);
    sbx_decode_place(d, &a->schema_version, n->pos);
}

void sbx_custom_extends(struct sbx_decoder *d, const struct sbx_field *f,
                        const struct sbx_yaml_node *n, void *base)
{
    struct sbx_artifact *a = base;

    a->extends = text_of(d, f, n);
    a->extends_at = sbx_decode_origin(d, n);
}

void sbx_custom_context(struct sbx_decoder *d, const struct sbx_field *f,
                        const struct sbx_yaml_node *n, void *base)
{
    struct sbx_artifact *a = base;

    a->agent_context = text_of(d, f, n);
    a->agent_context_at = sbx_decode_origin(d, n);
}

/* A list is short for {default: list}. */
void sbx_custom_command(struct sbx_decoder *d, const struct sbx_field *f,
                        const struct sbx_yaml_node *n, void *base)
{
    struct sbx_artifact *a = base;

    if (n->kind == SBX_YAML_SEQUENCE)
        sbx_decode_strings(d, f, n, &a->launch.noninteractive);
    else if (n->kind == SBX_YAML_MAPPING)
        sbx_decode_block(d, f->block, n, &a->launch);
    else
        sbx_decode_type_error(d, n, f->want);
}

void sbx_custom_structure(struct sbx_decoder *d, const struct sbx_field *f,
                          const struct sbx_yaml_node *n, void *base)
{
    struct sbx_oauth *o = base;
    struct sbx_err err = SBX_ERR_INIT;
    json_t *value = NULL;
    enum sbx_code rc;

    if (n->kind != SBX_YAML_MAPPING) {
        sbx_decode_type_error(d, n, f->want);
        return;
    }
    if (n->broken)
        return;
    rc = sbx_yaml_json(d->arena, n, &value, &err);
    if (rc == SBX_NO_MEMORY || (!rc && sbx_arena_defer(d->arena, (void (*)(void *))json_decref, value))) {
        json_decref(value);
        d->no_memory = true;
    } else if (rc) {
        err.at.file = n->pos.file;
        sbx_decode_report(d, SBX_ERROR, "wrong-type", err.at, NULL, "%s", err.text);
    } else {
        o->file_structure = value;
    }
}

/* "text" is short for [sh, -c, text]. */
void sbx_custom_startup(struct sbx_decoder *d, const struct sbx_field *f,
                        const struct sbx_yaml_node *n, void *base)
{
    struct sbx_startup *s = base;
    static const char *const shell[] = { "sh", "-c" };

    sbx_decode_place(d, &s->command, n->pos);
    if (n->kind != SBX_YAML_SCALAR) {
        sbx_decode_strings(d, f, n, &s->command);
        return;
    }
    s->command.v = sbx_decode_alloc(d, 3, sizeof(*s->command.v));
    s->command.at = sbx_decode_alloc(d, 3, sizeof(*s->command.at));
    if (!s->command.v || !s->command.at)
        return;
    s->command.set = true;
    s->command.v[0] = shell[0];
    s->command.v[1] = shell[1];
    s->command.v[2] = text_of(d, f, n);
    for (size_t i = 0; i < 3; i++)
        s->command.at[i] = sbx_decode_origin(d, n);
    if (s->command.v[2] && *s->command.v[2])
        s->command.len = 3;
}

static struct sbx_pos pos_of_key(const struct sbx_yaml_node *map, const char *key)
{
    const struct sbx_yaml_node *n = sbx_yaml_get(map, key);

    return n ? n->pos : map->pos;
}

static void inject_error(struct sbx_decoder *d, const struct sbx_yaml_node *n, const char *key,
                         const char *hint, const char *text)
{
    size_t mark = sbx_decode_enter(d, key);

    sbx_decode_report(d, SBX_ERROR, "bad-scheme", pos_of_key(n, key), hint, "%s", text);
    sbx_decode_leave(d, mark);
}

/* `scheme` is sugar: expand it, so that everyone else reads header, format and username only. */
void sbx_finish_inject(struct sbx_decoder *d, const struct sbx_yaml_node *n, void *base)
{
    struct sbx_inject *i = base;
    bool bearer, basic, user = i->username && *i->username;

    if (!i->scheme || !*i->scheme)
        return;
    bearer = !strcmp(i->scheme, "bearer");
    basic = !strcmp(i->scheme, "basic");
    if (!bearer && !basic) {
        inject_error(d, n, "scheme", "write bearer or basic, or header and format",
                     "unknown scheme");
        return;
    }
    if (i->format && *i->format)
        inject_error(d, n, "format", "remove scheme or format", "scheme and format exclude each other");
    if (bearer && user)
        inject_error(d, n, "username", "remove it", "scheme bearer takes no username");
    if (basic && !user)
        inject_error(d, n, "scheme", "add username", "scheme basic needs a username");
    if (bearer && (!i->header || !*i->header))
        i->header = "Authorization";
    i->format = bearer ? "Bearer %s" : "%s";
}

void sbx_finish_resources(struct sbx_decoder *d, const struct sbx_yaml_node *n, void *base)
{
    struct sbx_resources *r = base;
    int64_t bytes;

    (void)d;
    (void)n;
    if (r->memory && sbx_size_parse(r->memory, &bytes))
        r->memory_mb = bytes >> 20;
}
