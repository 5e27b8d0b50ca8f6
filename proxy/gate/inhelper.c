/* Sockets of the inside, asked of the helper one after another. See inbound_int.h. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fds.h"
#include "inbound_int.h"

struct sbx_ask {
    struct sbx_list node;
    sbx_ask_fn *fn; /* NULL: nobody waits any more, but the answer is still to come */
    void *ctx;
};

static void answer(struct sbx_inbound *in, struct sbx_ask *a, int fd)
{
    sbx_ask_fn *fn = a->fn;
    void *ctx = a->ctx;

    sbx_list_remove(&a->node);
    in->n_asks--;
    free(a);
    if (fn)
        fn(ctx, fd);
    else if (fd >= 0)
        close(fd);
}

struct sbx_ask *sbx_inside_ask(struct sbx_inbound *in, const char *kind, sbx_ask_fn *fn, void *ctx)
{
    char text[32] = "socket ";
    struct sbx_ask *a = in->helper.fd >= 0 ? calloc(1, sizeof(*a)) : NULL;

    if (!a)
        return NULL;
    strcat(text, kind); /* one of four words */
    if (send(in->helper.fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        free(a);
        return NULL;
    }
    a->fn = fn;
    a->ctx = ctx;
    sbx_list_append(&in->asks, &a->node);
    in->n_asks++;
    return a;
}

void sbx_inside_forget(struct sbx_ask *a)
{
    if (a)
        a->fn = NULL;
}

void sbx_inside_close(struct sbx_inbound *in)
{
    sbx_loop_close(&in->gate->loop, &in->helper);
    while (!sbx_list_empty(&in->asks))
        answer(in, sbx_container_of(in->asks.next, struct sbx_ask, node), -1);
}

static void on_helper(struct sbx_source *s, uint32_t events)
{
    struct sbx_inbound *in = sbx_container_of(s, struct sbx_inbound, helper);
    char text[256];
    int fds[1] = { -1 };
    unsigned n = 0;
    ssize_t len = sbx_fds_receive(s->fd, text, sizeof(text) - 1, fds, 1, &n);

    (void)events;
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len > 0 && !sbx_list_empty(&in->asks)) {
        answer(in, sbx_container_of(in->asks.next, struct sbx_ask, node), n ? fds[0] : -1);
        return;
    }
    if (n)
        close(fds[0]);
    sbx_inside_close(in);
}

int sbx_inside_take(struct sbx_inbound *in, struct sbx_passed *passed)
{
    if (in->helper.fd >= 0)
        return 0;
    in->helper = (struct sbx_source){ .fd = passed->fd[1], .on = on_helper };
    if (sbx_loop_add(&in->gate->loop, &in->helper, EPOLLIN | EPOLLRDHUP)) {
        in->helper.fd = -1;
        return -1;
    }
    passed->fd[1] = -1;
    return 0;
}

int sbx_inside_connect(int fd, bool v6, uint16_t port)
{
    struct sockaddr_in in4 = { .sin_family = AF_INET, .sin_port = htons(port),
                               .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port),
                                .sin6_addr = IN6ADDR_LOOPBACK_INIT };

    if (sbx_set_nonblocking(fd))
        return -1;
    return v6 ? connect(fd, (struct sockaddr *)&in6, sizeof(in6))
              : connect(fd, (struct sockaddr *)&in4, sizeof(in4));
}
