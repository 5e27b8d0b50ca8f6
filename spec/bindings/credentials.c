/* credentials.yaml: reading it (seed "bindings"). */
#include "bindings_int.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "sbx/file.h"

#define ID_MAX 200 /* bytes of SERVICE@VARIANT; people type it */

/* A binding as the file has it. */
struct raw_binding {
    struct sbx_binding b;
    bool discovery_set, api_key_set, oauth_set;
    struct sbx_strs allowed, api_key, oauth;
    const char *delivery;
};

struct raw {
    SBX_LIST(raw_binding) bindings;
    struct sbx_remembered *remembered;
    size_t n_remembered;
};

static const struct sbx_field file_fields[] = {
    { .key = "path", .type = SBX_FIELD_STRING, .offset = offsetof(struct sbx_discovery, path),
      .doc = "File that holds the credential; ~ is the home directory." },
    { .key = "parser", .type = SBX_FIELD_STRING, .offset = offsetof(struct sbx_discovery, parser),
      .doc = "raw (default), or json:dotted.path." },
};
static const struct sbx_block file_block = {
    "bindings.*.discovery[].file", 0, -1, -1, file_fields, SBX_ARRAY_LEN(file_fields), NULL
};
static const struct sbx_field discovery_fields[] = {
    { .key = "env", .type = SBX_FIELD_STRINGS, .offset = offsetof(struct sbx_discovery, env),
      .doc = "Variables, the first that is set counts." },
    { .key = "file", .type = SBX_FIELD_BLOCK, .block = &file_block,
      .set = offsetof(struct sbx_discovery, file_set) + 1, .doc = "A file." },
};
static const struct sbx_block discovery_block = {
    "bindings.*.discovery[]", sizeof(struct sbx_discovery), offsetof(struct sbx_discovery, at), -1,
    discovery_fields, SBX_ARRAY_LEN(discovery_fields), NULL
};
static const struct sbx_field api_key_fields[] = {
    { .key = "domains", .type = SBX_FIELD_STRINGS, .offset = offsetof(struct raw_binding, api_key),
      .doc = "Where the key may be sent." },
};
static const struct sbx_block api_key_block = {
    "bindings.*.apiKey", 0, -1, -1, api_key_fields, SBX_ARRAY_LEN(api_key_fields), NULL
};
static const struct sbx_field oauth_fields[] = {
    { .key = "domains", .type = SBX_FIELD_STRINGS, .offset = offsetof(struct raw_binding, oauth),
      .doc = "Where tokens may be sent." },
};
static const struct sbx_block oauth_block = {
    "bindings.*.oauth", 0, -1, -1, oauth_fields, SBX_ARRAY_LEN(oauth_fields), NULL
};
static const struct sbx_field binding_fields[] = {
    { .key = "discovery", .type = SBX_FIELD_LIST, .offset = offsetof(struct raw_binding, b.discovery),
      .block = &discovery_block, .want = "a list of {env} or {file}",
      .doc = "Where the value is found; [] if it is in the secret store." },
    { .key = "allowedDomains", .type = SBX_FIELD_STRINGS,
      .offset = offsetof(struct raw_binding, allowed), .doc = "Where the credential may be sent." },
    { .key = "delivery", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw_binding, delivery),
      .doc = "gate (default), or container." },
    { .key = "apiKey", .type = SBX_FIELD_BLOCK, .block = &api_key_block,
      .set = offsetof(struct raw_binding, api_key_set) + 1, .doc = "Other form of allowedDomains." },
    { .key = "oauth", .type = SBX_FIELD_BLOCK, .block = &oauth_block,
      .set = offsetof(struct raw_binding, oauth_set) + 1, .doc = "Other form of allowedDomains." },
};
static const struct sbx_block binding_block = {
    "bindings.*", sizeof(struct raw_binding), offsetof(struct raw_binding, b.at),
    offsetof(struct raw_binding, b.id), binding_fields, SBX_ARRAY_LEN(binding_fields), NULL
};

/* A mapping of workspaces to mappings of services to bindings. */
static void decode_remembered(struct sbx_decoder *d, const struct sbx_field *f,
                              const struct sbx_yaml_node *n, void *base)
{
    struct raw *raw = base;
    size_t total = 0;

    for (size_t i = 0; n->kind == SBX_YAML_MAPPING && i < n->len; i++)
        total += n->entries[i].value->kind == SBX_YAML_MAPPING ? n->entries[i].value->len : 0;
    if (n->kind != SBX_YAML_MAPPING)
        sbx_decode_type_error(d, n, f->want);
    if (n->kind != SBX_YAML_MAPPING || n->broken) /* a key given twice was reported */
        return;
    raw->remembered = sbx_decode_alloc(d, total, sizeof(*raw->remembered));
    for (size_t i = 0; raw->remembered && i < n->len; i++) {
        const struct sbx_yaml_node *of = n->entries[i].value;
        const char *workspace = sbx_yaml_string(d->arena, n->entries[i].key);

        if (of->kind != SBX_YAML_MAPPING || !workspace)
            sbx_decode_type_error(d, of, f->want);
        for (size_t k = 0; of->kind == SBX_YAML_MAPPING && workspace && k < of->len; k++) {
            const char *service = sbx_yaml_string(d->arena, of->entries[k].key);
            const char *binding = sbx_yaml_string(d->arena, of->entries[k].value);

            if (!service || !binding)
                sbx_decode_type_error(d, of->entries[k].value, "the name of a binding");
            else
                raw->remembered[raw->n_remembered++] = (struct sbx_remembered){
                    of->entries[k].key->pos, workspace, service, binding
                };
        }
    }
}

static const struct sbx_field fields[] = {
    { .key = "bindings", .type = SBX_FIELD_NAMED, .offset = offsetof(struct raw, bindings),
      .block = &binding_block, .want = "a mapping of services", .doc = "A binding of each service." },
    { .key = "remembered", .type = SBX_FIELD_CUSTOM, .custom = decode_remembered,
      .want = "a mapping of workspaces to {service: binding}", .doc = "Choices among variants." },
};
static const struct sbx_block block = {
    "credentials", sizeof(struct raw), -1, -1, fields, SBX_ARRAY_LEN(fields), NULL
};

/* ---- rules ---- */

static void check_parser(struct sbx_decoder *d, const struct sbx_discovery *e, const char *key)
{
    const char *p = e->parser;

    if (!p || !*p || !strcmp(p, "raw") || (!strncmp(p, "json:", 5) && p[5]))
        return;
    sbx_bindings_report(d, SBX_ERROR, &e->parser, e->at.pos, key, "write raw, or json:dotted.path",
                        "unknown parser (%.80s)", p);
}

static void check_discovery(struct sbx_decoder *d, const struct raw_binding *r)
{
    for (size_t i = 0; i < r->b.discovery.len; i++) {
        const struct sbx_discovery *e = &r->b.discovery.v[i];
        char key[300];

        snprintf(key, sizeof(key), "bindings.%.200s.discovery[%zu]", r->b.id, i);
        if (e->file_set == e->env.set)
            sbx_bindings_report(d, SBX_ERROR, NULL, e->at.pos, key, "write one entry for each",
                                "wants exactly one of env and file");
        else if (e->env.set && !e->env.len)
            sbx_bindings_report(d, SBX_ERROR, NULL, e->at.pos, key, "name a variable",
                                "an empty list of variables");
        else if (e->file_set && (!e->path || !*e->path))
            sbx_bindings_report(d, SBX_ERROR, NULL, e->at.pos, key, "add path:",
                                "a file without a path");
        for (size_t k = 0; k < e->env.len; k++)
            if (!sbx_is_shell_name(e->env.v[k]))
                sbx_bindings_report(d, SBX_ERROR, NULL, e->env.at[k].pos, key, NULL,
                                    "not the name of a variable (%.80s)", e->env.v[k]);
        check_parser(d, e, key);
    }
}

static void check_domains(struct sbx_decoder *d, const struct raw_binding *r,
                          const struct sbx_strs *list)
{
    char key[300];

    snprintf(key, sizeof(key), "bindings.%.200s", r->b.id);
    for (size_t i = 0; i < list->len; i++) {
        struct sbx_err err = SBX_ERR_INIT;
        const char *inert = NULL;
        struct sbx_pattern p;

        if (sbx_pattern_parse(list->v[i], SBX_RULE_USER, &p, &inert, &err))
            sbx_bindings_report(d, SBX_ERROR, NULL, list->at[i].pos, key, NULL, "%s", err.text);
        else if (inert)
            sbx_bindings_report(d, SBX_WARNING, NULL, list->at[i].pos, key, inert,
                                "never matches a request (%.200s)", list->v[i]);
    }
}

static bool is_word(const char *s, size_t len)
{
    static const char ok[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";

    return len && strspn(s, ok) >= len;
}

static void check_id(struct sbx_decoder *d, const struct raw_binding *r, const char *key)
{
    const char *at = strchr(r->b.id, '@');
    size_t service = at ? (size_t)(at - r->b.id) : strlen(r->b.id);

    if (strlen(r->b.id) > ID_MAX || !is_word(r->b.id, service) ||
        (at && (!is_word(at + 1, strlen(at + 1)))))
        sbx_bindings_report(d, SBX_ERROR, NULL, r->b.at.pos, key,
                            "write SERVICE or SERVICE@VARIANT, of letters, digits, \".\", \"-\", \"_\"",
                            "not the name of a binding (%.80s)", r->b.id);
}

static void check_binding(struct sbx_decoder *d, const struct raw_binding *r)
{
    static const char *const deliveries[] = { "gate", "container", NULL };
    bool other = r->api_key_set || r->oauth_set;
    char key[300];

    snprintf(key, sizeof(key), "bindings.%.200s", r->b.id);
    check_id(d, r, key);
    if (other && r->allowed.set)
        sbx_bindings_report(d, SBX_ERROR, NULL, r->b.at.pos, key, "keep allowedDomains",
                            "has allowedDomains and apiKey or oauth, which say the same");
    if (!other && !r->b.discovery.set)
        sbx_bindings_report(d, SBX_ERROR, NULL, r->b.at.pos, key,
                            "add discovery: [] if the value is in the secret store",
                            "needs discovery");
    if (!other && !r->allowed.set)
        sbx_bindings_report(d, SBX_ERROR, NULL, r->b.at.pos, key, "list the domains, or write []",
                            "needs allowedDomains");
    if (r->delivery)
        sbx_bindings_word(d, &r->delivery, key, deliveries);
    check_discovery(d, r);
    check_domains(d, r, &r->allowed);
    check_domains(d, r, &r->api_key);
    check_domains(d, r, &r->oauth);
}

static void check_remembered(struct sbx_decoder *d, const struct raw *raw,
                             const struct sbx_remembered *m)
{
    bool found = false;
    char key[400];

    snprintf(key, sizeof(key), "remembered.%.200s.%.100s", m->workspace, m->service);
    if (*m->workspace != '/')
        sbx_bindings_report(d, SBX_ERROR, NULL, m->at, key, "write the absolute path",
                            "not an absolute path (%.200s)", m->workspace);
    for (size_t i = 0; i < raw->bindings.len; i++)
        found = found || !strcmp(raw->bindings.v[i].b.id, m->binding);
    if (!found)
        sbx_bindings_report(d, SBX_WARNING, NULL, m->at, key, "remove the line",
                            "no binding of this name (%.80s)", m->binding);
}

static void check(struct sbx_decoder *d, void *base)
{
    const struct raw *raw = base;

    for (size_t i = 0; i < raw->bindings.len; i++)
        check_binding(d, &raw->bindings.v[i]);
    for (size_t i = 0; i < raw->n_remembered; i++)
        check_remembered(d, raw, &raw->remembered[i]);
}

static enum sbx_code convert(const struct raw *raw, struct sbx_arena *arena,
                             struct sbx_credentials *ret)
{
    struct sbx_credentials c = { .remembered = raw->remembered,
                                 .n_remembered = raw->n_remembered };

    c.bindings.v = sbx_arena_array(arena, raw->bindings.len, sizeof(*c.bindings.v));
    if (!c.bindings.v)
        return SBX_NO_MEMORY;
    for (; c.bindings.len < raw->bindings.len; c.bindings.len++) {
        const struct raw_binding *r = &raw->bindings.v[c.bindings.len];
        struct sbx_binding *b = &c.bindings.v[c.bindings.len];
        const char *at = strchr(r->b.id, '@');

        *b = r->b;
        b->service = at ? sbx_arena_memdup(arena, b->id, (size_t)(at - b->id)) : b->id;
        b->variant = at ? at + 1 : NULL;
        b->api_key_domains = r->allowed.set ? r->allowed : r->api_key;
        b->oauth_domains = r->allowed.set ? r->allowed : r->oauth;
        b->delivery = r->delivery && !strcmp(r->delivery, "container") ? SBX_DELIVERY_CONTAINER
                                                                      : SBX_DELIVERY_GATE;
        if (!b->service)
            return SBX_NO_MEMORY;
    }
    *ret = c;
    return SBX_OK;
}

enum sbx_code sbx_credentials_decode(const char *path, const struct sbx_buf *text,
                                     struct sbx_arena *arena, struct sbx_diags *diags,
                                     struct sbx_credentials *ret, struct sbx_err *err)
{
    struct raw raw = { .remembered = NULL };
    enum sbx_code rc = sbx_bindings_decode(path, text, &block, &raw, check, arena, diags, err);

    if (!rc)
        rc = convert(&raw, arena, ret);
    return rc == SBX_NO_MEMORY ? sbx_err_set(err, rc, "%s: no memory", path) : rc;
}

enum sbx_code sbx_credentials_load(const char *path, struct sbx_arena *arena,
                                   struct sbx_diags *diags, struct sbx_credentials *ret,
                                   struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_BINDINGS_MAX);
    enum sbx_code rc = sbx_bindings_text(path, &text, err);

    if (rc && rc != SBX_NOT_FOUND)
        return rc;
    return sbx_credentials_decode(path, &text, arena, diags, ret, err);
}

const struct sbx_binding *sbx_credentials_find(const struct sbx_credentials *c, const char *id)
{
    for (size_t i = 0; i < c->bindings.len; i++)
        if (!strcmp(c->bindings.v[i].id, id))
            return &c->bindings.v[i];
    return NULL;
}

const char *sbx_credentials_remembered(const struct sbx_credentials *c, const char *workspace,
                                       const char *service)
{
    for (size_t i = 0; i < c->n_remembered; i++)
        if (!strcmp(c->remembered[i].workspace, workspace) &&
            !strcmp(c->remembered[i].service, service))
            return c->remembered[i].binding;
    return NULL;
}
