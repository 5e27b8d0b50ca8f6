/**
 * @file
 * The file of the decision log: whole lines, blocks on disk ahead of its end, a cap. With a descriptor
 * of its directory it is rotated: log.jsonl becomes log.jsonl.1, replacing the one before, in three
 * steps (make log.jsonl.new, rename twice) of which a crash leaves nothing that a reader misses.
 */
#ifndef SBX_GATE_LOGFILE_H
#define SBX_GATE_LOGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbx/buf.h"

struct sbx_logfile {
    int fd, dir;        /**< dir -1: no rotation */
    uint64_t offset;    /**< bytes in the file */
    uint64_t before;    /**< bytes in the files before it, since the start */
    uint64_t reserved;  /**< blocks are there up to this byte */
    bool regular;       /**< a file, as it should be */
    bool full;          /**< at its cap */
    bool broken;        /**< the latest write failed */
};

/** Takes both descriptors. 0, or -1 with errno. */
int sbx_logfile_init(struct sbx_logfile *f, int fd, int dir);
void sbx_logfile_release(struct sbx_logfile *f);
/** Is there room for a line? May rotate. The cap leaves room for one last line. */
bool sbx_logfile_room(struct sbx_logfile *f, size_t len);
/** Append a line, whole or not at all. */
bool sbx_logfile_put(struct sbx_logfile *f, const struct sbx_buf *line);

#endif
