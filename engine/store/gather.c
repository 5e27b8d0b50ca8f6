/* Blobs that came one after the other, put on the disk together: one wait for it, not one for each. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cache.h"

void sbx_cache_gather(struct sbx_cache *c) { c->gather = true; }

/* In order: what it holds is written before it has the name by which others trust it. */
static enum sbx_code name_it(struct sbx_cache *c, const struct sbx_gathered *g, struct sbx_err *err)
{
    const char *name = sbx_blob_name(g->digest);
    char self[64];

    if (fdatasync(g->fd))
        return sbx_err_errno(err, "write to the cache");
    snprintf(self, sizeof(self), "/proc/self/fd/%d", g->fd);
    if (g->partial < 0 ? linkat(AT_FDCWD, self, c->blobs, name, AT_SYMLINK_FOLLOW) && errno != EEXIST
                       : renameat(g->partial, name, c->blobs, name))
        return sbx_err_errno(err, "name blob %s", g->digest);
    sbx_cache_note_growth();
    return SBX_OK;
}

static void release(struct sbx_gathered *g)
{
    close(g->fd); /* its lock too */
    if (g->partial >= 0)
        close(g->partial);
}

enum sbx_code sbx_cache_settle(struct sbx_cache *c, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; i < c->n_gathered; i++) {
        if (!rc)
            rc = name_it(c, &c->gathered[i], err);
        release(&c->gathered[i]);
    }
    c->n_gathered = 0;
    return rc;
}

enum sbx_code sbx_cache_publish(struct sbx_cache *c, const char *digest, int *fd, int *partial,
                                struct sbx_err *err)
{
    struct sbx_gathered g = { .fd = sbx_take_fd(fd), .partial = sbx_take_fd(partial) };
    enum sbx_code rc;

    memcpy(g.digest, digest, sizeof(g.digest));
    if (c->gather && c->n_gathered < GATHER_MAX) {
        /* Begun now, it is over when we wait for it. */
        (void)sync_file_range(g.fd, 0, 0, SYNC_FILE_RANGE_WRITE);
        c->gathered[c->n_gathered++] = g;
        return SBX_OK;
    }
    rc = name_it(c, &g, err);
    release(&g);
    return rc;
}

const struct sbx_gathered *sbx_cache_gathered(const struct sbx_cache *c, const char *digest)
{
    for (size_t i = 0; i < c->n_gathered; i++)
        if (!strcmp(c->gathered[i].digest, digest))
            return &c->gathered[i];
    return NULL;
}
