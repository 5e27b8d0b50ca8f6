/* The sandbox's doors: taken from the helper by descriptor, told apart by destination. See gate.h and
 * docs/gate-config.md, 3. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "dns.h"
#include "fds.h"

#define DOORS_MAX SBX_FDS_MAX /* listeners; the helper hands over one a family */
#define ACCEPTS 4           /* connections of one door before others get their turn: 40 us */
#define ACCEPTS_MAX 64      /* the same as long as its queue, which the kernel bounds, is not empty */
#define HELPER_MS 10000     /* the helper answers at once or is stuck */
#define PROXY_PORT 3128
#define DNS_PORT 53

struct listener {
    struct sbx_source source;
    struct sbx_doors *doors;
    unsigned accepts; /* that it may take now */
};

struct sbx_doors {
    struct sbx_gate *gate;
    struct sbx_source helper, container;
    struct listener listeners[DOORS_MAX];
    unsigned n;
    struct sbx_dns *dns;
    struct sbx_timer paused; /* out of descriptors: look again later */
};

static void on_helper(struct sbx_source *s, uint32_t events)
{
    struct sbx_doors *d = sbx_container_of(s, struct sbx_doors, helper);
    char buf[256];
    ssize_t n = recv(s->fd, buf, sizeof(buf), MSG_DONTWAIT);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && !(events & (EPOLLHUP | EPOLLERR)))
        return; /* nothing was asked; only the end means something */
    d->gate->end_reason = "helper gone";
    d->gate->loop.stop = true;
}

static void on_container(struct sbx_source *s, uint32_t events)
{
    struct sbx_doors *d = sbx_container_of(s, struct sbx_doors, container);

    (void)events;
    d->gate->end_reason = "container ended";
    d->gate->loop.stop = true;
}

static void destination(const struct sockaddr_storage *ss, struct in6_addr *a, uint16_t *port)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)ss;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)ss;

    memset(a, 0, sizeof(*a));
    if (ss->ss_family == AF_INET) {
        a->s6_addr[10] = a->s6_addr[11] = 0xff;
        memcpy(&a->s6_addr[12], &v4->sin_addr, 4);
        *port = ntohs(v4->sin_port);
    } else {
        *a = v6->sin6_addr;
        *port = ntohs(v6->sin6_port);
    }
}

static bool is_door(const struct in6_addr *a)
{
    uint32_t v4;

    memcpy(&v4, &a->s6_addr[12], 4);
    return IN6_IS_ADDR_V4MAPPED(a) && ntohl(v4) == SBX_GATE_ADDRESS;
}

static void take(struct sbx_doors *d, int fd)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);
    struct in6_addr a;
    uint16_t port;

    if (getsockname(fd, (struct sockaddr *)&ss, &len)) {
        close(fd);
        return;
    }
    destination(&ss, &a, &port);
    if (is_door(&a) && port == PROXY_PORT)
        sbx_conn_accept(d->gate, fd);
    else if (is_door(&a) && port == DNS_PORT)
        sbx_dns_accept(d->dns, fd);
    else
        sbx_transparent_accept(d->gate, fd, &a, port);
}

static void watch_listeners(struct sbx_doors *d, uint32_t events)
{
    for (unsigned i = 0; i < d->n; i++) {
        struct epoll_event ev = { .events = events, .data.ptr = &d->listeners[i].source };

        epoll_ctl(d->gate->loop.epfd, EPOLL_CTL_MOD, d->listeners[i].source.fd, &ev);
    }
}

static void on_paused(struct sbx_timer *t)
{
    watch_listeners(sbx_container_of(t, struct sbx_doors, paused), EPOLLIN);
}

static void on_listener(struct sbx_source *s, uint32_t events)
{
    struct listener *l = sbx_container_of(s, struct listener, source);
    struct sbx_doors *d = l->doors;
    unsigned may = l->accepts;

    (void)events;
    l->accepts = may < ACCEPTS_MAX ? 2 * may : may;
    for (unsigned i = 0; i < may; i++) {
        int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            take(d, fd);
            continue;
        }
        l->accepts = ACCEPTS;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            sbx_conn_shed(d->gate);
            watch_listeners(d, 0);
            sbx_loop_arm(&d->gate->loop, &d->paused, 100);
        }
        if (errno != ECONNABORTED && errno != EINTR)
            return;
    }
}

/* Keep the descriptors of an answer `ok tcp4 tcp6 udp4`: its words name them in order. */
static enum sbx_code keep_doors(struct sbx_doors *d, char *text, const int *fds, unsigned nfds,
                                int *ret_udp, struct sbx_err *err)
{
    char *save = NULL, *word;
    unsigned i = 0;

    text[strcspn(text, "\n")] = '\0';
    if (strncmp(text, "ok ", 3) != 0)
        return sbx_err_set(err, SBX_FAILED, "helper refuses the doors: %.200s", text);
    word = strtok_r(text, " ", &save);
    while ((word = strtok_r(NULL, " \n", &save))) {
        if (i == nfds)
            return sbx_err_set(err, SBX_SYNTAX, "helper sent %u doors and names more", nfds);
        if (strncmp(word, "tcp", 3) == 0 && d->n < DOORS_MAX)
            d->listeners[d->n++] = (struct listener){ { .fd = fds[i++], .on = on_listener }, d, ACCEPTS };
        else if (strncmp(word, "udp", 3) == 0 && *ret_udp < 0)
            *ret_udp = fds[i++];
        else
            return sbx_err_set(err, SBX_SYNTAX, "helper sent a door \"%.32s\"", word);
    }
    if (i != nfds || !d->n)
        return sbx_err_set(err, SBX_SYNTAX, "helper sent %u doors and names %u", nfds, i);
    return SBX_OK;
}

static enum sbx_code ask_helper(struct sbx_doors *d, int netns_fd, int *ret_udp,
                                struct sbx_err *err)
{
    struct pollfd p = { netns_fd, POLLIN, 0 };
    char text[256];
    int fds[DOORS_MAX];
    unsigned nfds;
    ssize_t n;

    if (send(netns_fd, "doors", 5, MSG_NOSIGNAL) != 5)
        return sbx_err_errno(err, "ask the helper for the doors");
    if (poll(&p, 1, HELPER_MS) != 1)
        return sbx_err_set(err, SBX_TIMEOUT, "the helper does not answer");
    n = sbx_fds_receive(netns_fd, text, sizeof(text) - 1, fds, DOORS_MAX, &nfds);
    if (n <= 0)
        return sbx_err_set(err, SBX_UNAVAILABLE, "the helper closed the connection");
    text[n] = '\0';
    return keep_doors(d, text, fds, nfds, ret_udp, err);
}

static enum sbx_code add_sources(struct sbx_gate *g, struct sbx_doors *d, struct sbx_err *err)
{
    if (sbx_loop_add(&g->loop, &d->helper, EPOLLIN | EPOLLRDHUP))
        return sbx_err_errno(err, "watch the helper");
    if (d->container.fd >= 0 && sbx_loop_add(&g->loop, &d->container, EPOLLIN))
        return sbx_err_errno(err, "watch the container");
    for (unsigned i = 0; i < d->n; i++) {
        int fd = d->listeners[i].source.fd;

        sbx_socket_tune(fd);
        sbx_socket_probe(fd);
        if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ||
            sbx_loop_add(&g->loop, &d->listeners[i].source, EPOLLIN))
            return sbx_err_errno(err, "door %u", i);
    }
    return SBX_OK;
}

enum sbx_code sbx_doors_open(struct sbx_gate *g, int netns_fd, int pidfd, struct sbx_err *err)
{
    struct sbx_doors *d = calloc(1, sizeof(*d));
    int udp = -1;
    enum sbx_code rc;

    if (!d)
        return sbx_err_set(err, SBX_NO_MEMORY, "doors: out of memory");
    d->gate = g;
    d->helper = (struct sbx_source){ .fd = netns_fd, .on = on_helper };
    d->container = (struct sbx_source){ .fd = pidfd, .on = on_container };
    d->paused.on = on_paused;
    g->doors = d; /* sbx_doors_close() cleans up whatever there is */
    rc = ask_helper(d, netns_fd, &udp, err);
    if (rc)
        return rc;
    rc = sbx_dns_open(g, udp, &d->dns, err);
    return rc ? rc : add_sources(g, d, err);
}

void sbx_doors_close(struct sbx_gate *g)
{
    struct sbx_doors *d = g->doors;

    if (!d)
        return;
    for (unsigned i = 0; i < d->n; i++)
        sbx_loop_close(&g->loop, &d->listeners[i].source);
    sbx_dns_close(d->dns);
    sbx_loop_close(&g->loop, &d->container);
    sbx_loop_close(&g->loop, &d->helper);
    sbx_loop_disarm(&g->loop, &d->paused);
    free(d);
    g->doors = NULL;
}
