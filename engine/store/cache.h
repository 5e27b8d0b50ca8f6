/* What blob.c, index.c and writer.c share. */
#ifndef SBX_STORE_CACHE_PRIVATE_H
#define SBX_STORE_CACHE_PRIVATE_H

#include "sbx/cache.h"

#define HEX 64           /* digits of a SHA-256 */
#define CACHE_PATH 4096  /* bytes of a path in the cache */

#define GATHER_MAX 8 /* blobs; a kit has three, and each holds two descriptors */

/* A blob that is whole and verified and has no name yet. */
struct sbx_gathered {
    char digest[SBX_DIGEST_TEXT_SIZE];
    int fd, partial; /* the file; the directory that it has a name in, -1: it has none */
};

struct sbx_cache {
    char *dir;
    int blobs; /* DIR/blobs/sha256, -1 until it is needed */
    bool gather;
    size_t n_gathered;
    struct sbx_gathered gathered[GATHER_MAX];
};

/* Make what is missing and open it. */
enum sbx_code sbx_cache_ready(struct sbx_cache *c, struct sbx_err *err);
/*
 * gather.c: put a verified blob on the disk, then name it; or keep it until sbx_cache_settle(). Takes the
 * descriptors. `partial`: the directory that it has its name in so far; -1: it has none.
 */
enum sbx_code sbx_cache_publish(struct sbx_cache *c, const char *digest, int *fd, int *partial,
                                struct sbx_err *err);
const struct sbx_gathered *sbx_cache_gathered(const struct sbx_cache *c, const char *digest);
/* The hexadecimal digits of a digest: the name of its file. */
static inline const char *sbx_blob_name(const char *digest)
{
    return digest + 7; /* "sha256:" */
}

#endif
