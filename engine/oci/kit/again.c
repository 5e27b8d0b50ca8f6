#include "again.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "anchor.h"
#include "artifact.h"
#include "sbx/file.h"
#include "work.h"

struct again {
    const struct sbx_kit_io *io;
    struct sbx_cache *cache;
    struct kit_remote *from, *to;
    struct sbx_oci_doc doc;
    struct sbx_artifact *a; /* what its spec says */
    struct sbx_arena *arena;
};

/* The spec alone: its files are not looked into, they only move. */
static enum sbx_code load_in(struct again *g, const struct kit_blob *config, const char *dir,
                             struct sbx_diags *diags, struct sbx_err *err)
{
    const struct sbx_kit_options options = { .for_use = true }; /* as in push.c */
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX);
    SBX_AUTO_FREE char *path = NULL;
    SBX_AUTO_FD int fd = -1;
    char self[64];
    enum sbx_code rc = g->from->ops->pull_blob(g->from, config->digest, config->size, g->cache,
                                               err);

    if (!rc)
        rc = sbx_blob_open(g->cache, config->digest, &fd, err);
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (!rc)
        rc = sbx_file_read(AT_FDCWD, self, &text, err);
    if (!rc && asprintf(&path, "%s/spec.yaml", dir) < 0)
        rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!rc)
        rc = sbx_file_write(AT_FDCWD, path, text.ptr ? text.ptr : "", text.len, 0600, err);
    return rc ? rc : sbx_kit_load_with(dir, &options, diags, &g->a, err);
}

static enum sbx_code load(struct again *g, struct sbx_diags *diags, struct sbx_err *err)
{
    SBX_AUTO_FREE char *dir = NULL;
    SBX_AUTO_FD int lock = -1;
    struct kit_manifest m;
    enum sbx_code rc = kit_manifest_parse(g->doc.text, g->doc.len, &m, err);

    if (!rc)
        rc = kit_work_make(g->io->cache, &dir, &lock, err);
    if (rc)
        return rc;
    rc = load_in(g, &m.config, dir, diags, err);
    if (sbx_dir_remove(AT_FDCWD, dir, NULL))
        return rc; /* the next command removes it */
    return rc;
}

static enum sbx_code send(struct again *g, const struct sbx_place *to, enum sbx_anchor anchor,
                          struct sbx_pushed *ret, struct sbx_err *err)
{
    const char *tag = to->tag ? to->tag : "latest", *image = g->a->image;
    struct kit_image i;
    enum sbx_code rc = kit_remote_open(g->io, to, KIT_MAKE, &g->to, err);

    if (rc)
        return rc;
    if (image && strstr(image, "@sha256:")) { /* as our push pins it */
        rc = kit_image_pin(g->io, image, g->arena, &i, err);
        if (!rc)
            rc = kit_anchor_make(g->io, &i, g->to, g->cache, anchor, tag, g->arena, ret, err);
    }
    ret->image = image && *image ? sbx_arena_strdup(g->arena, image) : NULL;
    memcpy(ret->digest, g->doc.digest, sizeof(ret->digest));
    return rc ? rc : kit_copy_whole(g->from, g->to, g->cache, g->doc.digest, tag, err);
}

enum sbx_code kit_push_again(const struct sbx_kit_io *io, const char *from,
                             const struct sbx_place *to, enum sbx_anchor anchor,
                             struct sbx_diags *diags, struct sbx_arena *arena,
                             struct sbx_pushed *ret, struct sbx_err *err)
{
    struct again g = { .io = io, .arena = arena };
    SBX_AUTO_FD int use = -1;
    struct sbx_place place;
    enum sbx_code rc = sbx_place_parse(from, arena, &place, err);

    if (!rc)
        rc = sbx_cache_open(io->cache, &g.cache, err);
    if (!rc)
        rc = sbx_cache_use(g.cache, &use, err);
    if (!rc)
        rc = kit_remote_open(io, &place, KIT_READ, &g.from, err);
    if (!rc)
        rc = g.from->ops->manifest(g.from, sbx_place_reference(&place), arena, &g.doc, err);
    if (!rc)
        rc = load(&g, diags, err);
    if (rc)
        sbx_err_wrap(err, rc, "kit %s", from);
    else if ((rc = send(&g, to, anchor, ret, err)))
        sbx_err_wrap(err, rc, "push to %s", to->text);
    kit_remote_close(g.from);
    kit_remote_close(g.to);
    sbx_cache_close(g.cache);
    sbx_artifact_free(g.a);
    return rc;
}
