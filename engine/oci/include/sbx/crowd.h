/**
 * @file
 * Several things at once: a few threads that each take the next one, with a state of their own (a
 * connection). The first failure ends it all.
 */
#ifndef SBX_CROWD_H
#define SBX_CROWD_H

#include "sbx/err.h"

#define SBX_CROWD_THREADS 3 /* blobs of one registry at once, as the Engine */

struct sbx_crowd {
    size_t n; /**< things */
    /** Make what a thread needs. */
    enum sbx_code (*begin)(void *ctx, void **ret_state, struct sbx_err *err);
    enum sbx_code (*one)(void *ctx, void *state, size_t i, struct sbx_err *err);
    void (*end)(void *state);
    void *ctx;
};

/** Run; the caller's thread works too. The code and error of the first failure. */
SBX_MUST_USE enum sbx_code sbx_crowd_run(const struct sbx_crowd *c, struct sbx_err *err);

#endif
