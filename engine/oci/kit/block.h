/* One block of a gzip member: raw deflate (RFC 1951) that depends on nothing but its own bytes and those before it. */
#ifndef SBX_OCI_KIT_BLOCK_H
#define SBX_OCI_KIT_BLOCK_H

#include <stdbool.h>

#include "sbx/late_zlib.h"

#define BLOCK_SIZE 131072 /* bytes of content; smaller ones pack worse, larger ones only cost memory */
#define BLOCK_DICT 32768  /* bytes before it that it may repeat: deflate's window */
/* Where nothing gets smaller deflate stores: 5 bytes for each 16 KiB, and the flush at the end. */
#define BLOCK_PACKED_MAX (BLOCK_SIZE + BLOCK_SIZE / 128)

struct gzip_block {
    size_t dict, len; /* bytes in `data`: what came before, then the content */
    bool last;        /* of the member */
    /* what comes of it */
    size_t packed;
    unsigned long crc; /* of the content */
    unsigned char out[BLOCK_PACKED_MAX];
    unsigned char data[BLOCK_DICT + BLOCK_SIZE];
};

/*
 * Memory of zlib, for one block after the other: a stream of its own for each is made from it and not from
 * the heap, whose pages would come and go each time.
 */
struct gzip_room {
    size_t used;
    _Alignas(64) unsigned char bytes[311296]; /* zlib 1.2 takes 268,288 and 1.3 284,672; what does not fit is the heap's */
};

/*
 * SBX_OK or SBX_NO_MEMORY. The same block gives the same bytes, on every machine and thread; a thread has a
 * room of its own.
 */
SBX_MUST_USE enum sbx_code gzip_block_pack(const struct sbx_zlib *z, struct gzip_room *room,
                                           struct gzip_block *b);

#endif
