/* What is said about a kit beside it: tags, referrers; and attaching one. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "artifact.h"
#include "remote.h"
#include "sbx/file.h"
#include "sbx/json.h"

#define EMPTY_TYPE "application/vnd.oci.empty.v1+json"
#define TYPE_MAX 255 /* bytes of a media type (RFC 6838: two names of 127) */

enum sbx_code sbx_kit_tags(const struct sbx_kit_io *io, const struct sbx_place *p,
                           struct sbx_arena *arena, const char *const **ret, size_t *ret_n,
                           struct sbx_err *err)
{
    SBX_AUTO_PTR(kit_remote) rm = NULL;
    enum sbx_code rc = kit_remote_open(io, p, KIT_READ, &rm, err);

    if (!rc)
        rc = rm->ops->tags(rm, arena, ret, ret_n, err);
    return rc ? sbx_err_wrap(err, rc, "tags of %s", p->text) : SBX_OK;
}

enum sbx_code sbx_kit_referrers(const struct sbx_kit_io *io, const struct sbx_place *p,
                                char ret_digest[SBX_DIGEST_TEXT_SIZE], struct sbx_arena *arena,
                                struct sbx_oci_doc *ret, struct sbx_err *err)
{
    SBX_AUTO_PTR(kit_remote) rm = NULL;
    struct sbx_oci_doc doc;
    enum sbx_code rc = kit_remote_open(io, p, KIT_READ, &rm, err);

    if (!rc)
        rc = rm->ops->look(rm, sbx_place_reference(p), arena, &doc, err);
    if (!rc) {
        memcpy(ret_digest, doc.digest, sizeof(doc.digest));
        rc = rm->ops->referrers(rm, doc.digest, arena, ret, err);
    }
    return rc ? sbx_err_wrap(err, rc, "%s", p->text) : SBX_OK;
}

static bool is_type(const char *text)
{
    const char *slash = strchr(text, '/');
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "!#$&-^_.+/";

    return slash && slash != text && slash[1] && !strchr(slash + 1, '/') &&
           strspn(text, allowed) == strlen(text) && strlen(text) <= TYPE_MAX;
}

static enum sbx_code hash(void *ctx, const void *data, size_t len, struct sbx_err *err)
{
    (void)err;
    sbx_hasher_add(ctx, data, len);
    return SBX_OK;
}

static enum sbx_code open_file(const char *file, int *ret_fd, struct kit_blob *ret,
                               struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_hasher) h = sbx_hasher_new();
    SBX_AUTO_FD int fd = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    char self[64];
    enum sbx_code rc;

    if (fd < 0 || fstat(fd, &st))
        return sbx_err_errno(err, "%s", file);
    if (!h)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    rc = sbx_file_stream(AT_FDCWD, self, (size_t)SBX_KIT_LAYER_MAX, hash, h, err);
    if (rc)
        return sbx_err_wrap(err, rc, "%s", file);
    sbx_hasher_text(h, ret->digest);
    ret->size = st.st_size;
    *ret_fd = sbx_take_fd(&fd);
    return SBX_OK;
}

static enum sbx_code push_empty(struct kit_remote *rm, struct kit_blob *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = memfd_create("empty", MFD_CLOEXEC);

    if (fd < 0 || sbx_write_all(fd, "{}", 2))
        return sbx_err_errno(err, "keep two bytes");
    if (sbx_digest("{}", 2, ret->digest))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    ret->size = 2;
    return rm->ops->push_blob(rm, ret->digest, ret->size, fd, err);
}

static char *write_manifest(const struct sbx_attach *what, const struct sbx_oci_doc *subject,
                            const struct kit_blob *config, const struct kit_blob *layer,
                            const char *created)
{
    const char *name = strrchr(what->file, '/');
    SBX_AUTO_JSON json_t *m = json_pack("{s:i,s:s,s:s,s:{s:s,s:s,s:I},s:[{s:s,s:s,s:I,s:{s:s}}],s:{s:s,s:s,s:I},s:{s:s}}",
                  "schemaVersion", 2, "mediaType", TYPE_MANIFEST, "artifactType", what->type,
                  "config", "mediaType", EMPTY_TYPE, "digest", config->digest, "size",
                  (json_int_t)config->size, "layers", "mediaType",
                  what->media_type ? what->media_type : "application/octet-stream", "digest",
                  layer->digest, "size", (json_int_t)layer->size, "annotations",
                  "org.opencontainers.image.title", name ? name + 1 : what->file, "subject",
                  "mediaType", subject->media_type, "digest", subject->digest, "size",
                  (json_int_t)subject->len, "annotations", "org.opencontainers.image.created",
                  created);
    return m ? json_dumps(m, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
}

static enum sbx_code attach(struct kit_remote *rm, const struct sbx_place *p,
                            const struct sbx_attach *what, char ret_digest[SBX_DIGEST_TEXT_SIZE],
                            struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_FREE char *text = NULL;
    SBX_AUTO_FD int fd = -1;
    char created[KIT_CREATED_SIZE];
    struct kit_blob config, layer;
    struct sbx_oci_doc subject;
    enum sbx_code rc = arena ? open_file(what->file, &fd, &layer, err)
                             : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");

    if (!rc)
        rc = kit_created(created, err);
    if (!rc)
        rc = rm->ops->manifest(rm, sbx_place_reference(p), arena, &subject, err);
    if (!rc)
        rc = push_empty(rm, &config, err);
    if (!rc)
        rc = rm->ops->push_blob(rm, layer.digest, layer.size, fd, err);
    if (rc)
        return rc;
    text = write_manifest(what, &subject, &config, &layer, created);
    if (!text || sbx_digest(text, strlen(text), ret_digest))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return rm->ops->push_manifest(rm, NULL, TYPE_MANIFEST, text, strlen(text), err);
}

enum sbx_code sbx_kit_attach(const struct sbx_kit_io *io, const struct sbx_place *p,
                             const struct sbx_attach *what, char ret_digest[SBX_DIGEST_TEXT_SIZE],
                             struct sbx_err *err)
{
    SBX_AUTO_PTR(kit_remote) rm = NULL;
    enum sbx_code rc;

    if (!is_type(what->type) || (what->media_type && !is_type(what->media_type)))
        return sbx_err_set(err, SBX_USAGE, "\"%.100s\" is not a media type; write "
                           "application/vnd.example.kind",
                           is_type(what->type) ? what->media_type : what->type);
    rc = kit_remote_open(io, p, KIT_CHANGE, &rm, err);
    if (!rc)
        rc = attach(rm, p, what, ret_digest, err);
    return rc ? sbx_err_wrap(err, rc, "attach to %s", p->text) : SBX_OK;
}
