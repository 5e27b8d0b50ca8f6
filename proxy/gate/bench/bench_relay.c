/* The limit to measure against: a relay for CONNECT that only copies. No rules, no log, no resolver, no time
 * limits; a name is its number (net.h). One thread, level-triggered, one buffer for all.
 *
 *     bench_relay ADDRESS PORT | fd N      prints "ready", runs until it is killed
 */
#include "net.h"

struct half {
    int fd;
    struct half *other; /* NULL: still reading the CONNECT, or the other one is gone */
    char *rest;         /* read from the other side, not taken yet by this one */
    size_t off, len, got;
    char head[256];
};

static int ep;
static char buf[BENCH_BLOCK];

static void want(struct half *h, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.ptr = h };

    epoll_ctl(ep, EPOLL_CTL_MOD, h->fd, &ev);
}

static struct half *add(int fd, uint32_t events)
{
    struct half *h = calloc(1, sizeof(*h));
    struct epoll_event ev = { .events = events, .data.ptr = h };
    int one = 1;

    if (!h)
        bench_die("memory");
    h->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
    return h;
}

static struct half *dead[512];
static unsigned ndead;

static void end(struct half *h)
{
    for (struct half *o = h->other; h; h = o, o = NULL) {
        bench_reset(h->fd);
        free(h->rest);
        h->fd = -1;
        dead[ndead++] = h; /* an event for it may still be in hand */
    }
}

static void dial(struct half *h)
{
    static const char ok[] = "HTTP/1.1 200 OK\r\n\r\n";
    unsigned number = 0, port = 0;
    struct sockaddr_in to = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (sscanf(h->head, "CONNECT b%u.example.com:%u ", &number, &port) != 2)
        exit(3);
    to.sin_port = htons((uint16_t)port);
    to.sin_addr.s_addr = htonl(BENCH_NET + BENCH_FIRST + number);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to))) { /* on one machine it is done at once */
        perror("relay: connect");
        close(fd);
        end(h);
        return;
    }
    h->other = add(fd, EPOLLIN);
    h->other->other = h;
    if (send(h->fd, ok, sizeof(ok) - 1, MSG_NOSIGNAL) < 0)
        end(h);
}

static void flush(struct half *h)
{
    ssize_t n = send(h->fd, h->rest + h->off, h->len, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n > 0) {
        h->off += (size_t)n;
        h->len -= (size_t)n;
    } else if (errno != EAGAIN) {
        end(h);
        return;
    }
    if (h->len)
        return;
    free(h->rest);
    h->rest = NULL;
    want(h, EPOLLIN);
    want(h->other, EPOLLIN);
}

static void copy(struct half *h)
{
    ssize_t n = recv(h->fd, buf, sizeof(buf), MSG_DONTWAIT), done;
    struct half *to = h->other;

    if (n <= 0) {
        end(h);
        return;
    }
    done = send(to->fd, buf, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done == n)
        return;
    if (done < 0 && errno != EAGAIN) {
        end(h);
        return;
    }
    done = done < 0 ? 0 : done;
    to->rest = malloc((size_t)(n - done));
    if (!to->rest)
        bench_die("memory");
    memcpy(to->rest, buf + done, (size_t)(n - done));
    to->off = 0;
    to->len = (size_t)(n - done);
    want(h, 0);
    want(to, EPOLLOUT);
}

static void head(struct half *h)
{
    ssize_t n = recv(h->fd, h->head + h->got, sizeof(h->head) - 1 - h->got, 0);

    if (n <= 0) {
        end(h);
        return;
    }
    h->got += (size_t)n;
    if (memmem(h->head, h->got, "\r\n\r\n", 4))
        dial(h);
}

int main(int argc, char **argv)
{
    struct epoll_event got[128], ev = { .events = EPOLLIN };
    struct sockaddr_in a;
    int listener;

    if (argc != 3)
        return 2;
    bench_all_files();
    ep = epoll_create1(EPOLL_CLOEXEC);
    if (strcmp(argv[1], "fd") == 0) {
        listener = atoi(argv[2]);
    } else {
        a = bench_address(argv[1], argv[2]);
        listener = bench_listen(&a, 4096);
    }
    epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev);
    puts("ready");
    fflush(stdout);
    for (;;) {
        int n = epoll_wait(ep, got, 128, -1);

        for (int i = 0; i < n; i++) {
            struct half *h = got[i].data.ptr;
            int fd = h ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);

            if (fd >= 0)
                add(fd, EPOLLIN);
            else if (h && h->fd >= 0 && h->rest)
                flush(h);
            else if (h && h->fd >= 0 && h->other)
                copy(h);
            else if (h && h->fd >= 0)
                head(h);
        }
        while (ndead)
            free(dead[--ndead]);
    }
}
