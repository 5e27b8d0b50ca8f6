/**
 * @file
 * The in-memory runtime that tests of the engine use: sbx_runtime_open(SBX_RUNTIME_FAKE, …) gives
 * one empty world a handle; these functions set it up and look into it. Nothing of the machine is
 * touched. All texts given are copied; all texts returned live as long as the handle.
 */
#ifndef SBX_RUNTIME_FAKE_H
#define SBX_RUNTIME_FAKE_H

#include "sbx/buf.h"
#include "sbx/runtime.h"

#define SBX_FAKE_STREAM_MAX (64 << 20) /* bytes of one stdin, stdout or file that a test may use */

/* ---- set up ---- */

/**
 * An image: `local` ones are there, others must be pulled (SBX_PULL_NEVER then fails).
 * `env`, `entrypoint`, `cmd`, `labels` may be NULL: empty; `id` NULL: made from the reference.
 */
void sbx_fake_image(struct sbx_runtime *rt, const struct sbx_image *image, bool local);
/** What start() puts as PID 1's pid; the default 0 is "not visible". */
void sbx_fake_pid(struct sbx_runtime *rt, pid_t pid);
/** Change the facts that sbx_runtime_info() gives (can_enter, gpu, ...). */
struct sbx_runtime_info *sbx_fake_info(struct sbx_runtime *rt);
/** A file inside a container, as copy_out gives it. */
void sbx_fake_put(struct sbx_runtime *rt, const char *id, const char *path, const void *data,
                  size_t len);
/** The container's PID 1 ended without us (`docker stop` by hand, a crash). */
void sbx_fake_die(struct sbx_runtime *rt, const char *id, int exit_code);

/** One exec as a script sees it. Without any script an exec ends with status 0 and says nothing. */
struct sbx_fake_exec {
    struct sbx_runtime *rt;
    const char *id;              /**< of the container */
    const struct sbx_exec *exec;
    const struct sbx_buf *in;    /**< all that was read from exec->in, to its end */
    struct sbx_buf *out, *err;   /**< what the process says; written to exec's descriptors after */
};
/** @return the exit status, or -N for a failure of the exec itself with enum sbx_code N */
typedef int sbx_fake_script(void *ctx, const struct sbx_fake_exec *e);
/**
 * Play `script` for every exec whose argv, joined by blanks, begins with `prefix` ("" is all).
 * The script added last is asked first; one that answers SBX_FAKE_PASS leaves it to the next.
 */
void sbx_fake_on_exec(struct sbx_runtime *rt, const char *prefix, sbx_fake_script *script,
                      void *ctx);
#define SBX_FAKE_PASS (-1000)
/** The same from a table row: say `out`, end with `status`. */
void sbx_fake_answer(struct sbx_runtime *rt, const char *prefix, const char *out, int status);

/**
 * Let the `nth` coming call of a slot (1: the next) fail with `code`; 0: every one. `op` is the
 * slot's name: "create", "image_ensure", "exec", ... A failing call changes nothing.
 */
void sbx_fake_fail(struct sbx_runtime *rt, const char *op, unsigned nth, enum sbx_code code);

/* ---- look ---- */

/**
 * The calls so far, a line each: "create demo", "exec demo sh -c true", "volume_ensure v 10",
 * "copy_in demo /home/agent", "image_ensure a:1 missing"; containers by their name.
 */
const char *const *sbx_fake_calls(struct sbx_runtime *rt, size_t *ret_n);
/** How many calls of this slot there were. */
size_t sbx_fake_count(struct sbx_runtime *rt, const char *op);
void sbx_fake_forget_calls(struct sbx_runtime *rt);
/** What the last create() of this container was given (a deep copy); NULL: no such container. */
const struct sbx_container_spec *sbx_fake_spec(struct sbx_runtime *rt, const char *id);

struct sbx_fake_file {
    const char *path; /**< absolute, without a slash at the end */
    char type;        /**< 'f', 'd' or 'l' */
    unsigned mode;
    unsigned uid, gid;
    const char *data; /**< content or link target, NUL behind it; "" for a directory */
    size_t len;
};
/** What copy_in() or sbx_fake_put() brought; NULL: nothing there. */
const struct sbx_fake_file *sbx_fake_file(struct sbx_runtime *rt, const char *id,
                                          const char *path);
/** What exists now, for "nothing is left" checks. */
size_t sbx_fake_containers(struct sbx_runtime *rt);
size_t sbx_fake_volumes(struct sbx_runtime *rt);

#endif
