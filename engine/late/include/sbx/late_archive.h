/**
 * @file
 * libarchive by late loading: `la->read_new()` is archive_read_new(). Add a function to the list to
 * use it. libarchive 3.4 (Debian 11) or newer.
 */
#ifndef SBX_LATE_ARCHIVE_H
#define SBX_LATE_ARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

#include "sbx/err.h"

#define SBX_ARCHIVE_FUNCTIONS(X)                                                                   \
    X(read_new)                                                                                    \
    X(read_free)                                                                                   \
    X(read_open)                                                                                   \
    X(read_support_filter_gzip)                                                                    \
    X(read_support_filter_zstd)                                                                    \
    X(read_support_filter_xz)                                                                      \
    X(read_support_filter_bzip2)                                                                   \
    X(read_support_format_tar)                                                                     \
    X(read_support_format_raw)                                                                     \
    X(read_next_header)                                                                            \
    X(read_data)                                                                                   \
    X(read_data_block)                                                                             \
    X(error_string)                                                                                \
    X(set_error)                                                                                   \
    X(write_new)                                                                                   \
    X(write_free)                                                                                  \
    X(write_close)                                                                                 \
    X(write_open)                                                                                  \
    X(write_set_format_pax_restricted)                                                             \
    X(write_set_bytes_in_last_block)                                                               \
    X(write_add_filter_gzip)                                                                       \
    X(write_set_filter_option)                                                                     \
    X(write_set_format_raw)                                                                        \
    X(write_set_format_ustar)                                                                      \
    X(write_header)                                                                                \
    X(write_data)                                                                                  \
    X(entry_new)                                                                                   \
    X(entry_free)                                                                                  \
    X(entry_clear)                                                                                 \
    X(entry_pathname)                                                                              \
    X(entry_hardlink)                                                                              \
    X(entry_symlink)                                                                               \
    X(entry_filetype)                                                                              \
    X(entry_perm)                                                                                  \
    X(entry_uid)                                                                                   \
    X(entry_gid)                                                                                   \
    X(entry_size)                                                                                  \
    X(entry_mtime)                                                                                 \
    X(entry_mtime_nsec)                                                                            \
    X(entry_rdevmajor)                                                                             \
    X(entry_rdevminor)                                                                             \
    X(entry_xattr_reset)                                                                           \
    X(entry_xattr_next)                                                                            \
    X(entry_set_pathname)                                                                          \
    X(entry_set_hardlink)                                                                          \
    X(entry_set_symlink)                                                                           \
    X(entry_set_filetype)                                                                          \
    X(entry_set_perm)                                                                              \
    X(entry_set_uid)                                                                               \
    X(entry_set_gid)                                                                               \
    X(entry_set_size)                                                                              \
    X(entry_set_mtime)                                                                             \
    X(entry_set_rdevmajor)                                                                         \
    X(entry_set_rdevminor)                                                                         \
    X(entry_xattr_add_entry)

struct sbx_archive {
#define SBX_ARCHIVE_FIELD(name) __typeof__(archive_##name) *name;
    SBX_ARCHIVE_FUNCTIONS(SBX_ARCHIVE_FIELD)
#undef SBX_ARCHIVE_FIELD
};

/** The functions, loaded at the first call; NULL with `err` (SBX_UNAVAILABLE). */
const struct sbx_archive *sbx_archive(struct sbx_err *err);

#endif
