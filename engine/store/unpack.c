#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "sbx/file.h"
#include "sbx/late_archive.h"
#include "store.h"

/*
 * A layer goes through two readers: the outer one takes off the compression, so that the bytes
 * between them can be hashed (that is the diff id) and counted; the inner one reads the tar.
 */
struct layer {
    const struct sbx_archive *la;
    struct archive *raw; /* decompresses `fd` */
    int fd;
    struct sbx_hasher *hasher;
    int64_t *budget;
    bool ended;
    char data[65536];
};

static la_ssize_t read_blob(struct archive *a, void *ctx, const void **ret)
{
    struct layer *l = ctx;
    ssize_t n;

    do
        n = read(l->fd, l->data, sizeof(l->data));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        l->la->set_error(a, errno, "read: %s", strerror(errno));
    *ret = l->data;
    return n;
}

static ssize_t read_plain(void *ctx, void *to, size_t len, struct sbx_err *err)
{
    struct layer *l = ctx;
    la_ssize_t n = l->ended ? 0 : l->la->read_data(l->raw, to, len);

    if (n < 0) {
        const char *text = l->la->error_string(l->raw);

        sbx_err_set(err, SBX_SYNTAX, "broken compression: %s", text ? text : "unknown reason");
        return -1;
    }
    if (!n)
        l->ended = true;
    *l->budget -= n;
    if (*l->budget < 0) {
        sbx_err_set(err, SBX_LIMIT, "the image unpacks to more than %lld bytes",
                    SBX_STORE_SIZE_MAX);
        return -1;
    }
    sbx_hasher_add(l->hasher, to, (size_t)n);
    return n;
}

static enum sbx_code open_raw(struct layer *l, struct sbx_err *err)
{
    struct archive_entry *entry;
    int rc;

    l->raw = l->la->read_new();
    if (!l->raw)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    l->la->read_support_filter_gzip(l->raw);
    l->la->read_support_filter_zstd(l->raw);
    l->la->read_support_format_raw(l->raw);
    rc = l->la->read_open(l->raw, l, NULL, read_blob, NULL);
    if (rc == ARCHIVE_OK)
        rc = l->la->read_next_header(l->raw, &entry);
    l->ended = rc == ARCHIVE_EOF; /* nothing in it */
    if (rc != ARCHIVE_OK && rc != ARCHIVE_EOF)
        return sbx_err_set(err, SBX_SYNTAX, "%s", l->la->error_string(l->raw));
    return SBX_OK;
}

/* What follows the end of the tar belongs to the digest too. */
static enum sbx_code drain(struct layer *l, struct sbx_err *err)
{
    char rest[16384];
    ssize_t n;

    while ((n = read_plain(l, rest, sizeof(rest), err)) > 0)
        ;
    return n < 0 ? (err && err->code ? err->code : SBX_SYNTAX) : SBX_OK;
}

static enum sbx_code unpack_at(struct sbx_store *s, struct layer *l, const char *tmp,
                               const char *diff_id, struct sbx_err *err)
{
    SBX_AUTO_FD int root = openat(s->layers, tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct sbx_unpack how = { .root = root, .layer = true };
    char digest[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc;

    if (root < 0)
        return sbx_err_errno(err, "open %s", tmp);
    if (fchmod(root, 0755)) /* for layers that do not tell the root's own mode */
        return sbx_err_errno(err, "chmod");
    rc = open_raw(l, err);
    if (!rc && !l->ended)
        rc = sbx_tree_unpack(&how, read_plain, l, err);
    if (!rc)
        rc = drain(l, err);
    if (rc)
        return rc;
    sbx_hasher_text(l->hasher, digest);
    if (strcmp(digest, diff_id) != 0)
        return sbx_err_set(err, SBX_SCHEMA, "content is %s, not %s as the configuration says",
                           digest, diff_id);
    return SBX_OK;
}

bool sbx_layer_present(struct sbx_store *s, const char *diff_id)
{
    struct stat st;

    return fstatat(s->layers, diff_id + strlen("sha256:"), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

static enum sbx_code temporary(struct sbx_store *s, char name[SBX_LAYER_TMP_SIZE],
                               struct sbx_err *err)
{
    unsigned long long salt;

    if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
        return sbx_err_errno(err, "random");
    snprintf(name, SBX_LAYER_TMP_SIZE, ".tmp-%016llx", salt);
    if (mkdirat(s->layers, name, 0700))
        return sbx_err_errno(err, "make %s/layers/%s", s->state, name);
    return SBX_OK;
}

enum sbx_code sbx_layer_unpack(struct sbx_store *s, const char *digest, const char *diff_id,
                               int64_t *budget, char ret_tmp[SBX_LAYER_TMP_SIZE],
                               struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_hasher) hasher = sbx_hasher_new();
    SBX_AUTO_FREE struct layer *l = calloc(1, sizeof(*l));
    SBX_AUTO_FD int fd = -1;
    enum sbx_code rc;

    if (!hasher || !l)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    l->la = sbx_archive(err);
    if (!l->la)
        return SBX_UNAVAILABLE;
    rc = sbx_blob_open(s->cache, digest, &fd, err);
    if (!rc)
        rc = temporary(s, ret_tmp, err);
    if (rc)
        return rc;
    l->fd = fd;
    l->hasher = hasher;
    l->budget = budget;
    rc = unpack_at(s, l, ret_tmp, diff_id, err);
    if (l->raw)
        l->la->read_free(l->raw);
    if (rc) {
        struct sbx_err ignored = SBX_ERR_INIT;

        if (sbx_dir_remove(s->layers, ret_tmp, &ignored))
            return rc; /* the next command tries again */
        ret_tmp[0] = '\0';
    }
    return rc;
}

static void size_name(const char *diff_id, char to[HEX + 8])
{
    snprintf(to, HEX + 8, "%.64s.size", diff_id + strlen("sha256:"));
}

enum sbx_code sbx_layer_settle(struct sbx_store *s, const char *tmp, const char *diff_id,
                               int64_t size, struct sbx_err *err)
{
    SBX_AUTO_FD int dir = openat(s->layers, tmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char name[HEX + 8], text[32];
    int len = snprintf(text, sizeof(text), "%lld\n", (long long)size);
    enum sbx_code rc;

    if (dir < 0 || sbx_cache_sync_tree(dir))
        return sbx_err_errno(err, "write layer %s", diff_id);
    size_name(diff_id, name);
    rc = sbx_file_write(s->layers, name, text, (size_t)len, 0600, err);
    if (rc)
        return rc;
    if (renameat(s->layers, tmp, s->layers, diff_id + strlen("sha256:")) == 0)
        return fsync(s->layers) ? sbx_err_errno(err, "name layer %s", diff_id) : SBX_OK;
    if (errno == EEXIST || errno == ENOTEMPTY) /* the same content is there */
        return sbx_dir_remove(s->layers, tmp, err);
    return sbx_err_errno(err, "name layer %s", diff_id);
}

int64_t sbx_layer_size(struct sbx_store *s, const char *diff_id)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(32);
    char name[HEX + 8];

    size_name(diff_id, name);
    if (sbx_file_read(s->layers, name, &text, NULL) || !text.ptr)
        return 0;
    return strtoll(text.ptr, NULL, 10);
}
