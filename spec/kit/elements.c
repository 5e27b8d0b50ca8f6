/* An artifact as a flat list of elements with their places: for provenance and for `locked`. */
#include <jansson.h>
#include <string.h>

#include "args.h"
#include "decode.h"
#include "sbx/json.h"

struct lister {
    const struct sbx_artifact *a;
    struct sbx_arena *arena;
    struct sbx_element *v;
    size_t len, cap;
    bool no_memory;
};

/* `names` and those of "channel, version" that it has not yet. */
static const char *add_names(struct lister *l, const char *names, const char *more)
{
    while (*more) {
        size_t n = strcspn(more, ",");

        names = sbx_args_names_add(l->arena, names, more, n);
        l->no_memory |= !names;
        more += n + strspn(more + n, ", ");
    }
    return names;
}

/* Arguments whose values stand between the element's first and last byte. */
static const char *args_within(struct lister *l, struct sbx_pos pos)
{
    const struct sbx_substitution *s = l->a->substitution;
    const char *names = NULL;

    for (size_t i = 0; s && pos.file && i < s->n_uses; i++) {
        const struct sbx_pos *use = &s->uses[i].pos;

        if (!use->file || strcmp(use->file, pos.file))
            continue;
        if (pos.line && (use->from < pos.from || use->from >= pos.to))
            continue;
        names = add_names(l, names, s->uses[i].names);
    }
    return names;
}

static struct sbx_element *add(struct lister *l, struct sbx_origin at, const char *path,
                               const char *value)
{
    if (l->len == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        struct sbx_element *v = sbx_arena_array(l->arena, cap, sizeof(*v));

        if (v && l->len)
            memcpy(v, l->v, l->len * sizeof(*v));
        if (v) {
            l->v = v;
            l->cap = cap;
        }
    }
    if (l->len == l->cap || !path || !value) {
        l->no_memory = true;
        return NULL;
    }
    l->v[l->len] = (struct sbx_element){ path, value, at, args_within(l, at.pos), false };
    return &l->v[l->len++];
}

/* Of a list that is concatenated. */
static void append(struct lister *l, struct sbx_origin at, const char *path, const char *value)
{
    struct sbx_element *e = add(l, at, path, value);

    if (e)
        e->adds = true;
}

static struct sbx_origin place_of(const struct lister *l, const void *field)
{
    const struct sbx_places *p = l->a->places;

    for (size_t i = 0; p && i < p->len; i++)
        if (p->v[i].field == field)
            return (struct sbx_origin){ p->v[i].kit, p->v[i].pos };
    return (struct sbx_origin){ l->a->at.kit, { .file = l->a->at.pos.file } };
}

static void text(struct lister *l, const char *path, const char *const *field)
{
    if (*field && **field)
        add(l, place_of(l, field), path, *field);
}

static const char *dump(struct lister *l, json_t *value)
{
    SBX_AUTO_FREE char *out = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

    json_decref(value);
    return out ? sbx_arena_strdup(l->arena, out) : NULL;
}

static const char *dump_list(struct lister *l, const struct sbx_strs *list)
{
    json_t *array = json_array();

    for (size_t i = 0; i < list->len; i++)
        json_array_append_new(array, json_string(list->v[i]));
    return dump(l, array);
}

static void whole_list(struct lister *l, const char *path, const struct sbx_strs *list,
                       const void *place)
{
    struct sbx_origin at = list->len && list->at ? list->at[0] : place_of(l, place);

    if (list->len && list->at && list->at[list->len - 1].pos.to > at.pos.to)
        at.pos.to = list->at[list->len - 1].pos.to; /* arguments may stand in any of the items */
    if (list->set)
        add(l, at, path, dump_list(l, list));
}

static void items(struct lister *l, const char *path, const struct sbx_strs *list)
{
    for (size_t i = 0; i < list->len; i++)
        add(l, list->at ? list->at[i] : l->a->at, path, list->v[i]);
}

/* A block as its JSON, which sbx_artifact_json() prints for an artifact that has nothing else. */
static const char *section(struct lister *l, const struct sbx_artifact *only, const char *key)
{
    SBX_AUTO_JSON json_t *all = sbx_artifact_json(only);
    json_t *value = json_object_get(all, key);

    return value ? dump(l, json_incref(json_array_get(value, 0))) : NULL;
}

static void list_manifest(struct lister *l)
{
    const struct sbx_artifact *a = l->a;

    text(l, "schemaVersion", &a->schema_version);
    text(l, "kind", &a->kind);
    text(l, "name", &a->name);
    text(l, "version", &a->version);
    text(l, "displayName", &a->display_name);
    text(l, "description", &a->description);
    text(l, "sourceURL", &a->source_url);
    if (a->extends && *a->extends)
        add(l, a->extends_at, "extends", a->extends);
    items(l, "mixins", &a->mixins);
    text(l, "requires.agent", &a->requires_agent);
    items(l, "licenses", &a->licenses);
    items(l, "locked", &a->locked);
}

static void list_sandbox(struct lister *l)
{
    const struct sbx_artifact *a = l->a;
    const struct sbx_resources *r = &a->resources;

    text(l, "sandbox.image", &a->image);
    if (a->build.set)
        add(l, a->build.at, "sandbox.build", a->build.dockerfile ? a->build.dockerfile : ".");
    whole_list(l, "sandbox.entrypoint", &a->launch.entrypoint, &a->launch.entrypoint);
    whole_list(l, "sandbox.command.default", &a->launch.noninteractive, &a->launch);
    whole_list(l, "sandbox.command.interactive", &a->launch.interactive, &a->launch);
    if (r->cpu_set)
        add(l, place_of(l, &r->cpu), "sandbox.resources.cpu",
            sbx_arena_printf(l->arena, "%g", r->cpu));
    text(l, "sandbox.resources.memory", &r->memory);
    text(l, "sandbox.resources.gpu", &r->gpu);
    text(l, "agentInstructions.filename", &a->ai_filename);
    if (a->agent_context)
        add(l, a->agent_context_at, "agentInstructions.content", a->agent_context);
}

static void list_access(struct lister *l)
{
    const struct sbx_artifact *a = l->a;

    items(l, "permissions.network.allow", &a->allow);
    items(l, "permissions.network.deny", &a->deny);
    if (a->privileged)
        add(l, place_of(l, &a->privileged), "security.privileged", "true");
    for (size_t i = 0; i < a->credentials.len; i++) {
        const struct sbx_credential *c = &a->credentials.v[i];
        struct sbx_artifact one = { .credentials = { &a->credentials.v[i], 1, true } };

        add(l, c->at, sbx_arena_printf(l->arena, "credentials[service=%s]", c->service),
            section(l, &one, "credentials"));
    }
}

static void list_container(struct lister *l)
{
    const struct sbx_artifact *a = l->a;

    for (size_t i = 0; i < a->volumes.len; i++) {
        const struct sbx_volume *v = &a->volumes.v[i];

        add(l, v->at, sbx_arena_printf(l->arena, "volumes[path=%s]", v->path),
            sbx_arena_printf(l->arena, "%s%s%s%s%s", v->type && *v->type ? v->type : "volume",
                             v->size ? " size=" : "", v->size ? v->size : "",
                             v->mode ? " mode=" : "", v->mode ? v->mode : ""));
    }
    for (size_t i = 0; i < a->ports.len; i++) {
        const struct sbx_port *p = &a->ports.v[i];

        add(l, p->at, sbx_arena_printf(l->arena, "ports[container=%d]", p->container),
            sbx_arena_printf(l->arena, "%s%s%s",
                             p->protocol && *p->protocol ? p->protocol : "tcp", p->name ? " " : "",
                             p->name ? p->name : ""));
    }
    for (size_t i = 0; i < a->variables.len; i++)
        add(l, a->variables.v[i].at,
            sbx_arena_printf(l->arena, "environment.variables.%s", a->variables.v[i].name),
            a->variables.v[i].value);
}

static void list_setup(struct lister *l)
{
    const struct sbx_artifact *a = l->a;

    for (size_t i = 0; i < a->install.len; i++)
        append(l, a->install.v[i].at, sbx_arena_printf(l->arena, "setup.install[%zu]", i),
               a->install.v[i].command);
    for (size_t i = 0; i < a->startup.len; i++)
        append(l, a->startup.v[i].at, sbx_arena_printf(l->arena, "setup.startup[%zu]", i),
               dump_list(l, &a->startup.v[i].command));
    for (size_t i = 0; i < a->setup_files.len; i++)
        append(l, a->setup_files.v[i].at, sbx_arena_printf(l->arena, "setup.files[%zu]", i),
               a->setup_files.v[i].path);
    for (size_t i = 0; i < a->files.len; i++) {
        const struct sbx_static_file *f = &a->files.v[i];

        add(l, f->at,
            sbx_arena_printf(l->arena, "files/%s/%s",
                             f->target == SBX_TARGET_HOME ? "home" : "workspace", f->path),
            sbx_arena_printf(l->arena, "%zu bytes", f->size));
    }
}

enum sbx_code sbx_artifact_elements(const struct sbx_artifact *a, struct sbx_arena *arena,
                                    struct sbx_element **ret, size_t *ret_n)
{
    struct lister l = { .a = a, .arena = arena };

    list_manifest(&l);
    list_sandbox(&l);
    list_access(&l);
    list_container(&l);
    list_setup(&l);
    if (l.no_memory)
        return SBX_NO_MEMORY;
    *ret = l.v;
    *ret_n = l.len;
    return SBX_OK;
}
