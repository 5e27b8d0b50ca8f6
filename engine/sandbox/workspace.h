/**
 * @file
 * Directories of the host that a sandbox works in: what they are, what is refused, how they are mounted.
 */
#ifndef SBX_SANDBOX_WORKSPACE_H
#define SBX_SANDBOX_WORKSPACE_H

#include "box.h"

#include <sys/stat.h>

/* ---- spot.c ---- */
/** A workspace on the host: opened without following a symlink, and what it is. */
struct sbx_spot { const char *path; int fd; struct stat st; };
#define SBX_SPOT_INIT { .fd = -1 }
void sbx_spot_release(struct sbx_spot *p);
SBX_DEFINE_AUTO(sbx_spot, sbx_spot_release);
/** Remember what is at the workspaces' paths, where the record does not know it yet. */
SBX_MUST_USE enum sbx_code sbx_spots_learn(struct sbx_box *box, struct sbx_err *err);
/**
 * Open workspace number `i`, once sbx_spots_learn() was called. SBX_FAILED: a symlink is in the way,
 * another directory is there, or it is one that is refused. `path` is borrowed.
 */
SBX_MUST_USE enum sbx_code sbx_spot_open(struct sbx_box *box, const char *path, size_t i,
                                          struct sbx_spot *ret, struct sbx_err *err);

/* ---- workspace.c, walk.c ---- */
/** The refusals of N22, by path and by identity; the descriptor is not used. */
SBX_MUST_USE enum sbx_code sbx_workspace_refuse(struct sbx_engine *e, const struct sbx_spot *w,
                                                struct sbx_err *err);
/** Absolute real paths, of what exists; refusals of N22. In arena. */
SBX_MUST_USE enum sbx_code sbx_workspaces_resolve(struct sbx_engine *e,
                                                  const struct sbx_workspace *from, size_t n,
                                                  struct sbx_arena *arena,
                                                  struct sbx_workspace **ret,
                                                  struct sbx_err *err);
/** Each workspace is what it was at create, with no socket below it but the allowed; at every start. */
SBX_MUST_USE enum sbx_code sbx_workspaces_check(struct sbx_box *box, struct sbx_err *err);
#define SBX_WALK_MAX 200000 /* entries of a mount that are looked at: about 0.3 s */
/**
 * Call `found` for each socket below `fd` (O_PATH will do), which is called `path`; *ret_whole false
 * when not all was seen. A top directory that may not be read is an error.
 */
SBX_MUST_USE enum sbx_code sbx_walk_sockets(int fd, const char *path, size_t max,
                                            bool (*found)(void *ctx, const char *path), void *ctx,
                                            bool *ret_whole, struct sbx_err *err);

/* ---- idmap.c ---- */
/**
 * As root: mount the workspaces below mnt/, nosuid and their owners mapped (F6), from what
 * sbx_spot_open() gave. Fills the record's sources.
 */
SBX_MUST_USE enum sbx_code sbx_workspaces_mount(struct sbx_box *box, struct sbx_err *err);
void sbx_workspaces_unmount(const char *dir); /**< undo, of a sandbox's directory */

#endif
