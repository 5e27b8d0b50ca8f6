#include "gzip.h"

#include <string.h>
#include <unistd.h>

#include "sbx/file.h"

#define LEVEL 6          /* written out, so that a library's default does not move digests */
#define MEMORY 8         /* zlib's default */
#define WINDOW (15 + 16) /* 32 KiB; gzip's header and trailer */
#define OS_UNKNOWN 255   /* the system in the header: none */

bool gzip_is_bomb(int64_t packed, int64_t unpacked)
{
    return unpacked > GZIP_BOMB_FREE && unpacked / GZIP_BOMB_RATIO > packed;
}

static enum sbx_code broken(const z_stream *s, int code, const char *what, struct sbx_err *err)
{
    if (code == Z_MEM_ERROR)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return sbx_err_set(err, SBX_SYNTAX, "%s: %s", what, s->msg ? s->msg : "damaged");
}

enum sbx_code gzip_out_begin(struct gzip_out *g, int fd, struct sbx_err *err)
{
    int code;

    g->fd = fd;
    g->z = sbx_zlib(err);
    if (!g->z)
        return SBX_UNAVAILABLE;
    g->hasher = sbx_hasher_new();
    if (!g->hasher)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    code = g->z->deflateInit2_(&g->stream, LEVEL, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY,
                               ZLIB_VERSION, (int)sizeof(g->stream));
    if (code != Z_OK)
        return broken(&g->stream, code, "compress", err);
    g->begun = true;
    g->header.os = OS_UNKNOWN; /* no name and no time either */
    code = g->z->deflateSetHeader(&g->stream, &g->header);
    return code == Z_OK ? SBX_OK : broken(&g->stream, code, "compress", err);
}

static enum sbx_code deflate_all(struct gzip_out *g, int flush, struct sbx_err *err)
{
    do {
        size_t len;

        g->stream.next_out = g->piece;
        g->stream.avail_out = sizeof(g->piece);
        if (g->z->deflate(&g->stream, flush) == Z_STREAM_ERROR)
            return broken(&g->stream, Z_STREAM_ERROR, "compress", err);
        len = sizeof(g->piece) - g->stream.avail_out;
        sbx_hasher_add(g->hasher, g->piece, len);
        if (sbx_write_all(g->fd, g->piece, len))
            return sbx_err_errno(err, "write");
        g->out += (int64_t)len;
    } while (!g->stream.avail_out);
    return SBX_OK;
}

enum sbx_code gzip_out_add(struct gzip_out *g, const void *data, size_t len, struct sbx_err *err)
{
    const unsigned char *p = data;

    while (len) {
        uInt step = len < GZIP_PIECE ? (uInt)len : GZIP_PIECE;
        enum sbx_code rc;

        g->stream.next_in = (unsigned char *)p;
        g->stream.avail_in = step;
        rc = deflate_all(g, Z_NO_FLUSH, err);
        if (rc)
            return rc;
        g->in += step;
        p += step;
        len -= step;
    }
    return SBX_OK;
}

enum sbx_code gzip_out_end(struct gzip_out *g, char ret_digest[SBX_DIGEST_TEXT_SIZE],
                           struct sbx_err *err)
{
    enum sbx_code rc;

    g->stream.avail_in = 0;
    rc = deflate_all(g, Z_FINISH, err);
    if (!rc)
        sbx_hasher_text(g->hasher, ret_digest);
    return rc;
}

void gzip_out_release(struct gzip_out *g)
{
    if (g->begun)
        g->z->deflateEnd(&g->stream);
    g->begun = false;
    sbx_hasher_free(g->hasher);
    g->hasher = NULL;
}

enum sbx_code gzip_in_begin(struct gzip_in *g, int fd, int64_t max, struct sbx_err *err)
{
    int code;

    g->fd = fd;
    g->max = max;
    g->z = sbx_zlib(err);
    if (!g->z)
        return SBX_UNAVAILABLE;
    code = g->z->inflateInit2_(&g->stream, WINDOW, ZLIB_VERSION, (int)sizeof(g->stream));
    if (code != Z_OK)
        return broken(&g->stream, code, "unpack", err);
    g->begun = true;
    return SBX_OK;
}

static enum sbx_code fill(struct gzip_in *g, bool *ret_end, struct sbx_err *err)
{
    ssize_t n;

    do
        n = read(g->fd, g->piece, sizeof(g->piece));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return sbx_err_errno(err, "read the layer");
    *ret_end = n == 0;
    g->in += n;
    g->stream.next_in = g->piece;
    g->stream.avail_in = (uInt)n;
    return SBX_OK;
}

/* A member ended. Another may follow, as gzip and pigz write them; what is none (zeros, a block's rest) ends it. */
static enum sbx_code next_member(struct gzip_in *g, struct sbx_err *err)
{
    bool end = false;
    enum sbx_code rc = g->stream.avail_in ? SBX_OK : fill(g, &end, err);

    g->whole = rc || end || g->stream.next_in[0] != 0x1f;
    if (!g->whole && g->z->inflateReset(&g->stream) != Z_OK)
        return broken(&g->stream, Z_STREAM_ERROR, "unpack", err);
    return rc;
}

enum sbx_code gzip_in_read(struct gzip_in *g, void *to, size_t len, size_t *ret_n,
                           struct sbx_err *err)
{
    size_t n = 0;
    enum sbx_code rc = SBX_OK;

    while (!rc && n < len && !g->whole) {
        uInt room = (uInt)(len - n < GZIP_PIECE ? len - n : GZIP_PIECE);
        bool end = false;
        int code;

        if (!g->stream.avail_in)
            rc = fill(g, &end, err);
        if (!rc && end)
            rc = sbx_err_set(err, SBX_SYNTAX, "cut off");
        if (rc)
            break;
        g->stream.next_out = (unsigned char *)to + n;
        g->stream.avail_out = room;
        code = g->z->inflate(&g->stream, Z_NO_FLUSH);
        n += room - g->stream.avail_out;
        g->out += room - g->stream.avail_out;
        if (g->out > g->max || gzip_is_bomb(g->in, g->out))
            return sbx_err_set(err, SBX_LIMIT,
                               "it unpacks to more than %lld bytes or %d times its size",
                               (long long)g->max, GZIP_BOMB_RATIO);
        if (code == Z_STREAM_END)
            rc = next_member(g, err);
        else if (code != Z_OK && code != Z_BUF_ERROR)
            rc = broken(&g->stream, code, "no gzip", err);
    }
    *ret_n = n;
    return rc;
}

void gzip_in_release(struct gzip_in *g)
{
    if (g->begun)
        g->z->inflateEnd(&g->stream);
    g->begun = false;
}
