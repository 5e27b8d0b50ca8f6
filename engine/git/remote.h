/* What the files of this folder share. */
#ifndef SBX_GIT_PRIVATE_H
#define SBX_GIT_PRIVATE_H

#include <stdbool.h>

#include "sbx/git.h"
#include "sbx/late_git.h"

#define CREDENTIAL_MAX 65536  /* bytes of what `git credential` says */
#define CREDENTIAL_MS 60000   /* it may ask a keyring that asks the user to unlock it */

/* State of the credential callback of one connection. */
struct git_login {
    const struct sbx_git2 *git;
    bool asked_agent, asked_helper; /* each is asked once: refused is refused */
};

/* git_credential_acquire_cb; payload: struct git_login */
int git_login_acquire(git_credential **out, const char *url, const char *user, unsigned types,
                      void *payload);
/* Run `git credential fill` for a URL; secrets, malloc'd, the caller's to wipe. */
SBX_MUST_USE enum sbx_code git_credential_fill(const char *url, char **ret_user, char **ret_secret,
                                               struct sbx_err *err);
/* The library's last error, with what we were doing. */
enum sbx_code git_failed(const struct sbx_git2 *git, const struct git_login *login, int code,
                         const char *url, struct sbx_err *err);

/* export.c: a tree as files below DIR. `kit`: the directory where submodules are refused; "": all. */
SBX_MUST_USE enum sbx_code git_export(const struct sbx_git2 *git, git_repository *repo,
                                      git_tree *tree, int dir, const char *kit,
                                      struct sbx_err *err);

#endif
