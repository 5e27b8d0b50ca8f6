#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cache.h"
#include "sbx/file.h"

#define COPY_SIZE 262144 /* bytes: large enough that hashing, not system calls, is the cost */
#define LAYOUT "{\"imageLayoutVersion\": \"1.0.0\"}\n"
#define EMPTY_INDEX "{\"schemaVersion\": 2, \"manifests\": []}\n"

enum sbx_code sbx_cache_open(const char *dir, struct sbx_cache **ret, struct sbx_err *err)
{
    struct sbx_cache *c = calloc(1, sizeof(*c));

    if (c)
        c->dir = strdup(dir);
    if (!c || !c->dir) {
        free(c);
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    c->blobs = -1;
    *ret = c;
    return SBX_OK;
}

void sbx_cache_close(struct sbx_cache *c)
{
    if (!c)
        return;
    if (c->blobs >= 0)
        close(c->blobs);
    free(c->dir);
    free(c);
}

const char *sbx_cache_dir(const struct sbx_cache *c) { return c->dir; }

/* A file that makes this directory a layout, if it is not there. */
static enum sbx_code put(struct sbx_cache *c, const char *name, const char *text, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = openat(c->blobs, "../..", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    char self[64], path[64];

    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    snprintf(path, sizeof(path), "../../%s", name);
    if (fd < 0 || sbx_write_all(fd, text, strlen(text)) ||
        (linkat(AT_FDCWD, self, c->blobs, path, AT_SYMLINK_FOLLOW) && errno != EEXIST))
        return sbx_err_errno(err, "write %s/%s", c->dir, name);
    return SBX_OK;
}

/* Other tools want both files. Not synced: what is empty after a crash is written again, names with the next one. */
static enum sbx_code mark(struct sbx_cache *c, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;
    struct stat st;

    if (fstatat(c->blobs, "../../oci-layout", &st, AT_SYMLINK_NOFOLLOW) ||
        st.st_size != (off_t)strlen(LAYOUT)) {
        unlinkat(c->blobs, "../../oci-layout", 0);
        rc = put(c, "oci-layout", LAYOUT, err);
    }
    if (!rc && faccessat(c->blobs, "../../index.json", F_OK, AT_SYMLINK_NOFOLLOW))
        rc = put(c, "index.json", EMPTY_INDEX, err);
    return rc;
}

enum sbx_code sbx_cache_ready(struct sbx_cache *c, struct sbx_err *err)
{
    char path[CACHE_PATH];
    enum sbx_code rc;

    if (c->blobs >= 0)
        return SBX_OK;
    if (snprintf(path, sizeof(path), "%s/blobs/sha256", c->dir) >= (int)sizeof(path))
        return sbx_err_set(err, SBX_LIMIT, "path of the cache is too long");
    rc = sbx_dir_make(path, 0700, err);
    if (rc)
        return rc;
    c->blobs = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->blobs < 0)
        return sbx_err_errno(err, "open %s", path);
    return mark(c, err);
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

enum sbx_code sbx_blob_put(struct sbx_cache *c, sbx_read_fn read, void *ctx, const char *expect,
                           int64_t max, char ret_digest[SBX_DIGEST_TEXT_SIZE], int64_t *ret_size,
                           struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_hasher) h = sbx_hasher_new();
    SBX_AUTO_FD int fd = -1; /* without a name until it is whole: a killed command leaves nothing */
    int64_t size = 0;
    enum sbx_code rc = sbx_cache_ready(c, err);

    if (rc)
        return rc;
    if (!h)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    fd = openat(c->blobs, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return sbx_err_errno(err, "make a file in %s/blobs", c->dir);
    rc = copy_hashed(fd, read, ctx, max, h, &size, err);
    if (rc)
        return rc;
    sbx_hasher_text(h, ret_digest);
    if (expect && strcmp(expect, ret_digest) != 0)
        return sbx_err_set(err, SBX_SCHEMA, "digest is %s, not %s as it should be", ret_digest,
                           expect);
    if (ret_size)
        *ret_size = size;
    return sbx_cache_publish(c, ret_digest, fd, -1, err);
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

enum sbx_code sbx_blob_put_mem(struct sbx_cache *c, const void *data, size_t len,
                               const char *expect, char ret_digest[SBX_DIGEST_TEXT_SIZE],
                               struct sbx_err *err)
{
    struct memory m = { data, len };

    return sbx_blob_put(c, from_memory, &m, expect, INT64_MAX, ret_digest, NULL, err);
}

enum sbx_code sbx_blob_open(struct sbx_cache *c, const char *digest, int *ret_fd,
                            struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    struct stat st;
    enum sbx_code rc = sbx_cache_ready(c, err);

    if (rc)
        return rc;
    fd = openat(c->blobs, sbx_blob_name(digest),
                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        return sbx_err_errno(err, "blob %s", digest);
    if (!S_ISREG(st.st_mode) || !sbx_cache_trusts(c, digest, &st))
        return sbx_err_set(err, SBX_NOT_FOUND, "blob %s is not whole", digest);
    *ret_fd = sbx_take_fd(&fd);
    (void)futimens(*ret_fd, NULL); /* used now; where that fails it only looks older to `cache prune` */
    return SBX_OK;
}

void sbx_blob_remove(struct sbx_cache *c, const char *digest)
{
    if (c->blobs >= 0)
        unlinkat(c->blobs, sbx_blob_name(digest), 0);
}

bool sbx_blob_has(struct sbx_cache *c, const char *digest, int64_t *ret_size)
{
    struct stat st;

    if (sbx_cache_ready(c, NULL) ||
        fstatat(c->blobs, sbx_blob_name(digest), &st, AT_SYMLINK_NOFOLLOW) ||
        !S_ISREG(st.st_mode) || !sbx_cache_trusts(c, digest, &st))
        return false;
    if (ret_size)
        *ret_size = st.st_size;
    return true;
}
