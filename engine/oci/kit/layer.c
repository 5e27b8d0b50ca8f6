/* The payload: the canonical archive of a kit's files, compressed. */
#include <fcntl.h>
#include <string.h>

#include "artifact.h"
#include "sbx/file.h"
#include "sbx/late_archive.h"

#define LEVEL "6" /* of gzip; written out, so that a library's default does not move digests */
#define HEADER_OS 9 /* offset in a gzip member's header (RFC 1952) */
#define OS_UNKNOWN 255

struct layer {
    const struct sbx_archive *la;
    struct archive *gzip;
    struct archive_entry *entry;
    struct sbx_hasher *hasher;
    int fd;
    int64_t size;
    enum sbx_code rc;
    struct sbx_err *err;
};

/* libarchive's bytes on their way to the file. */
static la_ssize_t on_write(struct archive *a, void *ctx, const void *data, size_t len)
{
    struct layer *l = ctx;
    char start[HEADER_OS + 1];
    size_t done = 0;

    (void)a;
    if (!l->size && len > HEADER_OS) { /* no name and no time are in it; no system either */
        memcpy(start, data, sizeof(start));
        start[HEADER_OS] = (char)OS_UNKNOWN;
        done = sizeof(start);
        if (sbx_write_all(l->fd, start, done))
            l->rc = sbx_err_errno(l->err, "write the layer");
        sbx_hasher_add(l->hasher, start, done);
    }
    if (!l->rc && sbx_write_all(l->fd, (const char *)data + done, len - done))
        l->rc = sbx_err_errno(l->err, "write the layer");
    sbx_hasher_add(l->hasher, (const char *)data + done, len - done);
    l->size += (int64_t)len;
    return l->rc ? -1 : (la_ssize_t)len;
}

static enum sbx_code failed(struct layer *l)
{
    if (l->rc)
        return l->rc;
    return sbx_err_set(l->err, SBX_FAILED, "compress the layer: %s",
                       l->la->error_string(l->gzip) ? l->la->error_string(l->gzip) : "failed");
}

static enum sbx_code add(void *ctx, const void *data, size_t len, struct sbx_err *err)
{
    struct layer *l = ctx;

    (void)err;
    return l->la->write_data(l->gzip, data, len) < 0 ? failed(l) : SBX_OK;
}

static enum sbx_code compress(struct layer *l, const struct sbx_artifact *a)
{
    const struct sbx_archive *la = l->la;
    enum sbx_code rc;

    la->entry_set_pathname(l->entry, "layer");
    la->entry_set_filetype(l->entry, AE_IFREG);
    if (la->write_add_filter_gzip(l->gzip) || la->write_set_format_raw(l->gzip) ||
        la->write_set_filter_option(l->gzip, "gzip", "compression-level", LEVEL) ||
        la->write_set_filter_option(l->gzip, "gzip", "timestamp", NULL) ||
        la->write_set_bytes_in_last_block(l->gzip, 1) ||
        la->write_open(l->gzip, l, NULL, on_write, NULL) || la->write_header(l->gzip, l->entry))
        return failed(l);
    rc = sbx_kit_archive(a, add, l, l->err);
    return rc || la->write_close(l->gzip) == ARCHIVE_OK ? rc : failed(l);
}

enum sbx_code kit_layer_make(const struct sbx_artifact *a, const char *dir, int *ret_fd,
                             struct kit_blob *ret, struct sbx_err *err)
{
    struct layer l = { .la = sbx_archive(err), .fd = -1, .err = err };
    SBX_AUTO_FD int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    enum sbx_code rc = SBX_NO_MEMORY;

    if (!l.la)
        return SBX_UNAVAILABLE;
    if (fd < 0)
        return sbx_err_errno(err, "make a file in %s", dir);
    l.fd = fd;
    l.gzip = l.la->write_new();
    l.entry = l.la->entry_new();
    l.hasher = sbx_hasher_new();
    if (l.gzip && l.entry && l.hasher)
        rc = compress(&l, a);
    else
        sbx_err_set(err, rc, "out of memory");
    if (!rc) {
        sbx_hasher_text(l.hasher, ret->digest);
        ret->size = l.size;
        *ret_fd = sbx_take_fd(&fd);
    }
    if (l.entry)
        l.la->entry_free(l.entry);
    if (l.gzip)
        l.la->write_free(l.gzip);
    sbx_hasher_free(l.hasher);
    return rc;
}
