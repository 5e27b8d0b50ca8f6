/**
 * @file
 * Start one command of the startup list.
 */
#ifndef SBX_INIT_SPAWN_H
#define SBX_INIT_SPAWN_H

#include <sys/types.h>

#include "list.h"
#include "sbx/err.h"

/** Exit statuses of what could not be started, as a shell gives them. */
#define SBX_EXIT_CANNOT 126
#define SBX_EXIT_NOT_FOUND 127

/**
 * Start it as its user, in its own session, stdin /dev/null, output to a new log file.
 * @param log set to the log's descriptor, for its last line (-1: it could not be made)
 */
SBX_MUST_USE enum sbx_code sbx_spawn(int root, const struct sbx_command *c, pid_t *ret, int *log,
                                     struct sbx_err *err);

/** The last line of a log that is not empty, control characters as blanks. */
void sbx_spawn_last_line(int log, char *out, size_t size);

#endif
