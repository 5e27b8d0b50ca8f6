/* The plan as JSON. Absent things are absent, not null, so that equal plans are equal bytes. */
#include "sbx/plan.h"

#include "keys.h"
#include "sbx/json.h"

#include <string.h>

static bool put(json_t *o, const char *key, json_t *value)
{
    return !json_object_set_new(o, key, value);
}

static bool put_str(json_t *o, const char *key, const char *value)
{
    return !value || put(o, key, json_string(value));
}

static bool put_true(json_t *o, const char *key, bool value)
{
    return !value || put(o, key, json_true());
}

static bool put_int(json_t *o, const char *key, int64_t value)
{
    return !value || put(o, key, json_integer(value));
}

static bool put_strs(json_t *o, const char *key, const char *const *v)
{
    return put(o, key, sbx_json_strings(v));
}

static bool put_mode(json_t *o, const char *key, unsigned mode)
{
    return put(o, key, json_sprintf("%04o", mode));
}

static json_t *file_json(const struct sbx_plan_file *f)
{
    json_t *o = json_object();
    bool ok = put_str(o, "path", f->path) && put_mode(o, "mode", f->mode) &&
              put(o, "owner", json_sprintf("%d:%d", f->uid, f->gid)) &&
              put_true(o, "onlyIfMissing", f->only_if_missing) &&
              put_true(o, "mounted", f->mounted) && put_str(o, "generated", f->generated) &&
              put_str(o, "kit", f->kit) && put_str(o, "at", f->at) &&
              put_str(o, "digest", f->digest) &&
              (!f->digest || put(o, "size", json_integer((json_int_t)f->size)));

    if (ok)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *when_json(unsigned when)
{
    json_t *list = json_array();

    for (size_t i = 0; i < SBX_ARRAY_LEN(sbx_when_names); i++)
        if (when & 1U << i && json_array_append_new(list, json_string(sbx_when_names[i]))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static bool put_files(json_t *o, const struct sbx_plan_step *s)
{
    json_t *list = json_array();

    if (!s->n_files)
        return json_decref(list), true;
    for (size_t i = 0; i < s->n_files; i++)
        if (json_array_append_new(list, file_json(&s->files[i])))
            return json_decref(list), false;
    return put(o, "files", list);
}

static json_t *step_json(const struct sbx_plan_step *s)
{
    json_t *o = json_object();
    bool ok = put_str(o, "id", s->id) && put_str(o, "phase", sbx_phase_name(s->phase)) &&
              put(o, "when", when_json(s->when)) && put_str(o, "kit", s->kit) &&
              put_str(o, "at", s->at) &&
              put_str(o, "description",
                      s->description && *s->description ? s->description : NULL) &&
              put_str(o, "user", s->user) && put_true(o, "background", s->background) &&
              put_int(o, "number", s->number) && (!s->argv || put_strs(o, "command", s->argv)) &&
              put_files(o, s);

    if (ok)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *env_json(const struct sbx_plan_env *e)
{
    json_t *o = json_pack("{s:s, s:s, s:s}", "name", e->name, "value", e->value, "origin",
                          e->origin);

    if (o && put_true(o, "weak", e->weak))
        return o;
    json_decref(o);
    return NULL;
}

static json_t *mount_json(const struct sbx_plan_mount *m)
{
    json_t *o = json_object();
    bool ok = put_str(o, "kind", sbx_mount_names[m->kind]) && put_str(o, "source", m->source) &&
              put_str(o, "target", m->target) && put_true(o, "readOnly", m->read_only) &&
              put_true(o, "noexec", m->noexec) && put_int(o, "size", m->size) &&
              (!m->mode || put_mode(o, "mode", m->mode)) && put_int(o, "uid", m->uid) &&
              put_str(o, "kit", m->kit) && put_str(o, "at", m->at);

    if (ok)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *port_json(const struct sbx_plan_port *p)
{
    return json_pack("{s:i, s:s, s:s*, s:s*}", "container", p->container, "protocol", p->protocol,
                     "name", p->name, "kit", p->kit);
}

static json_t *rule_json(const struct sbx_plan_rule *r)
{
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s*}", "decision",
                          r->decision == SBX_ALLOW ? "allow" : "deny", "pattern", r->pattern, "id",
                          r->id, "kit", r->kit, "at", r->at);

    if (o && put_true(o, "needsConsent", r->needs_consent) &&
        put_true(o, "consented", r->consented) && put_str(o, "kitDigest", r->kit_digest) &&
        put_str(o, "inert", r->inert))
        return o;
    json_decref(o);
    return NULL;
}

static json_t *kit_json(const struct sbx_kit_ref *k)
{
    return json_pack("{s:s, s:s, s:s*, s:s*}", "name", k->name, "kind", k->kind, "reference",
                     k->reference, "digest", k->digest);
}

/* A list of `n` structs of `size` bytes, each turned by `one`. */
static json_t *list_json(const void *v, size_t n, size_t size, json_t *(*one)(const void *))
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, one((const char *)v + i * size))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

#define WRAP(name, type)                                                                           \
    static json_t *name##_any(const void *p) { return name(p); }                                   \
    struct sbx_semicolon
WRAP(env_json, sbx_plan_env);
WRAP(mount_json, sbx_plan_mount);
WRAP(port_json, sbx_plan_port);
WRAP(rule_json, sbx_plan_rule);
WRAP(kit_json, sbx_kit_ref);
WRAP(step_json, sbx_plan_step);
#define LIST(v, n, one) list_json(v, n, sizeof(*(v)), one##_any)

static bool put_container(json_t *o, const struct sbx_plan *p)
{
    json_t *c = json_object();
    bool ok = put_str(c, "image", p->image) && put_str(c, "hostname", p->hostname) &&
              put_str(c, "workdir", p->workdir) &&
              (p->cpus <= 0 || put(c, "cpus", json_real(p->cpus))) &&
              put_int(c, "memory", p->memory) && put_str(c, "gpu", p->gpu) &&
              put_true(c, "privileged", p->privileged) &&
              put_true(c, "userNamespaces", p->userns) &&
              put(c, "mounts", LIST(p->mounts, p->n_mounts, mount_json)) &&
              put(c, "environment", LIST(p->env, p->n_env, env_json));

    if (ok)
        return put(o, "container", c);
    json_decref(c);
    return false;
}

static bool put_launch(json_t *o, const struct sbx_plan *p)
{
    json_t *l = json_object();

    if (put_strs(l, "entrypoint", p->entrypoint) && put_strs(l, "interactive", p->interactive) &&
        put_strs(l, "noninteractive", p->noninteractive))
        return put(o, "launch", l);
    json_decref(l);
    return false;
}

json_t *sbx_plan_json(const struct sbx_plan *p)
{
    json_t *o = json_object();
    bool ok = o && put(o, "version", json_integer(SBX_PLAN_VERSION)) &&
              put_str(o, "name", p->name) && put_str(o, "app", p->app) &&
              put_str(o, "agent", p->agent) && put(o, "kits", LIST(p->kits, p->n_kits, kit_json)) &&
              put_container(o, p) && put(o, "rules", LIST(p->rules, p->n_rules, rule_json)) &&
              put(o, "ports", LIST(p->ports, p->n_ports, port_json)) &&
              put_strs(o, "services", p->services) &&
              put(o, "steps", LIST(p->steps, p->n_steps, step_json)) && put_launch(o, p);

    if (ok)
        return o;
    json_decref(o);
    return NULL;
}
