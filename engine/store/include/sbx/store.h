/**
 * @file
 * Images on this machine without an Engine. Blobs (manifests, configurations, layers as they came)
 * are an OCI image layout in the cache; unpacked layers and the table of loaded images are pinned in
 * the state directory, so a wiped cache breaks no image. OCI Image Specification 1.1; the archive
 * format of `docker save`. Architecture section 8.
 *
 *     CACHE/oci-layout, index.json, blobs/sha256/HEX     shared by apps; may be deleted at any time
 *     STATE/layers/HEX/                                  one unpacked layer, named by its diff id
 *     STATE/images/HEX.json, names.json                  loaded images, references
 *     STATE/layers/.tmp-*                                half-made: removed by the next command
 *
 * Two locks order commands: `import.lock` (one import, commit or removal at a time, long) and
 * `images.lock` (the tables, short). Nothing is safe on one handle from two threads.
 */
#ifndef SBX_STORE_H
#define SBX_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "sbx/arena.h"
#include "sbx/cache.h"
#include "sbx/err.h"

#define SBX_STORE_JSON_MAX                                                                         \
    (4 << 20)                    /* bytes of a manifest, index or configuration; the distribution
                                             specification asks for at least 4 MB */
#define SBX_STORE_LAYERS_MAX 128 /* layers of an image; the Engine makes at most 127 */
#define SBX_STORE_MANIFESTS_MAX 1024 /* images of one archive, platforms of one index */
#define SBX_STORE_SIZE_MAX                                                                         \
    (64LL << 30)                      /* bytes an image may unpack to: no real one comes near,
                                             a compression bomb ends here */
#define SBX_STORE_ENTRIES_MAX 8000000 /* files of a layer; a bomb of empty files ends here */

struct sbx_store; /* opaque */

/**
 * Open; makes the directories it needs and removes what a killed import left.
 * @param state_dir, cache_dir absolute; made if missing
 */
SBX_MUST_USE enum sbx_code sbx_store_open(const char *state_dir, const char *cache_dir,
                                          struct sbx_store **ret, struct sbx_err *err);
void sbx_store_close(struct sbx_store *s); /**< NULL is fine */
SBX_DEFINE_AUTO_PTR(sbx_store, sbx_store_close);

struct sbx_store_image {
    const char *id;            /**< "sha256:…", the digest of the configuration */
    const char *const *names;  /**< familiar references, NULL-terminated */
    const char *const *layers; /**< unpacked directories, absolute, lowest first */
    size_t n_layers;
    const char *const *env, *const *entrypoint, *const *cmd; /**< NULL-terminated */
    const char *const *labels;                               /**< "K=V" */
    const char *workdir, *user;                              /**< "" when there is none */
    int64_t size, created;                                   /**< bytes unpacked; Unix seconds */
};

/**
 * Load a `docker save` archive or an OCI layout: a tar file (plain, gzip, zstd, xz, bzip2) or a
 * directory. Everything is verified by digest. Of an index for several platforms ours is taken.
 * @param ret_names familiar references (an image without one: its id), in arena, NULL-terminated
 * @return SBX_OK; SBX_NOT_FOUND; SBX_SYNTAX, SBX_SCHEMA (broken or hostile, err names the entry);
 *         SBX_LIMIT; SBX_UNSUPPORTED (no image for our platform, unknown compression); SBX_IO
 */
SBX_MUST_USE enum sbx_code sbx_store_import(struct sbx_store *s, const char *path,
                                            struct sbx_arena *arena, const char ***ret_names,
                                            size_t *ret_n, struct sbx_err *err);
/**
 * Make an image of what is in the cache: a manifest (of one platform) and all it names.
 * @param name full reference (sbx_store_full_name())
 * @return as sbx_store_import()
 */
SBX_MUST_USE enum sbx_code sbx_store_adopt(struct sbx_store *s, const char *digest, size_t size,
                                           const char *name, struct sbx_err *err);
struct sbx_cache *sbx_store_cache(struct sbx_store *s); /**< the store's own */
/** What images must be for. */
struct sbx_store_platform {
    const char *os, *architecture; /**< as Go spells them: "linux", "amd64" */
    int variant;                   /**< 7 of "v7": what the processor can at most; 0: has none */
};
struct sbx_store_platform sbx_store_platform(void);
/**
 * How well an entry of an index fits, by its `platform` (NULL: it names none, which fits all).
 * @return 0: not; of several the greatest is meant, the first of equals
 */
int sbx_store_platform_rank(const json_t *platform, const struct sbx_store_platform *ours);
/** By reference (any spelling), id or prefix of an id (from 4 digits). SBX_NOT_FOUND, SBX_CONFLICT. */
SBX_MUST_USE enum sbx_code sbx_store_find(struct sbx_store *s, const char *reference,
                                          struct sbx_arena *arena, struct sbx_store_image *ret,
                                          struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_store_list(struct sbx_store *s, struct sbx_arena *arena,
                                          struct sbx_store_image **ret, size_t *ret_n,
                                          struct sbx_err *err);
/**
 * Remove a reference, and the image and its layers with the last one (or at once, by id).
 * @param used asked, with the tables locked, whether the image is in use; may be NULL
 * @return SBX_OK, SBX_NOT_FOUND, SBX_BUSY
 */
SBX_MUST_USE enum sbx_code sbx_store_remove(struct sbx_store *s, const char *reference,
                                            bool (*used)(void *ctx, const char *id), void *ctx,
                                            struct sbx_err *err);
/**
 * Save `upper`, an overlayfs upper directory over the layers of image `base`, as image `reference`.
 * The directory must not change meanwhile.
 */
SBX_MUST_USE enum sbx_code sbx_store_commit(struct sbx_store *s, const char *base,
                                            const char *upper, const char *reference,
                                            struct sbx_err *err);
/** Hold the tables as they are (shared) while an image is being pinned; the lock ends with the fd. */
SBX_MUST_USE enum sbx_code sbx_store_hold(struct sbx_store *s, int *ret_fd, struct sbx_err *err);

/**
 * The full form of a reference, "docker.io/library/alpine:latest"; `familiar` the short one.
 * @return in arena; NULL: not a reference (or no memory)
 */
char *sbx_store_full_name(struct sbx_arena *arena, const char *reference);
char *sbx_store_familiar_name(struct sbx_arena *arena, const char *full);

#endif
