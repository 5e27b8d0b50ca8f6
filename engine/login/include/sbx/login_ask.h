/**
 * @file
 * Programs that know log-ins (docker-credential-NAME, `git credential`): a question on their standard
 * input, an answer on their standard output, within bounds of time and size.
 */
#ifndef SBX_LOGIN_ASK_H
#define SBX_LOGIN_ASK_H

#include "sbx/buf.h"

struct sbx_login_asked {
    char *const *argv;    /**< NULL-terminated; [0] is searched in PATH */
    const char *question; /**< written to it, then its input ends */
    int limit_ms;         /**< of all of it */
    bool quiet;           /**< what it says on stderr is nobody's business */
};

/**
 * Run it and read its answer.
 * @param out        at most its bound; it may be a secret: wipe it after use
 * @param ret_status exit status, 128 and more: the signal that ended it
 * @return SBX_OK; SBX_NOT_FOUND (no such program); SBX_TIMEOUT, SBX_LIMIT (it was killed); SBX_IO
 */
SBX_MUST_USE enum sbx_code sbx_login_ask(const struct sbx_login_asked *h, struct sbx_buf *out,
                                          int *ret_status, struct sbx_err *err);

#endif
