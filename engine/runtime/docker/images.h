/** @file Image names and pulls, shared by the files of this folder and their tests. */
#ifndef SBX_RUNTIME_DOCKER_IMAGES_H
#define SBX_RUNTIME_DOCKER_IMAGES_H

#include "docker.h"
#include "sbx/login.h"

/** A reference in the parts that the Engine's calls take. */
struct docker_name {
    const char *repository; /**< without tag and digest: "localhost:5000/a" */
    const char *tag;        /**< tag or digest; "latest" when neither is written */
    const char *registry;   /**< host of it: "docker.io", "localhost:5000" */
};
/** SBX_OK, SBX_SCHEMA or SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code docker_name_parse(const char *reference, struct sbx_arena *arena,
                                             struct docker_name *ret, struct sbx_err *err);

/** pull.c: fetch by the Engine, with the user's log-in. */
SBX_MUST_USE enum sbx_code docker_pull(struct docker *d, const char *reference,
                                       const struct sbx_progress *progress, struct sbx_err *err);

/**
 * auth.c: value of X-Registry-Auth for a registry host, from the user's log-in (sbx/login.h).
 * @param ret        a secret, the caller's to wipe and free; NULL: no log-in is known
 * @param ret_remark arena text why a known helper gave nothing; NULL: nothing to say
 */
SBX_MUST_USE enum sbx_code docker_auth(const char *registry, struct sbx_arena *arena, char **ret,
                                       const char **ret_remark, struct sbx_err *err);
/** The same of a log-in that was found. */
SBX_MUST_USE enum sbx_code docker_auth_encode(const struct sbx_login *login, const char *registry,
                                              char **ret, struct sbx_err *err);

#endif
