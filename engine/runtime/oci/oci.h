/*
 * What the files of the oci backend share. A container is a directory:
 *
 *     STATE/containers/FULLNAME/      FULLNAME is the name with the app (names.h)
 *         spec.json                   what create() was asked for; written last, so a directory
 *                                     without it is half-made
 *         upper/ work/ l/0..N         overlayfs; l/ are short links to the layers
 *         rootfs/                     mount point, in a mount namespace that dies with the container
 *         config.json, filter.bpf     the bundle and the same seccomp filter for exec, written anew
 *                                     at each start
 *         run.json                    the running PID 1; believed only while that process lives
 *         runner                      the OCI runtime, while it starts the container
 *         runc/                       the OCI runtime's own state
 *         lock                        held by whoever starts, stops or removes it, never by a child:
 *                                     the OCI runtime that a start began dies with that command
 *     STATE/containers/lock           create and remove, one at a time (short)
 *     STATE/volumes/FULLNAME/data
 *
 * cgroup: /sbx/ID in every hierarchy. ID is FULLNAME, "." and 12 random digits, so it is never
 * used twice and says where its directory is.
 */
#ifndef SBX_RUNTIME_OCI_H
#define SBX_RUNTIME_OCI_H

#include <jansson.h>
#include <sys/types.h>

#include "../backend.h"
#include "../names.h"
#include "../patience.h"
#include "sbx/buf.h"
#include "sbx/json.h"
#include "sbx/store.h"

#define OCI_ID_RANDOM 12 /* hexadecimal digits at the end of an id */
#define OCI_ID_MAX 512   /* bytes */
#define OCI_SPEC_MAX                                                                               \
    (4 << 20) /* bytes of spec.json: environment and labels are bounded by exec() */

struct oci {
    struct sbx_runtime rt; /* first */
    char *app, *state, *cache, *program, *version, *seccomp;
    struct sbx_store *store; /* NULL until an image is asked for: oci_store() */
    int containers;          /* STATE/containers */
};

struct sbx_store *oci_store(struct oci *o, struct sbx_err *err);
enum sbx_code oci_no_memory(struct sbx_err *err);

/* ---- box.c: a container on disk ---- */

struct box {
    char *name; /* full name: the directory */
    char *path; /* absolute */
    int dir;
    json_t *spec;
    const char *id; /* in spec */
    int lock;       /* of the container, -1: not held */
    pid_t pid;      /* 0: not running */
    char started_at[32];
};
#define BOX_INIT                                                                                   \
    {                                                                                              \
        .dir = -1, .lock = -1                                                                      \
    }
void box_release(struct box *b);
SBX_DEFINE_AUTO(box, box_release);

/* Open by id or name. SBX_NOT_FOUND. Looks whether it runs. */
enum sbx_code box_open(struct oci *o, const char *id, struct box *ret, struct sbx_err *err);
/* The same, and keep everybody else from starting, stopping or removing it meanwhile. */
enum sbx_code box_lock(struct oci *o, const char *id, struct box *ret, struct sbx_err *err);
/* SBX_OK only if it runs. */
enum sbx_code box_running(struct oci *o, const char *id, struct box *ret, struct sbx_err *err);
enum sbx_code box_created(int dir, const char *text, struct sbx_err *err); /* write spec.json */
/* Sync spec.json, which box_created() does not: there is time for it while the runtime starts. */
enum sbx_code box_settle(const struct box *b, struct sbx_err *err);
void box_look(struct box *b); /* set pid and started_at from run.json and /proc */
enum sbx_code box_started(struct box *b, pid_t pid, struct sbx_err *err); /* write run.json */
/* In the child that becomes the OCI runtime: say so to whoever cleans up after us. 0 or -1. */
int box_starting(const struct box *b);
/* Everything that a run left: the runtime, processes, cgroups, run.json. The container is locked. */
enum sbx_code box_cleanup(struct box *b, struct sbx_err *err);
/* Call for every whole container of this app. */
enum sbx_code box_each(struct oci *o,
                       enum sbx_code (*each)(struct oci *o, struct box *b, void *ctx,
                                             struct sbx_err *err),
                       void *ctx, struct sbx_err *err);
enum sbx_code oci_lock(struct oci *o, int *ret, struct sbx_err *err); /* STATE/containers/lock */
/* Directories that a killed create() or remove() left. oci_lock() is held. */
enum sbx_code box_sweep(struct oci *o, struct sbx_err *err);
const char *box_text(const struct box *b, const char *key); /* string of the spec, "" if missing */

/* ---- user.c ---- */
#define OCI_GROUPS_MAX 64 /* supplementary groups that are kept: real accounts have a handful */
struct user {
    uid_t uid;
    gid_t gid;
    gid_t groups[OCI_GROUPS_MAX];
    size_t n_groups;
    char home[256];
};
/* "name|uid[:group|gid]" by the files of the root that `root` is open on. SBX_NOT_FOUND. */
enum sbx_code oci_user(int root, const char *text, struct user *ret, struct sbx_err *err);
enum sbx_code oci_user_parse(const char *passwd, const char *group, const char *text,
                             struct user *ret, struct sbx_err *err);
/* The root directory of a running container, and its first process (may be NULL). */
enum sbx_code oci_root_open(const struct box *b, int *ret, int *ret_pidfd, struct sbx_err *err);

/* ---- spec.c: sbx_container_spec to JSON ---- */
json_t *oci_spec_json(const struct sbx_container_spec *spec, const char *id, const char *app,
                      const struct sbx_store_image *image);

/* ---- bundle.c: config.json ---- */
enum sbx_code oci_bundle(struct oci *o, const struct box *b, const char *netns, json_t **ret,
                         struct sbx_err *err);

/* ---- mounts.c: `mounts` of the bundle ---- */
enum sbx_code oci_mounts(struct oci *o, const struct box *b, json_t **ret, struct sbx_err *err);

/* ---- caps.c ---- */
json_t *oci_caps(const json_t *spec, bool privileged);       /* array "CAP_X" */
uint64_t oci_files_max(void);                                /* RLIMIT_NOFILE of what runs inside */
uint64_t oci_caps_bits(const json_t *spec, bool privileged); /* of those that we have ourselves */

/* ---- request.c: what enter/enter.c is told ---- */
#define OCI_REQUEST_MAX (8 << 20) /* bytes: arguments, environment and filter; exec() takes less */
enum sbx_code oci_request(const struct box *b, const struct sbx_exec *exec, const struct user *user,
                          struct sbx_buf *out, struct sbx_err *err);

/* ---- filter.c ---- */
/* The seccomp program for `linux.seccomp`, compiled once and kept in STATE/seccomp. */
enum sbx_code oci_filter(struct oci *o, const json_t *seccomp, struct sbx_buf *out,
                         struct sbx_err *err);
#define OCI_FILTER_FILE "filter.bpf" /* in the container's directory: the one of this start */
#define OCI_FILTER_MAX 32768         /* bytes: 4096 instructions, the kernel's bound */

/* ---- cgroup.c ---- */
/* Can a limit of that controller ("memory", "cpu", "pids") be kept here? */
bool oci_cgroup_has(const char *controller);
bool oci_cgroup_file(const char *controller, const char *file); /* does v1 or v2 offer it? */
void oci_cgroup_kill(const char *id);
enum sbx_code oci_cgroup_remove(const char *id, struct sbx_err *err);
int oci_cgroup_freeze(const char *id, bool frozen);
int oci_cgroup_join(pid_t of); /* move the caller to the cgroups of that process */

/* ---- program.c: running the OCI runtime ---- */
struct program {
    const char *const *argv;
    int in, out, err_fd; /* -1: /dev/null */
    const char *cwd;
    int (*prepare)(void *ctx); /* in the child before exec; -1: it has written why to its fd 2 */
    void *ctx;
};
enum sbx_code oci_spawn(const struct program *p, pid_t *ret, struct sbx_err *err);
int oci_wait(pid_t pid);   /* shell status; only for what is known to end */
#define OCI_RUN_MS 20000   /* a runtime that is asked for its version, or to run a probe */
#define OCI_LOCK_MS 120000 /* another command's start or stop; longer than both may take */
#define OCI_PREPARE_MS                                                                             \
    600000                 /* until the runtime is started: new volumes are filled from the image */
#define OCI_START_MS 60000 /* the runtime's part: 0.1 s; a machine that swaps takes seconds */
/* Wait for a child; when the patience ends it is killed. SBX_OK, SBX_CANCELED, SBX_TIMEOUT. */
enum sbx_code oci_wait_for(pid_t pid, const struct sbx_patience *p, int *ret_status);
/* What a child says, to the end of the pipe; beyond the buffer's bound it is dropped. */
enum sbx_code oci_hear(int fd, const struct sbx_patience *p, struct sbx_buf *out);
/* Run to the end, what it says on stderr and stdout into `out` (bounded). */
enum sbx_code oci_run(const struct program *p, struct sbx_buf *out, int *ret_status,
                      struct sbx_err *err);
/* The last message of a runtime's JSON log. */
void oci_log_message(const char *path, struct sbx_buf *out);

/* ---- probe.c ---- */
enum sbx_code oci_probe(const struct sbx_runtime_config *config, char **ret_program,
                        char **ret_version, struct sbx_err *err);

/* ---- root.c: prepare the root file system, inside the private mount namespace ---- */
int oci_root_prepare(struct oci *o, const struct box *b, int complain);

/* ---- streams.c: what lies between the caller's descriptors and the process ---- */
struct streams {
    const struct sbx_exec *exec;
    int child[3];        /* for the process: our pipes, or -1: /dev/null */
    int to, from[2];     /* our ends: its stdin, its stdout and stderr; -1: not relayed */
    int master;          /* terminal, -1: none */
    char pending[65536]; /* on its way to stdin */
    size_t pending_at, pending_len;
    bool in_ended;
    unsigned asked; /* INT and TERM that the user sent */
    bool given_up;  /* it was stopped and did not follow: killed */
};
enum sbx_code streams_open(struct streams *s, const struct sbx_exec *exec, struct sbx_err *err);
void streams_close_child(struct streams *s);          /* after the process has its own */
void streams_terminal(struct streams *s, int master); /* takes the descriptor */
void streams_release(struct streams *s);
SBX_DEFINE_AUTO(streams, streams_release);
/* Relay until the process behind pidfd ended; then what is left. SBX_TIMEOUT: it was killed. */
enum sbx_code streams_run(struct streams *s, int pidfd, pid_t pid, struct sbx_err *err);

/* ---- slots ---- */
enum sbx_code oci_create(struct sbx_runtime *rt, const struct sbx_container_spec *spec,
                         char **ret_id, struct sbx_err *err);
enum sbx_code oci_start(struct sbx_runtime *rt, const char *id, struct sbx_err *err);
enum sbx_code oci_stop(struct sbx_runtime *rt, const char *id, int timeout_s, struct sbx_err *err);
enum sbx_code oci_remove(struct sbx_runtime *rt, const char *id, struct sbx_err *err);
enum sbx_code oci_inspect(struct sbx_runtime *rt, const char *id, struct sbx_arena *arena,
                          struct sbx_container *ret, struct sbx_err *err);
enum sbx_code oci_list(struct sbx_runtime *rt, struct sbx_arena *arena, struct sbx_container **ret,
                       size_t *ret_n, struct sbx_err *err);
enum sbx_code oci_exec(struct sbx_runtime *rt, const char *id, const struct sbx_exec *exec,
                       int *ret_status, struct sbx_err *err);
enum sbx_code oci_copy_in(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                          struct sbx_err *err);
enum sbx_code oci_copy_out(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                           struct sbx_err *err);
enum sbx_code oci_commit(struct sbx_runtime *rt, const char *id, const char *reference,
                         struct sbx_err *err);
enum sbx_code oci_image_ensure(struct sbx_runtime *rt, const char *reference, enum sbx_pull pull,
                               const struct sbx_progress *progress, struct sbx_arena *arena,
                               struct sbx_image *ret, struct sbx_err *err);
enum sbx_code oci_image_load(struct sbx_runtime *rt, const char *path, struct sbx_arena *arena,
                             const char ***ret_names, size_t *ret_n, struct sbx_err *err);
enum sbx_code oci_image_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                             struct sbx_image **ret, size_t *ret_n, struct sbx_err *err);
enum sbx_code oci_image_remove(struct sbx_runtime *rt, const char *reference, struct sbx_err *err);
enum sbx_code oci_volume_ensure(struct sbx_runtime *rt, const char *name, int64_t size,
                                bool *ret_sized, bool *ret_created, struct sbx_err *err);
enum sbx_code oci_volume_remove(struct sbx_runtime *rt, const char *name, struct sbx_err *err);
enum sbx_code oci_volume_list(struct sbx_runtime *rt, struct sbx_arena *arena, const char ***ret,
                              size_t *ret_n, struct sbx_err *err);
/* Fill a new volume from `source` (a directory descriptor) and give it owner and mode. */
enum sbx_code oci_volume_fill(const char *path, int source, unsigned mode, int uid,
                              struct sbx_err *err);

#endif
