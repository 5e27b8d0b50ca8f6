/* The artifact in JSON, with the reference's names: a field that is empty is left out, except where
 * the reference always prints it. */
#include <string.h>

#include "json_build.h"
#include "sbx/kit.h"

static void put_text(struct writer *w, json_t *object, const char *key, const char *text)
{
    if (text && *text)
        put(w, object, key, json_string(text));
}

static void put_always(struct writer *w, json_t *object, const char *key, const char *text)
{
    put(w, object, key, json_string(text ? text : ""));
}

static void put_true(struct writer *w, json_t *object, const char *key, bool value)
{
    if (value)
        put(w, object, key, json_true());
}

static json_t *strings(struct writer *w, const struct sbx_strs *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->len; i++)
        add(w, list, json_string(s->v[i]));
    return list;
}

static void put_strings(struct writer *w, json_t *object, const char *key, const struct sbx_strs *s)
{
    if (s->len)
        put(w, object, key, strings(w, s));
}

static void put_pairs(struct writer *w, json_t *object, const char *key, const struct sbx_pairs *p)
{
    json_t *map;

    if (!p->len)
        return;
    map = json_object();
    for (size_t i = 0; i < p->len; i++)
        put_always(w, map, p->v[i].name, p->v[i].value);
    put(w, object, key, map);
}

/* Give an object away as a list item or member, or drop it if nothing is in it. */
static void put_unless_empty(struct writer *w, json_t *object, const char *key, json_t *value)
{
    if (value && !json_object_size(value) && !json_array_size(value))
        json_decref(value);
    else
        put(w, object, key, value);
}

static json_t *build(struct writer *w, const struct sbx_build *b)
{
    json_t *o = json_object();

    put_text(w, o, "context", b->context);
    put_text(w, o, "dockerfile", b->dockerfile);
    put_pairs(w, o, "args", &b->args);
    put_text(w, o, "target", b->target);
    put_strings(w, o, "platforms", &b->platforms);
    return o;
}

static json_t *number(double value)
{
    return value == (double)(json_int_t)value ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *resources(struct writer *w, const struct sbx_resources *r)
{
    json_t *o = json_object();

    if (r->cpu > 0 && r->cpu < 1e15)
        put(w, o, "cpu", number(r->cpu));
    if (r->memory_mb)
        put(w, o, "memoryMB", json_integer(r->memory_mb));
    put_text(w, o, "gpu", r->gpu);
    return o;
}

static json_t *volumes(struct writer *w, const struct sbx_artifact *a)
{
    json_t *list = json_array();

    for (size_t i = 0; i < a->volumes.len; i++) {
        const struct sbx_volume *v = &a->volumes.v[i];
        json_t *o = json_object();

        put_always(w, o, "path", v->path);
        put_text(w, o, "type", v->type);
        put_text(w, o, "size", v->size);
        put_text(w, o, "mode", v->mode);
        add(w, list, o);
    }
    return list;
}

static json_t *manifest(struct writer *w, const struct sbx_artifact *a)
{
    json_t *o = json_object();

    put_always(w, o, "schemaVersion", a->schema_version);
    put_always(w, o, "kind", a->kind);
    put_always(w, o, "name", a->name);
    put_text(w, o, "version", a->version);
    put_text(w, o, "displayName", a->display_name);
    put_text(w, o, "description", a->description);
    put_text(w, o, "sourceURL", a->source_url);
    put_text(w, o, "template", a->image);
    put_text(w, o, "binary", a->binary);
    put_strings(w, o, "runOptions", &a->run_options);
    put_strings(w, o, "interactiveOptions", &a->interactive_options);
    put_text(w, o, "aiFilename", a->ai_filename);
    if (a->build.set)
        put(w, o, "build", build(w, &a->build));
    if (a->resources.set)
        put(w, o, "resources", resources(w, &a->resources));
    if (a->security_set) {
        json_t *security = json_object();

        put_true(w, security, "privileged", a->privileged);
        put(w, o, "security", security);
    }
    put_unless_empty(w, o, "volumes", volumes(w, a));
    return o;
}

static json_t *args(struct writer *w, const struct sbx_artifact *a)
{
    json_t *map = json_object();

    for (size_t i = 0; i < a->args.len; i++) {
        const struct sbx_arg *arg = &a->args.v[i];
        json_t *o = json_object();

        if (arg->default_value)
            put_always(w, o, "default", arg->default_value);
        put_true(w, o, "required", arg->required);
        put_text(w, o, "description", arg->description);
        put_strings(w, o, "enum", &arg->choices);
        put_text(w, o, "pattern", arg->pattern);
        put(w, map, arg->name, o);
    }
    return map;
}

static json_t *ports(struct writer *w, const struct sbx_artifact *a)
{
    json_t *list = json_array();

    for (size_t i = 0; i < a->ports.len; i++) {
        json_t *o = json_object();

        put(w, o, "container", json_integer(a->ports.v[i].container));
        put_text(w, o, "protocol", a->ports.v[i].protocol);
        put_text(w, o, "name", a->ports.v[i].name);
        add(w, list, o);
    }
    return list;
}

static json_t *api_key(struct writer *w, const struct sbx_api_key *k)
{
    json_t *o = json_object(), *list = json_array();

    put_always(w, o, "name", k->name);
    put_true(w, o, "proxyManaged", k->proxy_managed);
    for (size_t i = 0; i < k->inject.len; i++) {
        const struct sbx_inject *in = &k->inject.v[i];
        json_t *row = json_object();

        put_always(w, row, "domain", in->domain);
        put_always(w, row, "header", in->header);
        put_always(w, row, "format", in->format);
        put_text(w, row, "username", in->username);
        add(w, list, row);
    }
    put_unless_empty(w, o, "inject", list);
    return o;
}

static json_t *oauth(struct writer *w, const struct sbx_oauth *a)
{
    json_t *o = json_object(), *part = json_object();

    put_always(w, part, "host", a->token_host);
    put_always(w, part, "path", a->token_path);
    put(w, o, "tokenEndpoint", part);
    put_strings(w, o, "resourceHosts", &a->resource_hosts);
    part = json_object();
    put_always(w, part, "accessToken", a->sentinel_access);
    put_always(w, part, "refreshToken", a->sentinel_refresh);
    put(w, o, "sentinels", part);
    if (a->file_set) {
        part = json_object();
        put_always(w, part, "path", a->file_path);
        put_text(w, part, "template", a->file_template);
        if (a->file_structure && json_object_size(a->file_structure))
            put(w, part, "structure", json_incref(a->file_structure));
        put(w, o, "credentialFile", part);
    }
    put_strings(w, o, "skipIfEnv", &a->skip_if_env);
    if (a->fields_set) {
        part = json_object();
        put_text(w, part, "accessToken", a->field_access);
        put_text(w, part, "refreshToken", a->field_refresh);
        put_text(w, part, "expiresIn", a->field_expires);
        put_text(w, part, "scope", a->field_scope);
        put(w, o, "responseFields", part);
    }
    put_true(w, o, "passthrough", a->passthrough);
    return o;
}

static json_t *credentials(struct writer *w, const struct sbx_artifact *a)
{
    json_t *list = json_array();

    for (size_t i = 0; i < a->credentials.len; i++) {
        const struct sbx_credential *c = &a->credentials.v[i];
        json_t *o = json_object();

        put_always(w, o, "service", c->service);
        put_text(w, o, "description", c->description);
        put_true(w, o, "required", c->required);
        put_text(w, o, "provider", c->provider);
        if (c->api_key.set)
            put(w, o, "apiKey", api_key(w, &c->api_key));
        if (c->oauth.set)
            put(w, o, "oauth", oauth(w, &c->oauth));
        add(w, list, o);
    }
    return list;
}

static json_t *install(struct writer *w, const struct sbx_artifact *a)
{
    json_t *list = json_array();

    for (size_t i = 0; i < a->install.len; i++) {
        json_t *o = json_object();

        put_always(w, o, "command", a->install.v[i].command);
        put_text(w, o, "user", a->install.v[i].user);
        put_text(w, o, "description", a->install.v[i].description);
        add(w, list, o);
    }
    return list;
}

static json_t *startup(struct writer *w, const struct sbx_artifact *a)
{
    json_t *list = json_array();

    for (size_t i = 0; i < a->startup.len; i++) {
        json_t *o = json_object();

        put(w, o, "command", strings(w, &a->startup.v[i].command));
        put_text(w, o, "user", a->startup.v[i].user);
        put_true(w, o, "background", a->startup.v[i].background);
        put_text(w, o, "description", a->startup.v[i].description);
        add(w, list, o);
    }
    return list;
}

static json_t *setup_files(struct writer *w, const struct sbx_artifact *a)
{
    json_t *list = json_array();

    for (size_t i = 0; i < a->setup_files.len; i++) {
        const struct sbx_setup_file *f = &a->setup_files.v[i];
        json_t *o = json_object();

        put_always(w, o, "path", f->path);
        put_always(w, o, "content", f->content);
        put_text(w, o, "mode", f->mode);
        put_true(w, o, "onlyIfMissing", f->only_if_missing);
        put_text(w, o, "description", f->description);
        add(w, list, o);
    }
    return list;
}

/* Where files come from stays out: it differs from machine to machine. */
static json_t *static_files(struct writer *w, const struct sbx_artifact *a)
{
    json_t *list = json_array();

    for (size_t i = 0; i < a->files.len; i++) {
        const struct sbx_static_file *f = &a->files.v[i];
        char mode[8];
        json_t *o = json_object();

        snprintf(mode, sizeof(mode), "%04o", f->mode);
        put_always(w, o, "target", f->target == SBX_TARGET_HOME ? "home" : "workspace");
        put_always(w, o, "path", f->path);
        put_always(w, o, "mode", mode);
        put(w, o, "size", json_integer((json_int_t)f->size));
        add(w, list, o);
    }
    return list;
}

/* The block itself, or names that credentials put into it. */
static void put_environment(struct writer *w, json_t *o, const struct sbx_artifact *a)
{
    json_t *environment = json_object(), *managed = json_array();

    put_pairs(w, environment, "variables", &a->variables);
    for (size_t i = 0; i < a->credentials.len; i++) {
        const struct sbx_api_key *k = &a->credentials.v[i].api_key;

        if (k->proxy_managed && k->name && *k->name)
            add(w, managed, json_string(k->name));
    }
    put_unless_empty(w, environment, "proxyManaged", managed);
    if (a->environment_set)
        put(w, o, "environment", environment);
    else
        put_unless_empty(w, o, "environment", environment);
}

static void put_policy(struct writer *w, json_t *o, const struct sbx_artifact *a)
{
    json_t *caps, *network;

    if (!a->allow.len && !a->deny.len)
        return;
    caps = json_object();
    network = json_object();
    put_strings(w, network, "allow", &a->allow);
    put_strings(w, network, "deny", &a->deny);
    put(w, caps, "network", network);
    put(w, o, "caps", caps);
}

static void put_commands(struct writer *w, json_t *o, const struct sbx_artifact *a)
{
    json_t *commands = json_object();

    put_unless_empty(w, commands, "install", install(w, a));
    put_unless_empty(w, commands, "startup", startup(w, a));
    put_unless_empty(w, commands, "initFiles", setup_files(w, a));
    put_unless_empty(w, o, "commands", commands);
}

json_t *sbx_artifact_json(const struct sbx_artifact *a)
{
    struct writer w = { false };
    json_t *o = json_object(), *part;

    put(&w, o, "manifest", manifest(&w, a));
    put_text(&w, o, "extends", a->extends);
    put_strings(&w, o, "mixins", &a->mixins);
    if (a->requires_set) {
        part = json_object();
        put_text(&w, part, "agent", a->requires_agent);
        put(&w, o, "requires", part);
    }
    put_strings(&w, o, "locked", &a->locked);
    put_strings(&w, o, "licenses", &a->licenses);
    put_unless_empty(&w, o, "args", args(&w, a));
    put_policy(&w, o, a);
    put_unless_empty(&w, o, "publishedPorts", ports(&w, a));
    put_unless_empty(&w, o, "credentials", credentials(&w, a));
    put_environment(&w, o, a);
    put_commands(&w, o, a);
    put_unless_empty(&w, o, "files", static_files(&w, a));
    put_text(&w, o, "agentContext", a->agent_context);
    put_strings(&w, o, "warnings", &a->warnings);
    put_true(&w, o, "embedded", a->embedded);
    if (!w.bad)
        return o;
    json_decref(o);
    return NULL;
}
