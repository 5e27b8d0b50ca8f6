/*
 * Which services a kit of version 1 speaks of, and which variables, domains and headers belong to each.
 * Lists are sorted and searched, since each may have 10,000 entries.
 */
#include <stdlib.h>
#include <string.h>

#include "v1_services.h"

static int by_text(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    int order = strcmp(x->text, y->text);

    if (!order)
        order = strcmp(x->service, y->service);
    return order ? order : (x->at.pos.line > y->at.pos.line) - (x->at.pos.line < y->at.pos.line);
}

static void sort(struct words *w)
{
    if (w->len)
        qsort(w->v, w->len, sizeof(*w->v), by_text);
}

const struct word *sbx_v1_find(const struct words *w, const char *text)
{
    size_t lo = 0, hi = w->len;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (strcmp(w->v[mid].text, text) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < w->len && !strcmp(w->v[lo].text, text) ? &w->v[lo] : NULL;
}

static bool make(struct fold *f, struct words *w, size_t n)
{
    w->v = sbx_decode_alloc(f->d, n, sizeof(*w->v));
    return w->v != NULL;
}

static void put(struct words *w, const char *text, const char *service, struct sbx_origin at)
{
    w->v[w->len++] = (struct word){ text, service, at };
}

const char *sbx_v1_service_of(struct sbx_decoder *d, const char *variable)
{
    static const char *const ends[] = { "_api_key", "_token", "_key", "_secret" };
    char *name;

    if (!strcmp(variable, "GH_TOKEN") || !strcmp(variable, "GITHUB_TOKEN"))
        return "github";
    name = sbx_arena_strdup(d->arena, variable);
    if (!name) {
        d->no_memory = true;
        return "";
    }
    for (char *c = name; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    for (size_t i = 0; i < SBX_ARRAY_LEN(ends); i++) {
        size_t len = strlen(name), end = strlen(ends[i]);

        if (len < end || strcmp(name + len - end, ends[i]))
            continue;
        name[len - end] = '\0';
        break;
    }
    return name;
}

static void conflict(struct fold *f, struct sbx_origin at, const char *path, const char *hint,
                     const char *text)
{
    sbx_diags_add(f->d->diags, SBX_ERROR, "same-service", at.pos, path, hint, "%s", text);
}

static void list_services(struct fold *f)
{
    for (size_t i = 0; i < f->v->a.credentials.len; i++) {
        const struct sbx_credential *c = &f->v->a.credentials.v[i];

        put(&f->listed, c->service ? c->service : "", "", c->at);
    }
    sort(&f->listed);
}

/* A secret is a required source with one variable. */
static void add_secrets(struct fold *f)
{
    struct sbx_v1 *v = f->v;
    struct words names = { 0 };
    struct sbx_v1_source *all = sbx_decode_alloc(f->d, v->sources.len + v->secrets.len, sizeof(*all));

    if (!all || !make(f, &names, v->sources.len + v->secrets.len))
        return;
    for (size_t i = 0; i < v->sources.len; i++) {
        all[i] = v->sources.v[i];
        put(&names, all[i].name, "", all[i].at);
    }
    for (size_t i = 0; i < v->secrets.len; i++) {
        struct sbx_v1_source *s = &all[v->sources.len + i];

        *s = (struct sbx_v1_source){ .at = v->secrets.at[i], .required = true };
        s->name = sbx_v1_service_of(f->d, v->secrets.v[i]);
        s->env = (struct sbx_strs){ &v->secrets.v[i], &v->secrets.at[i], 1, true };
        put(&names, s->name, "", s->at);
    }
    sort(&names);
    for (size_t i = 1; i < names.len; i++)
        if (!strcmp(names.v[i].text, names.v[i - 1].text))
            conflict(f, names.v[i].at, "secrets", "keep one of them",
                     "a secret names a service that has a source already");
    v->sources.v = all;
    v->sources.len = names.len;
}

static void list_variables(struct fold *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->v->sources.len; i++)
        n += f->v->sources.v[i].env.len;
    if (!make(f, &f->env, n))
        return;
    for (size_t i = 0; i < f->v->sources.len; i++) {
        const struct sbx_v1_source *s = &f->v->sources.v[i];

        for (size_t k = 0; k < s->env.len; k++)
            put(&f->env, s->env.v[k], s->name, s->env.at[k]);
    }
    sort(&f->env);
}

static void list_domains(struct fold *f)
{
    const struct sbx_pairs *own = &f->v->service_domains, *egress = &f->v->egress;

    if (!make(f, &f->domains, own->len + egress->len))
        return;
    for (size_t i = 0; i < own->len; i++)
        put(&f->domains, own->v[i].name, own->v[i].value, own->v[i].at);
    for (size_t i = 0; i < egress->len; i++)
        put(&f->domains, egress->v[i].name, egress->v[i].value, egress->v[i].at);
    sort(&f->domains);
    for (size_t i = 1; i < f->domains.len; i++)
        if (!strcmp(f->domains.v[i].text, f->domains.v[i - 1].text))
            conflict(f, f->domains.v[i].at, "egress", "keep one of them",
                     "a domain is in egress and in network.serviceDomains");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sbx_v1_auth *)a)->name, ((const struct sbx_v1_auth *)b)->name);
}

const struct sbx_v1_auth *sbx_v1_find_auth(const struct fold *f, const char *service)
{
    const struct sbx_v1_auth key = { .name = service };

    return f->n_auth ? bsearch(&key, f->auth, f->n_auth, sizeof(*f->auth), by_name) : NULL;
}

/* What egress knows of a service without serviceAuth; frozen with version 1. */
static const struct sbx_v1_auth *known_auth(const char *service)
{
    static const struct sbx_v1_auth known[] = {
        { .name = "anthropic", .header = "x-api-key", .format = "%s" },
        { .name = "cursor", .header = "Authorization", .format = "Bearer %s" },
        { .name = "factory", .header = "Authorization", .format = "Bearer %s" },
        { .name = "github", .header = "Authorization", .format = "token %s" },
        { .name = "google", .header = "x-goog-api-key", .format = "%s" },
        { .name = "groq", .header = "Authorization", .format = "Bearer %s" },
        { .name = "mistral", .header = "Authorization", .format = "Bearer %s" },
        { .name = "nebius", .header = "Authorization", .format = "Bearer %s" },
        { .name = "openai", .header = "Authorization", .format = "Bearer %s" },
        { .name = "xai", .header = "Authorization", .format = "Bearer %s" },
    };
    const struct sbx_v1_auth key = { .name = service };

    return bsearch(&key, known, SBX_ARRAY_LEN(known), sizeof(known[0]), by_name);
}

static void list_auth(struct fold *f)
{
    const struct sbx_pairs *egress = &f->v->egress;
    size_t n = f->v->service_auth.len, own = n;

    f->auth = sbx_decode_alloc(f->d, n + egress->len, sizeof(*f->auth));
    if (!f->auth)
        return;
    if (n) {
        memcpy(f->auth, f->v->service_auth.v, n * sizeof(*f->auth));
        qsort(f->auth, n, sizeof(*f->auth), by_name);
    }
    f->n_auth = own;
    for (size_t i = 0; i < egress->len; i++) {
        const struct sbx_v1_auth *known = known_auth(egress->v[i].value);

        if (!known || sbx_v1_find_auth(f, known->name))
            continue;
        f->auth[n++] = *known; /* perhaps several times: equal ones do no harm */
    }
    f->n_auth = n;
    if (n > own)
        qsort(f->auth, n, sizeof(*f->auth), by_name);
}

const char *sbx_v1_service_of_variable(struct fold *f, const char *variable)
{
    const struct word *w = sbx_v1_find(&f->env, variable);

    return w ? w->service : sbx_v1_service_of(f->d, variable);
}

static void note(struct fold *f, const char *service, struct sbx_origin at)
{
    if (!sbx_v1_find(&f->listed, service))
        put(&f->services, service, "", at);
}

static void list_entries(struct fold *f)
{
    const struct sbx_strs *managed = &f->v->proxy_managed;
    struct words *s = &f->services;
    size_t n = 0;

    if (!make(f, s, f->v->sources.len + f->domains.len + managed->len))
        return;
    for (size_t i = 0; i < f->v->sources.len; i++)
        note(f, f->v->sources.v[i].name, f->v->sources.v[i].at);
    f->v->used.sources = s->len > 0;
    n = s->len;
    for (size_t i = 0; i < f->domains.len; i++)
        note(f, f->domains.v[i].service, f->domains.v[i].at);
    f->v->used.domains = s->len > n;
    f->v->used.auth = f->n_auth > 0;
    for (size_t i = 0; i < managed->len; i++)
        note(f, sbx_v1_service_of_variable(f, managed->v[i]), managed->at[i]);
    sort(s);
    n = 0;
    for (size_t i = 0; i < s->len; i++)
        if (!n || strcmp(s->v[n - 1].text, s->v[i].text))
            s->v[n++] = s->v[i];
    s->len = n;
    f->out = sbx_decode_alloc(f->d, n, sizeof(*f->out));
    for (size_t i = 0; f->out && i < n; i++) {
        f->out[i].at = s->v[i].at;
        f->out[i].service = s->v[i].text;
    }
}

bool sbx_v1_list(struct fold *f)
{
    if (!make(f, &f->listed, f->v->a.credentials.len))
        return false;
    list_services(f);
    add_secrets(f);
    list_variables(f);
    list_domains(f);
    list_auth(f);
    if (!f->d->no_memory)
        list_entries(f);
    return f->out != NULL;
}
