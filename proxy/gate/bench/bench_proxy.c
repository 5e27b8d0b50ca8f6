/* Load for an HTTP proxy that speaks CONNECT: tunnels a second, one stream, small round trips. Brings its
 * own origin. Used by bench.py, which runs it against the gate and its peers.
 *
 *     bench_proxy PROXY-ADDRESS PROXY-PORT ORIGIN-ADDRESS ORIGIN-NAME SECONDS tunnels|stream|trips
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ECHO_PORT 7443
#define SOURCE_PORT 7444
#define CLIENTS 8    /* threads that open tunnels */
#define RR_TUNNELS 32
#define RR_BYTES 64
#define BLOCK 262144

static struct sockaddr_in proxy, origin;
static const char *name;
static double seconds;
static atomic_bool stop;
static atomic_ulong count;

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int listen_on(uint16_t port)
{
    struct sockaddr_in a = origin;
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_port = htons(port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 4096))
        die("listen");
    return fd;
}

static void echo_ready(int ep, int listener, int fd)
{
    static char buf[BLOCK];
    struct epoll_event ev = { .events = EPOLLIN };
    int one = 1;
    ssize_t n;

    if (fd == listener) {
        ev.data.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (ev.data.fd < 0)
            return;
        setsockopt(ev.data.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        epoll_ctl(ep, EPOLL_CTL_ADD, ev.data.fd, &ev);
        return;
    }
    n = recv(fd, buf, sizeof(buf), 0);
    if (n <= 0 || send(fd, buf, (size_t)n, MSG_NOSIGNAL) != n)
        close(fd);
}

static void serve_echo(int listener)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.fd = listener }, got[64];
    int ep = epoll_create1(0);

    epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev);
    for (;;) {
        int n = epoll_wait(ep, got, 64, -1);

        for (int i = 0; i < n; i++)
            echo_ready(ep, listener, got[i].data.fd);
    }
}

static void serve_source(int listener)
{
    static char buf[BLOCK];

    for (;;) {
        int fd = accept(listener, NULL, NULL);

        while (send(fd, buf, sizeof(buf), MSG_NOSIGNAL) > 0)
            ;
        close(fd);
    }
}

static int tunnel(uint16_t port)
{
    char text[512];
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int len = snprintf(text, sizeof(text), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", name, port,
                       name, port);
    size_t got = 0;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (struct sockaddr *)&proxy, sizeof(proxy)) ||
        send(fd, text, (size_t)len, MSG_NOSIGNAL) != len)
        die("connect to the proxy");
    do {
        ssize_t n = recv(fd, text + got, got < 256 ? 1 : sizeof(text) - 1 - got, 0);

        if (n <= 0)
            die("answer of the proxy");
        got += (size_t)n;
        text[got] = '\0';
    } while (got < sizeof(text) - 1 && !strstr(text, "\r\n\r\n"));
    if (strncmp(text + 8, " 200", 4) != 0) {
        fprintf(stderr, "%s\n", text);
        exit(1);
    }
    return fd;
}

static void *open_tunnels(void *arg)
{
    struct linger now_ = { 1, 0 };

    while (!stop) {
        int fd = tunnel(ECHO_PORT);
        char c = 'x';

        if (send(fd, &c, 1, MSG_NOSIGNAL) != 1 || recv(fd, &c, 1, 0) != 1)
            die("tunnel");
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now_, sizeof(now_));
        close(fd);
        count++;
    }
    return arg;
}

static void *round_trips(void *arg)
{
    int fds[RR_TUNNELS / 4];
    char buf[RR_BYTES] = { 0 };
    size_t n = sizeof(fds) / sizeof(fds[0]);

    for (size_t i = 0; i < n; i++)
        fds[i] = tunnel(ECHO_PORT);
    while (!stop) {
        for (size_t i = 0; i < n; i++)
            if (send(fds[i], buf, sizeof(buf), MSG_NOSIGNAL) != sizeof(buf))
                die("round trip");
        for (size_t i = 0; i < n; i++)
            if (recv(fds[i], buf, sizeof(buf), MSG_WAITALL) != sizeof(buf))
                die("round trip");
        count += n;
    }
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
    return arg;
}

static double run_threads(unsigned n, void *(*run)(void *))
{
    pthread_t threads[CLIENTS];
    double start = now();

    stop = false;
    count = 0;
    for (unsigned i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    usleep((useconds_t)(seconds * 1e6));
    stop = true;
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return (double)count / (now() - start);
}

static double stream(void)
{
    static char buf[BLOCK];
    int fd = tunnel(SOURCE_PORT);
    double start = now(), total = 0;

    while (now() - start < seconds) {
        ssize_t n = recv(fd, buf, sizeof(buf), 0);

        if (n <= 0)
            die("stream");
        total += (double)n;
    }
    total /= now() - start;
    close(fd);
    return total / 1073741824.0;
}

static pid_t start(void (*serve)(int), uint16_t port)
{
    int fd = listen_on(port);
    pid_t pid = fork();

    if (pid == 0)
        serve(fd);
    close(fd);
    return pid;
}

int main(int argc, char **argv)
{
    pid_t servers[2];

    if (argc != 7)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    proxy = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2])) };
    origin.sin_family = AF_INET;
    if (!inet_pton(AF_INET, argv[1], &proxy.sin_addr) || !inet_pton(AF_INET, argv[3], &origin.sin_addr))
        return 2;
    name = argv[4];
    seconds = atof(argv[5]);
    servers[0] = start(serve_echo, ECHO_PORT);
    servers[1] = start(serve_source, SOURCE_PORT);
    if (strcmp(argv[6], "tunnels") == 0)
        printf("%.0f\n", run_threads(CLIENTS, open_tunnels));
    else if (strcmp(argv[6], "stream") == 0)
        printf("%.2f\n", stream());
    else
        printf("%.0f\n", run_threads(4, round_trips));
    kill(servers[0], SIGKILL);
    kill(servers[1], SIGKILL);
    return 0;
}
