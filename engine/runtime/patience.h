/**
 * @file
 * How long a backend waits for someone who may never answer: an Engine, an OCI runtime, a lock.
 * Every such wait has a limit and ends at the user's interrupt.
 */
#ifndef SBX_RUNTIME_PATIENCE_H
#define SBX_RUNTIME_PATIENCE_H

#include "backend.h"

#define SBX_PATIENCE_TICK_MS 50 /* between two looks at the clock and the interrupt */

struct sbx_patience {
    int fd;         /**< of interrupts, -1: none */
    int before;     /**< bytes in it at the beginning: an interrupt that was there before is
                         followed already, and what cleans up after it must not end by it */
    int64_t end_ms; /**< monotonic; 0: no limit */
};

/** Begin to wait for at most `limit_ms` (0: no limit). `rt` may be NULL: no interrupt. */
struct sbx_patience sbx_patience_begin(const struct sbx_runtime *rt, int64_t limit_ms);
/** SBX_OK: go on waiting. SBX_CANCELED, SBX_TIMEOUT (only the code; the caller says for what). */
enum sbx_code sbx_patience_look(const struct sbx_patience *p);
/**
 * Wait until `fd` is readable (or has ended).
 * @return SBX_OK, SBX_CANCELED, SBX_TIMEOUT, SBX_IO
 */
enum sbx_code sbx_patience_poll(const struct sbx_patience *p, int fd);
/** The error of a wait that ended so: "interrupted", or that `who` did not answer in time. */
enum sbx_code sbx_patience_error(struct sbx_err *err, enum sbx_code rc, const char *who);

/** By SIGSTOP (root inside, a debugger): signals wait until it goes on, which may be never. */
bool sbx_process_stopped(pid_t pid);

#endif
