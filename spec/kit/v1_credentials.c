/*
 * Version 1 describes one credential in up to five places: where its value is found (sources,
 * secrets), which hosts it is for (serviceDomains, egress), its header (serviceAuth), the agent's
 * variable (proxyManaged) and OAuth. Here they become one entry per service, sorted by service and,
 * inside, by domain. The lists are made in v1_services.c.
 */
#include <string.h>

#include "v1_services.h"

static bool given(const char *text)
{
    return text && *text;
}

static struct sbx_credential *entry(struct fold *f, const char *service)
{
    const struct word *w = sbx_v1_find(&f->services, service);

    return w ? &f->out[w - f->services.v] : NULL;
}

static void set_variable(struct sbx_credential *c, const char *name, struct sbx_origin at)
{
    if (!given(name) || given(c->api_key.name))
        return;
    c->api_key.name = name;
    c->api_key.at = at;
    c->api_key.set = true;
}

static void apply_sources(struct fold *f)
{
    for (size_t i = 0; i < f->v->sources.len; i++) {
        const struct sbx_v1_source *s = &f->v->sources.v[i];
        struct sbx_credential *c = entry(f, s->name);

        if (!c)
            continue;
        c->required = c->required || s->required;
        if (s->env.len)
            set_variable(c, s->env.v[0], s->env.at[0]);
    }
}

static void apply_managed(struct fold *f)
{
    for (size_t i = 0; i < f->v->proxy_managed.len; i++) {
        const char *name = f->v->proxy_managed.v[i];
        struct sbx_credential *c = entry(f, sbx_v1_service_of_variable(f, name));

        if (!c)
            continue;
        set_variable(c, name, f->v->proxy_managed.at[i]);
        c->api_key.proxy_managed = c->api_key.set;
    }
}

static void add_inject(struct fold *f, struct sbx_credential *c, const struct word *domain)
{
    const struct sbx_v1_auth *auth = sbx_v1_find_auth(f, c->service);
    struct sbx_inject *i = &c->api_key.inject.v[c->api_key.inject.len++];

    *i = (struct sbx_inject){ .at = domain->at, .domain = domain->text, .format = "%s" };
    if (auth)
        i->header = auth->header;
    if (auth && given(auth->format))
        i->format = auth->format;
}

static void apply_domains(struct fold *f)
{
    size_t *count = sbx_decode_alloc(f->d, f->services.len, sizeof(*count));
    struct sbx_inject *rows = sbx_decode_alloc(f->d, f->domains.len, sizeof(*rows));

    if (!count || !rows)
        return;
    for (size_t i = 0; i < f->domains.len; i++) {
        struct sbx_credential *c = entry(f, f->domains.v[i].service);

        if (c)
            count[c - f->out]++;
    }
    for (size_t i = 0; i < f->services.len; i++) {
        struct sbx_api_key *k = &f->out[i].api_key;

        k->inject.v = rows;
        k->inject.set = count[i] > 0;
        rows += count[i];
        if (count[i] && !k->set)
            k->at = f->out[i].at;
        k->set = k->set || count[i];
    }
    for (size_t i = 0; i < f->domains.len; i++) {
        struct sbx_credential *c = entry(f, f->domains.v[i].service);

        if (c)
            add_inject(f, c, &f->domains.v[i]);
    }
}

static void append(struct fold *f)
{
    size_t listed = f->v->a.credentials.len, n = listed + f->services.len;
    struct sbx_credential *all = sbx_decode_alloc(f->d, n + 1, sizeof(*all)); /* and one of oauth */

    if (!all)
        return;
    if (listed)
        memcpy(all, f->v->a.credentials.v, listed * sizeof(*all));
    if (f->services.len)
        memcpy(all + listed, f->out, f->services.len * sizeof(*all));
    f->v->a.credentials.v = all;
    f->v->a.credentials.len = n;
}

/* Domains without a header and a variable: not a key, only the hosts that OAuth is for. */
static bool only_routes(const struct sbx_api_key *k)
{
    for (size_t i = 0; i < k->inject.len; i++)
        if (given(k->inject.v[i].header))
            return false;
    return k->set && !given(k->name);
}

static void route_by_oauth(struct fold *f, struct sbx_credential *c, struct sbx_oauth *o)
{
    const struct sbx_api_key k = c->api_key;

    c->api_key = (struct sbx_api_key){ .set = false };
    o->resource_hosts.v = sbx_decode_alloc(f->d, k.inject.len, sizeof(*o->resource_hosts.v));
    o->resource_hosts.at = sbx_decode_alloc(f->d, k.inject.len, sizeof(*o->resource_hosts.at));
    for (size_t i = 0; i < k.inject.len && o->resource_hosts.v && o->resource_hosts.at; i++) {
        const char *host = k.inject.v[i].domain;

        if (!given(host) || (o->token_host && !strcmp(host, o->token_host)))
            continue;
        o->resource_hosts.at[o->resource_hosts.len] = k.inject.v[i].at;
        o->resource_hosts.v[o->resource_hosts.len++] = host;
        o->resource_hosts.set = true;
    }
}

static void add_oauth(struct fold *f)
{
    struct sbx_v1_oauth *own = &f->v->oauth;
    struct sbx_credential *c = NULL;

    if (!own->oauth.set)
        return;
    if (!given(own->service)) {
        sbx_diags_add(f->d->diags, SBX_ERROR, "missing-field", own->oauth.at.pos, "oauth.service",
                      "name the service", "is required");
        return;
    }
    for (size_t i = 0; i < f->v->a.credentials.len && !c; i++)
        if (given(f->v->a.credentials.v[i].service) &&
            !strcmp(f->v->a.credentials.v[i].service, own->service))
            c = &f->v->a.credentials.v[i];
    if (!c) {
        c = &f->v->a.credentials.v[f->v->a.credentials.len++];
        *c = (struct sbx_credential){ .at = own->oauth.at, .service = own->service };
    }
    if (only_routes(&c->api_key))
        route_by_oauth(f, c, &own->oauth);
    if (!c->oauth.set)
        c->oauth = own->oauth;
}

void sbx_v1_fold_credentials(struct sbx_decoder *d, struct sbx_v1 *v)
{
    struct fold f = { .d = d, .v = v };

    if (!sbx_v1_list(&f))
        return;
    apply_sources(&f);
    apply_domains(&f);
    apply_managed(&f);
    append(&f);
    if (!d->no_memory)
        add_oauth(&f);
    v->a.credentials.set = v->a.credentials.len > 0;
}
