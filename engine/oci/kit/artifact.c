#include "artifact.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "remote.h"
#include "sbx/json.h"

#define V1_LAYER "application/vnd.docker.sandbox.kit.v1.content.zip"
#define V1_PREFIX "application/vnd.docker.sandbox.kit.v1"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static enum sbx_code take_blob(const json_t *d, const char *what, int64_t max, struct kit_blob *ret,
                               struct sbx_err *err)
{
    const char *digest = text_of(d, "digest");
    const json_t *size = json_object_get(d, "size");

    if (!sbx_digest_valid(digest))
        return sbx_err_set(err, SBX_SCHEMA, "%s: digest \"%.100s\" is not sha256:<64 hex digits>",
                           what, digest);
    if (!json_is_integer(size) || json_integer_value(size) < 0)
        return sbx_err_set(err, SBX_SCHEMA, "%s: size is not a number of bytes", what);
    if (json_integer_value(size) > max)
        return sbx_err_set(err, SBX_LIMIT, "%s: %lld bytes, more than %lld", what,
                           (long long)json_integer_value(size), (long long)max);
    snprintf(ret->digest, sizeof(ret->digest), "%s", digest);
    ret->size = json_integer_value(size);
    return SBX_OK;
}

static enum sbx_code version_one(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_UNSUPPORTED,
                       "a kit of version 1 (a ZIP archive): ask its author for one of version 2, or "
                       "take its sources through \"sbx kit migrate\"");
}

static bool has_layer(const json_t *layers, const char *type)
{
    for (size_t i = 0; i < json_array_size(layers); i++)
        if (!strcmp(text_of(json_array_get(layers, i), "mediaType"), type))
            return true;
    return false;
}

/* By artifactType, or where a registry dropped it, by the type of the configuration. */
static enum sbx_code check_kind(const json_t *root, struct sbx_err *err)
{
    const char *type = text_of(root, "artifactType");
    const char *config = text_of(json_object_get(root, "config"), "mediaType");

    if (!strncmp(type, V1_PREFIX, strlen(V1_PREFIX)) ||
        has_layer(json_object_get(root, "layers"), V1_LAYER))
        return version_one(err);
    if (json_object_get(root, "manifests"))
        return sbx_err_set(err, SBX_SCHEMA, "an image index, not a kit");
    if (*type && strcmp(type, SBX_KIT_TYPE) != 0)
        return sbx_err_set(err, SBX_SCHEMA, "an artifact of type %.100s, not a kit", type);
    if (strcmp(config, SBX_KIT_CONFIG_TYPE) != 0)
        return sbx_err_set(err, SBX_SCHEMA, "%s (its configuration is %.100s)",
                           *type ? "not a kit" : "an image or another artifact, not a kit",
                           *config ? config : "of no type");
    return SBX_OK;
}

enum sbx_code kit_manifest_parse(const char *text, size_t len, struct kit_manifest *ret,
                                 struct sbx_err *err)
{
    json_error_t e;
    SBX_AUTO_JSON json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
    const json_t *layers = json_object_get(root, "layers"), *layer;
    enum sbx_code rc;
    size_t i;

    if (!root)
        return sbx_err_set(err, SBX_SYNTAX, "line %d: %s", e.line, e.text);
    *ret = (struct kit_manifest){ .has_layer = false };
    if (json_integer_value(json_object_get(root, "schemaVersion")) != 2)
        return sbx_err_set(err, SBX_SCHEMA, "not a manifest of schemaVersion 2");
    rc = check_kind(root, err);
    if (!rc)
        rc = take_blob(json_object_get(root, "config"), "config", SBX_SPEC_MAX, &ret->config, err);
    if (!rc && layers && !json_is_array(layers))
        rc = sbx_err_set(err, SBX_SCHEMA, "layers is not a list");
    if (!rc && json_array_size(layers) > KIT_LAYERS_MAX)
        rc = sbx_err_set(err, SBX_LIMIT, "more than %d layers", KIT_LAYERS_MAX);
    if (rc)
        return rc;
    json_array_foreach((json_t *)layers, i, layer) {
        if (strcmp(text_of(layer, "mediaType"), SBX_KIT_LAYER_TYPE) != 0)
            continue; /* of a later version, perhaps */
        if (ret->has_layer)
            return sbx_err_set(err, SBX_SCHEMA, "two layers with files: a kit has one");
        rc = take_blob(layer, "layer", SBX_KIT_LAYER_MAX, &ret->layer, err);
        if (rc)
            return rc;
        ret->has_layer = true;
    }
    return SBX_OK;
}

/* Equal kits have equal digests: the time is fixed, unless SOURCE_DATE_EPOCH says another one. */
enum sbx_code kit_created(char out[KIT_CREATED_SIZE], struct sbx_err *err)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");
    long long seconds = 0;
    time_t when;
    char *end;
    struct tm tm;

    if (text && *text) {
        seconds = strtoll(text, &end, 10);
        if (*end || seconds < 0)
            return sbx_err_set(err, SBX_USAGE, "SOURCE_DATE_EPOCH=%.40s: not a number of seconds",
                               text);
    }
    when = (time_t)seconds;
    if (!gmtime_r(&when, &tm) || tm.tm_year > 8099 ||
        !strftime(out, KIT_CREATED_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm))
        return sbx_err_set(err, SBX_USAGE, "SOURCE_DATE_EPOCH=%.40s: no such time", text);
    return SBX_OK;
}

static json_t *annotations(const struct sbx_artifact *a, const char *when)
{
    const struct {
        const char *key, *value;
    } rows[] = {
        { "org.opencontainers.image.created", when },
        { "org.opencontainers.image.description", a->description },
        { "org.opencontainers.image.source", a->source_url },
        { "org.opencontainers.image.title",
          a->display_name && *a->display_name ? a->display_name : a->name },
        { "vnd.docker.sandbox.kit.kind", a->kind },
        { "vnd.docker.sandbox.kit.name", a->name },
        { "vnd.docker.sandbox.kit.version", a->version },
    };
    json_t *out = json_object();

    for (size_t i = 0; out && i < SBX_ARRAY_LEN(rows); i++)
        if (rows[i].value && *rows[i].value)
            json_object_set_new(out, rows[i].key, json_string(rows[i].value));
    return out;
}

static json_t *descriptor(const char *type, const struct kit_blob *b)
{
    return json_pack("{s:s,s:s,s:I}", "mediaType", type, "digest", b->digest, "size",
                     (json_int_t)b->size);
}

enum sbx_code kit_manifest_write(const struct sbx_artifact *a, const struct kit_manifest *m,
                                 char **ret, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL;
    char when[KIT_CREATED_SIZE];
    enum sbx_code rc = kit_created(when, err);

    if (rc)
        return rc;
    root = json_pack("{s:i,s:s,s:s,s:o,s:[o],s:o}", "schemaVersion", 2, "mediaType", TYPE_MANIFEST,
                     "artifactType", SBX_KIT_TYPE, "config",
                     descriptor(SBX_KIT_CONFIG_TYPE, &m->config), "layers",
                     descriptor(SBX_KIT_LAYER_TYPE, &m->layer), "annotations",
                     annotations(a, when));
    *ret = root ? json_dumps(root, JSON_COMPACT) : NULL;
    return *ret ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}
