#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "sbx/file.h"
#include "store.h"

#define COPY_SIZE 262144 /* bytes: large enough that hashing, not system calls, is the cost */
#define INDEX_MAX 4096   /* images named in the cache's index */
#define LAYOUT "{\"imageLayoutVersion\": \"1.0.0\"}\n"

static enum sbx_code open_cache(struct sbx_store *s, struct sbx_err *err)
{
    char path[4096];
    enum sbx_code rc;

    if (s->blobs >= 0)
        return SBX_OK;
    if (snprintf(path, sizeof(path), "%s/blobs/sha256", s->cache) >= (int)sizeof(path))
        return sbx_err_set(err, SBX_LIMIT, "path of the cache is too long");
    rc = sbx_dir_make(path, 0700, err);
    if (rc)
        return rc;
    s->blobs = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->blobs < 0)
        return sbx_err_errno(err, "open %s", path);
    if (faccessat(s->blobs, "../../oci-layout", F_OK, 0) == 0)
        return SBX_OK;
    snprintf(path, sizeof(path), "%s/oci-layout", s->cache);
    return sbx_file_write(AT_FDCWD, path, LAYOUT, strlen(LAYOUT), 0600, err);
}

static enum sbx_code copy_hashed(int fd, sbx_read_fn read, void *ctx, int64_t max,
                                 struct sbx_hasher *h, int64_t *ret_size, struct sbx_err *err)
{
    SBX_AUTO_FREE char *data = malloc(COPY_SIZE);
    int64_t total = 0;
    ssize_t n;

    if (!data)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    while ((n = read(ctx, data, COPY_SIZE, err)) > 0) {
        total += n;
        if (total > max)
            return sbx_err_set(err, SBX_LIMIT, "more than %lld bytes", (long long)max);
        sbx_hasher_add(h, data, (size_t)n);
        if (sbx_write_all(fd, data, (size_t)n))
            return sbx_err_errno(err, "write to the cache");
    }
    *ret_size = total;
    return n < 0 ? (err && err->code ? err->code : SBX_IO) : SBX_OK;
}

/* A file without a name until it is whole: a killed command leaves nothing. */
static enum sbx_code publish(struct sbx_store *s, int fd, const char *digest, struct sbx_err *err)
{
    char self[64];

    if (fdatasync(fd))
        return sbx_err_errno(err, "write to the cache");
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, self, s->blobs, digest + strlen("sha256:"), AT_SYMLINK_FOLLOW) &&
        errno != EEXIST)
        return sbx_err_errno(err, "name blob %s", digest);
    return SBX_OK;
}

enum sbx_code sbx_blob_put(struct sbx_store *s, sbx_read_fn read, void *ctx, const char *expect,
                           int64_t max, char ret_digest[SBX_DIGEST_TEXT_SIZE], int64_t *ret_size,
                           struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_hasher) h = sbx_hasher_new();
    SBX_AUTO_FD int fd = -1;
    int64_t size = 0;
    enum sbx_code rc = open_cache(s, err);

    if (rc)
        return rc;
    if (!h)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    fd = openat(s->blobs, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return sbx_err_errno(err, "make a file in %s/blobs", s->cache);
    rc = copy_hashed(fd, read, ctx, max, h, &size, err);
    if (rc)
        return rc;
    sbx_hasher_text(h, ret_digest);
    if (expect && strcmp(expect, ret_digest) != 0)
        return sbx_err_set(err, SBX_SCHEMA, "digest is %s, not %s as it should be", ret_digest,
                           expect);
    if (ret_size)
        *ret_size = size;
    return publish(s, fd, ret_digest, err);
}

struct memory {
    const char *at;
    size_t left;
};

static ssize_t from_memory(void *ctx, void *to, size_t len, struct sbx_err *err)
{
    struct memory *m = ctx;

    (void)err;
    if (len > m->left)
        len = m->left;
    memcpy(to, m->at, len);
    m->at += len;
    m->left -= len;
    return (ssize_t)len;
}

enum sbx_code sbx_blob_put_mem(struct sbx_store *s, const void *data, size_t len,
                               const char *expect, char ret_digest[SBX_DIGEST_TEXT_SIZE],
                               struct sbx_err *err)
{
    struct memory m = { data, len };

    return sbx_blob_put(s, from_memory, &m, expect, INT64_MAX, ret_digest, NULL, err);
}

enum sbx_code sbx_blob_open(struct sbx_store *s, const char *digest, int *ret_fd,
                            struct sbx_err *err)
{
    enum sbx_code rc = open_cache(s, err);

    if (rc)
        return rc;
    *ret_fd = openat(s->blobs, digest + strlen("sha256:"), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return *ret_fd < 0 ? sbx_err_errno(err, "blob %s", digest) : SBX_OK;
}

void sbx_blob_remove(struct sbx_store *s, const char *digest)
{
    if (s->blobs >= 0)
        unlinkat(s->blobs, digest + strlen("sha256:"), 0);
}

static json_t *read_index(const char *path)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(16 << 20);
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

enum sbx_code sbx_blob_index(struct sbx_store *s, const char *digest, size_t size,
                             const char *media_type, const char *name, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL, *entry = NULL;
    SBX_AUTO_FREE char *text = NULL;
    SBX_AUTO_FD int lock = -1;
    char path[4096], lock_path[4096];
    enum sbx_code rc = open_cache(s, err);

    if (rc)
        return rc;
    snprintf(path, sizeof(path), "%.4000s/index.json", s->cache);
    snprintf(lock_path, sizeof(lock_path), "%.4000s/index.lock", s->cache);
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
