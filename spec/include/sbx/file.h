/**
 * @file
 * Files as the state, cache and configuration need them: bounded reads, and writes of which a crash
 * leaves either the old or the new content.
 */
#ifndef SBX_FILE_H
#define SBX_FILE_H

#include <sys/types.h>

#include "sbx/buf.h"

/**
 * Read a whole regular file, at most `out->max` bytes. Never opens devices or FIFOs (no hang).
 * @param dirfd AT_FDCWD, or the directory that `path` is relative to
 * @return SBX_OK, SBX_NOT_FOUND, SBX_LIMIT, SBX_IO or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_file_read(int dirfd, const char *path, struct sbx_buf *out,
                                         struct sbx_err *err);
/**
 * Read what is open: a file from its beginning, a pipe to its end. It waits for who writes.
 * @param name for errors
 * @return SBX_OK, SBX_LIMIT (more than out->max), SBX_IO or SBX_NO_MEMORY; then `out` may hold a part
 */
SBX_MUST_USE enum sbx_code sbx_fd_read(int fd, const char *name, struct sbx_buf *out, struct sbx_err *err);
/** Takes the next bytes of a file; any code but SBX_OK ends the reading and is handed on. */
typedef enum sbx_code sbx_file_sink(void *context, const void *data, size_t len,
                                    struct sbx_err *err);
/**
 * Hand a whole regular file on in pieces, with as little memory for a large one as for a small one.
 * @param max bytes; a file that has more ends with SBX_LIMIT, perhaps after pieces of it
 * @return as sbx_file_read(), or what `sink` said
 */
SBX_MUST_USE enum sbx_code sbx_file_stream(int dirfd, const char *path, size_t max,
                                           sbx_file_sink *sink, void *context,
                                           struct sbx_err *err);
/**
 * Replace a file: write a new one beside it, fsync, rename, fsync the directory.
 * A failure leaves the old file and no leftover.
 */
SBX_MUST_USE enum sbx_code sbx_file_write(int dirfd, const char *path, const void *data,
                                          size_t len, mode_t mode, struct sbx_err *err);
/** mkdir -p with this mode for what is made; an existing directory is fine. */
SBX_MUST_USE enum sbx_code sbx_dir_make(const char *path, mode_t mode, struct sbx_err *err);
/** rm -rf that never follows symlinks and never leaves the file system; absence is fine. */
SBX_MUST_USE enum sbx_code sbx_dir_remove(int dirfd, const char *path, struct sbx_err *err);
/** Write all bytes, over EINTR and short writes. 0 or -1 with errno. */
int sbx_write_all(int fd, const void *data, size_t len);

#endif
