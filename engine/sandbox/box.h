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
bool sbx_container_is_ours(const struct sbx_engine *e, const struct sbx_runtime *rt,
                           const struct sbx_container *c);

/* ---- start.c, clean.c, session.c ---- */
/** Of an open box: bring it up whatever state it is in. */
SBX_MUST_USE enum sbx_code sbx_box_up(struct sbx_box *box, unsigned when, struct sbx_err *err);
/** Remove everything of a locked box; what cannot be removed is an error, the rest goes on. */
SBX_MUST_USE enum sbx_code sbx_box_clean(struct sbx_box *box, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_session_begin(struct sbx_box *box, int *ret, struct sbx_err *err);
size_t sbx_sessions(const char *dir);

#endif
