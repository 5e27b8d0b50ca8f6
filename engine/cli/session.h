/**
 * @file
 * What the verbs that touch sandboxes share: the opened engine, progress on stderr, signals.
 */
#ifndef SBX_CLI_SESSION_H
#define SBX_CLI_SESSION_H

#include "groups.h"
#include "policy_edit.h"
#include "sbx/sandbox.h"
#include "userfiles.h"

#define SBX_STEPS_OPEN 16 /* steps that share one exec, so that they begin before others end */

/** One engine and what it was opened with. Starts as { 0 }. */
struct sbx_session {
    struct sbx_cli *cli;
    struct sbx_engine *engine;
    struct sbx_user_files files; /**< settings.yaml, policy.yaml */
    bool fancy;                  /**< progress is drawn on a terminal */
    bool quiet;                  /**< only warnings */
    bool told;                   /**< remarks on the user's files were made by an earlier one */
    bool step_open;              /**< a drawn step waits for its end */
    bool output_shown;  /**< the step that runs printed something, which stands on stderr */
    bool failure_shown; /**< so did the one that failed */
    int width;          /**< of the terminal */
    struct sbx_step {
        char id[80], text[160];
    } steps[SBX_STEPS_OPEN]; /**< begun and not ended */
    size_t n_steps;
};

/** Read the user's files and open the engine. `runtime` may be NULL. */
SBX_MUST_USE enum sbx_code sbx_session_open(struct sbx_session *s, struct sbx_cli *cli,
                                            const struct sbx_runtime_opts *runtime,
                                            struct sbx_err *err);
void sbx_session_close(struct sbx_session *s);
SBX_DEFINE_AUTO(sbx_session, sbx_session_close);

/** The runtime named by the options, else by settings.yaml; AUTO when by neither. */
enum sbx_runtime_kind sbx_session_runtime(const struct sbx_session *s,
                                          const struct sbx_runtime_opts *o);

/** progress.c: draw one event. */
void sbx_progress_event(void *ctx, const struct sbx_event *event);
/** End a drawn line before something else writes. */
void sbx_progress_end(struct sbx_session *s);

/* ---- what the gate refused meanwhile (blocked.c) ---- */

struct sbx_log_mark {
    unsigned long long ino;
    long long size;
};
/** Where the log ends now. */
struct sbx_log_mark sbx_blocked_mark(struct sbx_session *s, const char *name);
/** Tell the hosts that were refused since the mark, on stderr. */
void sbx_blocked_tell(struct sbx_session *s, const char *name, struct sbx_log_mark mark);

/* ---- signals (signals.c) ---- */

/**
 * From here on SIGINT, SIGTERM and SIGHUP make a descriptor readable instead of ending the program.
 * The first call makes the descriptor; a second SIGINT ends the program at once.
 * @return the descriptor to wait on (left unread), or -1
 */
int sbx_interrupt_fd(void);
/**
 * From here on signals are for a process inside: each is written as a byte to the descriptor.
 * SIGWINCH is written to `*ret_resize`.
 */
SBX_MUST_USE enum sbx_code sbx_forward_signals(int *ret_signals, int *ret_resize,
                                               struct sbx_err *err);

/* ---- the terminal (tty.c) ---- */

/** Put the terminal in raw mode; it is restored by sbx_tty_restore(), at exit and on a crash. */
SBX_MUST_USE enum sbx_code sbx_tty_raw(struct sbx_err *err);
void sbx_tty_restore(void);
struct sbx_winsize sbx_tty_size(void *ctx);
bool sbx_tty_draws(void); /**< stderr is a terminal on which the cursor moves */

/** Streams of this program for a process inside; `input` attaches standard input. */
SBX_MUST_USE enum sbx_code sbx_attach(struct sbx_streams *ret, bool tty, bool input,
                                      struct sbx_err *err);

/* ---- options to the engine's structs (convert.c) ---- */

/** "K=V" lists of --env-file, then --env, the last of a name wins; NULL-terminated, in arena. */
SBX_MUST_USE enum sbx_code sbx_env_list(struct sbx_arena *arena, const struct sbx_texts *env,
                                        const struct sbx_texts *files, const char *const **ret,
                                        struct sbx_err *err);
/** Words as a NULL-terminated array, in arena; NULL: no memory. */
const char *const *sbx_argv(struct sbx_arena *arena, const char *const *v, size_t n);
/** "PATH", "PATH:ro", "PATH:rw"; in arena. */
SBX_MUST_USE enum sbx_code sbx_workspace_list(struct sbx_arena *arena, const char *const *v,
                                              size_t n, struct sbx_workspace **ret,
                                              struct sbx_err *err);
/** Fill `ret` from the options: all but artifact, workspaces, and what settings.yaml may say too. */
SBX_MUST_USE enum sbx_code sbx_create_fill(struct sbx_arena *arena,
                                           const struct sbx_sandbox_opts *o, struct sbx_create *ret,
                                           struct sbx_err *err);
/** Specs of ports; in arena. SBX_OK, SBX_USAGE, SBX_UNSUPPORTED (UDP). */
SBX_MUST_USE enum sbx_code sbx_port_list(struct sbx_arena *arena, const struct sbx_texts *words,
                                         struct sbx_port_spec **ret, struct sbx_err *err);
enum sbx_pull sbx_pull_of(const char *text); /**< "always", "missing", "never"; NULL: missing */

/* ---- what run, create and plan do alike (make.c) ---- */

struct sbx_make {
    const struct sbx_sandbox_opts *sandbox;
    const struct sbx_kit_opts *kit;
    const struct sbx_runtime_opts *runtime;
    bool cwd_default; /**< no PATH means the current directory (run, plan) */
    bool paths_given; /**< some PATH was written (set by prepare) */
    struct sbx_artifact *artifact;
    struct sbx_create create;
    struct sbx_new_rules rules;
};
void sbx_make_release(struct sbx_make *m);
SBX_DEFINE_AUTO(sbx_make, sbx_make_release);

/** Resolve and compose the kits, read paths and options: `m->artifact` and `m->create`. */
SBX_MUST_USE enum sbx_code sbx_make_prepare(struct sbx_cli *cli, struct sbx_make *m,
                                            struct sbx_err *err);
/**
 * Runtime, pull and image where no option says: those of settings.yaml; for `shell` the local base
 * image when it is there. Looking is all: nothing is pulled.
 */
void sbx_make_defaults(struct sbx_session *s, struct sbx_make *m);
/**
 * After a create that failed: say how to come by the image of `shell`, if it was that; output that the user saw
 * already is taken out of the error.
 */
void sbx_make_failed(struct sbx_session *s, const struct sbx_make *m, struct sbx_err *err);

#endif
