/** @file Runs a docker-credential-NAME program; its answer is a secret. */
#ifndef SBX_LOGIN_HELPER_H
#define SBX_LOGIN_HELPER_H

#include "sbx/buf.h"

#define SBX_LOGIN_HELPER_MAX 65536 /* bytes of a helper's answer; a token is some KiB */
#define SBX_LOGIN_HELPER_MS 30000 /* it may ask a keyring that asks the user to unlock it */

/**
 * Run `docker-credential-NAME get` with `server` on its stdin.
 * @param out its stdout; wipe it after use
 * @return SBX_OK with *ret_status (exit status, 127: no such program); SBX_TIMEOUT, SBX_LIMIT,
 *         SBX_SCHEMA (a name with a slash), SBX_IO
 */
SBX_MUST_USE enum sbx_code sbx_login_helper_get(const char *name, const char *server,
                                             struct sbx_buf *out, int *ret_status,
                                             struct sbx_err *err);

#endif
