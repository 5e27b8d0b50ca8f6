/**
 * @file
 * Doing the plan's steps inside: commands of ours, batches of files, the startup list.
 */
#ifndef SBX_SANDBOX_STEPS_H
#define SBX_SANDBOX_STEPS_H

#include "box.h"

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

#endif
