/** @file policy log --follow. */
#ifndef SBX_CLI_LOGFOLLOW_H
#define SBX_CLI_LOGFOLLOW_H

#include "session.h"

struct sbx_follow {
    const char *since; /**< as records carry it; NULL: none */
    size_t limit;      /**< records shown of before; 0: 10, or all since the time */
    bool raw;
};

/**
 * Print the records of these sandboxes as they come, until the user interrupts (exit status 130) or every
 * one of them is removed.
 */
SBX_MUST_USE enum sbx_code sbx_log_follow(struct sbx_cli *cli, struct sbx_session *s,
                                          const struct sbx_texts *names,
                                          const struct sbx_follow *what, struct sbx_err *err);

#endif
