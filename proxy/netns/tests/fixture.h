/**
 * @file
 * A helper that runs, its requests, and children that live inside its namespace. Everything a test
 * starts ends with sbx_fixture_end(), also after a failed assertion (teardown).
 */
#ifndef SBX_NETNS_FIXTURE_H
#define SBX_NETNS_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#define CHILDREN 4 /* of one test at once */

struct fixture {
    char dir[64], path[96]; /* directory and socket of the helper */
    pid_t helper;
    int listener, status, ended; /* ours: socket handed over, read ends of the pipes */
    char first[512];             /* the status line */
    int gate;                    /* connection that has the doors; -1 */
    int tcp4, tcp6, udp4;        /* the doors; -1 */
    pid_t children[CHILDREN];
};

/** True, and a loud line, when namespaces cannot be made here; the program then exits 77. */
bool cannot_run(void);

/** cmocka setup and teardown: an empty fixture; one with a helper of mode create; end of all. */
int setup_empty(void **state);
int setup_created(void **state);
int teardown(void **state);

/**
 * Start sbx-netns with `args` (NULL-terminated) beside --socket-fd, --status-fd and --ended-fd.
 * `pidfd` (-1: none) is passed as --pidfd. Reads the status line into f->first.
 */
void start_helper(struct fixture *f, const char *const *args, int pidfd);
/** The helper's exit status; waits for it. */
int helper_exit(struct fixture *f);
/** It did not begin, and says why. */
void assert_refused(struct fixture *f, const char *why);
/** What it wrote to --ended-fd; after its end. */
const char *ended_text(struct fixture *f);

/** A new connection to the helper. */
int dial(struct fixture *f);
/** One request with an optional descriptor; the answer's text, and its descriptors in fds (may be
 * NULL). */
const char *ask(int conn, const char *request, int pass, int fds[3]);
/** Connect as the gate and take the doors; end as one. */
void gate_begin(struct fixture *f);
void gate_end(struct fixture *f);

/** Run f(arg) in a child inside the helper's namespace; what it returned (0 to 255). */
int inside(struct fixture *f, int (*run)(const void *arg), const void *arg);
/** The same, left running; it has begun in earnest when it wrote a byte to its stdout. */
pid_t inside_running(struct fixture *f, int (*run)(const void *arg), const void *arg);
/** A child that does nothing, in a new network namespace of its own or in ours; prepare may be
 * NULL. */
pid_t child_in(struct fixture *f, bool new_namespace, int (*prepare)(void));
/** End one of them and wait. */
void end_child(struct fixture *f, pid_t pid);
/** pidfd_open() */
int pidfd_of(pid_t pid);

/** "ADDRESS", port as a socket address. */
socklen_t address(const char *text, uint16_t port, struct sockaddr_storage *ret);

#endif
