/* What the files of this folder share. */
#ifndef SBX_GIT_PRIVATE_H
#define SBX_GIT_PRIVATE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "sbx/git.h"
#include "sbx/late_git.h"

#define CREDENTIAL_MAX 65536 /* bytes of what `git credential` says */
#define CREDENTIAL_MS 60000  /* it may ask a keyring that asks the user to unlock it */
#define SSH_WORDS_MAX 2000 /* bytes kept of what ssh says on stderr: some lines, with the banner */

/* ---- worker.c: libgit2 works in a process of its own, which can be ended at any time ---- */

/* One piece of work; lives in both processes. */
struct git_job {
    const struct sbx_git_source *source;
    const char *dir; /* of a fetch: where */
    char commit[41]; /* of a look-up: the answer */
    int tell;        /* the worker's end of the wire */
    long told_ms;
    bool too_big;            /* the fetch passed SBX_GIT_BYTES_MAX */
    bool asked_helper;       /* each is asked once: refused is refused */
    char ssh[SSH_WORDS_MAX]; /* what ssh said; "": it was not run, or silent */
};
typedef enum sbx_code (*git_work)(struct git_job *job, struct sbx_err *err);

/* Signals that end programs are held while something is half-made, and take effect after. */
struct git_signals {
    sigset_t before;
    int fd, got; /* readable where one came; its number, or 0 */
};
SBX_MUST_USE enum sbx_code git_signals_hold(struct git_signals *s, struct sbx_err *err);
/* Wait; true: a signal came. */
bool git_signals_wait(struct git_signals *s, int ms);
void git_signals_release(struct git_signals *s);

/* Run `work` in a worker: its error and its job->commit come back. SBX_TIMEOUT, SBX_CANCELED. */
SBX_MUST_USE enum sbx_code git_in_worker(git_work work, struct git_job *job,
                                         struct git_signals *signals, struct sbx_err *err);
/* In the worker: it goes on; now it waits for somebody who has a limit of his own; now no longer. */
void git_alive(struct git_job *job);
void git_waits(struct git_job *job, bool waits);

/* ---- credential.c ---- */

/* git_credential_acquire_cb; payload: struct git_job */
int git_login_acquire(git_credential **out, const char *url, const char *user, unsigned types,
                      void *payload);
/* Run `git credential fill` for a URL; secrets, malloc'd, the caller's to wipe. */
SBX_MUST_USE enum sbx_code git_credential_fill(const char *url, char **ret_user, char **ret_secret,
                                               struct sbx_err *err);

/* ---- remote.c: work of the worker ---- */

/* Fetch into a repository job->dir/repo, export to job->dir/out. */
SBX_MUST_USE enum sbx_code git_bring(struct git_job *job, struct sbx_err *err);
/* The commit of a branch or tag. */
SBX_MUST_USE enum sbx_code git_look(struct git_job *job, struct sbx_err *err);

/* ---- ssh.c: ssh:// goes through the user's ssh ---- */

SBX_MUST_USE enum sbx_code git_ssh_use(const struct sbx_git2 *git, struct git_job *job,
                                       struct sbx_err *err);
/* What ssh said as an error of ours. */
enum sbx_code git_ssh_failed(const struct git_job *job, struct sbx_err *err);

/* ---- walk.c: the tree of a commit and the directory that holds it as files, side by side ---- */

#define GIT_PATH_SIZE 4096 /* bytes of a path below the root */
/* Marks that no repository can hold, for what a kit must not: on the directory of a submodule and on a
   file that is a pointer of LFS. */
#define GIT_MARK S_ISVTX

struct git_walk {
    const struct git_visit *visit;
    const struct sbx_git2 *git;
    git_repository *repo;
    struct git_job *job; /* NULL: nobody watches */
    size_t files;
    char path[GIT_PATH_SIZE]; /* of the entry */
};
/* What is done with each; any code but SBX_OK ends the walk. */
struct git_visit {
    enum sbx_code (*enter)(struct git_walk *w, const git_tree *tree, int dir, struct sbx_err *err);
    enum sbx_code (*dir)(struct git_walk *w, int at, const char *name, int *ret_fd,
                         struct sbx_err *err);
    enum sbx_code (*submodule)(struct git_walk *w, int at, const char *name, struct sbx_err *err);
    enum sbx_code (*file)(struct git_walk *w, int at, const char *name, const git_oid *id, int mode,
                          struct sbx_err *err); /* or a link */
};
SBX_MUST_USE enum sbx_code git_walk(struct git_walk *w, const git_oid *commit, int dir,
                                    struct sbx_err *err);
/* The mode of an exported file with this mode in its tree and this content. */
mode_t git_file_mode(int mode, const char *data, size_t len);

/* ---- export.c ---- */

/* An exported commit, CACHE/git/COMMIT: its files, and the objects that say what they are. No repository
   can hold a file of that name: where it is missing an earlier version exported the files there. */
#define GIT_TREE "tree"
#define GIT_OBJECTS ".git"
#define GIT_OBJECTS_MAX                                                                            \
    (64 << 20) /* bytes: SBX_GIT_FILES_MAX entries with names of 255 bytes, and a long message */

/* Make both in a directory that is empty. */
SBX_MUST_USE enum sbx_code git_export(const struct sbx_git2 *git, git_repository *repo,
                                      const git_oid *commit, int out, struct git_job *job,
                                      struct sbx_err *err);

#endif
