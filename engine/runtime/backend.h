/**
 * @file
 * What a backend of the container runtime is, for this folder only. A backend has one constant
 * `struct sbx_runtime_ops` with every slot set by name; what it lacks is the shared function
 * sbx_runtime_no_SLOT() that answers SBX_UNSUPPORTED. Its handle begins with `struct sbx_runtime rt;`.
 *
 * Slots have the contract of the public function of the same name (sbx/runtime.h). runtime.c has
 * checked the arguments before (ids, names and references are not NULL nor empty, argv has a first
 * element, mounts have absolute targets, `err` may be NULL) and adds what was being done and with
 * what after, so a slot says only the cause: "no such container", not "start demo: no such container".
 */
#ifndef SBX_RUNTIME_BACKEND_H
#define SBX_RUNTIME_BACKEND_H

#include "sbx/runtime.h"

struct sbx_runtime_ops {
    const char *name;
    enum sbx_runtime_kind kind;

    /** Probe and make the handle, with `info` filled (its strings live as long as the handle). */
    enum sbx_code (*open)(const struct sbx_runtime_config *config, struct sbx_runtime **ret,
                          struct sbx_err *err);
    void (*free)(struct sbx_runtime *rt);

    enum sbx_code (*image_ensure)(struct sbx_runtime *rt, const char *reference, enum sbx_pull pull,
                                  const struct sbx_progress *progress, struct sbx_arena *arena,
                                  struct sbx_image *ret, struct sbx_err *err);
    enum sbx_code (*image_load)(struct sbx_runtime *rt, const char *path, struct sbx_arena *arena,
                                const char ***ret_names, size_t *ret_n, struct sbx_err *err);
    enum sbx_code (*image_list)(struct sbx_runtime *rt, struct sbx_arena *arena,
                                struct sbx_image **ret, size_t *ret_n, struct sbx_err *err);
    enum sbx_code (*image_remove)(struct sbx_runtime *rt, const char *reference,
                                  struct sbx_err *err);

    enum sbx_code (*create)(struct sbx_runtime *rt, const struct sbx_container_spec *spec,
                            char **ret_id, struct sbx_err *err);
    enum sbx_code (*start)(struct sbx_runtime *rt, const char *id, struct sbx_err *err);
    enum sbx_code (*stop)(struct sbx_runtime *rt, const char *id, int timeout_s,
                          struct sbx_err *err);
    enum sbx_code (*remove)(struct sbx_runtime *rt, const char *id, struct sbx_err *err);
    enum sbx_code (*inspect)(struct sbx_runtime *rt, const char *id, struct sbx_arena *arena,
                             struct sbx_container *ret, struct sbx_err *err);
    enum sbx_code (*list)(struct sbx_runtime *rt, struct sbx_arena *arena,
                          struct sbx_container **ret, size_t *ret_n, struct sbx_err *err);

    enum sbx_code (*exec)(struct sbx_runtime *rt, const char *id, const struct sbx_exec *exec,
                          int *ret_status, struct sbx_err *err);
    enum sbx_code (*copy_in)(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                             struct sbx_err *err);
    enum sbx_code (*copy_out)(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                              struct sbx_err *err);
    enum sbx_code (*commit)(struct sbx_runtime *rt, const char *id, const char *reference,
                            struct sbx_err *err);

    enum sbx_code (*volume_ensure)(struct sbx_runtime *rt, const char *name, int64_t size,
                                   bool *ret_sized, bool *ret_created, struct sbx_err *err);
    enum sbx_code (*volume_remove)(struct sbx_runtime *rt, const char *name, struct sbx_err *err);
    enum sbx_code (*volume_list)(struct sbx_runtime *rt, struct sbx_arena *arena, const char ***ret,
                                 size_t *ret_n, struct sbx_err *err);
};

/** The head of every backend's handle. */
struct sbx_runtime {
    const struct sbx_runtime_ops *ops;
    struct sbx_runtime_info info;
    int interrupt_fd; /**< -1: none; see patience.h */
};

extern const struct sbx_runtime_ops sbx_runtime_docker, sbx_runtime_oci, sbx_runtime_fake;

/* ---- shared slots for what a backend lacks: SBX_UNSUPPORTED, naming the runtime ---- */

enum sbx_code sbx_runtime_no_image_ensure(struct sbx_runtime *, const char *, enum sbx_pull,
                                          const struct sbx_progress *, struct sbx_arena *,
                                          struct sbx_image *, struct sbx_err *);
enum sbx_code sbx_runtime_no_image_load(struct sbx_runtime *, const char *, struct sbx_arena *,
                                        const char ***, size_t *, struct sbx_err *);
enum sbx_code sbx_runtime_no_image_list(struct sbx_runtime *, struct sbx_arena *,
                                        struct sbx_image **, size_t *, struct sbx_err *);
enum sbx_code sbx_runtime_no_image_remove(struct sbx_runtime *, const char *, struct sbx_err *);
enum sbx_code sbx_runtime_no_copy_in(struct sbx_runtime *, const char *, const char *, int,
                                     struct sbx_err *);
enum sbx_code sbx_runtime_no_copy_out(struct sbx_runtime *, const char *, const char *, int,
                                      struct sbx_err *);
enum sbx_code sbx_runtime_no_commit(struct sbx_runtime *, const char *, const char *,
                                    struct sbx_err *);
enum sbx_code sbx_runtime_no_volume_ensure(struct sbx_runtime *, const char *, int64_t, bool *,
                                           bool *, struct sbx_err *);
enum sbx_code sbx_runtime_no_volume_remove(struct sbx_runtime *, const char *, struct sbx_err *);
enum sbx_code sbx_runtime_no_volume_list(struct sbx_runtime *, struct sbx_arena *, const char ***,
                                         size_t *, struct sbx_err *);

#endif
