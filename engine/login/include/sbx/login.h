/**
 * @file
 * The user's log-in to a registry, from where `docker login` keeps it: `config.json` in $DOCKER_CONFIG
 * or ~/.docker with `auths`, `credHelpers` and `credsStore`. It is the only source of log-ins.
 */
#ifndef SBX_LOGIN_H
#define SBX_LOGIN_H

#include <jansson.h>

#include "sbx/arena.h"
#include "sbx/err.h"

#define SBX_LOGIN_CONFIG_MAX (1 << 20) /* bytes of config.json; usually below 4 KiB */
#define SBX_LOGIN_HUB "https://index.docker.io/v1/" /* how log-ins of docker.io have always been stored */

/** All NULL: no log-in is known. Starts as { 0 }. */
struct sbx_login {
    char *user, *secret; /**< set together */
    char *identity;      /**< a refresh token in their place */
};
void sbx_login_release(struct sbx_login *l); /**< Wipes what it frees. */
SBX_DEFINE_AUTO(sbx_login, sbx_login_release);

/**
 * Find the log-in of a registry: "docker.io", "localhost:5000".
 * @param ret_remark arena text why a known place gave nothing; NULL: nothing to say
 * @return SBX_OK, found or not; SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_login_find(const char *registry, struct sbx_arena *arena,
                                          struct sbx_login *ret, const char **ret_remark,
                                          struct sbx_err *err);
/** The same from a configuration that was read; helpers are run by PATH. */
SBX_MUST_USE enum sbx_code sbx_login_from(const json_t *config, const char *registry,
                                          struct sbx_arena *arena, struct sbx_login *ret,
                                          const char **ret_remark, struct sbx_err *err);

#endif
