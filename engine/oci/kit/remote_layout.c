/* An OCI image layout (OCI Image Specification 1.1): the same artifacts without a registry. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "layout.h"
#include "sbx/file.h"
#include "sbx/json.h"

#define LAYOUT_TEXT "{\"imageLayoutVersion\":\"1.0.0\"}"
#define COPY_SIZE 262144 /* bytes at once */

#define L(remote) ((struct layout *)(remote))

void layout_blob_path(const char *digest, char path[LAYOUT_PATH])
{
    snprintf(path, LAYOUT_PATH, "blobs/sha256/%s", digest + strlen("sha256:"));
}

enum sbx_code layout_read_json(struct layout *l, const char *path, json_t **ret,
                               struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_REGISTRY_MANIFEST_MAX);
    enum sbx_code rc = sbx_file_read(l->dir, path, &text, err);

    if (rc)
        return rc;
    *ret = json_loadb(text.ptr ? text.ptr : "", text.len, JSON_REJECT_DUPLICATES, NULL);
    return *ret ? SBX_OK : sbx_err_set(err, SBX_SYNTAX, "%s/%s is not JSON", l->path, path);
}

static bool is_tagged(const json_t *entry, const char *tag)
{
    const char *name = json_string_value(
        json_object_get(json_object_get(entry, "annotations"), NAME_KEY));

    return name && !strcmp(name, tag);
}

static bool is_untagged(const json_t *have, const json_t *want)
{
    const json_t *name = json_object_get(json_object_get(have, "annotations"), NAME_KEY);

    return !name && json_equal(json_object_get(have, "digest"), json_object_get(want, "digest"));
}

/* Digest of a tag; a digest is itself. */
static enum sbx_code find(struct layout *l, const char *reference, char digest[SBX_DIGEST_TEXT_SIZE],
                          struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *index = NULL;
    const json_t *list;
    enum sbx_code rc = SBX_OK;

    if (sbx_digest_valid(reference)) {
        snprintf(digest, SBX_DIGEST_TEXT_SIZE, "%s", reference);
        return SBX_OK;
    }
    rc = layout_read_json(l, "index.json", &index, err);
    if (rc)
        return rc;
    list = json_object_get(index, "manifests");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *have = json_string_value(json_object_get(entry, "digest"));

        if (is_tagged(entry, reference) && have && sbx_digest_valid(have)) {
            snprintf(digest, SBX_DIGEST_TEXT_SIZE, "%s", have);
            return SBX_OK;
        }
    }
    return sbx_err_set(err, SBX_NOT_FOUND, "%s has no tag %s", l->path, reference);
}

static enum sbx_code manifest(struct kit_remote *rm, const char *reference, struct sbx_arena *arena,
                              struct sbx_oci_doc *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_REGISTRY_MANIFEST_MAX);
    SBX_AUTO_JSON json_t *root = NULL;
    char path[LAYOUT_PATH], digest[SBX_DIGEST_TEXT_SIZE];
    const char *type;
    enum sbx_code rc = find(L(rm), reference, ret->digest, err);

    if (rc)
        return rc;
    layout_blob_path(ret->digest, path);
    rc = sbx_file_read(L(rm)->dir, path, &text, err);
    if (!rc)
        rc = sbx_digest(text.ptr ? text.ptr : "", text.len, digest);
    if (rc)
        return sbx_err_wrap(err, rc, "%s", L(rm)->path);
    if (strcmp(digest, ret->digest) != 0)
        return sbx_err_set(err, SBX_SCHEMA, "%s/%s: digest is %s, not as its name says",
                           L(rm)->path, path, digest);
    root = json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
    type = json_string_value(json_object_get(root, "mediaType"));
    ret->len = text.len;
    ret->text = sbx_arena_memdup(arena, text.ptr ? text.ptr : "", text.len);
    ret->media_type = sbx_arena_strdup(arena, type ? type : TYPE_MANIFEST);
    return ret->text && ret->media_type ? SBX_OK
                                        : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code check_writable(const struct layout *l, struct sbx_err *err)
{
    return l->unpacked ? sbx_err_set(err, SBX_USAGE,
                                     "%s: an archive is not changed; unpack it (tar -xf) and name the "
                                     "directory", l->path)
                       : SBX_OK;
}

/* Replace the index: the entry of this tag (or, without one, of this digest) goes, `entry` (may be NULL) comes. */
static enum sbx_code change(struct layout *l, const char *tag, json_t *entry, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *index = NULL;
    SBX_AUTO_FREE char *text = NULL;
    SBX_AUTO_FD int lock = openat(l->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    json_t *list;
    enum sbx_code rc = check_writable(l, err);

    if (rc)
        return rc;
    if (lock < 0 || flock(lock, LOCK_EX))
        return sbx_err_errno(err, "lock %s", l->path);
    rc = layout_read_json(l, "index.json", &index, err);
    list = json_object_get(index, "manifests");
    if (!rc && !json_is_array(list))
        rc = sbx_err_set(err, SBX_SCHEMA, "%s/index.json is no index", l->path);
    if (rc)
        return rc;
    for (size_t i = json_array_size(list); i-- > 0;)
        if (tag ? is_tagged(json_array_get(list, i), tag)
                : is_untagged(json_array_get(list, i), entry))
            json_array_remove(list, i);
    if (entry && json_array_append(list, entry))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    text = json_dumps(index, JSON_COMPACT);
    if (!text)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return sbx_file_write(l->dir, "index.json", text, strlen(text), 0644, err);
}

static enum sbx_code push_manifest(struct kit_remote *rm, const char *tag, const char *type,
                                   const char *text, size_t len, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *entry = NULL;
    char digest[SBX_DIGEST_TEXT_SIZE], path[128];
    enum sbx_code rc = sbx_digest(text, len, digest);

    if (rc)
        return sbx_err_set(err, rc, "out of memory");
    layout_blob_path(digest, path);
    rc = sbx_file_write(L(rm)->dir, path, text, len, 0644, err);
    if (rc || (!tag && !layout_has_subject(text, len)))
        return rc;
    entry = json_pack("{s:s,s:s,s:I}", "mediaType", type, "digest", digest, "size",
                      (json_int_t)len);
    if (!entry || (tag && json_object_set_new(entry, "annotations",
                                              json_pack("{s:s}", NAME_KEY, tag))))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return change(L(rm), tag, entry, err);
}

enum sbx_code kit_layout_open_blob(struct kit_remote *rm, const char *digest, int64_t size,
                                   int *ret_fd, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    char path[LAYOUT_PATH];
    struct stat st;

    layout_blob_path(digest, path);
    fd = openat(L(rm)->dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st))
        return sbx_err_errno(err, "%s/%s", L(rm)->path, path);
    if (!S_ISREG(st.st_mode) || st.st_size != size)
        return sbx_err_set(err, SBX_SCHEMA, "%s/%s: not a file of %lld bytes", L(rm)->path, path,
                           (long long)size);
    *ret_fd = sbx_take_fd(&fd);
    return SBX_OK;
}

static enum sbx_code pull_blob(struct kit_remote *rm, const char *digest, int64_t size,
                               struct sbx_cache *cache, struct sbx_err *err)
{
    char unused[SBX_DIGEST_TEXT_SIZE];
    SBX_AUTO_FD int fd = -1;
    enum sbx_code rc;

    if (sbx_blob_has(cache, digest, NULL))
        return SBX_OK;
    rc = kit_layout_open_blob(rm, digest, size, &fd, err);
    if (!rc)
        rc = sbx_blob_put(cache, sbx_tree_from_fd, &fd, digest, size, unused, NULL, err);
    return rc ? sbx_err_wrap(err, rc, "%s: blob %s", L(rm)->path, digest) : SBX_OK;
}

static enum sbx_code copy(int from, int to, int64_t size, struct sbx_err *err)
{
    SBX_AUTO_FREE char *data = malloc(COPY_SIZE);

    for (int64_t at = 0; data && at < size;) {
        ssize_t n = pread(from, data, COPY_SIZE, at);

        if (n <= 0 || sbx_write_all(to, data, (size_t)n))
            return sbx_err_errno(err, "copy");
        at += n;
    }
    return data ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code push_blob(struct kit_remote *rm, const char *digest, int64_t size, int fd,
                               struct sbx_err *err)
{
    SBX_AUTO_FD int out = -1;
    char path[LAYOUT_PATH], self[64];
    enum sbx_code rc = check_writable(L(rm), err);

    if (rc)
        return rc;
    layout_blob_path(digest, path);
    if (!faccessat(L(rm)->dir, path, F_OK, 0))
        return SBX_OK;
    out = openat(L(rm)->dir, "blobs/sha256", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
    if (out < 0)
        return sbx_err_errno(err, "write to %s", L(rm)->path);
    rc = copy(fd, out, size, err);
    snprintf(self, sizeof(self), "/proc/self/fd/%d", out);
    if (!rc && (fdatasync(out) || (linkat(AT_FDCWD, self, L(rm)->dir, path, AT_SYMLINK_FOLLOW) &&
                                   errno != EEXIST)))
        rc = sbx_err_errno(err, "write to %s", L(rm)->path);
    return rc;
}

static enum sbx_code mount_blob(struct kit_remote *rm, const char *digest, const char *from,
                                bool *ret, struct sbx_err *err)
{
    (void)from, (void)err;
    *ret = false;
    if (sbx_digest_valid(digest)) {
        char path[LAYOUT_PATH];

        layout_blob_path(digest, path);
        *ret = !faccessat(L(rm)->dir, path, F_OK, 0);
    }
    return SBX_OK;
}

static enum sbx_code tags(struct kit_remote *rm, struct sbx_arena *arena, const char *const **ret,
                          size_t *ret_n, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *index = NULL;
    const char **list;
    size_t n = 0, all;
    enum sbx_code rc = layout_read_json(L(rm), "index.json", &index, err);
    const json_t *entries = json_object_get(index, "manifests");

    if (rc)
        return rc;
    all = json_array_size(entries);
    list = sbx_arena_array(arena, all + 1, sizeof(*list));
    if (!list)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < all; i++) {
        const json_t *notes = json_object_get(json_array_get(entries, i), "annotations");
        const char *name = json_string_value(json_object_get(notes, NAME_KEY));

        if (name && !(list[n++] = sbx_arena_strdup(arena, name)))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    *ret = list;
    *ret_n = n;
    return SBX_OK;
}

/* A tag goes; blobs stay, as with every tool for layouts. */
static enum sbx_code remove_one(struct kit_remote *rm, const char *reference, struct sbx_err *err)
{
    char digest[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc;

    if (sbx_digest_valid(reference))
        return sbx_err_set(err, SBX_UNSUPPORTED, "a layout is deleted from by tag");
    rc = find(L(rm), reference, digest, err);
    return rc ? rc : change(L(rm), reference, NULL, err);
}

static enum sbx_code twin(const struct kit_remote *rm, struct kit_remote **ret, struct sbx_err *err)
{
    const struct layout *l = (const struct layout *)rm;

    return kit_remote_open_layout(l->unpacked ? l->unpacked : l->path, NULL, false, ret, err);
}

static void layout_free(struct kit_remote *rm)
{
    if (L(rm)->unpacked)
        (void)!sbx_dir_remove(AT_FDCWD, L(rm)->unpacked, NULL); /* else `cache prune` removes it */
    if (L(rm)->dir >= 0)
        close(L(rm)->dir);
    free(L(rm)->unpacked);
    free(L(rm)->path);
    free(rm);
}

static const struct kit_remote_ops ops = {
    .name = "layout",
    .manifest = manifest,
    .look = manifest,
    .push_manifest = push_manifest,
    .pull_blob = pull_blob,
    .push_blob = push_blob,
    .mount = mount_blob,
    .tags = tags,
    .referrers = layout_referrers,
    .remove = remove_one,
    .twin = twin,
    .free = layout_free,
};

static enum sbx_code prepare(const char *path, struct sbx_err *err)
{
    static const char empty[] = "{\"schemaVersion\":2,\"mediaType\":\"" TYPE_INDEX
                                "\",\"manifests\":[]}";
    SBX_AUTO_FREE char *blobs = NULL, *index = NULL, *mark = NULL;
    struct stat st;
    enum sbx_code rc;

    if (!stat(path, &st) && S_ISREG(st.st_mode))
        return sbx_err_set(err, SBX_USAGE, "%s is a file; \"sbx kit pack -o FILE\" writes an archive", path);
    if (asprintf(&blobs, "%s/blobs/sha256", path) < 0 ||
        asprintf(&index, "%s/index.json", path) < 0 || asprintf(&mark, "%s/oci-layout", path) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_dir_make(blobs, 0755, err);
    if (!rc && access(index, F_OK))
        rc = sbx_file_write(AT_FDCWD, index, empty, strlen(empty), 0644, err);
    if (!rc && access(mark, F_OK))
        rc = sbx_file_write(AT_FDCWD, mark, LAYOUT_TEXT, strlen(LAYOUT_TEXT), 0644, err);
    return rc;
}

/* A directory that is a layout, or an archive of one. */
static enum sbx_code open_it(struct layout *l, const char *cache, struct sbx_err *err)
{
    struct stat st;
    enum sbx_code rc = SBX_OK;

    if (cache && !stat(l->path, &st) && S_ISREG(st.st_mode))
        rc = layout_unpack_archive(l->path, cache, &l->unpacked, &l->dir, err);
    else
        l->dir = open(l->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rc)
        return rc;
    if (l->dir < 0)
        return sbx_err_errno(err, "%s", l->path);
    if (faccessat(l->dir, "oci-layout", F_OK, 0))
        return sbx_err_set(err, SBX_SCHEMA, "%s is not an OCI layout (no file oci-layout)", l->path);
    return SBX_OK;
}

enum sbx_code kit_remote_open_layout(const char *path, const char *cache, bool make,
                                     struct kit_remote **ret, struct sbx_err *err)
{
    enum sbx_code rc = make ? prepare(path, err) : SBX_OK;
    struct layout *l;

    if (rc)
        return rc;
    l = calloc(1, sizeof(*l));
    if (!l)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    l->rm.ops = &ops;
    l->dir = -1;
    l->path = strdup(path);
    rc = l->path ? open_it(l, cache, err) : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (rc) {
        layout_free(&l->rm);
        return rc;
    }
    *ret = &l->rm;
    return SBX_OK;
}
