/* settings.yaml. */
#include "bindings_int.h"

#include <stddef.h>
#include <string.h>

/* As decoded; turned into struct sbx_settings when all is well. */
struct raw {
    const char *runtime, *pull;
    struct sbx_pairs images;
    struct sbx_settings_host *hosts;
    struct sbx_pos *host_at; /* parallel to hosts */
    size_t n_hosts;
    struct sbx_strs ranges;
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

static const struct sbx_field network_fields[] = {
    { .key = "hosts", .type = SBX_FIELD_CUSTOM, .custom = decode_hosts,
      .want = "a list of addresses",
      .doc = "Addresses of names, asked before the resolver of this machine." },
    { .key = "publicTestRanges", .type = SBX_FIELD_STRINGS, .offset = offsetof(struct raw, ranges),
      .doc = "Ranges that a test build takes for public." },
};
static const struct sbx_block network_block = {
    "settings.network", sizeof(struct raw), -1, -1, network_fields,
    SBX_ARRAY_LEN(network_fields), NULL
};

static const struct sbx_field fields[] = {
    { .key = "runtime", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw, runtime),
      .doc = "What runs sandboxes: auto, docker or oci." },
    { .key = "pull", .type = SBX_FIELD_STRING, .offset = offsetof(struct raw, pull),
      .doc = "When images are pulled: always, missing or never." },
    { .key = "images", .type = SBX_FIELD_PAIRS, .offset = offsetof(struct raw, images),
      .want = "a mapping of agents to images", .doc = "Image of an agent in place of its kit's." },
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
    check_ranges(d, raw);
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
        .public_test_ranges = terminated(&d, &raw->ranges),
    };

    if (!images || !s.public_test_ranges)
        return sbx_err_set(err, SBX_NO_MEMORY, "settings: no memory");
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
