/* gzip (RFC 1952) in pieces, by zlib: a file on disk on one side, bytes on the other. */
#ifndef SBX_OCI_KIT_GZIP_H
#define SBX_OCI_KIT_GZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "sbx/auto.h"
#include "sbx/digest.h"
#include "sbx/late_zlib.h"

#define GZIP_PIECE 65536 /* bytes of each buffer; larger ones are not faster */

/*
 * Compression bombs: gzip makes zeros 1,000 times smaller, real files up to 20 times. Past the first
 * GiBs, which anybody may write, no layer unpacks to more than RATIO times its size.
 */
#define GZIP_BOMB_FREE (2LL << 30) /* bytes */
#define GZIP_BOMB_RATIO 100

bool gzip_is_bomb(int64_t packed, int64_t unpacked);

/*
 * ---- writing: always the same bytes for the same content ----
 *
 * One member. Its content is packed in blocks of a fixed size, each by whichever thread is free, and written
 * in order: the bytes do not depend on how many threads there are.
 */

#define GZIP_THREADS_MAX 4 /* past it the disk is what takes time, and each costs 0.9 MiB */

struct gzip_out;

struct gzip_result {
    char digest[SBX_DIGEST_TEXT_SIZE]; /* of what was written */
    int64_t in, out;                   /* bytes */
};

/* `threads`: besides the caller's; 0: as many as there are processors for us. `fd` stays the caller's. */
SBX_MUST_USE enum sbx_code gzip_out_open(int fd, unsigned threads, struct gzip_out **ret,
                                         struct sbx_err *err);
/* SBX_OK, SBX_NO_MEMORY or SBX_IO; after a failure only gzip_out_free(). */
SBX_MUST_USE enum sbx_code gzip_out_add(struct gzip_out *g, const void *data, size_t len,
                                        struct sbx_err *err);
SBX_MUST_USE enum sbx_code gzip_out_end(struct gzip_out *g, struct gzip_result *ret,
                                        struct sbx_err *err);
/* No thread is left; NULL is fine. */
void gzip_out_free(struct gzip_out *g);
SBX_DEFINE_AUTO_PTR(gzip_out, gzip_out_free);

/* ---- reading: what comes is from strangers ---- */

struct gzip_in {
    const struct sbx_zlib *z;
    z_stream stream;
    int fd;
    int64_t in, out; /* bytes; `out` is bounded by max */
    int64_t max;
    bool begun, whole; /* a member ended, and nothing came after it */
    unsigned char piece[GZIP_PIECE];
};

SBX_MUST_USE enum sbx_code gzip_in_begin(struct gzip_in *g, int fd, int64_t max,
                                         struct sbx_err *err);
/*
 * The next `len` bytes; fewer (*ret_n) at the end. SBX_SYNTAX (damaged, cut off), SBX_LIMIT (a bomb),
 * SBX_IO.
 */
SBX_MUST_USE enum sbx_code gzip_in_read(struct gzip_in *g, void *to, size_t len, size_t *ret_n,
                                        struct sbx_err *err);
void gzip_in_release(struct gzip_in *g);

#endif
