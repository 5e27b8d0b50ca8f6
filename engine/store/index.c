/* CACHE/index.json: names for what lies in the cache, for people and other tools. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "cache.h"
#include "sbx/file.h"
#include "sbx/json.h"

#define INDEX_MAX 4096         /* manifests named in the index: past it the oldest name goes */
#define INDEX_TEXT_MAX (16 << 20) /* bytes of index.json: INDEX_MAX entries are below 4 MiB */

static json_t *read_index(const char *path)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(INDEX_TEXT_MAX);
    json_t *root = NULL;

    if (sbx_file_read(AT_FDCWD, path, &text, NULL) == SBX_OK)
        root = json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
    if (json_is_array(json_object_get(root, "manifests")))
        return root;
    json_decref(root); /* a broken index of a cache is a missing one */
    return json_pack("{s:i, s:[]}", "schemaVersion", 2, "manifests");
}

#define NAME_KEY "org.opencontainers.image.ref.name"

static enum sbx_code set_entry(json_t *root, json_t *entry, const char *name)
{
    json_t *list = json_object_get(root, "manifests");

    for (size_t i = json_array_size(list); i-- > 0;) {
        json_t *a = json_object_get(json_array_get(list, i), "annotations");
        const char *had = json_string_value(json_object_get(a, NAME_KEY));

        if ((had && strcmp(had, name) == 0) || json_array_size(list) >= INDEX_MAX)
            json_array_remove(list, i);
    }
    return entry && json_array_append(list, entry) == 0 ? SBX_OK : SBX_NO_MEMORY;
}

enum sbx_code sbx_blob_index(struct sbx_cache *c, const char *digest, size_t size,
                             const char *media_type, const char *name, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL, *entry = NULL;
    SBX_AUTO_FREE char *text = NULL;
    SBX_AUTO_FD int lock = -1;
    char path[CACHE_PATH], lock_path[CACHE_PATH];
    enum sbx_code rc = sbx_cache_ready(c, err);

    if (rc)
        return rc;
    snprintf(path, sizeof(path), "%.4000s/index.json", c->dir);
    snprintf(lock_path, sizeof(lock_path), "%.4000s/index.lock", c->dir);
    lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX))
        return sbx_err_errno(err, "lock %s", lock_path);
    root = read_index(path);
    entry = json_pack("{s:s, s:s, s:I, s:{s:s}}", "mediaType", media_type, "digest", digest, "size",
                      (json_int_t)size, "annotations", NAME_KEY, name);
    text = root && !set_entry(root, entry, name) ? json_dumps(root, JSON_INDENT(2)) : NULL;
    if (!text)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return sbx_file_write(AT_FDCWD, path, text, strlen(text), 0600, err);
}
