/* Shared by the loaders (load.c, files.c, digest.c). */
#ifndef SBX_KIT_LOAD_H
#define SBX_KIT_LOAD_H

#include "sbx/kit.h"

/* An empty one in an arena of its own; NULL: no memory. */
struct sbx_artifact *sbx_artifact_new(void);
/* One spec text: fill in arguments, decode and validate. */
enum sbx_code sbx_kit_decode(const char *file, const char *text, size_t len,
                             const struct sbx_kit_options *options, struct sbx_diags *diags,
                             struct sbx_artifact **ret, struct sbx_err *err);
/* err for a kit whose errors are in diags, `before` of them from elsewhere; returns rc. */
enum sbx_code sbx_kit_sum_up(const char *file, const struct sbx_diags *diags, size_t before,
                             enum sbx_code rc, struct sbx_err *err);
/* Read spec.yaml (or spec.yml) of an open kit directory; `path` names that. ret_name is malloc'd. */
enum sbx_code sbx_kit_read_spec(int dir, const char *path, struct sbx_buf *text, char **ret_name,
                                struct sbx_err *err);
/* Open a path below a directory by O_PATH; -1 with errno, EXDEV if it leads out of it. */
int sbx_kit_open_below(int kit_fd, const char *path);
/*
 * Walk files/ below an open kit directory. Findings (escapes, devices, unreadable files) go to
 * `diags`; SBX_OK, SBX_SCHEMA (findings were added), SBX_IO, SBX_LIMIT or SBX_NO_MEMORY.
 */
enum sbx_code sbx_kit_walk_files(int kit_fd, const char *kit_path, struct sbx_artifact *a,
                                 struct sbx_diags *diags, struct sbx_err *err);
/* Sort a->files by target and path (bytes). */
void sbx_kit_sort_files(struct sbx_artifact *a);
/* Set a->digest (S30). */
enum sbx_code sbx_kit_set_digest(struct sbx_artifact *a, const char *spec, size_t len,
                                 struct sbx_err *err);

#endif
