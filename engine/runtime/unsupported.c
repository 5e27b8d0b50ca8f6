#include "backend.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* answering without looking is the point */

static enum sbx_code no(const struct sbx_runtime *rt, const char *what, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_UNSUPPORTED, "the %s runtime cannot %s", rt->ops->name, what);
}

enum sbx_code sbx_runtime_no_image_ensure(struct sbx_runtime *rt, const char *reference,
                                          enum sbx_pull pull, const struct sbx_progress *progress,
                                          struct sbx_arena *arena, struct sbx_image *ret,
                                          struct sbx_err *err)
{
    return no(rt, "fetch images", err);
}

enum sbx_code sbx_runtime_no_image_load(struct sbx_runtime *rt, const char *path,
                                        struct sbx_arena *arena, const char ***ret_names,
                                        size_t *ret_n, struct sbx_err *err)
{
    return no(rt, "load images", err);
}

enum sbx_code sbx_runtime_no_image_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                                        struct sbx_image **ret, size_t *ret_n, struct sbx_err *err)
{
    return no(rt, "list images", err);
}

enum sbx_code sbx_runtime_no_image_remove(struct sbx_runtime *rt, const char *reference,
                                          struct sbx_err *err)
{
    return no(rt, "remove images", err);
}

enum sbx_code sbx_runtime_no_copy_in(struct sbx_runtime *rt, const char *id, const char *path,
                                     int fd, struct sbx_err *err)
{
    return no(rt, "copy files in", err);
}

enum sbx_code sbx_runtime_no_copy_out(struct sbx_runtime *rt, const char *id, const char *path,
                                      int fd, struct sbx_err *err)
{
    return no(rt, "copy files out", err);
}

enum sbx_code sbx_runtime_no_commit(struct sbx_runtime *rt, const char *id, const char *reference,
                                    struct sbx_err *err)
{
    return no(rt, "save a container as an image", err);
}

enum sbx_code sbx_runtime_no_volume_ensure(struct sbx_runtime *rt, const char *name, int64_t size,
                                           bool *ret_sized, bool *ret_created, struct sbx_err *err)
{
    return no(rt, "make volumes", err);
}

enum sbx_code sbx_runtime_no_volume_remove(struct sbx_runtime *rt, const char *name,
                                           struct sbx_err *err)
{
    return no(rt, "remove volumes", err);
}

enum sbx_code sbx_runtime_no_volume_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                                         const char ***ret, size_t *ret_n, struct sbx_err *err)
{
    return no(rt, "list volumes", err);
}
