/* What source.c and archive.c share. */
#ifndef SBX_STORE_SOURCE_H
#define SBX_STORE_SOURCE_H

#include "sbx/late_archive.h"
#include "store.h"

/*
 * Order means nothing in an archive: its manifest often comes last. So one pass keeps small
 * entries in memory and puts large ones into the cache, where they end anyway.
 */
struct entry {
    char *name;
    char *link; /* other entry's name; NULL: a file */
    char *data; /* small file, NUL behind it; NULL: in the cache */
    size_t len;
    char digest[SBX_DIGEST_TEXT_SIZE]; /* of what is in the cache */
    bool used;
};

struct sbx_source {
    struct sbx_store *store;
    int dir; /* directory to import; -1: an archive */
    bool own; /* it is the cache: its blobs were verified when they came */
    const struct sbx_archive *la;
    struct archive *archive;
    struct entry *v;
    size_t n, cap, small;
    int64_t total;
};

struct entry *sbx_source_find(struct sbx_source *src, const char *name);
struct entry *sbx_source_add(struct sbx_source *src, const char *name); /* NULL: no memory */
/* Read the whole archive behind fd. */
enum sbx_code sbx_source_read(struct sbx_source *src, int fd, struct sbx_err *err);

#endif
