/* The DNS doors. See dns.h. */
#include "dns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "dnsmsg.h"

#define CONNS_MAX 64      /* TCP at once; resolvers ask by UDP first */
#define ROUND_QUERIES 64  /* datagrams before others get their turn */

struct dns_conn {
    struct sbx_dns *dns;
    struct sbx_list node;
    struct sbx_source source;
    struct sbx_timer timer;
    unsigned queries;
    size_t len;
    uint8_t buf[2 + SBX_DNS_QUERY_MAX];
};

struct sbx_dns {
    struct sbx_gate *gate;
    struct sbx_source udp;
    struct sbx_list conns;
    unsigned nconns;
};

static void on_udp(struct sbx_source *s, uint32_t events)
{
    struct sbx_dns *d = sbx_container_of(s, struct sbx_dns, udp);
    uint8_t msg[SBX_DNS_QUERY_MAX + 1], out[SBX_DNS_REPLY_MAX];

    (void)events;
    for (unsigned i = 0; i < ROUND_QUERIES; i++) {
        struct sockaddr_storage from;
        socklen_t size = sizeof(from);
        ssize_t n = recvfrom(s->fd, msg, sizeof(msg), MSG_DONTWAIT, (struct sockaddr *)&from, &size);
        size_t len;

        if (n < 0)
            return;
        len = sbx_dns_answer(d->gate, msg, (size_t)n, out);
        if (len && sendto(s->fd, out, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from,
                          size) < 0)
            continue; /* a full queue loses answers, as DNS over UDP may */
    }
}

static void close_conn(struct dns_conn *c)
{
    sbx_loop_close(&c->dns->gate->loop, &c->source);
    sbx_loop_disarm(&c->dns->gate->loop, &c->timer);
    sbx_list_remove(&c->node);
    c->dns->nconns--;
    free(c);
}

static void on_conn_timer(struct sbx_timer *t)
{
    close_conn(sbx_container_of(t, struct dns_conn, timer));
}

/* Answer the first whole query of the buffer. 1: done, 0: incomplete, -1: close. */
static int answer_first(struct dns_conn *c)
{
    uint8_t out[2 + SBX_DNS_REPLY_MAX];
    size_t want, n;

    if (c->len < 2)
        return 0;
    want = (size_t)c->buf[0] << 8 | c->buf[1];
    if (want > SBX_DNS_QUERY_MAX || ++c->queries > SBX_GATE_DNS_QUERIES)
        return -1;
    if (c->len < 2 + want) {
        c->queries--;
        return 0;
    }
    n = sbx_dns_answer(c->dns->gate, c->buf + 2, want, out + 2);
    memmove(c->buf, c->buf + 2 + want, c->len - 2 - want);
    c->len -= 2 + want;
    out[0] = (uint8_t)(n >> 8);
    out[1] = (uint8_t)n;
    if (!n || send(c->source.fd, out, n + 2, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)(n + 2))
        return -1; /* 64 small answers fit any socket buffer; who does not read loses them */
    return 1;
}

static void on_conn(struct sbx_source *s, uint32_t events)
{
    struct dns_conn *c = sbx_container_of(s, struct dns_conn, source);
    ssize_t n = recv(s->fd, c->buf + c->len, sizeof(c->buf) - c->len, MSG_DONTWAIT);
    int rc = 0;

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        c->len += (size_t)n;
        do
            rc = answer_first(c);
        while (rc > 0);
    }
    if (n <= 0 || rc < 0)
        close_conn(c);
}

void sbx_dns_accept(struct sbx_dns *d, int fd)
{
    struct dns_conn *c = d->nconns < CONNS_MAX ? calloc(1, sizeof(*c)) : NULL;

    if (!c) {
        close(fd);
        return;
    }
    c->dns = d;
    c->source = (struct sbx_source){ .fd = fd, .on = on_conn };
    c->timer.on = on_conn_timer;
    sbx_list_append(&d->conns, &c->node);
    d->nconns++;
    if (sbx_loop_add(&d->gate->loop, &c->source, EPOLLIN) ||
        sbx_loop_arm(&d->gate->loop, &c->timer, SBX_GATE_HEAD_MS))
        close_conn(c);
}

enum sbx_code sbx_dns_open(struct sbx_gate *g, int udp_fd, struct sbx_dns **ret,
                           struct sbx_err *err)
{
    struct sbx_dns *d = calloc(1, sizeof(*d));

    if (!d) {
        if (udp_fd >= 0)
            close(udp_fd);
        return sbx_err_set(err, SBX_NO_MEMORY, "DNS door: out of memory");
    }
    d->gate = g;
    d->udp = (struct sbx_source){ .fd = udp_fd, .on = on_udp };
    sbx_list_init(&d->conns);
    if (udp_fd >= 0 && sbx_loop_add(&g->loop, &d->udp, EPOLLIN)) {
        enum sbx_code rc = sbx_err_errno(err, "DNS door");

        sbx_dns_close(d);
        return rc;
    }
    *ret = d;
    return SBX_OK;
}

void sbx_dns_close(struct sbx_dns *d)
{
    if (!d)
        return;
    while (!sbx_list_empty(&d->conns))
        close_conn(sbx_container_of(d->conns.next, struct dns_conn, node));
    sbx_loop_close(&d->gate->loop, &d->udp);
    free(d);
}
