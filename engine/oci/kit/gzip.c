#include "gzip.h"

#include <string.h>
#include <unistd.h>

#define WINDOW (15 + 16) /* 32 KiB; gzip's header and trailer */

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
