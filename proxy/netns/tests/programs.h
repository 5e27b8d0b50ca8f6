/**
 * @file
 * What programs inside the namespace try, each as a child's work for inside(): the answer is an errno, 0 when it worked.
 * And what comes of it at the doors.
 */
#ifndef SBX_NETNS_PROGRAMS_H
#define SBX_NETNS_PROGRAMS_H

#include "fixture.h"

struct target {
    const char *addr;
    uint16_t port;
    int type; /* SOCK_STREAM unless said */
};

int socket_for(const struct sockaddr_storage *to, int type); /**< Nothing waits on it for ever. */

/* The argument is a struct target. */
int try_connect(const void *arg);
int try_send(const void *arg);         /**< one datagram, unconnected */
int connect_and_read(const void *arg); /**< how the connection ends; 255: there was none */
int connect_and_wait(const void *arg); /**< the same, and stdout tells when it is there */

/** An echo request to the address `arg` over a ping socket (no capability needed: ping_group_range). */
int try_ping(const void *arg);

#define QUESTION 19 /* bytes */
extern const unsigned char question[QUESTION];
/** Ask 198.18.0.1:53 the question, as resolvers do; `arg`: the text of the answer, or NULL: the code of one is returned. */
int ask_dns(const void *arg);

/** One connection waits at the door, and says where it meant to go. */
void assert_arrived(int door, const char *addr, uint16_t port);
void assert_nothing_arrived(const struct fixture *f);

#endif
