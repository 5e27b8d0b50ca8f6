/**
 * @file
 * Tar archives and directory trees: unpack beneath a directory, pack a directory. Every path comes
 * from someone we do not trust, on both sides: names in archives, and trees that a hostile process
 * changes while we read or write them.
 */
#ifndef SBX_TREE_H
#define SBX_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sbx/err.h"

/** Where bytes come from: up to `len` of them; 0 at the end; -1 after setting err. */
typedef ssize_t (*sbx_read_fn)(void *ctx, void *to, size_t len, struct sbx_err *err);
/** Where bytes go: all of them or a failure. */
typedef enum sbx_code (*sbx_write_fn)(void *ctx, const void *data, size_t len, struct sbx_err *err);

/** The two for a descriptor; `ctx`: int *, borrowed. */
ssize_t sbx_tree_from_fd(void *ctx, void *to, size_t len, struct sbx_err *err);
enum sbx_code sbx_tree_to_fd(void *ctx, const void *data, size_t len, struct sbx_err *err);

struct sbx_unpack {
    int root; /**< directory that holds everything; borrowed */
    /**
     * An image layer, into a new directory: whiteouts become overlayfs' form, symlinks are never
     * walked through, device nodes are made. Else: into a living tree, symlinks resolve inside
     * `root` as they would for a process there, devices are refused, existing files are replaced.
     */
    bool layer;
    const char *below; /**< directory under root that names are relative to; "" or NULL: root */
    int64_t *budget;   /**< bytes of files that may still be written; NULL: no bound */
};
/**
 * Unpack an uncompressed tar (ustar, pax, GNU).
 * @return SBX_OK; SBX_SCHEMA (hostile or impossible entry: named), SBX_SYNTAX (not a tar, cut off),
 *         SBX_LIMIT, SBX_NOT_FOUND (`below` does not exist), SBX_IO, SBX_UNAVAILABLE (no libarchive)
 */
SBX_MUST_USE enum sbx_code sbx_tree_unpack(const struct sbx_unpack *how, sbx_read_fn read,
                                           void *ctx, struct sbx_err *err);

struct sbx_pack {
    int dir;          /**< directory to pack (its content), or the parent of `only`; borrowed */
    const char *only; /**< NULL, or one name in `dir`: that file or directory, under its name */
    bool overlay;     /**< turn overlayfs' whiteouts and opaque marks into the layer form */
};
/** Pack as pax: sorted names, no atime or ctime, no sockets. The same tree gives the same bytes. */
SBX_MUST_USE enum sbx_code sbx_tree_pack(const struct sbx_pack *what, sbx_write_fn write, void *ctx,
                                         struct sbx_err *err);

/**
 * Open below a root as a process in that root would see it (symlinks included), never outside it
 * and through no magic link. openat2(2), RESOLVE_IN_ROOT. -1 with errno.
 */
int sbx_open_in_root(int root, const char *path, int flags, mode_t mode);

#endif
