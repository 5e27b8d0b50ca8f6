/**
 * @file
 * The startup list being run: foreground commands one after another, background ones left behind.
 */
#ifndef SBX_INIT_STARTUP_H
#define SBX_INIT_STARTUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "list.h"
#include "sbx/buf.h"

struct sbx_startup {
    int root;
    int status;          /* descriptor of the status file; -1: it could not be made */
    size_t status_bytes; /* written to it, or wanted to be */
    struct sbx_buf text; /* the list */
    char *at;            /* the next line; NULL: the list has not begun */
    unsigned line;
    struct sbx_command now; /* the foreground command at hand */
    pid_t pid;              /* its process; 0: none */
    int log;
};

/** Begin: make the status file, read the list. Errors go to stderr; the list is then empty. */
void sbx_startup_begin(struct sbx_startup *s, int root);
/** Go on until a foreground command runs. @return true: the list has ended */
bool sbx_startup_step(struct sbx_startup *s);
/** A child ended; takes note where it is ours. @param wait_status as of waitpid() */
void sbx_startup_reaped(struct sbx_startup *s, pid_t pid, int wait_status);

#endif
