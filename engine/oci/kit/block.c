#include "block.h"

#include <stdint.h>
#include <stdlib.h>

#define LEVEL 6    /* written out, so that a library's default does not move digests */
#define MEMORY 8   /* zlib's default */
#define WINDOW -15 /* 32 KiB, neither header nor trailer */

/*
 * What has no repetitions (data that is compressed already, random, base64 of those) gets nothing from the
 * search for them, which is nearly all of the work: a quick look tells whether it is worth while.
 */
#define LOOK_BITS 12  /* of the table of places: 16 KiB, which the processor's first cache holds */
#define LOOK_MATCH 4  /* bytes: shorter repetitions gain next to nothing */
#define LOOK_GAIN 32  /* less than this part that repeats is not worth it */

enum how {
    HOW_SEARCH,
    HOW_SYMBOLS, /* no search: only symbols that are frequent get short */
    HOW_STORE,
};

/* The same number on every machine. */
static uint32_t four(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Does enough of it stand in the window before it too? */
static bool repeats(const struct gzip_block *b)
{
    uint32_t places[1 << LOOK_BITS] = { 0 };
    const unsigned char *data = b->data;
    size_t end = b->dict + b->len, found = 0;

    for (size_t i = 1; i + LOOK_MATCH <= end; i++) {
        uint32_t key = four(data + i), *place = &places[key * 2654435761u >> (32 - LOOK_BITS)];
        size_t from = *place, start = i;

        *place = (uint32_t)i;
        if (i < b->dict || i - from > BLOCK_DICT || four(data + from) != key)
            continue;
        for (i += LOOK_MATCH; i < end && data[i] == data[from + i - start]; i++)
            ;
        found += i-- - start;
        if (found >= b->len / LOOK_GAIN)
            return true;
    }
    return false;
}

/*
 * Are all bytes about as frequent? The sum of their shares' squares is 1/256 then; where it is so small the
 * shortest code saves less than 2 %.
 */
static bool even(const struct gzip_block *b)
{
    uint32_t count[256] = { 0 };
    uint64_t sum = 0;

    for (size_t i = b->dict; i < b->dict + b->len; i++)
        count[b->data[i]]++;
    for (size_t i = 0; i < 256; i++)
        sum += (uint64_t)count[i] * count[i];
    return sum * 256 < (uint64_t)b->len * b->len / 100 * 107;
}

static enum how look(const struct gzip_block *b)
{
    if (b->len < BLOCK_SIZE || repeats(b)) /* the member's last is not worth a question */
        return HOW_SEARCH;
    return even(b) ? HOW_STORE : HOW_SYMBOLS;
}

static void *take(void *ctx, unsigned n, unsigned size)
{
    struct gzip_room *room = ctx;
    size_t want = ((size_t)n * size + 63) / 64 * 64;
    void *at = room->bytes + room->used;

    if (want > sizeof(room->bytes) - room->used)
        return calloc(n, size);
    room->used += want;
    return at;
}

static void give_back(void *ctx, void *p)
{
    struct gzip_room *room = ctx;
    unsigned char *at = p;

    if (at < room->bytes || at >= room->bytes + sizeof(room->bytes))
        free(p);
}

enum sbx_code gzip_block_pack(const struct sbx_zlib *z, struct gzip_room *room,
                              struct gzip_block *b)
{
    enum how how = look(b);
    z_stream s = { .next_in = b->data + b->dict, .avail_in = (uInt)b->len, .next_out = b->out,
                   .avail_out = sizeof(b->out), .zalloc = take, .zfree = give_back,
                   .opaque = room };

    room->used = 0;
    if (z->deflateInit2_(&s, how == HOW_STORE ? Z_NO_COMPRESSION : LEVEL, Z_DEFLATED, WINDOW,
                         MEMORY, how == HOW_SYMBOLS ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY,
                         ZLIB_VERSION, (int)sizeof(s)) != Z_OK)
        return SBX_NO_MEMORY;
    if (b->dict && how == HOW_SEARCH)
        (void)z->deflateSetDictionary(&s, b->data, (uInt)b->dict); /* a new stream takes it */
    (void)z->deflate(&s, b->last ? Z_FINISH : Z_SYNC_FLUSH);
    z->deflateEnd(&s);
    b->packed = sizeof(b->out) - s.avail_out;
    b->crc = z->crc32(0, b->data + b->dict, (uInt)b->len);
    /* It always fits: see BLOCK_PACKED_MAX. */
    return s.avail_in || !s.avail_out ? SBX_NO_MEMORY : SBX_OK;
}
