/* Opens tunnels and runs a mode. See bench_client.h.
 *
 *     bench_client PROXY-ADDRESS PROXY-PORT MODE SECONDS TUNNELS [RATE]      RATE: a second, of what the mode counts
 *
 * Prints one line: what was counted, the same a second, p50, p99 and longest in us, failed tunnels. The mode
 * "hold" prints "ready" first and ends with its standard input.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "bench_client.h"

#define TICK_MS 1
#define SAMPLES_MAX (1u << 24)

void client_sample(struct client *c, uint64_t began_ns)
{
    uint64_t took = (bench_now_ns() - began_ns) / 100;

    if (!c->mode->timed || c->nsamples == SAMPLES_MAX)
        return;
    if (c->nsamples == c->samples_cap) {
        c->samples_cap = c->samples_cap ? c->samples_cap * 2 : 65536;
        c->samples = realloc(c->samples, c->samples_cap * sizeof(*c->samples));
        if (!c->samples)
            bench_die("memory");
    }
    c->samples[c->nsamples++] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
}

void flow_close(struct client *c, struct flow *f)
{
    if (f->fd < 0)
        return;
    bench_reset(f->fd);
    f->fd = -1;
    if (f->state == FLOW_OPEN)
        c->open--;
    f->state = FLOW_NONE;
}

static void broke(struct client *c, struct flow *f)
{
    flow_close(c, f);
    c->mode->gone(c, f);
}

void flow_open(struct client *c, struct flow *f)
{
    struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = f };

    f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (f->fd < 0)
        bench_die("socket");
    if (c->mode->small)
        bench_small(f->fd);
    f->state = FLOW_CONNECTING;
    f->number = c->next_number++ % BENCH_NAMES;
    f->began = bench_now_ns();
    f->got = 0;
    if (connect(f->fd, (struct sockaddr *)&c->proxy, sizeof(c->proxy)) && errno != EINPROGRESS)
        bench_die("connect to the proxy");
    if (epoll_ctl(c->ep, EPOLL_CTL_ADD, f->fd, &ev))
        bench_die("epoll");
}

static void ask(struct client *c, struct flow *f)
{
    char text[160];
    int len = snprintf(text, sizeof(text),
                       "CONNECT b%u.example.com:%u HTTP/1.1\r\nHost: b%u.example.com:%u\r\n\r\n",
                       f->number, c->mode->port, f->number, c->mode->port);

    f->state = FLOW_ASKED;
    if (send(f->fd, text, (size_t)len, MSG_NOSIGNAL) != len)
        broke(c, f);
}

/* The answer's head comes in one piece, or another one is looked at the next time. */
static void answered(struct client *c, struct flow *f)
{
    char text[1024];
    int one = 1;
    ssize_t n = recv(f->fd, text, sizeof(text), MSG_PEEK);
    char *end;

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0 || (n > 12 && memcmp(text + 8, " 200", 4) != 0)) {
        broke(c, f);
        return;
    }
    end = memmem(text, (size_t)n, "\r\n\r\n", 4);
    if (!end)
        return;
    if (recv(f->fd, text, (size_t)(end + 4 - text), 0) < 0)
        bench_die("recv");
    setsockopt(f->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    f->state = FLOW_OPEN;
    c->open++;
    c->mode->opened(c, f);
}

static void on_event(struct client *c, struct flow *f, uint32_t events)
{
    if (f->fd < 0)
        return;
    if (f->state == FLOW_CONNECTING && (events & (EPOLLERR | EPOLLHUP)))
        broke(c, f);
    else if (f->state == FLOW_CONNECTING && (events & EPOLLOUT))
        ask(c, f);
    else if (f->state == FLOW_ASKED)
        answered(c, f);
    if (f->fd >= 0 && f->state == FLOW_OPEN)
        c->mode->data(c, f);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static double quantile(const struct client *c, double q)
{
    return c->nsamples ? (double)c->samples[(size_t)(q * (double)(c->nsamples - 1))] / 10 : 0;
}

static void report(struct client *c, double seconds)
{
    if (c->nsamples)
        qsort(c->samples, c->nsamples, sizeof(*c->samples), by_size);
    printf("%llu %.4g %.1f %.1f %.1f %llu\n", (unsigned long long)c->count, (double)c->count / seconds,
           quantile(c, 0.5), quantile(c, 0.99), quantile(c, 1), (unsigned long long)c->failed);
}

static bool over(struct client *c, uint64_t now)
{
    struct pollfd in = { .fd = 0, .events = POLLIN };

    if (!c->waits)
        return now >= c->ends_ns;
    return poll(&in, 1, 0) > 0;
}

static void run(struct client *c)
{
    struct epoll_event got[128];
    bool told = false;
    uint64_t now = bench_now_ns();

    while (!over(c, now)) {
        int n = epoll_wait(c->ep, got, 128, TICK_MS);

        for (int i = 0; i < n; i++)
            on_event(c, got[i].data.ptr, got[i].events);
        now = bench_now_ns();
        if (c->mode->tick && now - c->tick_ns >= TICK_MS * 1000000u) {
            c->tick_ns = now;
            c->mode->tick(c, now);
        }
        if (c->waits && !told && c->count + c->failed >= c->nflows) {
            told = true;
            printf("ready %u\n", c->open);
            fflush(stdout);
        }
    }
}

static const struct mode *find(const char *name)
{
    for (const struct mode *const *m = bench_modes; *m; m++)
        if (strcmp((*m)->name, name) == 0)
            return *m;
    fprintf(stderr, "no mode %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    struct client c = { 0 };
    uint64_t start;

    if (argc < 6)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    bench_all_files();
    bench_smooth();
    c.proxy = bench_address(argv[1], argv[2]);
    c.mode = find(argv[3]);
    c.waits = c.mode->waits;
    c.nflows = (unsigned)atoi(argv[5]);
    c.rate = argc > 6 ? (uint64_t)atoi(argv[6]) : 0;
    c.ep = epoll_create1(EPOLL_CLOEXEC);
    c.flows = calloc(c.nflows, sizeof(*c.flows));
    if (!c.flows || c.ep < 0)
        bench_die("memory");
    start = bench_now_ns();
    c.began_ns = start;
    c.ends_ns = start + (uint64_t)(atof(argv[4]) * 1e9);
    for (unsigned i = 0; i < c.nflows; i++) {
        c.flows[i].index = i;
        c.flows[i].fd = -1;
        flow_open(&c, &c.flows[i]);
    }
    run(&c);
    report(&c, (double)(bench_now_ns() - start) / 1e9);
    for (unsigned i = 0; i < c.nflows; i++)
        flow_close(&c, &c.flows[i]);
    free(c.flows);
    free(c.samples);
    return 0;
}
