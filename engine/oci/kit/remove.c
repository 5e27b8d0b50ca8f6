/* Delete a tag and its anchor, and nothing that somebody else points to. */
#include <string.h>

#include "remote.h"
#include "sbx/buf.h"

#define LISTED_MAX 500       /* bytes of tags in an error: some lines of a screen */
#define TAGS_LOOKED_MAX 1000 /* tags whose digest is asked for one by one */

/* Tags of the repository that have this digest, but not `but`. */
static enum sbx_code others(struct kit_remote *rm, const char *digest, const char *but,
                            struct sbx_arena *arena, const char *const **ret, size_t *ret_n,
                            struct sbx_err *err)
{
    const char *const *tags = NULL;
    const char **out;
    size_t n = 0, found = 0;
    enum sbx_code rc = rm->ops->tags(rm, arena, &tags, &n, err);

    if (rc)
        return rc;
    if (n > TAGS_LOOKED_MAX)
        return sbx_err_set(err, SBX_LIMIT,
                           "the repository has %zu tags, too many to see which would go too", n);
    out = sbx_arena_array(arena, n + 1, sizeof(*out));
    if (!out)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) {
        struct sbx_oci_doc doc;

        if (!strcmp(tags[i], but))
            continue;
        rc = rm->ops->look(rm, tags[i], arena, &doc, err);
        if (rc && rc != SBX_NOT_FOUND)
            return rc;
        if (!rc && !strcmp(doc.digest, digest))
            out[found++] = tags[i];
    }
    *ret = out;
    *ret_n = found;
    return SBX_OK;
}

/* Newer registries take a tag away by itself; older ones answer that they cannot. */
static bool by_tag(struct kit_remote *rm, const char *tag, enum sbx_code *ret, struct sbx_err *err)
{
    *ret = rm->ops->remove(rm, tag, err);
    return *ret != SBX_UNSUPPORTED && *ret != SBX_FAILED && *ret != SBX_NOT_FOUND;
}

static enum sbx_code by_digest(struct kit_remote *rm, const char *digest, struct sbx_err *err)
{
    enum sbx_code rc = rm->ops->remove(rm, digest, err);

    return rc == SBX_UNSUPPORTED
               ? sbx_err_wrap(err, rc, "the registry does not let anybody delete")
               : rc;
}

/* "1.0, 1.1, latest"; of very many the first. */
static const char *listed(const char *const *v, struct sbx_arena *arena)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(LISTED_MAX);
    const char *text;

    for (size_t i = 0; v[i]; i++)
        if (sbx_buf_addf(&out, "%s%s", i ? ", " : "", v[i]))
            return sbx_arena_printf(arena, "%s, ...", out.ptr ? out.ptr : v[i]);
    text = sbx_arena_strdup(arena, out.ptr ? out.ptr : "");
    return text ? text : v[0];
}

static enum sbx_code remove_kit(struct kit_remote *rm, const struct sbx_place *p, bool force,
                                struct sbx_arena *arena, struct sbx_removed *ret,
                                struct sbx_err *err)
{
    const char *tag = p->tag ? p->tag : "latest";
    size_t n = 0;
    enum sbx_code rc;

    if (by_tag(rm, tag, &rc, err))
        return rc;
    rc = others(rm, ret->digest, tag, arena, &ret->others, &n, err);
    if (rc)
        return rc;
    if (n && !force)
        return sbx_err_set(err, SBX_BUSY,
                           "this registry deletes by digest, and %zu other tag%s of the same kit "
                           "(%s) would go too; to delete them all add --force",
                           n, n == 1 ? "" : "s", listed(ret->others, arena));
    return by_digest(rm, ret->digest, err);
}

/* Also done where the kit is gone; an image that has other names stays. */
static enum sbx_code remove_anchor(struct kit_remote *rm, const struct sbx_place *p,
                                   struct sbx_arena *arena, struct sbx_removed *ret,
                                   struct sbx_err *err)
{
    const char *anchor = sbx_arena_printf(arena, "_kit_%s", p->tag ? p->tag : "latest");
    const char *const *names = NULL;
    struct sbx_oci_doc doc;
    size_t n = 0;
    enum sbx_code rc;

    if (!anchor)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = rm->ops->look(rm, anchor, arena, &doc, err);
    if (rc)
        return rc == SBX_NOT_FOUND ? SBX_OK : rc;
    if (!by_tag(rm, anchor, &rc, err)) {
        rc = others(rm, doc.digest, anchor, arena, &names, &n, err);
        if (!rc && n) {
            ret->note = sbx_arena_printf(arena,
                                         "the image's anchor %s stays: the image has other tags (%s)",
                                         anchor, names[0]);
            return SBX_OK;
        }
        if (!rc)
            rc = by_digest(rm, doc.digest, err);
    }
    if (!rc)
        ret->anchor = anchor;
    return rc;
}

enum sbx_code sbx_kit_remove(const struct sbx_kit_io *io, const struct sbx_place *p, bool force,
                             struct sbx_arena *arena, struct sbx_removed *ret, struct sbx_err *err)
{
    SBX_AUTO_PTR(kit_remote) rm = NULL;
    struct sbx_oci_doc doc;
    enum sbx_code rc;

    *ret = (struct sbx_removed){ .digest = NULL };
    if (p->digest)
        return sbx_err_set(err, SBX_USAGE, "%s: give the tag that is to go, not a digest", p->text);
    rc = kit_remote_open(io, p, KIT_CHANGE, &rm, err);
    if (!rc)
        rc = rm->ops->look(rm, sbx_place_reference(p), arena, &doc, err);
    if (!rc) {
        ret->digest = sbx_arena_strdup(arena, doc.digest);
        rc = remove_kit(rm, p, force, arena, ret, err);
    }
    if (!rc)
        rc = remove_anchor(rm, p, arena, ret, err);
    return rc ? sbx_err_wrap(err, rc, "delete %s", p->text) : SBX_OK;
}
