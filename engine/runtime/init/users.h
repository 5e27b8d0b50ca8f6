/**
 * @file
 * Users of the sandbox from its own /etc/passwd and /etc/group, read by ourselves: the static
 * program has no name service, and these files may hold anything. Lines that are not of their form
 * are skipped.
 */
#ifndef SBX_INIT_USERS_H
#define SBX_INIT_USERS_H

#include <limits.h>
#include <sys/types.h>

#include "inside.h"

#define SBX_USER_NAME 256  /* bytes; LOGIN_NAME_MAX of Linux */
#define SBX_USER_GROUPS 64 /* supplementary groups; more are left out, as few need over 20 */

struct sbx_user {
    uid_t uid;
    gid_t gid;
    size_t n_groups;
    gid_t groups[SBX_USER_GROUPS];
    char name[SBX_USER_NAME]; /* the number itself where there is no such line */
    char home[PATH_MAX];      /* "/" where there is none */
};

/**
 * What `docker run --user` accepts: NAME or UID, with ":GROUP" or ":GID" (no supplementary groups
 * then). A bare UID without a line has group 0.
 * @return SBX_OK, SBX_NOT_FOUND (no such name), SBX_LIMIT, SBX_IO
 */
SBX_MUST_USE enum sbx_code sbx_user_find(int root, const char *text, struct sbx_user *ret,
                                         struct sbx_err *err);

/** The first user with this uid; SBX_NOT_FOUND. */
SBX_MUST_USE enum sbx_code sbx_user_by_uid(int root, uid_t uid, struct sbx_user *ret,
                                           struct sbx_err *err);

/** Make a user with its group and home where the uid has none; an existing one is kept, its home
 * made. */
SBX_MUST_USE enum sbx_code sbx_user_make(int root, const char *name, struct sbx_owner owner,
                                         const char *home, enum sbx_done *ret, struct sbx_err *err);

#endif
