/**
 * @file
 * The container runtime interface: what the engine asks of Docker Engine (`docker`), of runc or crun
 * without a daemon (`oci`), and of the fake that tests use. Architecture section 5.
 *
 * The functions sbx_runtime_*() check arguments, call the backend's slot and add context; a backend
 * is only its own work. Calls block; none is safe on one handle from two threads.
 */
#ifndef SBX_RUNTIME_H
#define SBX_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sbx/arena.h"
#include "sbx/err.h"

struct sbx_runtime; /* opaque handle; a backend's struct begins with `struct sbx_runtime rt;` (backend.h) */

/** What opening a runtime needs; all borrowed during the call, strings kept as copies. */
struct sbx_runtime_config {
    const char *app;         /**< app name; separates container names, labels, volumes (C8) */
    const char *state_dir;   /**< oci: images, layers, containers below it; absolute */
    const char *cache_dir;   /**< blobs (an OCI image layout) below it; absolute */
    const char *docker_host; /**< docker: DOCKER_HOST or NULL for /var/run/docker.sock */
    const char *oci_runtime; /**< docker: name the Engine knows; oci: path of runc or crun; NULL: default */
    const char *seccomp;     /**< path of our seccomp profile (JSON in the Engine's format) */
    bool weak_network;       /**< accept an Engine on another kernel knowingly (C9) */
    bool debug;
};

enum sbx_runtime_kind { SBX_RUNTIME_AUTO, SBX_RUNTIME_DOCKER, SBX_RUNTIME_OCI, SBX_RUNTIME_FAKE };

/**
 * Open and probe. AUTO takes a running Engine, else an OCI runtime that was probed to work.
 * @return SBX_OK; SBX_UNAVAILABLE (nothing answers: err says what to install or start);
 *         SBX_UNSUPPORTED (remote Engine, another kernel: C9)
 */
SBX_MUST_USE enum sbx_code sbx_runtime_open(enum sbx_runtime_kind kind,
                                            const struct sbx_runtime_config *config,
                                            struct sbx_runtime **ret, struct sbx_err *err);
void sbx_runtime_close(struct sbx_runtime *rt); /**< NULL is fine */
SBX_DEFINE_AUTO_PTR(sbx_runtime, sbx_runtime_close);

/**
 * End waits (for an Engine, an OCI runtime, a lock) with SBX_CANCELED when a byte arrives in the pipe
 * `fd` during a call; bytes that were there before do not count, and none is read. -1: none, the
 * default. Whatever is said here, no wait is endless.
 */
void sbx_runtime_interrupt_by(struct sbx_runtime *rt, int fd);

/** Facts that the plan and the start path decide on; borrowed from the handle. */
struct sbx_runtime_info {
    enum sbx_runtime_kind kind;
    const char *name;           /**< "docker", "oci", "fake" */
    const char *version;        /**< "20.10.24", "runc 1.1.5" */
    bool netns_by_path;         /**< create() takes a namespace path (oci) */
    bool netns_join_container;  /**< create() can join another container's namespace (docker) */
    bool can_enter;             /**< we are root on the containers' kernel: setns by pid works */
    bool gpu, privileged;       /**< can be asked for */
};
const struct sbx_runtime_info *sbx_runtime_info(const struct sbx_runtime *rt);

/* ---- images ---- */

enum sbx_pull { SBX_PULL_MISSING, SBX_PULL_ALWAYS, SBX_PULL_NEVER };

/** Progress; may be NULL wherever it is taken. */
struct sbx_progress {
    void (*line)(void *ctx, const char *text); /**< "layer abc: 12 MB" */
    void *ctx;
    /** Bytes of a layer that are here, from any thread, one call at a time; NULL: lines say what there is to say. */
    void (*bytes)(void *ctx, const char *layer, int64_t done, int64_t total);
};

struct sbx_image {
    const char *id, *reference; /**< "sha256:…"; as asked for */
    const char *const *env;     /**< "K=V", NULL-terminated */
    const char *workdir, *user; /**< "" when the image has none */
    const char *const *entrypoint, *const *cmd, *const *labels; /**< NULL-terminated; labels "K=V" */
    int64_t size, created;      /**< bytes; Unix seconds */
};

/** Make the image available; MISSING makes no network call for a local image. `ret` lives in arena. */
SBX_MUST_USE enum sbx_code sbx_runtime_image_ensure(struct sbx_runtime *rt, const char *reference,
                                                    enum sbx_pull pull,
                                                    const struct sbx_progress *progress,
                                                    struct sbx_arena *arena,
                                                    struct sbx_image *ret, struct sbx_err *err);
/** Load a `docker save` archive or an OCI layout (tar file or directory). Names loaded, in arena. */
SBX_MUST_USE enum sbx_code sbx_runtime_image_load(struct sbx_runtime *rt, const char *path,
                                                  struct sbx_arena *arena, const char ***ret_names,
                                                  size_t *ret_n, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_runtime_image_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                                                  struct sbx_image **ret, size_t *ret_n,
                                                  struct sbx_err *err);
/** By reference or id (prefix). SBX_NOT_FOUND; SBX_BUSY while a container uses it. */
SBX_MUST_USE enum sbx_code sbx_runtime_image_remove(struct sbx_runtime *rt, const char *reference,
                                                    struct sbx_err *err);

/* ---- containers ---- */

enum sbx_mount_kind { SBX_MOUNT_BIND, SBX_MOUNT_VOLUME, SBX_MOUNT_TMPFS };

struct sbx_mount {
    enum sbx_mount_kind kind;
    const char *source;   /**< BIND: host path; VOLUME: volume name; TMPFS: NULL */
    const char *target;   /**< absolute, inside */
    bool read_only;
    int64_t size;         /**< TMPFS bytes; 0: the default */
    unsigned mode;        /**< TMPFS, 0: 01777 */
    bool noexec;          /**< TMPFS; nosuid and nodev always hold */
    int uid;              /**< TMPFS owner; 0: root */
};

enum sbx_netns { SBX_NETNS_NONE, SBX_NETNS_PATH, SBX_NETNS_CONTAINER };

struct sbx_container_spec {
    const char *name;            /**< unique with the app */
    const char *image;           /**< reference or id that image_ensure() gave */
    const char *hostname;
    const char *const *argv;     /**< PID 1, NULL-terminated; replaces entrypoint and cmd */
    const char *const *env;      /**< full environment of PID 1 and default of every exec, "K=V" */
    const char *workdir;         /**< default of exec; made if missing */
    const char *const *labels;   /**< "K=V" */
    const struct sbx_mount *mounts;
    size_t n_mounts;
    enum sbx_netns netns;
    const char *netns_ref;       /**< PATH: /proc/PID/ns/net; CONTAINER: id */
    const char *const *sysctls;  /**< "k=v" */
    const char *const *cap_add, *const *cap_drop; /**< "NET_ADMIN"; over the default set */
    double cpus;                 /**< 0: no limit */
    int64_t memory;              /**< bytes; 0: no limit */
    int64_t pids;                /**< 0: our default (SBX_PIDS_DEFAULT) */
    const char *gpus;            /**< NULL: none */
    bool privileged, read_only_root, userns_allowed;
};
#define SBX_PIDS_DEFAULT 4096 /* processes of a sandbox; agents run build tools in parallel */

/** Create, not started. `ret_id` is the caller's to free. A failure leaves nothing behind. */
SBX_MUST_USE enum sbx_code sbx_runtime_create(struct sbx_runtime *rt,
                                              const struct sbx_container_spec *spec,
                                              char **ret_id, struct sbx_err *err);
/** Start; PID 1 runs when this returns. */
SBX_MUST_USE enum sbx_code sbx_runtime_start(struct sbx_runtime *rt, const char *id,
                                             struct sbx_err *err);
/** TERM, then KILL after `timeout_s`. A stopped one is fine. */
SBX_MUST_USE enum sbx_code sbx_runtime_stop(struct sbx_runtime *rt, const char *id, int timeout_s,
                                            struct sbx_err *err);
/** Kill and remove with what belongs to it (not named volumes). SBX_NOT_FOUND is SBX_OK. */
SBX_MUST_USE enum sbx_code sbx_runtime_remove(struct sbx_runtime *rt, const char *id,
                                              struct sbx_err *err);

struct sbx_container {
    const char *id, *name;
    const char *const *labels;   /**< "K=V", NULL-terminated */
    bool running;
    pid_t pid;                   /**< PID 1 in our pid namespace; 0 when stopped or not visible */
    int exit_code;
    const char *started_at;      /**< RFC 3339; changes with every start; "" never */
};
/** SBX_NOT_FOUND when there is none. By id or name. */
SBX_MUST_USE enum sbx_code sbx_runtime_inspect(struct sbx_runtime *rt, const char *id,
                                               struct sbx_arena *arena, struct sbx_container *ret,
                                               struct sbx_err *err);
/** All of the app (label), running or not. */
SBX_MUST_USE enum sbx_code sbx_runtime_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                                            struct sbx_container **ret, size_t *ret_n,
                                            struct sbx_err *err);

/* ---- inside a running container ---- */

struct sbx_winsize { unsigned short rows, cols; };

struct sbx_exec {
    const char *const *argv;     /**< NULL-terminated */
    const char *const *env;      /**< added to the container's, "K=V"; may be NULL */
    const char *user;            /**< "0", "1000", "name", "uid:gid"; NULL: the container's; "" is SBX_USAGE */
    const char *workdir;         /**< NULL: the container's */
    bool tty;
    int in, out, err_fd;         /**< descriptors to attach; -1: /dev/null in, discard out; tty: err unused */
    int resize_fd;               /**< -1, or readable with one byte whenever `winsize` should be asked */
    struct sbx_winsize (*winsize)(void *ctx);
    void *ctx;
    int signal_fd;               /**< -1, or readable with one byte per signal number to send to the process */
    bool privileged;
    int timeout_s;               /**< 0: none; past it the process is killed and SBX_TIMEOUT returned */
};
/**
 * Run a process to its end. The exit status is a shell's: 127 no such program, 126 it cannot be run
 * there (not a program, no such user or working directory), 128+N. What the user is told then goes to
 * err_fd. INT or TERM by `signal_fd` a second time kill a process that is stopped: 130.
 * @return SBX_OK with *ret_status; SBX_UNAVAILABLE, SBX_NOT_FOUND (no such container), SBX_TIMEOUT ...
 */
SBX_MUST_USE enum sbx_code sbx_runtime_exec(struct sbx_runtime *rt, const char *id,
                                            const struct sbx_exec *exec, int *ret_status,
                                            struct sbx_err *err);

/** Unpack a tar (ustar/pax, read from `fd` to its end) at `path` inside; never writes outside the root. */
SBX_MUST_USE enum sbx_code sbx_runtime_copy_in(struct sbx_runtime *rt, const char *id,
                                               const char *path, int fd, struct sbx_err *err);
/** Write a tar of `path` to `fd`. SBX_NOT_FOUND when it does not exist inside. */
SBX_MUST_USE enum sbx_code sbx_runtime_copy_out(struct sbx_runtime *rt, const char *id,
                                                const char *path, int fd, struct sbx_err *err);
/** Save the root file system as an image `reference`. */
SBX_MUST_USE enum sbx_code sbx_runtime_commit(struct sbx_runtime *rt, const char *id,
                                              const char *reference, struct sbx_err *err);

/* ---- volumes ---- */

/** Named volume; exists is fine. Size in bytes, 0: none; a size the driver cannot keep: *ret_sized false. */
SBX_MUST_USE enum sbx_code sbx_runtime_volume_ensure(struct sbx_runtime *rt, const char *name,
                                                     int64_t size, bool *ret_sized,
                                                     bool *ret_created, struct sbx_err *err);
/** SBX_NOT_FOUND is SBX_OK. */
SBX_MUST_USE enum sbx_code sbx_runtime_volume_remove(struct sbx_runtime *rt, const char *name,
                                                     struct sbx_err *err);
/** Names of the app's volumes, in arena. */
SBX_MUST_USE enum sbx_code sbx_runtime_volume_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                                                   const char ***ret, size_t *ret_n,
                                                   struct sbx_err *err);

#endif
