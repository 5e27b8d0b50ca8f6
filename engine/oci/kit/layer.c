/* The payload: the canonical archive of a kit's files, compressed. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "artifact.h"
#include "gzip.h"

static enum sbx_code add(void *ctx, const void *data, size_t len, struct sbx_err *err)
{
    return gzip_out_add(ctx, data, len, err);
}

static enum sbx_code pack_files(const struct sbx_artifact *a, int fd, struct kit_blob *ret,
                                struct sbx_err *err)
{
    SBX_AUTO_PTR(gzip_out) g = NULL;
    struct gzip_result made = { .in = 0 };
    enum sbx_code rc = gzip_out_open(fd, 0, &g, err);

    if (!rc)
        rc = sbx_kit_archive(a, add, g, err);
    if (!rc)
        rc = gzip_out_end(g, &made, err);
    ret->size = made.out;
    memcpy(ret->digest, made.digest, sizeof(made.digest));
    if (!rc && (made.out > SBX_KIT_LAYER_MAX || made.in > SBX_KIT_UNPACKED_MAX))
        rc = sbx_err_set(err, SBX_LIMIT, "the files have %lld bytes, %lld packed; a kit has at most "
                         "%lld and %lld", (long long)made.in, (long long)made.out,
                         SBX_KIT_UNPACKED_MAX, SBX_KIT_LAYER_MAX);
    if (!rc && gzip_is_bomb(made.out, made.in))
        rc = sbx_err_set(err, SBX_LIMIT,
                         "the files have %lld bytes and pack to %lld: nobody would unpack what "
                         "grows more than %d times",
                         (long long)made.in, (long long)made.out, GZIP_BOMB_RATIO);
    return rc;
}

enum sbx_code kit_layer_make(const struct sbx_artifact *a, const char *dir, int *ret_fd,
                             struct kit_blob *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    enum sbx_code rc;

    if (fd < 0)
        return sbx_err_errno(err, "make a file in %s", dir);
    rc = pack_files(a, fd, ret, err);
    if (!rc)
        *ret_fd = sbx_take_fd(&fd);
    return rc ? sbx_err_wrap(err, rc, "the layer") : SBX_OK;
}
