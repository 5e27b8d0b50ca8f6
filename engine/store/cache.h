/* What blob.c, index.c and writer.c share. */
#ifndef SBX_STORE_CACHE_PRIVATE_H
#define SBX_STORE_CACHE_PRIVATE_H

#include "sbx/cache.h"

#define HEX 64           /* digits of a SHA-256 */
#define CACHE_PATH 4096  /* bytes of a path in the cache */

struct sbx_cache {
    char *dir;
    int blobs; /* DIR/blobs/sha256, -1 until it is needed */
};

/* Make what is missing and open it. */
enum sbx_code sbx_cache_ready(struct sbx_cache *c, struct sbx_err *err);
/* The hexadecimal digits of a digest: the name of its file. */
static inline const char *sbx_blob_name(const char *digest)
{
    return digest + 7; /* "sha256:" */
}

#endif
