/* Where artifacts lie: a repository of a registry, or an OCI layout. */
#ifndef SBX_OCI_KIT_REMOTE_H
#define SBX_OCI_KIT_REMOTE_H

#include <stdatomic.h>

#include "sbx/kit_artifact.h"

#define TYPE_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define TYPE_INDEX "application/vnd.oci.image.index.v1+json"

struct kit_remote;

/* All slots are set. Codes as in sbx/registry.h. */
struct kit_remote_ops {
    const char *name;
    enum sbx_code (*manifest)(struct kit_remote *rm, const char *reference, struct sbx_arena *arena,
                              struct sbx_oci_doc *ret, struct sbx_err *err);
    enum sbx_code (*look)(struct kit_remote *rm, const char *reference, struct sbx_arena *arena,
                          struct sbx_oci_doc *ret, struct sbx_err *err);
    enum sbx_code (*push_manifest)(struct kit_remote *rm, const char *tag, const char *type,
                                   const char *text, size_t len, struct sbx_err *err);
    enum sbx_code (*pull_blob)(struct kit_remote *rm, const char *digest, int64_t size,
                               struct sbx_cache *cache, struct sbx_err *err);
    enum sbx_code (*push_blob)(struct kit_remote *rm, const char *digest, int64_t size, int fd,
                               struct sbx_err *err);
    /* *ret: it is here now; from a repository of the same registry. */
    enum sbx_code (*mount)(struct kit_remote *rm, const char *digest, const char *from, bool *ret,
                           struct sbx_err *err);
    enum sbx_code (*tags)(struct kit_remote *rm, struct sbx_arena *arena, const char *const **ret,
                          size_t *ret_n, struct sbx_err *err);
    /* The index of what refers to a digest. */
    enum sbx_code (*referrers)(struct kit_remote *rm, const char *digest, struct sbx_arena *arena,
                               struct sbx_oci_doc *ret, struct sbx_err *err);
    enum sbx_code (*remove)(struct kit_remote *rm, const char *reference, struct sbx_err *err);
    /* Another handle of the same place, for another thread. */
    enum sbx_code (*twin)(const struct kit_remote *rm, struct kit_remote **ret,
                          struct sbx_err *err);
    void (*free)(struct kit_remote *rm);
};

struct kit_remote {
    const struct kit_remote_ops *ops;
    const char *registry, *repository; /* registries only */
    const atomic_bool *stop; /* true: blobs that are being pushed end with SBX_CANCELED; NULL: nobody stops them */
};

/* What for: only what is read may come from a mirror; what is not there yet is made (a layout). */
enum kit_use { KIT_READ, KIT_CHANGE, KIT_MAKE };

/* Opens nothing on the network. */
SBX_MUST_USE enum sbx_code kit_remote_open(const struct sbx_kit_io *io, const struct sbx_place *p,
                                           enum kit_use use, struct kit_remote **ret,
                                           struct sbx_err *err);
void kit_remote_close(struct kit_remote *rm);
SBX_DEFINE_AUTO_PTR(kit_remote, kit_remote_close);

enum sbx_code kit_remote_open_registry(const struct sbx_kit_io *io, const struct sbx_place *p,
                                       enum kit_use use, struct kit_remote **ret, struct sbx_err *err);
/* A directory, or (with a `cache` to unpack it below) an archive, which is only read. */
enum sbx_code kit_remote_open_layout(const char *path, const char *cache, bool make,
                                     struct kit_remote **ret, struct sbx_err *err);
/* Of a layout: a blob where it lies, its content not verified. */
SBX_MUST_USE enum sbx_code kit_layout_open_blob(struct kit_remote *rm, const char *digest,
                                                int64_t size, int *ret_fd, struct sbx_err *err);

/* Tag or digest of a place; "latest" without either. */
const char *sbx_place_reference(const struct sbx_place *p);

#endif
