/*
 * What the oci backend tells the program that enters a container (enter.c). One build makes both
 * sides, so the form is a plain struct, followed by the seccomp program and the strings.
 */
#ifndef SBX_ENTER_H
#define SBX_ENTER_H

#include <stdint.h>

#define ENTER_MAGIC 0x73627865U
#define ENTER_GROUPS_MAX 64

/* Descriptors that the program is started with, beside 0 to 2. */
enum { ENTER_REQUEST = 3, ENTER_PIDFD = 4, ENTER_STATUS = 5 };

struct enter_request {
    uint32_t magic, size; /* bytes of everything */
    uint32_t uid, gid, n_groups, groups[ENTER_GROUPS_MAX];
    uint64_t bounding, effective; /* capabilities, a bit each */
    uint64_t files;               /* RLIMIT_NOFILE, soft and hard */
    uint32_t tty, rows, cols;
    uint32_t filter, n_filter; /* offset of the program, instructions; 0: none */
    uint32_t strings;          /* offset: cwd, PATH value, n_argv arguments, n_env variables */
    uint32_t n_argv, n_env;
};

/* Messages on ENTER_STATUS, a SEQPACKET socket; its end means that the process runs. */
enum enter_what { ENTER_STARTED = 1, ENTER_TERMINAL, ENTER_FAILED };
enum enter_stage {
    ENTER_SETUP = 1, /* anything of ours */
    ENTER_GONE,      /* the container is */
    ENTER_DIRECTORY,
    ENTER_EXEC,
};
struct enter_status {
    uint32_t what, stage;
    int32_t number; /* STARTED: pid; FAILED: errno */
    char text[64];  /* FAILED: which call */
};

#endif
