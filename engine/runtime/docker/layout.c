#include "layout.h"

#include <string.h>

#include "docker.h"
#include "sbx/digest.h"

struct work {
    const struct docker_parts *in;
    struct docker_parts *out;
    const char *arch;
    json_t *manifests; /* of manifest.json */
    size_t images;
};

static enum sbx_code no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code read_json(const struct docker_parts *in, const char *name, json_t **ret,
                               struct sbx_err *err)
{
    const struct docker_part *part = docker_parts_find(in, name);
    const char *text;
    enum sbx_code rc;

    if (!part)
        return sbx_err_set(err, SBX_SCHEMA, "the layout lacks %s", name);
    rc = docker_parts_content(in, part, DOCKER_LAYOUT_JSON_MAX, &text, err);
    if (rc)
        return rc;
    *ret = json_loadb(text, (size_t)part->size, 0, NULL);
    return json_is_object(*ret) ? SBX_OK : sbx_err_set(err, SBX_SCHEMA, "%s is not JSON", name);
}

/* Path of a descriptor's blob in the archive. */
static enum sbx_code blob_path(const struct work *w, const json_t *descriptor, const char **ret,
                               struct sbx_err *err)
{
    const char *digest = sbx_json_text_of(descriptor, "digest");

    if (!sbx_digest_valid(digest))
        return sbx_err_set(err, SBX_SCHEMA, "\"%.80s\" is not a sha256 digest", digest);
    *ret = sbx_arena_printf(w->out->arena, "blobs/sha256/%s", digest + 7);
    return *ret ? SBX_OK : no_memory(err);
}

static enum sbx_code add_blob(struct work *w, const json_t *descriptor, const char **ret_path,
                              struct sbx_err *err)
{
    const struct docker_part *part;
    enum sbx_code rc = blob_path(w, descriptor, ret_path, err);

    if (rc)
        return rc;
    part = docker_parts_find(w->in, *ret_path);
    if (!part)
        return sbx_err_set(err, SBX_SCHEMA, "the layout lacks %s", *ret_path);
    return docker_parts_find(w->out, *ret_path) ? SBX_OK : docker_parts_add(w->out, *part, err);
}

/* Tools write a whole reference, or only a tag, which says nothing here. */
static json_t *tags_of(const json_t *descriptor)
{
    const json_t *notes = json_object_get(descriptor, "annotations");
    const char *name = sbx_json_text_of(notes, "io.containerd.image.name");

    if (!*name)
        name = sbx_json_text_of(notes, "org.opencontainers.image.ref.name");
    if (!strchr(name, ':') || strchr(name, '@'))
        return json_array();
    return json_pack("[s]", name);
}

static enum sbx_code add_image(struct work *w, const json_t *manifest, const json_t *descriptor,
                               struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *layers = json_array();
    const char *config, *path;
    enum sbx_code rc = add_blob(w, json_object_get(manifest, "config"), &config, err);
    json_t *layer;
    size_t i;

    if (rc)
        return rc;
    json_array_foreach(json_object_get(manifest, "layers"), i, layer) {
        rc = add_blob(w, layer, &path, err);
        if (rc)
            return rc;
        json_array_append_new(layers, json_string(path));
    }
    w->images++;
    return json_array_append_new(w->manifests,
                                 json_pack("{s:s, s:o, s:O}", "Config", config, "RepoTags",
                                           tags_of(descriptor), "Layers", layers))
               ? no_memory(err)
               : SBX_OK;
}

/* Attestations and other machines' images are passed over. */
static bool for_us(const struct work *w, const json_t *descriptor)
{
    const json_t *platform = json_object_get(descriptor, "platform");

    if (!platform)
        return true;
    return strcmp(sbx_json_text_of(platform, "os"), "linux") == 0 &&
           (!*w->arch || strcmp(sbx_json_text_of(platform, "architecture"), w->arch) == 0);
}

static enum sbx_code add_index(struct work *w, const json_t *index, const json_t *named, int depth,
                               struct sbx_err *err)
{
    json_t *descriptor;
    size_t i;

    json_array_foreach(json_object_get(index, "manifests"), i, descriptor) {
        SBX_AUTO_JSON json_t *content = NULL;
        const json_t *outer = named ? named : descriptor;
        const char *path;
        enum sbx_code rc;

        if (!for_us(w, descriptor))
            continue;
        rc = blob_path(w, descriptor, &path, err);
        if (!rc)
            rc = read_json(w->in, path, &content, err);
        if (!rc && json_object_get(content, "manifests"))
            rc = depth ? add_index(w, content, outer, depth - 1, err)
                       : sbx_err_set(err, SBX_SCHEMA, "indexes within indexes within indexes");
        else if (!rc)
            rc = add_image(w, content, outer, err);
        if (rc)
            return rc;
    }
    return SBX_OK;
}

enum sbx_code docker_layout(const struct docker_parts *in, const char *arch,
                            struct docker_parts *out, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *index = NULL;
    SBX_AUTO_JSON json_t *manifests = json_array();
    SBX_AUTO_FREE char *text = NULL;
    struct work w = { in, out, arch, manifests, 0 };
    struct docker_part part = { .name = "manifest.json" };
    enum sbx_code rc = read_json(in, "index.json", &index, err);

    if (!rc)
        rc = add_index(&w, index, NULL, 1, err);
    if (rc)
        return rc;
    if (!w.images)
        return sbx_err_set(err, SBX_NOT_FOUND, "the layout has no image for linux/%s", arch);
    text = json_dumps(manifests, JSON_COMPACT);
    part.memory = text ? sbx_arena_strdup(out->arena, text) : NULL;
    if (!part.memory)
        return no_memory(err);
    part.size = (off_t)strlen(text);
    return docker_parts_add(out, part, err);
}
