/**
 * @file
 * libgit2 by late loading: `git->clone()` is git_clone(). Add a function to the list to use it. The
 * library of the version this was built with: its structs change from one to the next.
 */
#ifndef SBX_LATE_GIT_H
#define SBX_LATE_GIT_H

#include <git2.h>
#include <git2/sys/mempack.h>
#include <git2/sys/transport.h>

#include "sbx/err.h"

#define SBX_GIT_FUNCTIONS(X)                                                                       \
    X(libgit2_init)                                                                                \
    X(libgit2_opts)                                                                                \
    X(error_last)                                                                                  \
    X(repository_init)                                                                             \
    X(repository_free)                                                                             \
    X(remote_create_anonymous)                                                                     \
    X(remote_create_detached)                                                                      \
    X(remote_fetch)                                                                                \
    X(remote_connect_ext)                                                                          \
    X(remote_ls)                                                                                   \
    X(remote_free)                                                                                 \
    X(oid_fromstr)                                                                                 \
    X(oid_tostr)                                                                                   \
    X(oid_equal)                                                                                   \
    X(commit_lookup)                                                                               \
    X(commit_tree)                                                                                 \
    X(commit_free)                                                                                 \
    X(repository_wrap_odb)                                                                         \
    X(repository_odb)                                                                              \
    X(odb_new)                                                                                     \
    X(odb_free)                                                                                    \
    X(odb_add_backend)                                                                             \
    X(odb_read)                                                                                    \
    X(odb_read_header)                                                                             \
    X(odb_write)                                                                                   \
    X(odb_hash)                                                                                    \
    X(odb_hashfile)                                                                                \
    X(odb_object_data)                                                                             \
    X(odb_object_size)                                                                             \
    X(odb_object_type)                                                                             \
    X(odb_object_free)                                                                             \
    X(object_lookup)                                                                               \
    X(object_peel)                                                                                 \
    X(object_id)                                                                                   \
    X(object_type)                                                                                 \
    X(object_free)                                                                                 \
    X(object_type2string)                                                                          \
    X(object_string2type)                                                                          \
    X(mempack_new)                                                                                 \
    X(tree_lookup)                                                                                 \
    X(tree_id)                                                                                     \
    X(tree_entry_byname)                                                                           \
    X(tree_entrycount)                                                                             \
    X(tree_entry_byindex)                                                                          \
    X(tree_entry_filemode)                                                                         \
    X(tree_entry_name)                                                                             \
    X(tree_entry_id)                                                                               \
    X(tree_free)                                                                                   \
    X(blob_lookup)                                                                                 \
    X(blob_rawcontent)                                                                             \
    X(blob_rawsize)                                                                                \
    X(blob_free)                                                                                   \
    X(credential_userpass_plaintext_new)                                                           \
    X(transport_register)                                                                          \
    X(transport_smart)                                                                             \
    X(config_open_default)                                                                         \
    X(config_get_string_buf)                                                                       \
    X(config_free)                                                                                 \
    X(buf_dispose)

struct sbx_git2 {
#define SBX_GIT_FIELD(name) __typeof__(git_##name) *name;
    SBX_GIT_FUNCTIONS(SBX_GIT_FIELD)
#undef SBX_GIT_FIELD
};

/** The functions, loaded and initialised at the first call; NULL with `err` (SBX_UNAVAILABLE). */
const struct sbx_git2 *sbx_git2(struct sbx_err *err);

#endif
