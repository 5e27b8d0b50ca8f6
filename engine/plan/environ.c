/* The recorded environment: who wins over whom (decision F10). */
#include "build.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define NO_PROXY_OURS "localhost,127.0.0.1,::1"

const char *const sbx_proxy_names[] = { "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy",
                                        NULL };
/* Variables that name a bundle of every trusted root. */
const char *const sbx_ca_bundle_names[] = {
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",    "PIP_CERT", "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO",  "NIX_SSL_CERT_FILE", NULL,
};
static const struct {
    const char *name, *value;
} weak[] = {
    { "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
    { "LANG", "C.UTF-8" },
}, strong[] = {
    { "HOME", SBX_AGENT_HOME },
    { "USER", "agent" },
};

struct space {
    struct sbx_planner *b;
    size_t cap;
};

static void put(struct space *s, const char *name, const char *value, const char *origin,
                bool weak_)
{
    struct sbx_planner *b = s->b;
    size_t i = 0;

    if (!name || !value) {
        b->no_memory = true;
        return;
    }
    while (i < b->p->n_env && strcmp(b->p->env[i].name, name))
        i++;
    if (i == s->cap)
        return; /* counted beforehand: cannot happen */
    if (i == b->p->n_env)
        b->p->n_env++;
    b->p->env[i] = (struct sbx_plan_env){ name, value, origin, weak_ };
}

static const char *kit_value(const struct sbx_artifact *a, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < a->variables.len; i++)
        if (!strcasecmp(a->variables.v[i].name, name))
            value = a->variables.v[i].value;
    return value;
}

/* SBX_CRED_<SERVICE>_MODE: what a shell can name. */
static const char *mode_name(struct sbx_planner *b, const char *service)
{
    char *text = (char *)sbx_build_fmt(b, "SBX_CRED_%s_MODE", service);

    for (char *c = text; c && *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
    return text;
}

static void add_credentials(struct space *s)
{
    const struct sbx_artifact *a = s->b->a;
    const char **services = sbx_build_array(s->b, a->credentials.len + 1, sizeof(*services));

    for (size_t i = 0; services && i < a->credentials.len; i++) {
        const struct sbx_credential *c = &a->credentials.v[i];
        const char *origin = sbx_build_fmt(s->b, "credential %s", c->service);

        services[i] = sbx_build_str(s->b, c->service);
        put(s, mode_name(s->b, c->service), "none", origin, false);
        if (c->api_key.proxy_managed && c->api_key.name && *c->api_key.name)
            put(s, sbx_build_str(s->b, c->api_key.name), "proxy-managed", origin, false);
    }
    s->b->p->services = services;
}

static void add_network(struct space *s)
{
    const char *kit = kit_value(s->b->a, "NO_PROXY");
    const char *none = kit && *kit ? sbx_build_fmt(s->b, NO_PROXY_OURS ",%s", kit) : NO_PROXY_OURS;

    for (const char *const *n = sbx_proxy_names; *n; n++)
        put(s, *n, SBX_PROXY_URL, "engine", false);
    put(s, "NO_PROXY", none, "engine", false);
    put(s, "no_proxy", none, "engine", false);
    put(s, "NODE_USE_ENV_PROXY", "1", "engine", false);
    put(s, "NODE_EXTRA_CA_CERTS", SBX_CA_FILE, "engine", false);
    for (const char *const *n = sbx_ca_bundle_names; *n; n++)
        put(s, *n, SBX_CA_BUNDLE, "engine", false);
}

static enum sbx_code add_user(struct space *s)
{
    for (const char *const *e = s->b->o->env; e && *e; e++) {
        const char *equals = strchr(*e, '=');

        if (!equals || equals == *e)
            return sbx_err_set(s->b->err, SBX_USAGE, "-e %s: must be NAME=VALUE", *e);
        put(s, sbx_build_fmt(s->b, "%.*s", (int)(equals - *e), *e), sbx_build_str(s->b, equals + 1),
            "user", false);
    }
    return SBX_OK;
}

static size_t count(const struct sbx_planner *b)
{
    size_t n = 40 + b->a->variables.len + 2 * b->a->credentials.len; /* 40: the engine's own */

    for (const char *const *e = b->o->env; e && *e; e++)
        n++;
    return n;
}

enum sbx_code sbx_build_environment(struct sbx_planner *b)
{
    struct space s = { b, count(b) };

    b->p->env = sbx_build_array(b, s.cap, sizeof(*b->p->env));
    if (!b->p->env)
        return SBX_OK;
    for (size_t i = 0; i < SBX_ARRAY_LEN(weak); i++)
        put(&s, weak[i].name, weak[i].value, "engine", true);
    for (size_t i = 0; i < SBX_ARRAY_LEN(strong); i++)
        put(&s, strong[i].name, strong[i].value, "engine", false);
    for (size_t i = 0; i < b->a->variables.len; i++) {
        const struct sbx_pair *v = &b->a->variables.v[i];

        put(&s, sbx_build_str(b, v->name), sbx_build_str(b, v->value),
            sbx_build_fmt(b, "kit %s", v->at.kit ? v->at.kit : b->a->name), false);
    }
    add_credentials(&s);
    add_network(&s);
    return add_user(&s);
}
