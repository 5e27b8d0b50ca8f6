/**
 * @file
 * What the files of the broker share. See README.md.
 */
#ifndef SBX_BROKER_H
#define SBX_BROKER_H

#include <sys/stat.h>

#include "bounds.h"
#include "sbx/err.h"

/** The longest message to the gate: "value NAME\n" and the value. */
#define SBX_BROKER_MESSAGE_MAX (SBX_GATE_SECRET_MAX + SBX_GATE_SECRET_NAME_MAX + 16)

/**
 * Read the secret NAME of a directory and write the message for the gate.
 * @param msg      SBX_BROKER_MESSAGE_MAX bytes; a "gone" message where the secret cannot be used
 * @param ret_seen what was looked at; all 0 where there is no file
 * @param err      why it cannot be used; untouched where there is no file, which is no error
 * @return bytes of the message
 */
size_t sbx_broker_read(int dirfd, const char *name, char *msg, struct stat *ret_seen,
                       struct sbx_err *err);

/** Serve the gate until it closes; fds as of the program. SBX_OK, SBX_NO_MEMORY or SBX_IO. */
SBX_MUST_USE enum sbx_code sbx_broker_serve(int gate_fd, int dirfd, int ended_fd,
                                            struct sbx_err *err);

#endif
