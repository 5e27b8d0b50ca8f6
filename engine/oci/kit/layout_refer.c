/* Referrers in a layout: its index names them beside what they refer to, as other tools write it. */
#include <string.h>

#include "layout.h"
#include "sbx/json.h"

bool layout_has_subject(const char *text, size_t len)
{
    SBX_AUTO_JSON json_t *m = json_loadb(text, len, 0, NULL);

    return json_object_get(m, "subject") != NULL;
}

/* The entry of the index, completed as a registry's list has it; NULL: it refers to something else. */
static json_t *refers(struct layout *l, const json_t *entry, const char *subject)
{
    const char *digest = json_string_value(json_object_get(entry, "digest")), *to;
    SBX_AUTO_JSON json_t *m = NULL;
    char path[LAYOUT_PATH];
    json_t *out;

    if (!digest || !sbx_digest_valid(digest))
        return NULL;
    layout_blob_path(digest, path);
    if (layout_read_json(l, path, &m, NULL))
        return NULL;
    to = json_string_value(json_object_get(json_object_get(m, "subject"), "digest"));
    if (!to || strcmp(to, subject) != 0)
        return NULL;
    out = json_pack("{s:O,s:O,s:O}", "mediaType", json_object_get(entry, "mediaType"), "digest",
                    json_object_get(entry, "digest"), "size", json_object_get(entry, "size"));
    if (out)
        sbx_oci_referrer_fill(out, m);
    return out;
}

enum sbx_code layout_referrers(struct kit_remote *rm, const char *digest, struct sbx_arena *arena,
                               struct sbx_oci_doc *ret, struct sbx_err *err)
{
    struct layout *l = (struct layout *)rm;
    SBX_AUTO_JSON json_t *index = NULL;
    SBX_AUTO_JSON json_t *out = json_pack("{s:i,s:s,s:[]}", "schemaVersion", 2, "mediaType",
                                          TYPE_INDEX, "manifests");
    SBX_AUTO_FREE char *text = NULL;
    const json_t *entry;
    size_t i;
    enum sbx_code rc = layout_read_json(l, "index.json", &index, err);

    if (rc)
        return rc;
    json_array_foreach(json_object_get(index, "manifests"), i, entry) {
        json_t *one = refers(l, entry, digest);

        if (one)
            json_array_append_new(json_object_get(out, "manifests"), one);
    }
    text = json_dumps(out, JSON_COMPACT);
    *ret = (struct sbx_oci_doc){ .media_type = TYPE_INDEX };
    if (text) {
        ret->len = strlen(text);
        ret->text = sbx_arena_strdup(arena, text);
    }
    if (!ret->text || sbx_digest(ret->text, ret->len, ret->digest))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return SBX_OK;
}
