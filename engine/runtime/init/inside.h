/**
 * @file
 * Files by their path inside the sandbox, whose contents are not ours: every path is looked up
 * beneath `root` (openat2 RESOLVE_IN_ROOT), a last symlink is replaced and never followed, and new
 * content appears whole or not at all. Works on any file system, tmpfs too.
 */
#ifndef SBX_INIT_INSIDE_H
#define SBX_INIT_INSIDE_H

#include <stdbool.h>
#include <sys/types.h>

#include "sbx/err.h"

/** What a write came to. */
enum sbx_done { SBX_DONE_OK, SBX_DONE_KEPT };

struct sbx_owner {
    uid_t uid;
    gid_t gid;
};

/** A directory and the last component of a path in it. */
struct sbx_spot {
    int dir;          /**< O_PATH; -1: none */
    const char *name; /**< points into the path */
};
#define SBX_SPOT_INIT                                                                              \
    {                                                                                              \
        -1, NULL                                                                                   \
    }
static inline void sbx_spot_release(struct sbx_spot *s) { sbx_auto_fd_(&s->dir); }
SBX_DEFINE_AUTO(sbx_spot, sbx_spot_release);

/** open() of `path` beneath `root`, symlinks followed inside only, close-on-exec. -1 with errno. */
int sbx_inside_open(int root, const char *path, unsigned flags);

/**
 * Find where `path` goes. Missing parents are made, 0755, owned by `parents`; NULL: SBX_NOT_FOUND
 * then.
 * @param root an open directory that stands for /
 * @param path absolute, without "..", at most PATH_MAX - 1 bytes
 */
SBX_MUST_USE enum sbx_code sbx_inside_find(int root, const char *path,
                                           const struct sbx_owner *parents, struct sbx_spot *ret,
                                           struct sbx_err *err);

/** A file being written; its content comes through `fd`. */
struct sbx_new_file {
    struct sbx_spot spot;
    int fd;        /**< -1: the file is kept as it is (SBX_DONE_KEPT) */
    char temp[32]; /**< name beside the final one; "" once it is gone */
};
#define SBX_NEW_FILE_INIT                                                                          \
    {                                                                                              \
        SBX_SPOT_INIT, -1, ""                                                                      \
    }

/** Begin: nothing is seen under `path` until sbx_new_file_commit(). */
SBX_MUST_USE enum sbx_code sbx_new_file_open(int root, const char *path, struct sbx_owner owner,
                                             mode_t mode, bool if_missing, struct sbx_new_file *ret,
                                             struct sbx_err *err);
/** Put it in place. A mount point (such as /etc/hosts) cannot be replaced: it is written over. */
SBX_MUST_USE enum sbx_code sbx_new_file_commit(struct sbx_new_file *f, struct sbx_err *err);
void sbx_new_file_release(struct sbx_new_file *f); /**< without commit: as if it had never been */
SBX_DEFINE_AUTO(sbx_new_file, sbx_new_file_release);

/** mkdir -p; one that exists gets mode and owner too, or is kept with `if_missing`. */
SBX_MUST_USE enum sbx_code sbx_inside_mkdir(int root, const char *path, struct sbx_owner owner,
                                            mode_t mode, bool if_missing, enum sbx_done *ret,
                                            struct sbx_err *err);
/**
 * Put `text` on lines of its own at the end of a file, unless the file holds it already (SBX_DONE_KEPT).
 * A missing file is made with owner and mode, or left missing with `only_existing` (SBX_DONE_KEPT).
 */
SBX_MUST_USE enum sbx_code sbx_inside_append(int root, const char *path, const char *text,
                                             struct sbx_owner owner, mode_t mode,
                                             bool only_existing, enum sbx_done *ret,
                                             struct sbx_err *err);
/** Make a symlink to `target`, in place of whatever file is there. */
SBX_MUST_USE enum sbx_code sbx_inside_link(int root, const char *path, const char *target,
                                           struct sbx_owner owner, struct sbx_err *err);
/** rm -rf; absence is fine. */
SBX_MUST_USE enum sbx_code sbx_inside_remove(int root, const char *path, struct sbx_err *err);

#endif
