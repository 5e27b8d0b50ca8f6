/* settings.yaml. */
#include "bindings_int.h"

#include <stddef.h>
#include <string.h>

/* As decoded; turned into struct sbx_settings when all is well. */
struct raw {
    const char *runtime, *pull, *cache_max;
    struct sbx_pairs images;
    struct sbx_settings_host *hosts;
    struct sbx_pos *host_at; /* parallel to hosts */
    size_t n_hosts;
    struct sbx_strs ranges;
    struct sbx_settings_registry *registries;
    struct sbx_pos *registry_at; /* parallel to registries */
    size_t n_registries;
    const char *proxy_http, *proxy_https, *proxy_credentials;
    struct sbx_strs no_proxy;
};

/* One of `registries`. */
struct raw_registry {
    struct sbx_strs mirrors;
    bool plain_http;
};

/* A list as a NULL-terminated array. */
static const char *const *terminated(struct sbx_decoder *d, const struct sbx_strs *s)
{
    const char **v = sbx_decode_alloc(d, s->len + 1, sizeof(*v));

    if (v && s->len)
        memcpy(v, s->v, s->len * sizeof(*v));
    return v;
}

static void decode_hosts(struct sbx_decoder *d, const struct sbx_field *f,
                         const struct sbx_yaml_node *n, void *base)
{
    struct raw *raw = base;

    if (n->kind != SBX_YAML_MAPPING) {
        sbx_decode_type_error(d, n, f->want);
        return;
    }
    raw->hosts = sbx_decode_alloc(d, n->len, sizeof(*raw->hosts));
    raw->host_at = sbx_decode_alloc(d, n->len, sizeof(*raw->host_at));
    for (size_t i = 0; raw->hosts && raw->host_at && i < n->len; i++) {
        const struct sbx_yaml_node *key = n->entries[i].key;
        struct sbx_strs addresses = { .len = 0 };
        const char *name = sbx_yaml_string(d->arena, key);
        size_t mark = sbx_decode_enter(d, name ? name : "");

        if (!name)
            sbx_decode_type_error(d, key, "the name of a host");
        else
            sbx_decode_strings(d, f, n->entries[i].value, &addresses);
        raw->host_at[raw->n_hosts] = key->pos;
        raw->hosts[raw->n_hosts++] = (struct sbx_settings_host){ name, terminated(d, &addresses) };
        sbx_decode_leave(d, mark);
    }
}

static const struct sbx_field proxy_fields[] = {
    { .key = "http", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw, proxy_http),
      .doc = "For http:// requests: http://HOST:PORT, or direct." },
    { .key = "https", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw, proxy_https),
      .doc = "For all other connections: http://HOST:PORT, or direct." },
    { .key = "noProxy", .type = SBX_FIELD_STRINGS, .offset = offsetof(struct raw, no_proxy),
      .doc = "Names and ranges that are reached without it." },
    { .key = "credentialsFile", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw, proxy_credentials),
      .doc = "A file of yours alone with one line, USER:PASSWORD." },
};
static const struct sbx_block proxy_block = {
    "settings.network.proxy", sizeof(struct raw), -1, -1, proxy_fields,
    SBX_ARRAY_LEN(proxy_fields), NULL
};

static const struct sbx_field network_fields[] = {
    { .key = "hosts", .type = SBX_FIELD_CUSTOM, .custom = decode_hosts,
      .want = "a list of addresses",
      .doc = "Addresses of names, asked before the resolver of this machine." },
    { .key = "publicTestRanges", .type = SBX_FIELD_STRINGS, .offset = offsetof(struct raw, ranges),
      .doc = "Ranges that a test build takes for public." },
    { .key = "proxy", .type = SBX_FIELD_BLOCK, .block = &proxy_block,
      .doc = "The proxy that this machine has to use, in place of HTTPS_PROXY and the like." },
};
static const struct sbx_block network_block = {
    "settings.network", sizeof(struct raw), -1, -1, network_fields,
    SBX_ARRAY_LEN(network_fields), NULL
};

static const struct sbx_field cache_fields[] = {
    { .key = "max", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw, cache_max),
      .doc = "How much of what was fetched is kept; what was used longest ago goes first." },
};
static const struct sbx_block cache_block = {
    "settings.cache", sizeof(struct raw), -1, -1, cache_fields, SBX_ARRAY_LEN(cache_fields), NULL
};

static const struct sbx_field registry_fields[] = {
    { .key = "mirrors", .type = SBX_FIELD_STRINGS, .offset = offsetof(struct raw_registry, mirrors),
      .doc = "Registries to read from first, as addresses." },
    { .key = "plainHttp", .type = SBX_FIELD_BOOL, .offset = offsetof(struct raw_registry, plain_http),
      .doc = "It has no TLS." },
};
static const struct sbx_block registry_block = {
    "settings.registries", sizeof(struct raw_registry), -1, -1, registry_fields,
    SBX_ARRAY_LEN(registry_fields), NULL
};

static void decode_registries(struct sbx_decoder *d, const struct sbx_field *f,
                              const struct sbx_yaml_node *n, void *base)
{
    struct raw *raw = base;

    if (n->kind != SBX_YAML_MAPPING) {
        sbx_decode_type_error(d, n, f->want);
        return;
    }
    raw->registries = sbx_decode_alloc(d, n->len, sizeof(*raw->registries));
    raw->registry_at = sbx_decode_alloc(d, n->len, sizeof(*raw->registry_at));
    for (size_t i = 0; raw->registries && raw->registry_at && i < n->len; i++) {
        const struct sbx_yaml_node *key = n->entries[i].key;
        struct raw_registry one = { .plain_http = false };
        const char *name = sbx_yaml_string(d->arena, key);
        size_t mark = sbx_decode_enter(d, name ? name : "");

        if (!name)
            sbx_decode_type_error(d, key, "the name of a registry");
        else
            sbx_decode_block(d, &registry_block, n->entries[i].value, &one);
        raw->registry_at[raw->n_registries] = key->pos;
        raw->registries[raw->n_registries++] = (struct sbx_settings_registry){
            name, terminated(d, &one.mirrors), one.plain_http
        };
        sbx_decode_leave(d, mark);
    }
}

static const struct sbx_field fields[] = {
    { .key = "runtime", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw, runtime),
      .doc = "What runs sandboxes: auto, docker or oci." },
    { .key = "pull", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw, pull),
      .doc = "When images are pulled: always, missing or never." },
    { .key = "images", .type = SBX_FIELD_PAIRS, .offset = offsetof(struct raw, images),
      .want = "a mapping of agents to images", .doc = "Image of an agent in place of its kit's." },
    { .key = "registries", .type = SBX_FIELD_CUSTOM, .custom = decode_registries,
      .want = "a mapping of registries", .doc = "Mirrors of registries, and which have no TLS." },
    { .key = "cache", .type = SBX_FIELD_BLOCK, .block = &cache_block, .doc = "What was fetched." },
    { .key = "network", .type = SBX_FIELD_BLOCK, .block = &network_block, .doc = "Names and ranges." },
};
static const struct sbx_block block = {
    "settings", sizeof(struct raw), -1, -1, fields, SBX_ARRAY_LEN(fields), NULL
};

static void check_host(struct sbx_decoder *d, struct raw *raw, size_t i)
{
    struct sbx_settings_host *h = &raw->hosts[i];
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_host host;
    char key[300];

    snprintf(key, sizeof(key), "network.hosts.%.200s", h->name);
    if (sbx_host_parse(h->name, strlen(h->name), &host, &err) || host.kind != SBX_HOST_NAME) {
        sbx_bindings_report(d, SBX_ERROR, NULL, raw->host_at[i], key, NULL, "not the name of a host%s%s",
                            err.text[0] ? ": " : "", err.text);
        return;
    }
    h->name = sbx_arena_strdup(d->arena, host.text);
    d->no_memory = d->no_memory || !h->name;
    for (size_t k = 0; k < i && h->name; k++)
        if (!strcmp(raw->hosts[k].name, h->name))
            sbx_bindings_report(d, SBX_ERROR, NULL, raw->host_at[i], key, "keep one of them",
                                "given twice");
    if (!h->addresses[0])
        sbx_bindings_report(d, SBX_ERROR, NULL, raw->host_at[i], key, "write at least one address",
                            "no address");
    for (size_t k = 0; h->addresses[k]; k++)
        if (sbx_host_parse(h->addresses[k], strlen(h->addresses[k]), &host, NULL) ||
            host.kind == SBX_HOST_NAME)
            sbx_bindings_report(d, SBX_ERROR, NULL, raw->host_at[i], key,
                                "write IPv4 or IPv6 addresses", "not an address (%.80s)",
                                h->addresses[k]);
}

static void check_ranges(struct sbx_decoder *d, const struct raw *raw)
{
    SBX_AUTO_PTR(sbx_policy) none = NULL;

    if (sbx_policy_new(NULL, 0, &none, NULL)) {
        d->no_memory = true;
        return;
    }
    for (size_t i = 0; i < raw->ranges.len; i++) {
        struct sbx_err err = SBX_ERR_INIT;

        if (sbx_policy_public_test_range(none, raw->ranges.v[i], &err))
            sbx_bindings_report(d, SBX_ERROR, NULL, raw->ranges.at[i].pos, "network.publicTestRanges",
                                "write a range like 203.0.113.0/24", "%s", err.text);
    }
#ifndef SBX_FAULTS
    if (raw->ranges.len)
        sbx_bindings_report(d, SBX_WARNING, NULL, raw->ranges.at[0].pos, "network.publicTestRanges",
                            "remove it", "only a test build of sbx heeds it");
#endif
}

/* "https://host:port/path", with nothing else in it. */
static bool is_address(const char *url)
{
    const char *rest = !strncmp(url, "https://", 8)  ? url + 8
                       : !strncmp(url, "http://", 7) ? url + 7
                                                     : NULL;

    return rest && *rest && *rest != '/' && strlen(url) < 1024 && !strpbrk(rest, "@?# \t\r\n\"<>\\");
}

static void check_registry(struct sbx_decoder *d, struct raw *raw, size_t i)
{
    const struct sbx_settings_registry *r = &raw->registries[i];
    char key[300];

    snprintf(key, sizeof(key), "registries.%.200s", r->host ? r->host : "");
    if (!r->host || !*r->host || strpbrk(r->host, "/@ \t") || strstr(r->host, "://"))
        sbx_bindings_report(d, SBX_ERROR, NULL, raw->registry_at[i], key,
                            "write docker.io or registry.example.com:5000",
                            "not the name of a registry");
    for (size_t k = 0; k < i && r->host; k++)
        if (raw->registries[k].host && !strcmp(raw->registries[k].host, r->host))
            sbx_bindings_report(d, SBX_ERROR, NULL, raw->registry_at[i], key, "keep one of them",
                                "given twice");
    for (size_t k = 0; r->mirrors && r->mirrors[k]; k++)
        if (!is_address(r->mirrors[k]))
            sbx_bindings_report(d, SBX_ERROR, NULL, raw->registry_at[i], key,
                                "write an address like https://mirror.example.com",
                                "not the address of a mirror (%.80s)", r->mirrors[k]);
}

static void check_cache(struct sbx_decoder *d, struct raw *raw)
{
    static const struct sbx_pos nowhere;
    int64_t size = 0;

    if (raw->cache_max && (!sbx_size_parse(raw->cache_max, &size) || size <= 0))
        sbx_bindings_report(d, SBX_ERROR, &raw->cache_max, nowhere, "cache.max",
                            "write 20g or 500m", "not a size (%.80s)", raw->cache_max);
}

/* Its parts are looked at when it is used; what is plainly wrong is told with its line here. */
static void check_proxy(struct sbx_decoder *d, const char *const *url, const char *key)
{
    struct sbx_pos nowhere = { 0 };

    if (!*url || !strcmp(*url, "direct") || !strncmp(*url, "http://", 7))
        return;
    sbx_bindings_report(d, SBX_ERROR, url, nowhere, key, "write http://HOST:PORT, or direct",
                        "only http:// proxies can be used");
}

static void check_credentials(struct sbx_decoder *d, const char *const *path)
{
    struct sbx_pos nowhere = { 0 };

    if (*path && **path != '/' && strncmp(*path, "~/", 2))
        sbx_bindings_report(d, SBX_ERROR, path, nowhere, "network.proxy.credentialsFile",
                            "write an absolute path, or one that begins with ~/", "a relative path");
}

static void check(struct sbx_decoder *d, void *base)
{
    static const char *const runtimes[] = { "auto", "docker", "oci", NULL };
    static const char *const pulls[] = { "always", "missing", "never", NULL };
    struct raw *raw = base;

    if (raw->runtime)
        sbx_bindings_word(d, &raw->runtime, "runtime", runtimes);
    if (raw->pull)
        sbx_bindings_word(d, &raw->pull, "pull", pulls);
    for (size_t i = 0; i < raw->images.len; i++)
        if (!*raw->images.v[i].value)
            sbx_bindings_report(d, SBX_ERROR, NULL, raw->images.v[i].at.pos, "images",
                                "write an image like docker.io/library/debian:12",
                                "no image for %.80s", raw->images.v[i].name);
    for (size_t i = 0; i < raw->n_hosts && !d->no_memory; i++)
        check_host(d, raw, i);
    for (size_t i = 0; i < raw->n_registries && !d->no_memory; i++)
        check_registry(d, raw, i);
    check_cache(d, raw);
    check_ranges(d, raw);
    check_proxy(d, &raw->proxy_http, "network.proxy.http");
    check_proxy(d, &raw->proxy_https, "network.proxy.https");
    check_credentials(d, &raw->proxy_credentials);
}

static enum sbx_code convert(const struct raw *raw, struct sbx_arena *arena,
                             struct sbx_settings *ret, struct sbx_err *err)
{
    struct sbx_settings_image *images = sbx_arena_array(arena, raw->images.len, sizeof(*images));
    struct sbx_decoder d = { .arena = arena };
    struct sbx_settings s = {
        .runtime = raw->runtime ? raw->runtime : "auto",
        .pull = raw->pull ? raw->pull : "missing",
        .images = images,
        .n_images = raw->images.len,
        .hosts = raw->hosts,
        .n_hosts = raw->n_hosts,
        .cache_max = SBX_SETTINGS_CACHE_MAX,
        .registries = raw->registries,
        .n_registries = raw->n_registries,
        .public_test_ranges = terminated(&d, &raw->ranges),
        .proxy = { raw->proxy_http, raw->proxy_https,
                   raw->no_proxy.set ? terminated(&d, &raw->no_proxy) : NULL,
                   raw->proxy_credentials },
    };

    if (!images || !s.public_test_ranges || (raw->no_proxy.set && !s.proxy.no_proxy))
        return sbx_err_set(err, SBX_NO_MEMORY, "settings: no memory");
    if (raw->cache_max && !sbx_size_parse(raw->cache_max, &s.cache_max))
        s.cache_max = SBX_SETTINGS_CACHE_MAX; /* it was checked */
    for (size_t i = 0; i < raw->images.len; i++)
        images[i] = (struct sbx_settings_image){ raw->images.v[i].name, raw->images.v[i].value };
    *ret = s;
    return SBX_OK;
}

enum sbx_code sbx_settings_load(const char *path, struct sbx_arena *arena, struct sbx_diags *diags,
                                struct sbx_settings *ret, struct sbx_err *err)
{
    struct raw raw = { .runtime = NULL };
    enum sbx_code rc = sbx_bindings_read(path, &block, &raw, check, arena, NULL, diags, err);

    return rc ? rc : convert(&raw, arena, ret, err);
}

const char *sbx_settings_image(const struct sbx_settings *s, const char *agent)
{
    for (size_t i = 0; i < s->n_images; i++)
        if (!strcmp(s->images[i].agent, agent))
            return s->images[i].image;
    return NULL;
}
