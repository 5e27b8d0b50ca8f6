#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "store.h"

static const char *const index_types[] = {
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
};
static const char *const manifest_types[] = {
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
};
#define ANNOTATION_NAME "io.containerd.image.name"
#define ANNOTATION_REF "org.opencontainers.image.ref.name"

bool sbx_media_is_index(const char *type)
{
    return strcmp(type, index_types[0]) == 0 || strcmp(type, index_types[1]) == 0;
}

bool sbx_media_is_manifest(const char *type)
{
    return strcmp(type, manifest_types[0]) == 0 || strcmp(type, manifest_types[1]) == 0;
}

bool sbx_media_is_image(const char *type)
{
    return !*type || sbx_media_is_index(type) || sbx_media_is_manifest(type);
}

struct sbx_store_platform sbx_store_platform(void)
{
    static struct utsname u; /* what the kernel runs is what images must be for */
    static const struct {
        const char *machine, *name;
        int variant;
    } rows[] = {
        { "x86_64", "amd64", 1 }, /* more only if asked for, as Docker has it */
        { "aarch64", "arm64", 8 },   { "armv8l", "arm", 8 },       { "armv7l", "arm", 7 },
        { "armv6l", "arm", 6 },      { "i686", "386", 0 },         { "riscv64", "riscv64", 0 },
        { "ppc64le", "ppc64le", 0 }, { "s390x", "s390x", 0 },
    };

    if (uname(&u))
        return (struct sbx_store_platform){ "linux", "unknown", 0 };
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        if (strcmp(u.machine, rows[i].machine) == 0)
            return (struct sbx_store_platform){ "linux", rows[i].name, rows[i].variant };
    return (struct sbx_store_platform){ "linux", u.machine, 0 };
}

/* "v7" is 7; without one it is what Docker takes it for. */
static int variant_of(const json_t *platform, const char *arch)
{
    const char *text = json_string_value(json_object_get(platform, "variant"));

    if (text && text[0] == 'v')
        return atoi(text + 1);
    return !strcmp(arch, "arm") ? 7 : !strcmp(arch, "arm64") ? 8 : 1;
}

int sbx_store_platform_rank(const json_t *platform, const struct sbx_store_platform *ours)
{
    const char *os = json_string_value(json_object_get(platform, "os"));
    const char *arch = json_string_value(json_object_get(platform, "architecture"));
    int variant;

    if ((os && strcmp(os, ours->os) != 0) || (arch && strcmp(arch, ours->architecture) != 0))
        return 0;
    if (!arch || !ours->variant)
        return 1;
    variant = variant_of(platform, arch);
    return variant > ours->variant ? 0 : 1 + variant;
}

enum sbx_code sbx_text_json(const char *text, size_t len, json_t **ret, struct sbx_err *err)
{
    json_error_t e;

    if (len > SBX_STORE_JSON_MAX)
        return sbx_err_set(err, SBX_LIMIT, "more than %d bytes of JSON", SBX_STORE_JSON_MAX);
    *ret = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
    if (!*ret)
        return sbx_err_set(err, SBX_SYNTAX, "line %d: %s", e.line, e.text);
    return SBX_OK;
}

/* A string member: absent or null is `fallback`, another type is an error. */
enum sbx_code sbx_json_text(const json_t *object, const char *key, const char *fallback,
                            struct sbx_arena *arena, const char **ret, struct sbx_err *err)
{
    const json_t *v = json_object_get(object, key);

    if (!v || json_is_null(v)) {
        *ret = fallback;
        return SBX_OK;
    }
    if (!json_is_string(v))
        return sbx_err_set(err, SBX_SCHEMA, "%s is not a string", key);
    *ret = sbx_arena_strdup(arena, json_string_value(v));
    return *ret ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

/* A list of strings, NULL-terminated. Absent or null is empty. */
enum sbx_code sbx_json_list(const json_t *object, const char *key, size_t max,
                            struct sbx_arena *arena, const char ***ret, size_t *ret_n,
                            struct sbx_err *err)
{
    const json_t *v = json_object_get(object, key), *item;
    size_t n = json_is_array(v) ? json_array_size(v) : 0, i;
    const char **list;

    if (v && !json_is_null(v) && !json_is_array(v))
        return sbx_err_set(err, SBX_SCHEMA, "%s is not a list", key);
    if (n > max)
        return sbx_err_set(err, SBX_LIMIT, "%s has %zu items, more than %zu", key, n, max);
    list = sbx_arena_array(arena, n + 1, sizeof(*list));
    if (!list)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    json_array_foreach((json_t *)v, i, item) {
        if (!json_is_string(item))
            return sbx_err_set(err, SBX_SCHEMA, "%s[%zu] is not a string", key, i);
        list[i] = sbx_arena_strdup(arena, json_string_value(item));
        if (!list[i])
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    *ret = list;
    if (ret_n)
        *ret_n = n;
    return SBX_OK;
}

static enum sbx_code descriptor(const json_t *v, const char *what, struct sbx_arena *arena,
                                struct sbx_descriptor *ret, struct sbx_err *err)
{
    const json_t *size = json_object_get(v, "size");
    const char *digest;
    enum sbx_code rc;

    if (!json_is_object(v))
        return sbx_err_set(err, SBX_SCHEMA, "%s is not an object", what);
    rc = sbx_json_text(v, "mediaType", "", arena, &ret->media_type, err);
    if (!rc)
        rc = sbx_json_text(v, "digest", "", arena, &digest, err);
    if (rc)
        return sbx_err_wrap(err, rc, "%s", what);
    if (!sbx_digest_valid(digest))
        return sbx_err_set(err, SBX_SCHEMA, "%s: digest \"%.100s\" is not sha256:<64 hex digits>",
                           what, digest);
    if (!json_is_integer(size) || json_integer_value(size) < 0)
        return sbx_err_set(err, SBX_SCHEMA, "%s: size is not a number of bytes", what);
    memcpy(ret->digest, digest, sizeof(ret->digest));
    ret->size = json_integer_value(size);
    return SBX_OK;
}

static enum sbx_code docker_names(const json_t *image, struct sbx_arena *arena,
                                  struct sbx_manifest *m, struct sbx_err *err)
{
    enum sbx_code rc = sbx_json_list(image, "RepoTags", SBX_STORE_MANIFESTS_MAX, arena, &m->names,
                                     &m->n_names, err);

    for (size_t i = 0; !rc && i < m->n_names; i++) {
        const char *full = sbx_store_full_name(arena, m->names[i]);

        if (!full)
            return sbx_err_set(err, SBX_SCHEMA, "RepoTags[%zu]: \"%.200s\" is not a reference", i,
                               m->names[i]);
        m->names[i] = full;
    }
    return rc;
}

static enum sbx_code docker_image(const json_t *image, struct sbx_arena *arena,
                                  struct sbx_manifest *m, struct sbx_err *err)
{
    enum sbx_code rc;

    if (!json_is_object(image))
        return sbx_err_set(err, SBX_SCHEMA, "not an object");
    rc = sbx_json_text(image, "Config", "", arena, &m->config, err);
    if (!rc && !*m->config)
        return sbx_err_set(err, SBX_SCHEMA, "Config is missing");
    if (!rc)
        rc = sbx_json_list(image, "Layers", SBX_STORE_LAYERS_MAX, arena, &m->layers, &m->n_layers,
                           err);
    return rc ? rc : docker_names(image, arena, m, err);
}

enum sbx_code sbx_manifest_docker(const char *text, size_t len, struct sbx_arena *arena,
                                  struct sbx_manifest **ret, size_t *ret_n, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL;
    struct sbx_manifest *list;
    enum sbx_code rc = sbx_text_json(text, len, &root, err);
    size_t n = json_array_size(root);

    if (rc)
        return rc;
    if (!json_is_array(root) || !n)
        return sbx_err_set(err, SBX_SCHEMA, "not a list of images");
    if (n > SBX_STORE_MANIFESTS_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%zu images, more than %d", n, SBX_STORE_MANIFESTS_MAX);
    list = sbx_arena_array(arena, n, sizeof(*list));
    if (!list)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) {
        rc = docker_image(json_array_get(root, i), arena, &list[i], err);
        if (rc)
            return sbx_err_wrap(err, rc, "image %zu", i);
    }
    *ret = list;
    *ret_n = n;
    return SBX_OK;
}

static enum sbx_code oci_layers(const json_t *root, struct sbx_arena *arena, struct sbx_manifest *m,
                                struct sbx_err *err)
{
    const json_t *layers = json_object_get(root, "layers");
    struct sbx_descriptor d;

    if (!json_is_array(layers))
        return sbx_err_set(err, SBX_SCHEMA, "layers is not a list");
    m->n_layers = json_array_size(layers);
    if (m->n_layers > SBX_STORE_LAYERS_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%zu layers, more than %d", m->n_layers,
                           SBX_STORE_LAYERS_MAX);
    m->layers = sbx_arena_array(arena, m->n_layers + 1, sizeof(*m->layers));
    m->sizes = sbx_arena_array(arena, m->n_layers + 1, sizeof(*m->sizes));
    if (!m->layers || !m->sizes)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < m->n_layers; i++) {
        enum sbx_code rc = descriptor(json_array_get(layers, i), "a layer", arena, &d, err);

        if (rc)
            return rc;
        m->layers[i] = sbx_arena_strdup(arena, d.digest);
        m->sizes[i] = d.size;
        if (!m->layers[i])
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    return SBX_OK;
}

enum sbx_code sbx_manifest_oci(const char *text, size_t len, struct sbx_arena *arena,
                               struct sbx_manifest *ret, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL;
    struct sbx_descriptor config;
    enum sbx_code rc = sbx_text_json(text, len, &root, err);

    *ret = (struct sbx_manifest){ 0 };
    if (rc)
        return rc;
    if (json_integer_value(json_object_get(root, "schemaVersion")) != 2)
        return sbx_err_set(err, SBX_SCHEMA, "not an image manifest of schema version 2");
    if (json_object_get(root, "manifests"))
        return sbx_err_set(err, SBX_SCHEMA, "both a manifest and an index");
    rc = descriptor(json_object_get(root, "config"), "config", arena, &config, err);
    if (rc)
        return rc;
    ret->config = sbx_arena_strdup(arena, config.digest);
    if (!ret->config)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    ret->is_oci = strcmp(sbx_json_text_of(root, "mediaType"), manifest_types[1]) != 0;
    return oci_layers(root, arena, ret, err);
}

static const char *name_of(const json_t *entry, struct sbx_arena *arena)
{
    const json_t *a = json_object_get(entry, "annotations");
    const char *name = json_string_value(json_object_get(a, ANNOTATION_NAME));

    if (!name)
        name = json_string_value(json_object_get(a, ANNOTATION_REF));
    if (!name || !strpbrk(name, "/:"))
        return NULL; /* a bare tag ("latest") names nothing by itself */
    return sbx_store_full_name(arena, name);
}

enum sbx_code sbx_manifest_index(const char *text, size_t len, const struct sbx_store_platform *ours,
                                 struct sbx_arena *arena, struct sbx_index *ret,
                                 struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL;
    enum sbx_code rc = sbx_text_json(text, len, &root, err);
    const json_t *list = json_object_get(root, "manifests"), *entry;
    size_t i, n = json_array_size(list);
    int best = 0;

    *ret = (struct sbx_index){ 0 };
    if (rc)
        return rc;
    if (json_integer_value(json_object_get(root, "schemaVersion")) != 2 || !json_is_array(list))
        return sbx_err_set(err, SBX_SCHEMA, "not an image index of schema version 2");
    if (n > SBX_STORE_MANIFESTS_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%zu manifests, more than %d", n,
                           SBX_STORE_MANIFESTS_MAX);
    ret->v = sbx_arena_array(arena, n + 1, sizeof(*ret->v));
    ret->names = sbx_arena_array(arena, n + 1, sizeof(*ret->names));
    if (!ret->v || !ret->names)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    json_array_foreach(list, i, entry) {
        int rank = sbx_store_platform_rank(json_object_get(entry, "platform"), ours);

        rc = descriptor(entry, "a manifest", arena, &ret->v[ret->n], err);
        if (rc)
            return rc;
        if (rank > best && sbx_media_is_image(ret->v[ret->n].media_type)) {
            best = rank;
            ret->best = ret->n;
        }
        if (rank) /* attestations and images of other platforms are not ours */
            ret->names[ret->n++] = name_of(entry, arena);
    }
    return SBX_OK;
}

enum sbx_code sbx_layout_check(const char *text, size_t len, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL;
    enum sbx_code rc = sbx_text_json(text, len, &root, err);
    const char *version = json_string_value(json_object_get(root, "imageLayoutVersion"));

    if (rc)
        return rc;
    if (!version || strcmp(version, "1.0.0") != 0)
        return sbx_err_set(err, SBX_UNSUPPORTED, "image layout version %.20s, not 1.0.0",
                           version ? version : "missing");
    return SBX_OK;
}
