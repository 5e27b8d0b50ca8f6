/* The servers of the benchmark, in one thread: see the ports in net.h. On every address of its namespace.
 *
 *     bench_origin [small|lone]      prints "ready", runs until it is killed; small: with small buffers; lone: only that port
 */
#include "net.h"

enum kind { ECHO, SOURCE, STALL, RESET, LISTENER = 8 };

static bool small;

/* An event carries descriptor and kind: no memory a connection. */
static uint64_t tag(int fd, unsigned kind) { return (uint64_t)kind << 32 | (uint32_t)fd; }

static void watch(int ep, int fd, unsigned kind, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.u64 = tag(fd, kind) };

    if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
        close(fd);
}

static void take(int ep, int listener, unsigned kind)
{
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (small)
        bench_small(fd);
    watch(ep, fd, kind, kind == SOURCE ? EPOLLOUT : kind == STALL ? 0 : EPOLLIN);
}

static void serve(int fd, unsigned kind, uint32_t events)
{
    static char buf[BENCH_BLOCK];
    ssize_t n;

    if (kind == SOURCE) {
        n = send(fd, buf, sizeof(buf), MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            close(fd);
        return;
    }
    n = kind == STALL ? 0 : recv(fd, buf, sizeof(buf), 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (kind == RESET && n > 0)
        bench_reset(fd);
    else if (n <= 0 || (events & EPOLLERR) || send(fd, buf, (size_t)n, MSG_NOSIGNAL) != n)
        close(fd);
}

/* A listener whose queue is full: from then on the kernel drops who wants to connect. */
static void go_deaf(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(BENCH_DEAF) };

    bench_listen(&to, 0);
    to.sin_addr.s_addr = htonl(BENCH_NET + BENCH_FIRST);
    for (int i = 0; i < 2; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (connect(fd, (struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS)
            bench_die("connect to the deaf port");
    }
}

int main(int argc, char **argv)
{
    static const uint16_t ports[] = { BENCH_ECHO, BENCH_SOURCE, BENCH_STALL, BENCH_RESET };
    bool lone = argc > 1 && strcmp(argv[1], "lone") == 0;
    struct epoll_event got[256];
    int ep = epoll_create1(EPOLL_CLOEXEC);

    bench_all_files();
    bench_smooth();
    small = argc > 1 && strcmp(argv[1], "small") == 0;
    for (unsigned kind = ECHO; kind <= (lone ? ECHO : RESET); kind++) {
        struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(lone ? BENCH_LONE : ports[kind]) };

        watch(ep, bench_listen(&a, 4096), kind | LISTENER, EPOLLIN);
    }
    if (!lone)
        go_deaf();
    puts("ready");
    fflush(stdout);
    for (;;) {
        int n = epoll_wait(ep, got, 256, -1);

        for (int i = 0; i < n; i++) {
            int fd = (int)(uint32_t)got[i].data.u64;
            unsigned kind = (unsigned)(got[i].data.u64 >> 32);

            if (kind & LISTENER)
                take(ep, fd, kind & ~(unsigned)LISTENER);
            else
                serve(fd, kind, got[i].events);
        }
    }
}
