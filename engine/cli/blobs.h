/**
 * @file
 * Blobs on their way, on stderr: bars on a terminal, lines elsewhere, JSON events with --output json.
 */
#ifndef SBX_CLI_BLOBS_H
#define SBX_CLI_BLOBS_H

#include <pthread.h>

#include "cli.h"
#include "sbx/registry.h"

#define SBX_BLOBS_TOLD 16 /* lines of a command, each said once; a registry has one or two */
#define SBX_BLOBS_SHOWN 8 /* bars at once: twice what is moved at once */

struct sbx_blob_bar {
    char digest[SBX_DIGEST_TEXT_SIZE];
    int64_t done, total;
    int64_t before; /* bytes that were here when it began: they came without time */
    long began_ms;
    long told_ms; /* of a JSON event */
};

struct sbx_blobs {
    struct sbx_oci_progress progress; /**< to hand on */
    struct sbx_cli *cli;
    pthread_mutex_t lock; /* several threads tell */
    bool terminal;
    struct sbx_blob_bar v[SBX_BLOBS_SHOWN];
    size_t n, lines; /* bars, and how many of them are on the screen */
    long drawn_ms;
    char told[SBX_BLOBS_TOLD][200]; /* beginnings: several handles of a registry say the same */
    size_t n_told;
};

/** Those of this command; NULL: no memory. */
struct sbx_blobs *sbx_blobs_of(struct sbx_cli *cli);
/** Something else is about to be written: the bars that are there stay where they are. */
void sbx_blobs_leave(struct sbx_blobs *b);

#endif
