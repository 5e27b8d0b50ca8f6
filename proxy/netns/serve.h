/**
 * @file
 * The helper's protocol: docs/gate-config.md section 3. One request a message, one answer a
 * message, text; descriptors by SCM_RIGHTS.
 */
#ifndef SBX_NETNS_SERVE_H
#define SBX_NETNS_SERVE_H

#include <sys/types.h>

#include "doors.h"
#include "invariant.h"

#define SBX_SERVE_CLIENTS                                                                          \
    16 /* connections: a gate, the engine's commands; more are closed at once */
#define SBX_SERVE_MESSAGE 256 /* bytes of a request or an answer; the longest has about 60 */

struct sbx_server {
    int listen_fd;
    int signal_fd; /* SIGTERM, SIGINT, SIGHUP */
    int watch_fd;  /* pidfd whose end is ours; -1: none yet */
    uid_t owner;   /* beside root, who may ask */
    struct sbx_ns ns;
    struct sbx_doors doors;
};

/** Serve until something ends us. @return why, for the file of ended processes. */
const char *sbx_serve(struct sbx_server *server);

#endif
