/* Docker's registry on a free port, for one test program. */
#ifndef SBX_OCI_TEST_WORLD_H
#define SBX_OCI_TEST_WORLD_H

#include <sys/types.h>

struct world {
    char dir[64];
    char host[64]; /* "127.0.0.1:PORT" */
    pid_t pid;
};

/* `extra` is yaml for its configuration; false: it cannot be started. */
int world_start(struct world *w, const char *extra);
void world_stop(struct world *w); /* with its directory */

#endif
