/**
 * @file
 * What the programs of the benchmark share. The origin's ports, and the names of its destinations:
 * "bN.example.com" is 203.0.113.(BENCH_FIRST + N), so that destinations vary and nobody has to resolve.
 */
#ifndef BENCH_NET_H
#define BENCH_NET_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BENCH_ECHO 7443   /* sends back what comes */
#define BENCH_SOURCE 7444 /* sends without end */
#define BENCH_STALL 7445  /* accepts and never reads */
#define BENCH_RESET 7446  /* reads once, then resets */
#define BENCH_DEAF 7447   /* never accepts: the queue of its listener is full */
#define BENCH_LONE 7448   /* as ECHO, by a program of its own that no load keeps busy */
#define BENCH_NET 0xcb007100u /* 203.0.113.0 */
#define BENCH_FIRST 100
#define BENCH_NAMES 32    /* destinations */
#define BENCH_BLOCK 262144 /* bytes of one read or write */

static inline uint64_t bench_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void bench_die(const char *what)
{
    perror(what);
    exit(1);
}

static inline void bench_all_files(void)
{
    struct rlimit r;

    if (!getrlimit(RLIMIT_NOFILE, &r)) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

/* A crowd whose programs share few processors would come in bursts of the scheduler's 3 ms: BENCH_SLICE_US makes that shorter.
 * Kernels before 6.12 take no notice. */
static inline void bench_smooth(void)
{
    const char *us = getenv("BENCH_SLICE_US");
    struct { /* the first version of the kernel's struct sched_attr */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } a = { .size = sizeof(a) };

    if (!us || syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0))
        return;
    a.runtime = (uint64_t)atoi(us) * 1000;
    if (!a.policy && syscall(SYS_sched_setattr, 0, &a, 0)) /* who never waits has another policy */
        perror("slice");
}

static inline struct sockaddr_in bench_address(const char *text, const char *port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };

    if (!inet_pton(AF_INET, text, &a.sin_addr))
        exit(2);
    return a;
}

static inline int bench_listen(const struct sockaddr_in *a, int backlog)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (const struct sockaddr *)a, sizeof(*a)) || listen(fd, backlog))
        bench_die("listen");
    return fd;
}

/* What the programs of a load take of the kernel's memory for TCP, which is one for the whole machine. */
static inline void bench_small(int fd)
{
    int bytes = 65536;

    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

static inline void bench_reset(int fd)
{
    struct linger now = { 1, 0 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
}

#endif
