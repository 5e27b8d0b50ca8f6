/**
 * @file
 * Sandboxes: names, state on disk, locks, and their life from create to rm.
 *
 * No daemon: each call takes the file lock of the sandbox it changes, reads the state and the
 * runtime, acts, and lets go. Of a running sandbox only its helper and gate stay (docs/gate-config.md).
 * A crash at any point leaves a state that the next create or rm of that name cleans up.
 *
 *   engine_open -> create -> launch | exec ... -> stop -> start ... -> remove -> engine_close
 *
 * A handle is for one thread. Source: architecture sections 3, 6, 7, 8; decisions F, N, C7 to C9.
 */
#ifndef SBX_SANDBOX_H
#define SBX_SANDBOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "sbx/plan.h"
#include "sbx/runtime.h"

#define SBX_APP_DEFAULT "sbx" /* what NULL means too */
#define SBX_SANDBOX_NAME_MAX 63 /* bytes: a host name label */
#define SBX_APP_NAME_MAX 32 /* bytes: with a sandbox name it fits names of containers and volumes */

/* ---- paths ---- */

/** Directories of one app (C8); all absolute. Made when first needed, 0700. */
struct sbx_paths {
    char *app;
    char *state;   /**< $XDG_STATE_HOME/sbx, or …/sbx/apps/APP */
    char *config;  /**< $XDG_CONFIG_HOME/sbx, or …/sbx/apps/APP */
    char *cache;   /**< $XDG_CACHE_HOME/sbx: shared by apps */
    char *libexec; /**< helper programs: $SBX_LIBEXEC, else ../libexec/sbx beside the program */
    char *share;   /**< data files (seccomp.json): $SBX_SHARE, else ../share/sbx beside the program */
};

/** @param app NULL: the default. @return SBX_OK, SBX_USAGE (a bad app name), SBX_FAILED (no HOME) */
SBX_MUST_USE enum sbx_code sbx_paths_init(const char *app, struct sbx_paths *ret,
                                          struct sbx_err *err);
void sbx_paths_release(struct sbx_paths *p);
SBX_DEFINE_AUTO(sbx_paths, sbx_paths_release);

/* ---- the engine's handle ---- */

enum sbx_event_kind {
    SBX_EVENT_STEP,    /**< a step began; `text` describes it */
    SBX_EVENT_OUTPUT,  /**< a line it printed */
    SBX_EVENT_DONE,    /**< it ended well */
    SBX_EVENT_FAILED,  /**< it did not; the call's error or a warning says why */
    SBX_EVENT_WARNING, /**< for the user's eyes: banner, failed startup, weak network ... */
    SBX_EVENT_NOTE,    /**< plain progress: "Install commands completed" */
    SBX_EVENT_BYTES,   /**< `done` of `total` bytes of `text`, a layer, are here; from any thread, one at a time */
};

struct sbx_event {
    enum sbx_event_kind kind;
    const char *step; /**< id: "image", "container", "gate", or a plan step's; NULL: none */
    const char *text; /**< one line without its end */
    int64_t elapsed_ms; /**< DONE and FAILED */
    int64_t done, total; /**< BYTES */
};

struct sbx_engine_config {
    const char *app;         /**< NULL: the default */
    const char *docker_host; /**< DOCKER_HOST or NULL */
    const char *oci_runtime; /**< NULL: the default */
    const struct sbx_user_policy *policy; /**< the user's; borrowed for the handle's life; NULL: balanced */
    /**
     * Reads the user's policy as it is now, with memory of `arena`; called whenever rules are written, so
     * that a rule that came while a create was going on counts. NULL: `policy` stays as it is.
     */
    enum sbx_code (*policy_read)(void *ctx, struct sbx_arena *arena, struct sbx_user_policy *ret,
                                 struct sbx_err *err);
    void (*event)(void *ctx, const struct sbx_event *event); /**< NULL: silent */
    void *ctx; /**< of both calls */
    int interrupt_fd; /**< -1, or readable once the user interrupted (and then left unread) */
    bool debug;
};

struct sbx_engine; /* opaque */

SBX_MUST_USE enum sbx_code sbx_engine_open(const struct sbx_engine_config *config,
                                           struct sbx_engine **ret, struct sbx_err *err);
void sbx_engine_close(struct sbx_engine *e);
SBX_DEFINE_AUTO_PTR(sbx_engine, sbx_engine_close);
const struct sbx_paths *sbx_engine_paths(const struct sbx_engine *e);
/** Open (once per kind) the runtime, for images; the engine keeps it. */
SBX_MUST_USE enum sbx_code sbx_engine_runtime(struct sbx_engine *e, enum sbx_runtime_kind kind,
                                              struct sbx_runtime **ret, struct sbx_err *err);
/** Tests: use this runtime for SBX_RUNTIME_FAKE; the engine owns it from here on. */
void sbx_engine_use_runtime(struct sbx_engine *e, struct sbx_runtime *rt);

/* ---- names ---- */

/** 2 to 63 of letters, digits, "-", "."; begins and ends with a letter or digit; not "default". */
SBX_MUST_USE enum sbx_code sbx_name_check(const char *name, struct sbx_err *err);
/** "<agent>-<workspace's last part>", made fit; in arena. `workspace` may be NULL. */
const char *sbx_name_default(const char *agent, const char *workspace, struct sbx_arena *arena);

/* ---- life ---- */

/* ---- ports inward ---- */

#define SBX_PORTS_MAX 256   /* of one sandbox; each is a listening socket of its gate */
#define SBX_HOST_IP_MAX 46  /* bytes of an address with its end: INET6_ADDRSTRLEN */

enum sbx_port_protocol {
    SBX_PORT_ANY,
    SBX_PORT_TCP,
    SBX_PORT_TCP4,
    SBX_PORT_TCP6,
    SBX_PORT_UDP,
    SBX_PORT_UDP4,
    SBX_PORT_UDP6
};

/** "[[HOST_IP:]HOST_PORT:]SANDBOX_PORT[/PROTOCOL]" as typed. */
struct sbx_port_spec {
    char host_ip[SBX_HOST_IP_MAX]; /**< "": loopback of the protocol's family */
    uint16_t host_port;            /**< 0: any, and then the same at every start */
    uint16_t sandbox_port;
    /** ANY: TCP over IPv4, or over IPv6 where host_ip is; TCP, UDP: both loopbacks */
    enum sbx_port_protocol protocol;
};
/** @return SBX_OK, SBX_USAGE (err says what to write) */
SBX_MUST_USE enum sbx_code sbx_port_spec_parse(const char *text, struct sbx_port_spec *ret,
                                          struct sbx_err *err);

/** A published port. */
struct sbx_published {
    const char *host_ip;
    uint16_t host_port; /**< 0: not chosen yet */
    uint16_t sandbox_port;
    bool ipv6, udp;     /**< protocol: "tcp4", "tcp6", "udp4" or "udp6" */
    bool fixed;         /**< the user asked for this host port */
    const char *name, *kit; /**< of a kit's ports[]; NULL: none */
};

const char *sbx_published_protocol(const struct sbx_published *p); /**< "tcp4" ... */

struct sbx_create {
    const char *name; /**< NULL: sbx_name_default() */
    enum sbx_runtime_kind runtime;
    const struct sbx_artifact *artifact; /**< composed; names its kits and references */
    const struct sbx_workspace *workspaces; /**< as the user wrote them; resolved here */
    size_t n_workspaces;
    const char *const *kit_args; /**< "[KIT.]NAME=VALUE" that were given, recorded; may be NULL */
    const char *const *env; /**< "K=V", NULL-terminated; may be NULL */
    const char *image;      /**< --template; NULL: the kit's */
    enum sbx_pull pull;
    double cpus;    /**< 0: the kit's */
    int64_t memory; /**< bytes; 0: the kit's */
    bool allow_privileged, allow_userns;
    bool weak_network;   /**< C9 */
    bool strict_startup; /**< F4: a failed foreground startup command is fatal, now and later */
    bool keep_failed;    /**< F5 */
    /** Called once the plan's name is this create's, before rules are written: they, and approvals, may be added now. May be NULL. */
    enum sbx_code (*claimed)(void *data, const struct sbx_plan *plan, struct sbx_err *err);
    void *claimed_data;
    bool learn;          /**< N13: public names without a rule pass and are recorded */
    const char *const *allow_sockets; /**< host paths that mounts may contain (N22); may be NULL */
    const char *const *approve;       /**< N11; may be NULL */
    const char *upstream_ca; /**< PEM of more roots that the gate trusts where it ends TLS; or NULL */
    const struct sbx_port_spec *ports; /**< published beside those of the kits */
    size_t n_ports;
};

/** Resolve workspaces and make the plan, nothing else: `sbx plan`. The caller frees `ret`. */
SBX_MUST_USE enum sbx_code sbx_sandbox_plan(struct sbx_engine *e, const struct sbx_create *c,
                                            struct sbx_diags *diags, struct sbx_plan **ret,
                                            struct sbx_err *err);
/**
 * Create and start, run every step up to the agent. On failure (or an interrupt: SBX_CANCELED)
 * nothing is left behind unless keep_failed.
 * @param ret_name in arena
 * @return SBX_OK; SBX_EXISTS (the name is taken); SBX_CONSENT (N10); SBX_UNSUPPORTED (F12, C9);
 *         SBX_FAILED (a mount that is refused, a step) ...
 */
SBX_MUST_USE enum sbx_code sbx_sandbox_create(struct sbx_engine *e, const struct sbx_create *c,
                                              struct sbx_diags *diags, struct sbx_arena *arena,
                                              const char **ret_name, struct sbx_err *err);
/** Start a stopped one; of a running one make sure that gate and steps are up. */
SBX_MUST_USE enum sbx_code sbx_sandbox_start(struct sbx_engine *e, const char *name,
                                             struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_sandbox_stop(struct sbx_engine *e, const char *name,
                                            struct sbx_err *err);
/**
 * Remove container, volumes, mounts, helper, gate and state.
 * @param force also with sessions active (else SBX_BUSY)
 * @return SBX_OK; SBX_NOT_FOUND: text contains "not found"
 */
SBX_MUST_USE enum sbx_code sbx_sandbox_remove(struct sbx_engine *e, const char *name, bool force,
                                              struct sbx_err *err);
/** Remove every sandbox of this app, leftovers included, then the app's state directory. */
SBX_MUST_USE enum sbx_code sbx_engine_reset(struct sbx_engine *e, struct sbx_err *err);

enum sbx_status {
    SBX_STATUS_CREATING, SBX_STATUS_RUNNING, SBX_STATUS_STOPPED,
    SBX_STATUS_FAILED,   /**< kept by --keep-failed */
    SBX_STATUS_BROKEN,   /**< a crash left it, or its container is gone: rm it */
    SBX_STATUS_UNKNOWN   /**< its runtime does not answer */
};
const char *sbx_status_name(enum sbx_status s); /**< "running" ... */

struct sbx_sandbox_info {
    const char *name, *id, *agent, *image, *container;
    enum sbx_runtime_kind runtime;
    const char *runtime_name; /**< "docker", "oci" */
    enum sbx_status status;
    const char *detail; /**< why BROKEN or UNKNOWN; NULL */
    const char *created_at, *last_used_at; /**< RFC 3339; "" never */
    const struct sbx_workspace *workspaces;
    size_t n_workspaces;
    bool workspace_missing, learned, weak_network;
    bool gate_up;
    size_t sessions; /**< attached execs and runs */
    const struct sbx_published *ports; /**< of a running one they are open */
    size_t n_ports;
    const struct sbx_plan *plan; /**< owned by the arena; NULL when it cannot be read */
    const char *state_dir;       /**< log/log.jsonl, records.jsonl are below it */
};
SBX_MUST_USE enum sbx_code sbx_sandbox_list(struct sbx_engine *e, struct sbx_arena *arena,
                                            struct sbx_sandbox_info **ret, size_t *ret_n,
                                            struct sbx_err *err);
/** Names alone, sorted: asks no runtime. In arena. */
SBX_MUST_USE enum sbx_code sbx_sandbox_names(struct sbx_engine *e, struct sbx_arena *arena,
                                             const char *const **ret, size_t *ret_n,
                                             struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_sandbox_inspect(struct sbx_engine *e, const char *name,
                                               struct sbx_arena *arena,
                                               struct sbx_sandbox_info *ret, struct sbx_err *err);

/** In what a sandbox may be the same as one that a create would make; a set. */
enum sbx_same { SBX_SAME_KITS = 1, SBX_SAME_ARGS = 2, SBX_SAME_WORKSPACES = 4, SBX_SAME_RUNTIME = 8 };

struct sbx_found {
    size_t n;          /**< sandboxes that are the same */
    const char *name;  /**< of one of them */
    const char *names; /**< of all: "a, b" */
    const char *near;  /**< has the name this create would take, its agent and its primary workspace ... */
    const char *differs; /**< ... but other "kits", "values for kits", "directories", "runtime" */
};
/**
 * For `run` again: sandboxes with the agent, kits, values and workspaces of `c`.
 * @param runtime its runtime has to be the same too
 */
SBX_MUST_USE enum sbx_code sbx_sandbox_find(struct sbx_engine *e, const struct sbx_create *c,
                                            bool runtime, struct sbx_arena *arena,
                                            struct sbx_found *ret, struct sbx_err *err);
/** What of the set `what` is other in this sandbox than in `c`: a static text as above; NULL: nothing. */
SBX_MUST_USE enum sbx_code sbx_sandbox_differs(struct sbx_engine *e, const char *name,
                                               const struct sbx_create *c, unsigned what,
                                               const char **ret, struct sbx_err *err);

/* ---- processes inside ---- */

/** Where a process's streams go; descriptors are borrowed. */
struct sbx_streams {
    bool tty;
    int in, out, err_fd; /**< as in sbx_exec */
    int resize_fd;
    struct sbx_winsize (*winsize)(void *ctx);
    void *ctx;
    int signal_fd;
};
#define SBX_STREAMS_NONE { false, -1, -1, -1, -1, NULL, NULL, -1 }

struct sbx_command {
    const char *const *argv; /**< NULL-terminated */
    const char *const *env;  /**< for this process, over the recorded ones; may be NULL */
    const char *user;        /**< NULL: the agent */
    const char *workdir;     /**< NULL: the primary workspace */
    bool privileged;
    struct sbx_streams streams;
};
/**
 * Run a command; starts a stopped sandbox first (C7). While it runs, a dead gate is restarted.
 * @param ret_status the command's, as a shell's
 * @return SBX_OK whatever the command's status; an error is the engine's (exit 125)
 */
SBX_MUST_USE enum sbx_code sbx_sandbox_exec(struct sbx_engine *e, const char *name,
                                            const struct sbx_command *c, int *ret_status,
                                            struct sbx_err *err);
/** Run the agent by the plan's launch; `args` (after "--") may be NULL. */
SBX_MUST_USE enum sbx_code sbx_sandbox_launch(struct sbx_engine *e, const char *name,
                                              bool interactive, const char *const *args,
                                              const char *const *env,
                                              const struct sbx_streams *streams, int *ret_status,
                                              struct sbx_err *err);

/* ---- ports inward, of a sandbox that is there ---- */

/**
 * Publish ports; starts a stopped sandbox. All or none.
 * @param ret   the new ones, in arena
 * @return SBX_OK; SBX_EXISTS (published already); SBX_FAILED (the host port is taken) ...
 */
SBX_MUST_USE enum sbx_code sbx_sandbox_publish(struct sbx_engine *e, const char *name,
                                               const struct sbx_port_spec *specs, size_t n,
                                               struct sbx_arena *arena,
                                               const struct sbx_published **ret, size_t *ret_n,
                                               struct sbx_err *err);
/**
 * Take ports back: every mapping of the sandbox port that fits what the spec names. Open connections
 * of them end. All or none.
 * @return SBX_OK; SBX_NOT_FOUND (a spec that fits none)
 */
SBX_MUST_USE enum sbx_code sbx_sandbox_unpublish(struct sbx_engine *e, const char *name,
                                                 const struct sbx_port_spec *specs, size_t n,
                                                 struct sbx_arena *arena,
                                                 const struct sbx_published **ret, size_t *ret_n,
                                                 struct sbx_err *err);

/* ---- network ---- */

/**
 * Write gate.json anew from the engine's user policy, for one sandbox or all (name NULL), and let
 * running gates follow: when this returns, open tunnels without right are closed. Waits for no other
 * command: a create that is going on follows too.
 */
SBX_MUST_USE enum sbx_code sbx_sandbox_policy_refresh(struct sbx_engine *e, const char *name,
                                                      struct sbx_err *err);
/** gate.json as it stands (the caller decrefs). */
SBX_MUST_USE enum sbx_code sbx_sandbox_gate_config(struct sbx_engine *e, const char *name,
                                                   json_t **ret, struct sbx_err *err);
/** Path of the decision log (an older part, if there is one: the same with ".1"), also of a removed sandbox (kept until the name is used again). */
SBX_MUST_USE enum sbx_code sbx_sandbox_log_path(struct sbx_engine *e, const char *name,
                                                struct sbx_arena *arena, const char **ret,
                                                struct sbx_err *err);

#endif
