/**
 * @file
 * Kits as OCI artifacts: where they are, and how they come and go. A place is a repository of a registry
 * (`oci://host/repo:tag`, `host/repo@sha256:...`) or an OCI image layout (`oci-layout:DIR:tag`).
 * Kit specification "distribution"; OCI Image Specification 1.1; decisions F2, F3, S14, C5, C12.
 */
#ifndef SBX_KIT_ARTIFACT_H
#define SBX_KIT_ARTIFACT_H

#include "sbx/cache.h"
#include "sbx/diag.h"
#include "sbx/ref.h"
#include "sbx/registry.h"

#define SBX_KIT_TYPE "application/vnd.docker.sandbox.kit.v2"
#define SBX_KIT_CONFIG_TYPE "application/vnd.docker.sandbox.kit.v2.spec+yaml"
#define SBX_KIT_LAYER_TYPE "application/vnd.oci.image.layer.v1.tar+gzip"
#define SBX_KIT_LAYER_MAX (8LL << 30) /* bytes, packed; kits are KiB, a data set of some GiB is thinkable */
#define SBX_KIT_UNPACKED_MAX (16LL << 30) /* bytes; a compression bomb ends here */

struct sbx_place {
    const char *text; /**< as written */
    bool layout;
    const char *path;                                 /**< layout: its directory */
    const char *registry, *repository, *tag, *digest; /**< NULL: none */
};

/** Is it a reference of this module's kinds: oci://, HOST/REPO, oci-layout:? */
bool sbx_place_is(const char *text);
struct sbx_place sbx_place_of(const struct sbx_ref *ref); /**< OCI or LAYOUT; borrows its texts */
/** SBX_OK, SBX_SCHEMA (err has the spelling to use) or SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code sbx_place_parse(const char *text, struct sbx_arena *arena,
                                           struct sbx_place *ret, struct sbx_err *err);
/** The immutable reference of a digest there: "oci://host/repo@sha256:..."; NULL: no memory. */
const char *sbx_place_pinned(struct sbx_arena *arena, const struct sbx_place *p,
                             const char *digest);

/** A file was given where a kit's directory belongs: what to do with an archive. The caller names it before. */
SBX_MUST_USE enum sbx_code sbx_kit_not_a_directory(const char *path, struct sbx_err *err);

/** How kits are fetched and sent. */
struct sbx_kit_io {
    const char *cache; /**< directory of the cache */
    bool plain_http; /**< never TLS */
    bool plain_too;  /**< where a registry has none */
    long limit_ms; /**< of a call; 0: patient */
    const struct sbx_oci_progress *progress;
};

/** What a tag has now. SBX_NOT_FOUND and the codes of sbx/registry.h. */
SBX_MUST_USE enum sbx_code sbx_kit_look(const struct sbx_kit_io *io, const struct sbx_place *p,
                                        char ret_digest[SBX_DIGEST_TEXT_SIZE],
                                        struct sbx_err *err);
/**
 * The kit as a directory in the cache: spec.yaml and files/. From the second time on without a network.
 * @param p       with a digest
 * @param ret_dir malloc'd path; its content must not be changed
 * @return SBX_OK; SBX_SCHEMA (not a kit, or one that breaks the rules); SBX_UNSUPPORTED (a kit of
 *         version 1); the codes of sbx/registry.h
 */
SBX_MUST_USE enum sbx_code sbx_kit_fetch(const struct sbx_kit_io *io, const struct sbx_place *p,
                                         char **ret_dir, struct sbx_err *err);
/**
 * The same for who wants a directory of his own: what is not unpacked in the cache yet is unpacked for the
 * caller alone.
 * @param ret_mine true: `ret_dir` is the caller's, to be moved away (sbx_kit_move) or removed; false: it is the
 *                 cache's, to be copied
 */
SBX_MUST_USE enum sbx_code sbx_kit_unpack(const struct sbx_kit_io *io, const struct sbx_place *p,
                                          bool *ret_mine, char **ret_dir, struct sbx_err *err);
/**
 * Is an unpacked kit of the cache, CACHE/kits/NAME, what its blobs say? They are verified too. Unknown
 * where one of them is not in the cache, or the cache is read-only. Under sbx_cache_use() or
 * sbx_cache_alone(). SBX_OK, SBX_IO, SBX_NO_MEMORY.
 */
SBX_MUST_USE enum sbx_code sbx_kit_verify(struct sbx_cache *cache, const char *name,
                                          enum sbx_cache_state *ret, struct sbx_err *err);
/** The artifact's manifest, for its annotations; by digest or tag. */
SBX_MUST_USE enum sbx_code sbx_kit_manifest(const struct sbx_kit_io *io, const struct sbx_place *p,
                                            struct sbx_arena *arena, struct sbx_oci_doc *ret,
                                            struct sbx_err *err);
/**
 * Copy a kit of the cache to a directory that does not exist or is empty; modes as the umask allows.
 * Whole, or nothing is left: SBX_EXISTS, SBX_IO, ...
 */
SBX_MUST_USE enum sbx_code sbx_kit_copy(const char *from, const char *to, struct sbx_err *err);

/** The same with the caller's own directory, which is gone then; on an error too. */
SBX_MUST_USE enum sbx_code sbx_kit_move(const char *from, const char *to, struct sbx_err *err);

enum sbx_anchor {
    SBX_ANCHOR_AUTO, /**< within one registry; else a note */
    SBX_ANCHOR_COPY, /**< copied from another registry too */
    SBX_ANCHOR_NONE,
};

struct sbx_pushed {
    char digest[SBX_DIGEST_TEXT_SIZE]; /**< of the kit's manifest */
    const char *image;  /**< sandbox.image as it was pushed; NULL: none */
    const char *anchor; /**< tag of the image's anchor; NULL: none was made */
    const char *note;   /**< why not, or what else there is to say; NULL: nothing */
};

/**
 * Push a kit's directory in its distribution form: the image pinned to its digest, no build. Where `dir` is a
 * reference (oci-layout:DIR:TAG, HOST/REPOSITORY:TAG) the artifact is copied as it is: its digest stays.
 * @param p its tag is the kit's; NULL: "latest"
 * @return SBX_OK; SBX_SCHEMA (invalid; diags has the findings), SBX_NOT_FOUND (the image), ...
 */
SBX_MUST_USE enum sbx_code sbx_kit_push(const struct sbx_kit_io *io, const char *dir,
                                        const struct sbx_place *p, enum sbx_anchor anchor,
                                        struct sbx_diags *diags, struct sbx_arena *arena,
                                        struct sbx_pushed *ret, struct sbx_err *err);
/** The same into an archive (a tar of an OCI layout); `tag` names it there, NULL: "latest". */
SBX_MUST_USE enum sbx_code sbx_kit_pack(const struct sbx_kit_io *io, const char *dir,
                                        const char *file, const char *tag,
                                        struct sbx_diags *diags, struct sbx_arena *arena,
                                        struct sbx_pushed *ret, struct sbx_err *err);

/** Tags of a place's repository, in its order; in arena. */
SBX_MUST_USE enum sbx_code sbx_kit_tags(const struct sbx_kit_io *io, const struct sbx_place *p,
                                        struct sbx_arena *arena, const char *const **ret,
                                        size_t *ret_n, struct sbx_err *err);
/** The index of what refers to a kit (signatures, provenance, notes): `ret->text`. */
SBX_MUST_USE enum sbx_code sbx_kit_referrers(const struct sbx_kit_io *io, const struct sbx_place *p,
                                             char ret_digest[SBX_DIGEST_TEXT_SIZE],
                                             struct sbx_arena *arena, struct sbx_oci_doc *ret,
                                             struct sbx_err *err);

/** A file that shall refer to a kit. */
struct sbx_attach {
    const char *file;
    const char *type;       /**< artifactType, "application/vnd.example.sbom" */
    const char *media_type; /**< of the file; NULL: application/octet-stream */
};
/** Push it as an artifact of its own whose subject is what `p` has now. Equal files have equal digests. */
SBX_MUST_USE enum sbx_code sbx_kit_attach(const struct sbx_kit_io *io, const struct sbx_place *p,
                                          const struct sbx_attach *what,
                                          char ret_digest[SBX_DIGEST_TEXT_SIZE],
                                          struct sbx_err *err);

struct sbx_removed {
    const char *digest;       /**< of what the tag had */
    const char *const *others; /**< other tags that went (or would go) with it; NULL-terminated */
    const char *anchor;       /**< the anchor's tag, if it was removed */
    const char *note;
};
/**
 * Delete a tag and its anchor. Where a registry deletes only by digest, other tags of it go too:
 * without `force` that is SBX_BUSY, and `ret->others` has them.
 */
SBX_MUST_USE enum sbx_code sbx_kit_remove(const struct sbx_kit_io *io, const struct sbx_place *p,
                                          bool force, struct sbx_arena *arena,
                                          struct sbx_removed *ret, struct sbx_err *err);

#endif
