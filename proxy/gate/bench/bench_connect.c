/* A way to a proxy for clients that send no CONNECT: each connection to a port of the loopback goes on through a
 * tunnel of the proxy. Two threads a connection.
 *
 *     bench_connect PORT PROXY PROXY_PORT HOST:PORT */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct way {
    int from, to;
};

static struct sockaddr_in proxy = { .sin_family = AF_INET };
static char ask[512];

static void *copy(void *arg)
{
    struct way *w = arg;
    char buf[65536];
    ssize_t n;

    while ((n = read(w->from, buf, sizeof(buf))) > 0)
        if (write(w->to, buf, (size_t)n) != n)
            break;
    shutdown(w->from, SHUT_RD);
    shutdown(w->to, SHUT_WR);
    free(w);
    return NULL;
}

/* Read the answer up to its empty line, and not a byte more. */
static bool is_open(int fd)
{
    char head[4096];
    size_t n = 0;

    while (n < sizeof(head) && read(fd, head + n, 1) == 1)
        if (++n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0)
            return n > 12 && memcmp(head + 9, "200", 3) == 0;
    return false;
}

static void *carry(void *arg)
{
    struct way *up = arg, *down = malloc(sizeof(*down));
    int one = 1, client = up->from, fd = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;

    up->to = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (down && !connect(fd, (struct sockaddr *)&proxy, sizeof(proxy)) &&
        write(fd, ask, strlen(ask)) == (ssize_t)strlen(ask) && is_open(fd)) {
        *down = (struct way){ fd, client };
        if (!pthread_create(&thread, NULL, copy, down)) {
            copy(up);
            pthread_join(thread, NULL);
        }
    }
    close(client);
    close(fd);
    return NULL;
}

int main(int argc, char **argv)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

    if (argc != 5 || inet_pton(AF_INET, argv[2], &proxy.sin_addr) != 1) {
        fprintf(stderr, "usage: bench_connect PORT PROXY PROXY_PORT HOST:PORT\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    here.sin_port = htons((uint16_t)atoi(argv[1]));
    proxy.sin_port = htons((uint16_t)atoi(argv[3]));
    snprintf(ask, sizeof(ask), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", argv[4], argv[4]);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&here, sizeof(here)) || listen(fd, 64)) {
        perror("bench_connect");
        return 1;
    }
    for (;;) {
        struct way *w = calloc(1, sizeof(*w));
        pthread_t thread;

        if (!w || (w->from = accept(fd, NULL, NULL)) < 0 || pthread_create(&thread, NULL, carry, w))
            return 1;
        pthread_detach(thread);
    }
}
