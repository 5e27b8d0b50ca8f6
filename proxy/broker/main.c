/* sbx-broker: the program. docs/gate-config.md, 6. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "broker.h"

#define LOCKED 65536 /* bytes: one message, and what the allocator needs around it */

enum { GATE, SECRETS, ENDED, NFDS };

static int usage(const char *problem)
{
    fprintf(stderr, "sbx-broker: %s\nusage: sbx-broker --gate-fd N --secrets-dir-fd N --ended-fd N\n"
                    "Gives secrets to the gate of one sandbox; started by sbx with open descriptors.\n",
            problem);
    return 2;
}

static int parse_options(int argc, char **argv, int *fds)
{
    static const struct option longs[] = {
        { "gate-fd", required_argument, NULL, GATE },
        { "secrets-dir-fd", required_argument, NULL, SECRETS },
        { "ended-fd", required_argument, NULL, ENDED },
        { NULL, 0, NULL, 0 },
    };
    int which;

    while ((which = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        char *end;
        long fd;

        if (which >= NFDS)
            return usage("unknown option");
        fd = strtol(optarg, &end, 10);
        if (!*optarg || *end || fd < 3 || fd > 1000000 || fcntl((int)fd, F_GETFD) < 0)
            return usage("not an open descriptor from 3 up");
        fds[which] = (int)fd;
    }
    if (optind != argc)
        return usage("no arguments are taken");
    for (int i = 0; i < NFDS; i++)
        if (fds[i] < 0)
            return usage("an option is missing");
    return 0;
}

/* Nobody reads this process, dumped or alive, but the system's administrator. */
static enum sbx_code close_up(struct sbx_err *err)
{
    struct rlimit none = { 0, 0 };

    if (setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return sbx_err_errno(err, "confine");
    if (CRYPTO_secure_malloc_init(LOCKED, 64) == 0)
        errno = 0; /* a low limit of locked memory: then it is ordinary memory */
    return SBX_OK;
}

int main(int argc, char **argv)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    struct sbx_err err = SBX_ERR_INIT;
    int fds[NFDS] = { -1, -1, -1 };
    int rc = parse_options(argc, argv, fds);

    if (rc)
        return rc;
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGHUP, &ignore, NULL);
    for (int i = 0; i < NFDS; i++)
        fcntl(fds[i], F_SETFD, FD_CLOEXEC);
    if (close_up(&err) || sbx_broker_serve(fds[GATE], fds[SECRETS], fds[ENDED], &err)) {
        dprintf(fds[ENDED], "broker: %s\n", err.text);
        return 1;
    }
    return 0;
}
