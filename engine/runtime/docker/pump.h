/**
 * @file
 * Moves bytes between an attached exec and the caller's descriptors until the Engine ends the
 * stream: input with half-close, demultiplexed output, resizes, signals, a deadline.
 */
#ifndef SBX_RUNTIME_DOCKER_PUMP_H
#define SBX_RUNTIME_DOCKER_PUMP_H

#include "hijack.h"
#include "stream.h"

#define PUMP_IN_SIZE 32768 /* bytes of one read of stdin */
#define PUMP_HELD_MAX 4096 /* bytes of the Engine's own message about an exec that did not start */

struct docker_pump {
    struct docker *d;
    const struct sbx_exec *x;
    const char *exec_id, *container;
    struct docker_wire *w;
    struct docker_demux demux;
    struct docker_piece piece; /**< being written */
    char in[PUMP_IN_SIZE];
    size_t in_at, in_len;
    bool in_done;                     /**< end of stdin, or nobody takes it */
    int resize_fd, signal_fd;         /**< of the exec, until their writers close them */
    bool half_closed, ended, gone[2]; /**< gone: the reader of out or err went away */
    int64_t deadline_ms;              /**< CLOCK_MONOTONIC; 0: none */
    unsigned char signals[32];        /**< that wait for the process to have a pid */
    size_t n_signals;
    unsigned asked;           /**< INT and TERM that came so far */
    bool given_up;            /**< it was stopped and did not follow: killed */
    char held[PUMP_HELD_MAX]; /**< a first piece that reads like the Engine's message */
    size_t held_len;
    bool first_seen;
};

/** Run until the stream ends. SBX_OK, SBX_TIMEOUT, or why it broke. */
SBX_MUST_USE enum sbx_code docker_pump(struct docker_pump *p, struct sbx_err *err);
/** Wait for the deadline, a signal to pass on, or `ms` milliseconds. */
SBX_MUST_USE enum sbx_code docker_pump_idle(struct docker_pump *p, int ms, struct sbx_err *err);
/** Write the held bytes to where they belong, if there are any. */
void docker_pump_unhold(struct docker_pump *p);
/** Send a signal to the exec'd process and its group; false: it has no pid yet (or any more). */
bool docker_signal(struct docker *d, const char *container, const char *exec_id, int number);
/** Is the exec'd process stopped, as far as can be seen from here? */
bool docker_stopped(struct docker *d, const char *exec_id);
int64_t docker_now_ms(void);

#endif
