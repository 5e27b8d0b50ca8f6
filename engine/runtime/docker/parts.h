/**
 * @file
 * A tar stream made on the fly from parts: files of a directory, ranges of another tar, memory.
 * Used to hand the Engine what it does not read by itself: directories and OCI layouts.
 */
#ifndef SBX_RUNTIME_DOCKER_PARTS_H
#define SBX_RUNTIME_DOCKER_PARTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "sbx/arena.h"
#include "sbx/err.h"

#define DOCKER_PARTS_MAX 100000 /* entries of one archive; images have some hundred */
#define DOCKER_TAR_BLOCK 512    /* bytes of a tar record */

struct docker_part {
    const char *name; /**< in the archive, relative, at most 255 bytes */
    bool directory;
    const char *memory; /**< the content, or NULL: `size` bytes at `offset` of a file */
    const char *file;   /**< path below the source's directory; NULL: the source's own descriptor */
    off_t offset, size; /**< bytes */
};

struct docker_parts {
    struct sbx_arena *arena;
    int fd; /**< directory, or the tar that ranges are of; borrowed */
    struct docker_part *v;
    size_t n, cap;
    /* reading: */
    size_t at;  /**< part */
    off_t done; /**< bytes of it, its header and padding counted */
    int open;   /**< file of the part that is read, or -1 */
};
#define DOCKER_PARTS_INIT(arena, fd)                                                               \
    {                                                                                              \
        (arena), (fd), NULL, 0, 0, 0, 0, -1                                                        \
    }

/** Add a part; its texts must live as long as the arena. SBX_OK, SBX_LIMIT, SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code docker_parts_add(struct docker_parts *p, struct docker_part part,
                                            struct sbx_err *err);
/** The part of that name; NULL: none. */
const struct docker_part *docker_parts_find(const struct docker_parts *p, const char *name);
/** List a directory tree as parts. Symlinks count as what they lead to, inside the tree only. */
SBX_MUST_USE enum sbx_code docker_parts_walk(struct docker_parts *p, struct sbx_err *err);
/**
 * List the files of an uncompressed tar as parts, by its headers.
 * @return SBX_OK (nothing listed: not such a tar), SBX_IO, SBX_LIMIT, SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code docker_parts_scan(struct docker_parts *p, struct sbx_err *err);
/** Read a part whole, NUL behind it, in arena. SBX_LIMIT past `max` bytes. */
SBX_MUST_USE enum sbx_code docker_parts_content(const struct docker_parts *p,
                                                const struct docker_part *part, off_t max,
                                                const char **ret, struct sbx_err *err);
/** The next bytes of the tar stream, 0 at its end; -1 with `err`. */
ssize_t docker_parts_read(struct docker_parts *p, char *room, size_t len, struct sbx_err *err);
void docker_parts_release(struct docker_parts *p); /**< Close what reading left open. */
SBX_DEFINE_AUTO(docker_parts, docker_parts_release);

#endif
