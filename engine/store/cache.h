/* What the files of the cache share. */
#ifndef SBX_STORE_CACHE_PRIVATE_H
#define SBX_STORE_CACHE_PRIVATE_H

#include <sys/stat.h>

#include "sbx/buf.h"
#include "sbx/cache.h"

#define HEX 64           /* digits of a SHA-256 */
#define CACHE_PATH 4096  /* bytes of a path in the cache */

#define OWN_MAX 8 /* blobs of a handle that are not waited for; a kit has three */

struct sbx_cache {
    char *dir;
    int blobs; /* DIR/blobs/sha256, -1 until it is needed */
    bool hurry;
    size_t n_own; /* that this handle wrote in a hurry and need not look at */
    char own[OWN_MAX][SBX_DIGEST_TEXT_SIZE];
};

/* Make what is missing and open it. */
enum sbx_code sbx_cache_ready(struct sbx_cache *c, struct sbx_err *err);
#define SBX_CACHE_NAMES_SIZE 65536 /* bytes of the references of one thing: past it the oldest go */
/* index.c: the lines of CACHE/names, `name` as in sbx_cache_name(). SBX_OK, SBX_NOT_FOUND, SBX_IO. */
enum sbx_code sbx_cache_names_read(const struct sbx_cache *c, const char *name, struct sbx_buf *out);
/* doubt.c */
/* Name a verified blob. `partial`: the directory in which it has its name so far; -1: it has none. */
enum sbx_code sbx_cache_publish(struct sbx_cache *c, const char *digest, int fd, int partial,
                                struct sbx_err *err);
/* Is a file of the cache what its name says? Read where nobody waited until it was on the disk. */
bool sbx_cache_trusts(struct sbx_cache *c, const char *digest, const struct stat *st);
/* The hexadecimal digits of a digest: the name of its file. */
static inline const char *sbx_blob_name(const char *digest)
{
    return digest + 7; /* "sha256:" */
}

#endif
