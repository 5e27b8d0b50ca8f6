/* sbx-gate: the program. docs/gate-config.md, 4. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate.h"
#include "inbound.h"
#include "trust.h"

/* everything but connections: log, map, doors, control, files of a lookup, attempts, peers of UDP ports */
#define SPARE_FDS (128 + SBX_GATE_UDP_PEERS)

struct options {
    int config_dir, log, log_dir, map, netns, control, status, ended, pidfd, ca_cert, ca_key, upstream;
    bool fresh;
};

static const struct {
    const char *name;
    size_t offset;
    bool optional;
} option_table[] = {
    { "config-dir-fd", offsetof(struct options, config_dir), false },
    { "log-fd", offsetof(struct options, log), false },
    { "log-dir-fd", offsetof(struct options, log_dir), true },
    { "map-fd", offsetof(struct options, map), false },
    { "netns-fd", offsetof(struct options, netns), false },
    { "control-fd", offsetof(struct options, control), false },
    { "status-fd", offsetof(struct options, status), false },
    { "ended-fd", offsetof(struct options, ended), false },
    { "pidfd", offsetof(struct options, pidfd), true },
    { "ca-cert-fd", offsetof(struct options, ca_cert), true },
    { "ca-key-fd", offsetof(struct options, ca_key), true },
    { "upstream-fd", offsetof(struct options, upstream), true },
};

#define NOPTIONS SBX_ARRAY_LEN(option_table)

static int usage(const char *problem)
{
    fprintf(stderr, "sbx-gate: %s\nusage: sbx-gate --config-dir-fd N --log-fd N --map-fd N "
                    "--netns-fd N --control-fd N --status-fd N --ended-fd N [--log-dir-fd N] [--pidfd N] "
                    "[--ca-cert-fd N --ca-key-fd N] [--upstream-fd N] [--fresh]\n"
                    "The gate of one sandbox; started by sbx with open descriptors.\n", problem);
    return 2;
}

static int *slot(struct options *o, size_t i)
{
    return (int *)(void *)((char *)o + option_table[i].offset);
}

static int parse_options(int argc, char **argv, struct options *o)
{
    struct option longs[NOPTIONS + 2] = { 0 };
    int which, c;

    for (size_t i = 0; i < NOPTIONS; i++) {
        longs[i] = (struct option){ option_table[i].name, required_argument, NULL, 1 };
        *slot(o, i) = -1;
    }
    longs[NOPTIONS] = (struct option){ "fresh", no_argument, NULL, 2 };
    while ((c = getopt_long(argc, argv, "", longs, &which)) != -1) {
        char *end;
        long fd;

        if (c == 2) {
            o->fresh = true;
            continue;
        }
        if (c != 1)
            return usage("unknown option");
        fd = strtol(optarg, &end, 10);
        if (!*optarg || *end || fd < 3 || fd > 1000000 || fcntl((int)fd, F_GETFD) < 0)
            return usage("not an open descriptor from 3 up");
        *slot(o, (size_t)which) = (int)fd;
    }
    if (optind != argc)
        return usage("no arguments are taken");
    for (size_t i = 0; i < NOPTIONS; i++)
        if (*slot(o, i) < 0 && !option_table[i].optional)
            return usage("an option is missing");
    if ((o->ca_cert < 0) != (o->ca_key < 0))
        return usage("--ca-cert-fd and --ca-key-fd go together");
    return 0;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* No other descriptor stays open (a lock lives in its descriptor), and 0 to 2 are taken, so that a
 * socket never becomes one of them. */
static enum sbx_code tidy_descriptors(struct options *o, struct sbx_err *err)
{
    int wanted[NOPTIONS], null = open("/dev/null", O_RDWR);
    unsigned from = 3;

    while (null >= 0 && null < 2)
        null = dup(null);
    for (size_t i = 0; i < NOPTIONS; i++)
        wanted[i] = *slot(o, i);
    qsort(wanted, NOPTIONS, sizeof(wanted[0]), compare_ints);
    for (size_t i = 0; i <= NOPTIONS; i++) {
        unsigned to = i < NOPTIONS ? (unsigned)wanted[i] : ~0U;

        if (i < NOPTIONS && wanted[i] < 0)
            continue;
        /* A kernel before 5.9 lacks the call; the engine has closed them all already. */
        if (to > from && syscall(SYS_close_range, from, to - 1, 0) && errno != ENOSYS)
            return sbx_err_errno(err, "close_range");
        if (i < NOPTIONS)
            fcntl(wanted[i], F_SETFD, FD_CLOEXEC);
        from = to + 1;
    }
    return SBX_OK;
}

static enum sbx_code check_user(struct sbx_err *err)
{
    uid_t ids[3];

    if (getresuid(&ids[0], &ids[1], &ids[2]))
        return sbx_err_errno(err, "user");
    for (size_t i = 0; i < SBX_ARRAY_LEN(ids); i++)
        if (ids[i] == 0)
            return sbx_err_set(err, SBX_USAGE, "must not run as uid 0: root could write any file");
    return SBX_OK;
}

/* Two descriptors a tunnel; where the system gives fewer, there are fewer tunnels. */
static void size_gate(struct sbx_gate *g)
{
    struct rlimit files;

    g->conns_max = SBX_GATE_TUNNELS;
    if (getrlimit(RLIMIT_NOFILE, &files))
        return;
    files.rlim_cur = files.rlim_max;
    if (files.rlim_cur > 2 * SBX_GATE_TUNNELS + SPARE_FDS)
        files.rlim_cur = 2 * SBX_GATE_TUNNELS + SPARE_FDS;
    if (!setrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < 2 * SBX_GATE_TUNNELS + SPARE_FDS)
        g->conns_max = files.rlim_cur > SPARE_FDS + 2 ? (unsigned)(files.rlim_cur - SPARE_FDS) / 2
                                                      : 1;
}

/* What interception needs of the system, before files are closed to us; the descriptors are not kept. */
static enum sbx_code open_tls(struct sbx_gate *g, const struct options *o, struct sbx_err *err)
{
    enum sbx_code rc;

    /* Failing means that locked memory has a low limit here: then it is ordinary memory. */
    if (CRYPTO_secure_malloc_init(SBX_GATE_LOCKED, 64) == 0)
        errno = 0;
    g->secrets = sbx_secrets_new(&g->loop, o->ended);
    g->trust = sbx_trust_new();
    if (!g->secrets || !g->trust)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (o->ca_cert < 0)
        return SBX_OK;
    rc = sbx_authority_open(o->ca_cert, o->ca_key, &g->authority, err);
    close(o->ca_cert);
    close(o->ca_key);
    /* Reads its configuration file, now that it still can. */
    if (!rc && OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, NULL) != 1)
        rc = sbx_err_set(err, SBX_FAILED, "OpenSSL cannot start: look at its openssl.cnf");
    return rc;
}

static void ending(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
}

static void on_signal(struct sbx_source *s, uint32_t events)
{
    (void)events;
    sbx_container_of(s, struct sbx_gate, signals)->loop.stop = true;
}

/* As events of the loop: a handler could run just before the loop begins to wait, and nobody would wake it. */
static enum sbx_code watch_signals(struct sbx_gate *g, struct sbx_err *err)
{
    sigset_t set;

    ending(&set);
    g->signals = (struct sbx_source){ .fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), .on = on_signal };
    if (g->signals.fd < 0 || sbx_loop_add(&g->loop, &g->signals, EPOLLIN))
        return sbx_err_errno(err, "signalfd");
    return SBX_OK;
}

static enum sbx_code open_gate(struct sbx_gate *g, const struct options *o, struct sbx_err *err)
{
    enum sbx_code rc = sbx_loop_init(&g->loop, err);

    sbx_list_init(&g->pending);
    sbx_list_init(&g->active);
    sbx_list_init(&g->idle);
    sbx_list_init(&g->dead);
    sbx_list_init(&g->idle_dests);
    g->notify.fd = g->signals.fd = -1;
    g->watch.dirfd = o->config_dir;
    g->ended_fd = o->ended;
    g->started_at = g->loop.now;
    g->h2_spare = SBX_GATE_H2_SPARE;
    size_gate(g);
    if (!rc)
        rc = watch_signals(g, err);
    if (!rc)
        rc = sbx_pool_init(&g->pool, err);
    if (!rc)
        rc = sbx_log_init(&g->log, o->log, o->log_dir, &g->loop, err);
    if (!rc)
        rc = sbx_resolver_new(&g->loop, &g->resolver, err);
    if (!rc && !(g->cache = sbx_cache_new()))
        rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!rc)
        rc = sbx_names_open(o->map, o->fresh, &g->names, err);
    if (!rc)
        rc = open_tls(g, o, err);
    if (!rc)
        rc = sbx_gate_reload(g, err); /* GC G1: rules first, doors later */
    if (!rc && o->upstream >= 0) {
        rc = sbx_upstream_read(o->upstream, &g->upstream, err);
        close(o->upstream);
    }
    if (!rc)
        rc = sbx_gate_watch(g, err);
    if (!rc)
        rc = sbx_confine(o->config_dir, o->log_dir, err);
    if (!rc)
        rc = sbx_control_open(g, o->control, err);
    return rc ? rc : sbx_doors_open(g, o->netns, o->pidfd, err);
}

/* Of the gate's own life, between the decisions. */
static void log_life(struct sbx_gate *g, const char *event, const char *reason)
{
    struct sbx_record r = { .event = event, .reason = reason,
                            .duration_ms = g->loop.now - g->started_at };

    sbx_log_event(&g->log, &r);
}

static void close_gate(struct sbx_gate *g)
{
    struct sbx_list *lists[] = { &g->pending, &g->active, &g->idle };

    sbx_inbound_close(g);
    sbx_doors_close(g);
    sbx_control_close(g);
    for (size_t i = 0; i < SBX_ARRAY_LEN(lists); i++)
        while (lists[i]->next && !sbx_list_empty(lists[i]))
            sbx_conn_close(sbx_container_of(lists[i]->next, struct sbx_conn, node), true);
    sbx_gate_free_dead(g);
    sbx_dests_free(g);
    sbx_secrets_free(g->secrets);
    sbx_trust_free(g->trust);
    sbx_authority_free(g->authority);
    sbx_resolver_free(g->resolver);
    sbx_cache_free(g->cache);
    sbx_names_free(g->names);
    log_life(g, "end", g->end_reason);
    sbx_log_release(&g->log);
    sbx_loop_close(&g->loop, &g->notify);
    sbx_loop_close(&g->loop, &g->signals);
    sbx_pool_release(&g->pool);
    sbx_upstream_free(g->upstream);
    sbx_config_unref(g->config);
    sbx_loop_release(&g->loop);
}

static void serve(struct sbx_gate *g)
{
    while (!g->loop.stop) {
        sbx_loop_round(&g->loop);
        sbx_gate_free_dead(g);
    }
    if (!g->end_reason)
        g->end_reason = "terminated";
}

static int run(struct sbx_gate *g, struct options *o)
{
    struct sbx_err err = SBX_ERR_INIT;
    enum sbx_code rc = check_user(&err);

    if (!rc)
        rc = tidy_descriptors(o, &err);
    if (!rc)
        rc = open_gate(g, o, &err);
    if (rc) {
        dprintf(o->status, "error %s\n", err.text);
        return 1;
    }
    dprintf(o->status, "ok\n");
    close(o->status);
    log_life(g, "start", "started");
    serve(g);
    close_gate(g);
    dprintf(o->ended, "gate: %s\n", g->end_reason);
    return 0;
}

int main(int argc, char **argv)
{
    static struct sbx_gate gate;
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    struct options o = { 0 };
    sigset_t set;
    int rc = parse_options(argc, argv, &o);

    if (rc)
        return rc;
    mallopt(M_MMAP_THRESHOLD, SBX_GATE_BUFFER / 2); /* fixed: what a crowd's buffers took goes back to the system */
    /* A name server that is silent holds a thread of the resolver for 4 s, a little longer than anybody waits. */
    setenv("RES_OPTIONS", "timeout:1 attempts:4", 1);
    ending(&set);
    sigprocmask(SIG_BLOCK, &set, NULL); /* before there are threads: none of them takes it */
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGHUP, &ignore, NULL);
    return run(&gate, &o);
}
