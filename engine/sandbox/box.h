/**
 * @file
 * What the files of this folder share: the engine, one sandbox under its lock ("box"), and the
 * stages of its life. Nothing here is seen outside.
 *
 * Layout of the state (docs/gate-config.md section 1 has the gate's part):
 *
 *     STATE/app.lock                 shared by every change, exclusive for reset
 *     STATE/locks/NAME               flock: who changes NAME
 *     STATE/logs/NAME.jsonl          decisions of a removed sandbox
 *     STATE/sandboxes/NAME/          0700
 *         sandbox.json plan.json     identity and plan; replaced atomically
 *         records.jsonl              what was done to it, hash-chained
 *         blobs/HEX                  contents of planned files
 *         ca/{key,cert}.pem          0600
 *         etc/{hosts,resolv.conf,hostname}   bind-mounted
 *         mnt/N                      workspaces, mounted by us as root, while it runs
 *         asked                      while the runtime makes the container
 *         sessions/PID               flock: an attached exec or run
 *         gate/ log/ run/ net/
 */
#ifndef SBX_SANDBOX_BOX_H
#define SBX_SANDBOX_BOX_H

#include "sbx/sandbox.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#define SBX_STATE_VERSION 1
#define SBX_STATE_MAX 1048576      /* bytes of sandbox.json and the small files beside it */
#define SBX_STOP_TIMEOUT_S 10      /* PID 1 gives processes 8 s */
#define SBX_READY_TIMEOUT_MS 10000 /* helper, gate, PID 1: they need milliseconds */

struct sbx_engine {
    struct sbx_paths paths;
    struct sbx_engine_config config;
    char *docker_host, *oci_runtime;
    struct sbx_runtime *runtimes[SBX_RUNTIME_FAKE + 1];
    bool resetting; /* the app's lock is held for everything */
};

enum sbx_state_phase { SBX_STATE_CREATING, SBX_STATE_READY, SBX_STATE_FAILED };

/** How the network namespace comes to be (network.md 4). */
enum sbx_net_mode { SBX_NET_NONE, SBX_NET_ENTER, SBX_NET_CREATE, SBX_NET_HOLDER };

/** sandbox.json. Strings live in the box's arena. */
struct sbx_record {
    const char *id, *name, *agent, *runtime, *image, *image_id;
    const char *container, *holder; /* ids at the runtime; NULL: not made yet */
    const char *created_at, *last_used_at;
    const char *started_at; /* of the container's start that was completed; NULL: none */
    enum sbx_state_phase phase;
    enum sbx_net_mode net;
    unsigned starts, generation;
    bool weak_network, strict_startup, learned;
    const char *const *allow_sockets;
    const char *const *kit_args; /* values for arguments of kits, as given */
    const char *const *env;      /* full "K=V" of every process inside */
    const char *const *volumes;  /* names made at the runtime */
    const char *const *sources;  /* host paths that the workspaces are mounted from, in their order */
    struct sbx_published *ports;
    size_t n_ports;
    const char *const *places;   /* what was at each workspace's path at create: spot.c */
};

struct sbx_box {
    struct sbx_engine *e;
    struct sbx_arena *arena;
    const char *name;
    char *dir; /* STATE/sandboxes/NAME */
    int dirfd; /* -1: there is none */
    int lock;  /* -1: not held */
    int app_lock;
    int gate_status; /* of a gate that was begun and is not ready yet; -1: none */
    int steps;       /* where PID 1 of a start asks for the first records: serve.c; -1: it does not */
    pid_t pid1;      /* of that start; 0: not known */
    bool has_record;
    const char *broken; /* why sandbox.json, which is there, cannot be read; NULL: it can, or is not there */
    struct sbx_record record;
    struct sbx_plan *plan; /* NULL until loaded or made */
    struct sbx_runtime *rt;
    const struct sbx_runtime_info *info;
};
#define SBX_BOX_INIT { .dirfd = -1, .lock = -1, .app_lock = -1, .gate_status = -1, .steps = -1 }

/* ---- engine.c, image.c ---- */
/** A handle of one's own, for another thread. */
SBX_MUST_USE enum sbx_code sbx_engine_open_runtime(struct sbx_engine *e, enum sbx_runtime_kind kind,
                                                   struct sbx_runtime **ret, struct sbx_err *err);
/** The plan's image, pulled if need be; an interrupt is followed at once (SBX_CANCELED). */
SBX_MUST_USE enum sbx_code sbx_image_get(struct sbx_box *box, enum sbx_pull pull,
                                         struct sbx_image *ret, struct sbx_err *err);

/* ---- lock.c ---- */
/** The app's lock: shared for changes, exclusive for reset. `ret` is closed to let go. */
SBX_MUST_USE enum sbx_code sbx_lock_app(struct sbx_engine *e, bool exclusive, int *ret,
                                        struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_lock_name(struct sbx_engine *e, const char *name, int *ret,
                                         struct sbx_err *err);
/** Is somebody changing it now? */
bool sbx_lock_held(struct sbx_engine *e, const char *name);
/** Remove the lock's file while holding it. */
void sbx_lock_drop(struct sbx_engine *e, const char *name);

/* ---- box.c ---- */
/** Lock a name and look what is there; the directory need not exist. */
SBX_MUST_USE enum sbx_code sbx_box_lock(struct sbx_engine *e, const char *name,
                                        struct sbx_box *box, struct sbx_err *err);
/** The same without a lock, to look only; SBX_NOT_FOUND when there is none. */
SBX_MUST_USE enum sbx_code sbx_box_peek(struct sbx_engine *e, const char *name,
                                        struct sbx_box *box, struct sbx_err *err);
/** SBX_FAILED for a record that is there and cannot be read, which no create may take for its own. */
SBX_MUST_USE enum sbx_code sbx_box_broken(struct sbx_box *box, struct sbx_err *err);
/** Of a locked box: it must exist and be usable; loads plan and runtime. */
SBX_MUST_USE enum sbx_code sbx_box_open(struct sbx_box *box, struct sbx_err *err);
enum sbx_runtime_kind sbx_box_runtime_kind(const struct sbx_box *box); /**< as recorded */
/**
 * Write the record. Synced once the sandbox is ready; until then only before an Engine makes something
 * for it, since that outlives a power failure.
 */
SBX_MUST_USE enum sbx_code sbx_box_save(struct sbx_box *box, struct sbx_err *err);
/** End of a create: the record in its last phase, and all that belongs to it synced. */
SBX_MUST_USE enum sbx_code sbx_box_settle(struct sbx_box *box, enum sbx_state_phase phase,
                                          struct sbx_err *err);
void sbx_box_unlock(struct sbx_box *box);
void sbx_box_release(struct sbx_box *box);
SBX_DEFINE_AUTO(sbx_box, sbx_box_release);
/** Path of something in the box's directory, in its arena; NULL: no memory. */
const char *sbx_box_path(struct sbx_box *box, const char *fmt, ...) SBX_PRINTF(2, 3);
const char *sbx_now(struct sbx_arena *arena); /**< RFC 3339, UTC, milliseconds */
SBX_MUST_USE enum sbx_code sbx_out_of_memory(struct sbx_err *err);

/* ---- put.c ---- */
#define SBX_ROOTS_FILE "upstream-ca.pem" /* what --upstream-ca gave */
/** Replace a small file below the box's directory, atomically, without a sync. */
SBX_MUST_USE enum sbx_code sbx_put(struct sbx_box *box, const char *path, const void *data,
                                   size_t len, mode_t mode, struct sbx_err *err);
/** Sync what a sandbox consists of, all together. */
SBX_MUST_USE enum sbx_code sbx_put_settle(struct sbx_box *box, struct sbx_err *err);

/* ---- state.c: sandbox.json ---- */
SBX_MUST_USE enum sbx_code sbx_state_read(int dirfd, struct sbx_arena *arena,
                                          struct sbx_record *ret, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_state_text(const struct sbx_record *r, struct sbx_buf *out,
                                          struct sbx_err *err);

/* ---- planfile.c: plan.json and blobs/ ---- */
SBX_MUST_USE enum sbx_code sbx_planfile_write(struct sbx_box *box, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_planfile_read(struct sbx_box *box, struct sbx_err *err);

/* ---- history.c: records.jsonl ---- */
/** Append {"time","event",…fields,"prev","digest"}; steals `fields` (may be NULL). */
SBX_MUST_USE enum sbx_code sbx_history_add(struct sbx_box *box, const char *event, json_t *fields,
                                          struct sbx_err *err);
/** Is the chain whole? SBX_OK, SBX_SCHEMA naming the line. */
SBX_MUST_USE enum sbx_code sbx_history_verify(const char *path, struct sbx_err *err);

/* ---- ca.c ---- */
SBX_MUST_USE enum sbx_code sbx_ca_make(struct sbx_box *box, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_ca_cert(struct sbx_box *box, struct sbx_buf *pem,
                                       struct sbx_err *err);

/* ---- inject.c ---- */
/** Put into gate.json what the gate adds to requests, and the roots of --upstream-ca. */
SBX_MUST_USE enum sbx_code sbx_inject_config(struct sbx_box *box, json_t *o, struct sbx_err *err);
/** Forget what is added for the sandbox of this name. */
SBX_MUST_USE enum sbx_code sbx_inject_drop(const struct sbx_engine *e, const char *name,
                                           struct sbx_err *err);
/** SBX_USAGE: not PEM certificates, or more than those. */
SBX_MUST_USE enum sbx_code sbx_upstream_ca_check(const char *pem, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_upstream_ca_save(struct sbx_box *box, const char *pem, /* or NULL */
                                                struct sbx_err *err);
/** A gate that adds something has a broker; failing is a warning, since such requests are refused then. */
void sbx_broker_ensure(struct sbx_box *box);

/* ---- events.c ---- */
void sbx_event_send(struct sbx_engine *e, enum sbx_event_kind kind, const char *step,
                    const char *fmt, ...) SBX_PRINTF(4, 5);
void sbx_event_bytes(struct sbx_engine *e, const char *step, const char *what, int64_t done,
                     int64_t total);
/** A step at work: begins an event; ends it by the code. */
struct sbx_stage {
    struct sbx_engine *e;
    const char *id;
    unsigned number; /* of the plan's step, from 1 */
    int64_t began_ms;
};
struct sbx_stage sbx_stage_begin(struct sbx_box *box, const struct sbx_plan_step *step,
                                 const char *fmt, ...) SBX_PRINTF(3, 4);
enum sbx_code sbx_stage_end(struct sbx_stage *s, enum sbx_code rc);
/** The plan's first step of a phase; there is always one of those that every plan has. */
const struct sbx_plan_step *sbx_step_of(const struct sbx_box *box, enum sbx_phase phase);
int64_t sbx_now_ms(void);
/** From now on a byte in this pipe is the user's interrupt; -1: there is none. */
void sbx_engine_interrupt_by(struct sbx_engine *e, int fd);
/** SBX_CANCELED once the user interrupted. */
SBX_MUST_USE enum sbx_code sbx_interrupted(struct sbx_engine *e, struct sbx_err *err);
/** Test builds: stop dead here if SBX_FAULT=at:NAME; steps do so at "step:N" and, after, "step:N+". */
void sbx_fault_point(const char *name);

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

/* ---- logs.c ---- */
/** log/ and log/log.jsonl for a gate that is about to start; `gate`: its uid where we are root, else 0. */
SBX_MUST_USE enum sbx_code sbx_logs_open(struct sbx_box *box, uid_t gate, int *ret_dir, int *ret_log,
                                         struct sbx_err *err);
void sbx_logs_keep(struct sbx_box *box); /**< Of a sandbox that goes: to logs/. */

/* ---- hostproxy.c ---- */
/**
 * What proxy this machine has to use, as JSON for the gate (proxy/gate/upstream.h); nothing: none.
 * @param env getenv(), or what a test has
 * @param warn told of what is left out: a proxy that is not spoken to by plain HTTP
 * @return SBX_OK; SBX_SCHEMA (a setting that cannot be used), SBX_IO (its file); errors show no value
 */
SBX_MUST_USE enum sbx_code sbx_host_proxy_json(const struct sbx_host_proxy *settings,
                                               const char *(*env)(const char *name),
                                               void (*warn)(void *ctx, const char *text), void *ctx,
                                               struct sbx_buf *out, struct sbx_err *err);
/** The same in a descriptor, -1 when there is none. */
SBX_MUST_USE enum sbx_code sbx_host_proxy_open(struct sbx_box *box, int *ret, struct sbx_err *err);

/* ---- proc.c ---- */
#define SBX_SPAWN_FDS 16
struct sbx_spawn {
    const char *path;          /* program */
    const char *const *argv;   /* NULL-terminated */
    int fds[SBX_SPAWN_FDS];    /* become 3, 4, ... in this order; -1 ends */
    uid_t uid;                 /* 0: stay who we are */
};
/** Start a process of its own session, with only these descriptors and an empty environment. */
SBX_MUST_USE enum sbx_code sbx_spawn(const struct sbx_spawn *s, pid_t *ret, struct sbx_err *err);
/** Read the one line of a status descriptor: SBX_OK for "ok …" (the rest in `line`). */
SBX_MUST_USE enum sbx_code sbx_status_line(int fd, const char *who, char *line, size_t size,
                                           struct sbx_err *err);
unsigned long long sbx_process_start(pid_t pid); /**< 0: no such process */
struct sbx_pidfile { pid_t pid; unsigned long long start; unsigned long long cookie; };
bool sbx_pidfile_read(struct sbx_box *box, const char *name, struct sbx_pidfile *ret);
SBX_MUST_USE enum sbx_code sbx_pidfile_write(struct sbx_box *box, const char *name,
                                             const struct sbx_pidfile *p, struct sbx_err *err);
/** Does it run, and will go on? Not once it is killed, though the kernel takes a while to end it. */
bool sbx_process_alive(const struct sbx_pidfile *p);
/** End it, and wait until it is gone. */
void sbx_process_end(const struct sbx_pidfile *p);

/* ---- helper.c, holder.c, gate.c, net.c, marks.c ---- */
/** A unix socket by its path below the box's directory; one that is there is replaced. */
SBX_MUST_USE enum sbx_code sbx_socket_listen(struct sbx_box *box, const char *path, int type,
                                             mode_t mode, int *ret, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_socket_connect(struct sbx_box *box, const char *path, int type,
                                              int *ret, struct sbx_err *err);
int sbx_open_ended(struct sbx_box *box); /**< net/ended for appending; -1 with errno */
SBX_MUST_USE enum sbx_code sbx_helper_start(struct sbx_box *box, const char *mode, int pidfd,
                                            unsigned long long *ret_cookie, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_helper_connect(struct sbx_box *box, int *ret, struct sbx_err *err);
/** The holder container of a caller without root; its id goes into the record. */
SBX_MUST_USE enum sbx_code sbx_holder_start(struct sbx_box *box, unsigned long long *ret_cookie,
                                            struct sbx_err *err);
/** Send one request (and a descriptor unless -1), read "ok …". */
SBX_MUST_USE enum sbx_code sbx_helper_ask(int sock, const char *request, int fd, char *answer,
                                          size_t size, struct sbx_err *err);
/**
 * Start the gate; it is up after sbx_gate_ready(), until when other things can be done.
 * @param fresh no process of the sandbox runs yet, so none knows an address that the gate gave a name
 */
SBX_MUST_USE enum sbx_code sbx_gate_begin(struct sbx_box *box, int pidfd, bool fresh,
                                          unsigned long long cookie, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_gate_ready(struct sbx_box *box, struct sbx_err *err);
/**
 * Write gate.json of the plan and the user's policy as it is now. Needs no lock of the box: writers
 * take turns by a lock of their own.
 */
SBX_MUST_USE enum sbx_code sbx_gate_write_config(struct sbx_box *box, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_gate_make_dir(struct sbx_box *box, struct sbx_err *err);
/** That lock; close it to let go. -1: there is no directory (any more). */
int sbx_gate_lock(struct sbx_box *box);
/** Let records from here on name a step of the plan; where the log stands now (0: not known). */
json_int_t sbx_gate_step(struct sbx_box *box, const char *id);
/** One request on the control socket; `ret` may be NULL. */
SBX_MUST_USE enum sbx_code sbx_gate_ask(struct sbx_box *box, json_t *request, json_t **ret,
                                        struct sbx_err *err);
/** The same with descriptors, which stay the caller's. */
SBX_MUST_USE enum sbx_code sbx_gate_ask_with(struct sbx_box *box, json_t *request, const int *fds,
                                             size_t n, json_t **ret, struct sbx_err *err);
bool sbx_gate_alive(struct sbx_box *box);
/** End it, and wait until it is gone: by its pid file, or, where that cannot be read, as it is asked. */
void sbx_gate_end(struct sbx_box *box);
/* ---- ports.c ---- */
/** The record's ports: those of the plan, then the specs. */
SBX_MUST_USE enum sbx_code sbx_ports_record(struct sbx_box *box, const struct sbx_port_spec *specs,
                                            size_t n, struct sbx_err *err);
/**
 * Of a gate that has just come up: listen on the host for every port and hand the sockets over. Host
 * ports that had to be chosen are saved.
 * @param strict a port that cannot be opened is an error; else a warning, and it stays recorded
 */
SBX_MUST_USE enum sbx_code sbx_ports_open(struct sbx_box *box, bool strict, struct sbx_err *err);
/** A namespace that exists before the container does (CREATE, HOLDER), and a gate that begins for it. */
SBX_MUST_USE enum sbx_code sbx_net_before(struct sbx_box *box, struct sbx_container_spec *spec,
                                          struct sbx_err *err);
/** The container runs: gate up for its namespace, mark written. */
SBX_MUST_USE enum sbx_code sbx_net_after(struct sbx_box *box, unsigned long long *ret_cookie,
                                         struct sbx_err *err);
/** Gate and helper of a container that runs are up, else restart what can be. */
SBX_MUST_USE enum sbx_code sbx_net_ensure(struct sbx_box *box, struct sbx_err *err);
/** End gate, helper and holder. */
void sbx_net_end(struct sbx_box *box);
enum sbx_net_mode sbx_net_mode_for(const struct sbx_runtime_info *info);
SBX_MUST_USE enum sbx_code sbx_marks_init(struct sbx_box *box, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_mark_gate(struct sbx_box *box, unsigned long long cookie,
                                         struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_mark_done(struct sbx_box *box, unsigned long long cookie,
                                         struct sbx_err *err);
/** Before a start of ours that is not the first: old marks go, and PID 1 may ask for its steps. */
SBX_MUST_USE enum sbx_code sbx_marks_begin(struct sbx_box *box, struct sbx_err *err);

/* ---- serve.c ---- */
/** Wait for PID 1 from now on. Once for a start, before its mark of the gate. */
SBX_MUST_USE enum sbx_code sbx_serve_open(struct sbx_box *box, struct sbx_err *err);
/** The same for a later start, whose init may be of an sbx that knew nothing of this. */
SBX_MUST_USE enum sbx_code sbx_serve_again(struct sbx_box *box, struct sbx_err *err);
/**
 * Give PID 1 the records in `fd` and take its answers; nobody can ask any more after that.
 * @return SBX_OK; SBX_UNAVAILABLE: it did not ask; SBX_CANCELED
 */
SBX_MUST_USE enum sbx_code sbx_serve(struct sbx_box *box, int fd, struct sbx_buf *out,
                                     struct sbx_err *err);

/* ---- inside.c ---- */
#define SBX_TAIL_LINES 12  /* last lines of output kept for an error */
#define SBX_TAIL_BYTES 400 /* bytes of each */
struct sbx_tail { char lines[SBX_TAIL_LINES][SBX_TAIL_BYTES]; size_t n; };
struct sbx_inside {
    const char *step;        /* id for output events; NULL: collect only */
    const char *const *argv;
    const char *const *env;  /* more "K=V"; may be NULL */
    const char *user, *workdir;
    int in;                  /* -1: none */
    struct sbx_buf *out;     /* NULL: lines become events; else stdout is collected here */
    struct sbx_tail *tail;   /* may be NULL */
};
SBX_MUST_USE enum sbx_code sbx_inside(struct sbx_box *box, const struct sbx_inside *x,
                                      int *ret_status, struct sbx_err *err);
/** HOME and USER of root; NULL for others. */
const char *const *sbx_user_env(const struct sbx_box *box, const char *user);
const char *sbx_tail_text(const struct sbx_tail *t, size_t lines, struct sbx_arena *arena);

/* ---- batch.c ---- */
/** Records for `init batch` (docs/gate-config.md section 5), in a file without a name. */
struct sbx_batch {
    int fd; /* -1 until the first record */
    struct sbx_arena *arena;
    const char **paths; /* of each record, for errors */
    size_t n, cap;
};
#define SBX_BATCH_INIT { .fd = -1 }
void sbx_batch_release(struct sbx_batch *b);
SBX_DEFINE_AUTO(sbx_batch, sbx_batch_release);
struct sbx_entry { const char *verb, *path; unsigned mode; int uid, gid; bool if_missing; };
SBX_MUST_USE enum sbx_code sbx_batch_add(struct sbx_batch *b, const struct sbx_entry *entry,
                                         const void *data, size_t len, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_batch_file(struct sbx_batch *b, const struct sbx_plan_file *f,
                                          struct sbx_err *err);
/** Run it as root inside; lines before the answers go to `head` (may be NULL). All errors are named. */
SBX_MUST_USE enum sbx_code sbx_batch_run(struct sbx_box *box, struct sbx_batch *b,
                                         struct sbx_buf *head, struct sbx_err *err);

/* ---- steps*.c, trust.c ---- */
/** Steps that are done together. */
#define SBX_PENDING_MAX 8 /* steps of files between two commands: one of each phase at most */
struct sbx_pending {
    struct sbx_batch batch;
    const struct sbx_plan_step *steps[SBX_PENDING_MAX];
    size_t n;
    bool defaults; /* the first one: with probe and trust */
};
/** Run the plan's steps for this occasion; ends with the agent able to start. */
SBX_MUST_USE enum sbx_code sbx_steps_run(struct sbx_box *box, unsigned when,
                                         unsigned long long cookie, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_queue_defaults(struct sbx_box *box, struct sbx_batch *b,
                                              const struct sbx_plan_step *s, unsigned when,
                                              struct sbx_err *err);
/** Run it, and judge the facts that its first record asks for. */
SBX_MUST_USE enum sbx_code sbx_run_defaults(struct sbx_box *box, struct sbx_batch *b,
                                            unsigned long long cookie, unsigned when,
                                            struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_queue_startup(struct sbx_box *box, struct sbx_batch *b,
                                             struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_queue_instructions(struct sbx_box *box, struct sbx_batch *b,
                                                  const struct sbx_plan_step *s,
                                                  struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_step_install(struct sbx_box *box, const struct sbx_plan_step *s,
                                            struct sbx_err *err);
/** PID 1 may go on; wait for its startup list and tell what failed. */
SBX_MUST_USE enum sbx_code sbx_step_startup(struct sbx_box *box, unsigned when,
                                            unsigned long long cookie, struct sbx_err *err);
/** Files on the host that the container sees as /etc/hosts and so on. */
SBX_MUST_USE enum sbx_code sbx_mounted_files(struct sbx_box *box, struct sbx_err *err);
const char *sbx_mounted_source(struct sbx_box *box, const struct sbx_plan_file *f);

/* ---- container.c ---- */
#define SBX_ASKED "asked" /* file: name of the container that is being made */
SBX_MUST_USE enum sbx_code sbx_container_make(struct sbx_box *box, const struct sbx_image *image,
                                              struct sbx_err *err);

/**
 * Make one; its id goes to `ret_id`, a field of the record, and the record is saved. One that an
 * Engine made of the same name for a create that was killed is removed.
 */
SBX_MUST_USE enum sbx_code sbx_container_ask(struct sbx_box *box,
                                             const struct sbx_container_spec *spec,
                                             const char **ret_id, struct sbx_err *err);
/** "K=V", in the box's arena, on each container that we make; NULL: no memory. */
const char *sbx_container_label(struct sbx_box *box);
/** Is a container of our names of this state, and not of another user's of the same Engine? */
bool sbx_container_is_ours(const struct sbx_box *box, const struct sbx_container *c);

/* ---- start.c, clean.c, session.c ---- */
/** Of an open box: bring it up whatever state it is in. */
SBX_MUST_USE enum sbx_code sbx_box_up(struct sbx_box *box, unsigned when, struct sbx_err *err);
/** Remove everything of a locked box; what cannot be removed is an error, the rest goes on. */
SBX_MUST_USE enum sbx_code sbx_box_clean(struct sbx_box *box, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_session_begin(struct sbx_box *box, int *ret, struct sbx_err *err);
size_t sbx_sessions(const char *dir);

#endif
