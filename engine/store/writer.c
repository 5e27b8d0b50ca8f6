/* A blob that comes in pieces: kept in CACHE/partial until it is whole and verified. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "cache.h"
#include "sbx/file.h"

#define READ_SIZE 262144 /* bytes read at once when an earlier attempt is hashed */

struct sbx_blob_writer {
    struct sbx_cache *cache;
    struct sbx_hasher *hasher;
    int dir, fd; /* DIR/partial and the file in it, locked */
    int64_t have, size;
    char digest[SBX_DIGEST_TEXT_SIZE];
};

void sbx_blob_writer_free(struct sbx_blob_writer *w)
{
    if (!w)
        return;
    if (w->fd >= 0 && !w->have) /* nothing to go on with */
        unlinkat(w->dir, sbx_blob_name(w->digest), 0);
    if (w->fd >= 0)
        close(w->fd);
    if (w->dir >= 0)
        close(w->dir);
    sbx_hasher_free(w->hasher);
    free(w);
}

static enum sbx_code open_dir(struct sbx_blob_writer *w, struct sbx_err *err)
{
    char path[CACHE_PATH];
    enum sbx_code rc;

    snprintf(path, sizeof(path), "%.4000s/partial", w->cache->dir);
    rc = sbx_dir_make(path, 0700, err);
    if (rc)
        return rc;
    w->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return w->dir < 0 ? sbx_err_errno(err, "open %s", path) : SBX_OK;
}

/* Is the file that we locked still the one with the name? Its holder before us may have moved it. */
static bool still_named(const struct sbx_blob_writer *w, const struct stat *mine)
{
    struct stat st;

    return !fstatat(w->dir, sbx_blob_name(w->digest), &st, AT_SYMLINK_NOFOLLOW) &&
           st.st_ino == mine->st_ino && st.st_dev == mine->st_dev;
}

/* The file, locked; without one (fd -1): the blob came meanwhile. */
static enum sbx_code lock_file(struct sbx_blob_writer *w, struct stat *ret, struct sbx_err *err)
{
    while (!sbx_blob_has(w->cache, w->digest, NULL)) {
        w->fd = openat(w->dir, sbx_blob_name(w->digest),
                       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (w->fd < 0)
            return sbx_err_errno(err, "open %s/partial", w->cache->dir);
        while (flock(w->fd, LOCK_EX))
            if (errno != EINTR)
                return sbx_err_errno(err, "lock %s/partial", w->cache->dir);
        if (!fstat(w->fd, ret) && still_named(w, ret) &&
            !sbx_blob_has(w->cache, w->digest, NULL))
            return SBX_OK;
        close(w->fd);
        w->fd = -1;
    }
    return SBX_OK;
}

/* What an earlier attempt left counts, once it is hashed. */
static enum sbx_code take_up(struct sbx_blob_writer *w, int64_t len, struct sbx_err *err)
{
    SBX_AUTO_FREE char *data = malloc(READ_SIZE);

    if (!data)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (len > w->size)
        return sbx_blob_writer_restart(w, err);
    while (w->have < len) {
        ssize_t n = pread(w->fd, data, READ_SIZE, w->have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return sbx_err_errno(err, "read %s/partial", w->cache->dir);
        sbx_hasher_add(w->hasher, data, (size_t)n);
        w->have += n;
    }
    return lseek(w->fd, w->have, SEEK_SET) < 0
               ? sbx_err_errno(err, "seek in %s/partial", w->cache->dir)
               : SBX_OK;
}

enum sbx_code sbx_blob_writer_open(struct sbx_cache *c, const char *digest, int64_t size,
                                   struct sbx_blob_writer **ret, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_blob_writer) w = calloc(1, sizeof(*w));
    struct stat st = { 0 };
    enum sbx_code rc;

    *ret = NULL;
    if (!w)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    *w = (struct sbx_blob_writer){ .cache = c, .dir = -1, .fd = -1, .size = size };
    snprintf(w->digest, sizeof(w->digest), "%s", digest);
    w->hasher = sbx_hasher_new();
    if (!w->hasher)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_cache_ready(c, err);
    if (!rc)
        rc = open_dir(w, err);
    if (!rc)
        rc = lock_file(w, &st, err);
    if (!rc && w->fd >= 0)
        rc = take_up(w, st.st_size, err);
    if (!rc && w->fd >= 0)
        *ret = SBX_TAKE(w);
    return rc;
}

int64_t sbx_blob_writer_have(const struct sbx_blob_writer *w) { return w->have; }

enum sbx_code sbx_blob_writer_add(struct sbx_blob_writer *w, const void *data, size_t len,
                                  struct sbx_err *err)
{
    if ((int64_t)len > w->size - w->have)
        return sbx_err_set(err, SBX_SCHEMA, "more than the %lld bytes it should have",
                           (long long)w->size);
    if (sbx_write_all(w->fd, data, len))
        return sbx_err_errno(err, "write to the cache");
    sbx_hasher_add(w->hasher, data, len);
    w->have += (int64_t)len;
    return SBX_OK;
}

enum sbx_code sbx_blob_writer_restart(struct sbx_blob_writer *w, struct sbx_err *err)
{
    char unused[SBX_DIGEST_TEXT_SIZE];

    sbx_hasher_text(w->hasher, unused);
    w->have = 0;
    if (ftruncate(w->fd, 0) || lseek(w->fd, 0, SEEK_SET) < 0)
        return sbx_err_errno(err, "empty a file of the cache");
    return SBX_OK;
}

enum sbx_code sbx_blob_writer_finish(struct sbx_blob_writer *w, struct sbx_err *err)
{
    char digest[SBX_DIGEST_TEXT_SIZE];
    int64_t have = w->have;
    enum sbx_code rc = SBX_OK;

    sbx_hasher_text(w->hasher, digest);
    if (have != w->size)
        rc = sbx_err_set(err, SBX_SCHEMA, "%lld bytes, not %lld as they should be",
                         (long long)have, (long long)w->size);
    else if (strcmp(digest, w->digest) != 0)
        rc = sbx_err_set(err, SBX_SCHEMA, "digest is %s, not %s as it should be", digest,
                         w->digest);
    if (rc)
        return sbx_blob_writer_restart(w, NULL) ? SBX_IO : rc;
    return sbx_cache_publish(w->cache, w->digest, w->fd, w->dir, err);
}
