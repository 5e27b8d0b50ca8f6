/** @file The fake's world; everything lives in one arena until the handle is closed. */
#ifndef SBX_RUNTIME_FAKE_PRIVATE_H
#define SBX_RUNTIME_FAKE_PRIVATE_H

#include "../backend.h"
#include "sbx/runtime_fake.h"

struct fake_image {
    struct fake_image *next;
    struct sbx_image image;
    bool local;
};

struct fake_file {
    struct fake_file *next;
    struct sbx_fake_file f;
};

struct fake_container {
    struct fake_container *next;
    struct sbx_container_spec spec;
    struct sbx_container state;
    struct fake_file *files; /* newest first: it hides older ones of the same path */
    unsigned starts;
};

struct fake_volume {
    struct fake_volume *next;
    const char *name;
    int64_t size;
};

struct fake_script {
    struct fake_script *next;
    const char *prefix, *out;
    int status;
    sbx_fake_script *script; /* NULL: a table row */
    void *ctx;
};

struct fake_fault {
    struct fake_fault *next;
    const char *op;
    unsigned nth;
    enum sbx_code code;
};

struct fake {
    struct sbx_runtime rt;
    struct sbx_arena *mem;
    struct fake_image *images;
    struct fake_container *containers;
    struct fake_volume *volumes;
    struct fake_script *scripts;
    struct fake_fault *faults;
    const char **calls;
    size_t n_calls, cap_calls;
    unsigned serial; /* of ids and start times */
    pid_t pid;
};

/** Memory of the world; a test that runs out of it ends. */
void *sbx_fake_alloc(struct fake *f, size_t n, size_t size);
char *sbx_fake_printf(struct fake *f, const char *fmt, ...) SBX_PRINTF(2, 3);
const char *const *sbx_fake_list(struct fake *f, const char *const *list);

/** Note a call ("op rest") and answer the fault that is due, or SBX_OK. */
enum sbx_code sbx_fake_call(struct fake *f, struct sbx_err *err, const char *op, const char *fmt,
                            ...) SBX_PRINTF(4, 5);
struct fake_container *sbx_fake_find(struct fake *f, const char *id);
void sbx_fake_add_file(struct fake *f, struct fake_container *c, struct sbx_fake_file file);

/* slots of files.c and exec.c */
enum sbx_code sbx_fake_copy_in(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                               struct sbx_err *err);
enum sbx_code sbx_fake_copy_out(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                                struct sbx_err *err);
enum sbx_code sbx_fake_exec(struct sbx_runtime *rt, const char *id, const struct sbx_exec *exec,
                            int *ret_status, struct sbx_err *err);
/** Read a descriptor to its end into `b`. */
enum sbx_code sbx_fake_drain(int fd, struct sbx_buf *b, struct sbx_err *err);

#endif
