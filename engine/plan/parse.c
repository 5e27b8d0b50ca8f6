/* A plan back from its JSON: what `start` works with. */
#include "sbx/plan.h"

#include "keys.h"
#include "sbx/json.h"

#include <stdio.h>
#include <string.h>

struct reader {
    struct sbx_arena *arena;
    const char *blobs;
    bool bad, no_memory;
};

static const char *keep(struct reader *r, const char *text)
{
    const char *copy = sbx_arena_strdup(r->arena, text);

    r->no_memory |= text && !copy;
    return copy;
}

static const char *str(struct reader *r, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    r->bad |= v && !json_is_string(v);
    return keep(r, json_string_value(v));
}

/* A string that must be there; "" after `bad` was set. */
static const char *must(struct reader *r, const json_t *o, const char *key)
{
    const char *text = str(r, o, key);

    r->bad |= !text;
    return text ? text : "";
}

static int64_t integer(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static bool truth(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

static unsigned octal(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text ? (unsigned)strtoul(text, NULL, 8) & 07777 : 0;
}

static const char *const *strs(struct reader *r, const json_t *o, const char *key)
{
    const json_t *list = json_object_get(o, key);
    size_t n = json_array_size(list);
    const char **v = sbx_arena_array(r->arena, n + 1, sizeof(*v));

    for (size_t i = 0; v && i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));

        r->bad |= !text;
        v[i] = keep(r, text ? text : "");
    }
    r->no_memory |= !v;
    return v;
}

static int name_index(const char *text, const char *const *names, size_t n)
{
    for (size_t i = 0; text && i < n; i++)
        if (!strcmp(text, names[i]))
            return (int)i;
    return -1;
}

static void read_file(struct reader *r, const json_t *o, void *out)
{
    struct sbx_plan_file *f = out;
    const char *owner = json_string_value(json_object_get(o, "owner"));

    f->path = must(r, o, "path");
    f->mode = octal(o, "mode");
    if (!owner || sscanf(owner, "%d:%d", &f->uid, &f->gid) != 2)
        r->bad = true;
    f->only_if_missing = truth(o, "onlyIfMissing");
    f->mounted = truth(o, "mounted");
    f->generated = str(r, o, "generated");
    f->kit = str(r, o, "kit");
    f->at = str(r, o, "at");
    f->digest = str(r, o, "digest");
    f->size = (size_t)integer(o, "size");
    if (!f->digest || !f->size)
        return;
    r->bad |= !sbx_digest_valid(f->digest);
    f->source = sbx_arena_printf(r->arena, "%s/%s", r->blobs, f->digest + strlen("sha256:"));
    r->no_memory |= !f->source;
}

/* A list of structs of `size` bytes; *n counts them. */
static void *list(struct reader *r, const json_t *o, const char *key, size_t size, size_t *n,
                  void (*one)(struct reader *, const json_t *, void *))
{
    const json_t *from = json_object_get(o, key);
    size_t len = json_array_size(from);
    char *v = sbx_arena_array(r->arena, len ? len : 1, size);

    r->no_memory |= !v;
    for (size_t i = 0; v && i < len; i++)
        one(r, json_array_get(from, i), v + i * size);
    *n = v ? len : 0;
    return v;
}

static void read_step(struct reader *r, const json_t *o, void *out)
{
    struct sbx_plan_step *s = out;
    const json_t *when = json_object_get(o, "when");
    const char *phase = must(r, o, "phase");
    unsigned i = 0;

    while (i < SBX_PHASE_COUNT && strcmp(phase, sbx_phase_name(i)))
        i++;
    r->bad |= i == SBX_PHASE_COUNT;
    s->phase = i;
    for (size_t k = 0; k < json_array_size(when); k++) {
        int bit = name_index(json_string_value(json_array_get(when, k)), sbx_when_names, 3);

        r->bad |= bit < 0;
        s->when |= bit < 0 ? 0 : 1U << bit;
    }
    s->id = must(r, o, "id");
    s->kit = str(r, o, "kit");
    s->at = str(r, o, "at");
    s->description = str(r, o, "description");
    s->user = str(r, o, "user");
    s->background = truth(o, "background");
    s->number = (unsigned)integer(o, "number");
    s->argv = json_object_get(o, "command") ? strs(r, o, "command") : NULL;
    s->files = list(r, o, "files", sizeof(*s->files), &s->n_files, read_file);
    r->bad |= s->phase == SBX_PHASE_STARTUP && (s->n_files != 1 || !s->kit || !s->user);
    r->bad |= s->phase == SBX_PHASE_INSTALL && (!s->argv || !s->kit || !s->user);
}

static void read_env(struct reader *r, const json_t *o, void *out)
{
    struct sbx_plan_env *e = out;

    e->name = must(r, o, "name");
    e->value = must(r, o, "value");
    e->origin = must(r, o, "origin");
    e->weak = truth(o, "weak");
}

static void read_mount(struct reader *r, const json_t *o, void *out)
{
    struct sbx_plan_mount *m = out;
    int kind = name_index(json_string_value(json_object_get(o, "kind")), sbx_mount_names, 3);

    r->bad |= kind < 0;
    m->kind = kind < 0 ? SBX_PLAN_TMPFS : (enum sbx_plan_mount_kind)kind;
    m->source = str(r, o, "source");
    m->target = must(r, o, "target");
    m->read_only = truth(o, "readOnly");
    m->noexec = truth(o, "noexec");
    m->size = integer(o, "size");
    m->mode = octal(o, "mode");
    m->uid = (int)integer(o, "uid");
    m->kit = str(r, o, "kit");
    m->at = str(r, o, "at");
    r->bad |= m->kind != SBX_PLAN_TMPFS && !m->source;
}

static void read_port(struct reader *r, const json_t *o, void *out)
{
    struct sbx_plan_port *p = out;

    p->container = (int)integer(o, "container");
    p->protocol = must(r, o, "protocol");
    p->name = str(r, o, "name");
    p->kit = str(r, o, "kit");
}

static void read_rule(struct reader *r, const json_t *o, void *out)
{
    struct sbx_plan_rule *rule = out;

    rule->decision = strcmp(must(r, o, "decision"), "allow") ? SBX_DENY : SBX_ALLOW;
    rule->pattern = must(r, o, "pattern");
    rule->id = must(r, o, "id");
    rule->kit = must(r, o, "kit");
    rule->at = str(r, o, "at");
    rule->needs_consent = truth(o, "needsConsent");
    rule->consented = truth(o, "consented");
    rule->kit_digest = str(r, o, "kitDigest");
    rule->inert = str(r, o, "inert");
}

static void read_kit(struct reader *r, const json_t *o, void *out)
{
    struct sbx_kit_ref *k = out;

    k->name = must(r, o, "name");
    k->kind = must(r, o, "kind");
    k->reference = str(r, o, "reference");
    k->digest = str(r, o, "digest");
}

#define LIST(p, o, key, field, one)                                                                \
    (p)->field = list(r, o, key, sizeof(*(p)->field), &(p)->n_##field, one)

static void read_plan(struct reader *r, const json_t *o, struct sbx_plan *p)
{
    const json_t *c = json_object_get(o, "container"), *l = json_object_get(o, "launch");

    p->name = must(r, o, "name");
    p->app = must(r, o, "app");
    p->agent = must(r, o, "agent");
    p->image = must(r, c, "image");
    p->hostname = must(r, c, "hostname");
    p->workdir = must(r, c, "workdir");
    p->cpus = json_number_value(json_object_get(c, "cpus"));
    p->memory = integer(c, "memory");
    p->gpu = str(r, c, "gpu");
    p->privileged = truth(c, "privileged");
    p->userns = truth(c, "userNamespaces");
    LIST(p, c, "environment", env, read_env);
    LIST(p, c, "mounts", mounts, read_mount);
    LIST(p, o, "ports", ports, read_port);
    LIST(p, o, "rules", rules, read_rule);
    LIST(p, o, "kits", kits, read_kit);
    LIST(p, o, "steps", steps, read_step);
    p->services = strs(r, o, "services");
    p->entrypoint = strs(r, l, "entrypoint");
    p->interactive = strs(r, l, "interactive");
    p->noninteractive = strs(r, l, "noninteractive");
}

enum sbx_code sbx_plan_parse(const json_t *json, const char *blobs, struct sbx_plan **ret,
                             struct sbx_err *err)
{
    struct sbx_arena *arena = sbx_arena_new();
    struct reader r = { .arena = arena, .blobs = blobs };
    struct sbx_plan *p = arena ? sbx_arena_alloc(arena, sizeof(*p)) : NULL;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_PLAN_JSON_MAX);

    if (!p) {
        sbx_arena_free(arena);
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    p->arena = arena;
    if (!json_is_object(json) || integer(json, "version") != SBX_PLAN_VERSION)
        r.bad = true;
    else
        read_plan(&r, json, p);
    if (!r.bad && !r.no_memory &&
        (sbx_json_canonical(json, &text) || sbx_digest(text.ptr, text.len, p->digest)))
        r.no_memory = true;
    if (r.bad || r.no_memory) {
        sbx_plan_free(p);
        return r.no_memory
                   ? sbx_err_set(err, SBX_NO_MEMORY, "out of memory")
                   : sbx_err_set(err, SBX_SCHEMA, "not a plan of version %d", SBX_PLAN_VERSION);
    }
    *ret = p;
    return SBX_OK;
}
