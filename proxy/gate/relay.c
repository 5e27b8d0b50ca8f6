/* Moving bytes. See relay.h. Copying through large buffers was measured to beat splice() here: pipes
 * of an unprivileged user are 64 KiB, and 8 KiB past the first thousand. */
#include "relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tls.h"

enum sbx_code sbx_pool_init(struct sbx_pool *p, struct sbx_err *err)
{
    memset(p, 0, sizeof(*p));
    p->spare = malloc(SBX_GATE_BUFFER);
    p->free = calloc(SBX_GATE_LARGE_BUFFERS, sizeof(*p->free));
    if (!p->spare || !p->free)
        return sbx_err_set(err, SBX_NO_MEMORY, "buffers: out of memory");
    return SBX_OK;
}

void sbx_pool_trim(struct sbx_pool *p)
{
    while (p->nfree)
        free(p->free[--p->nfree]);
}

void sbx_pool_release(struct sbx_pool *p)
{
    sbx_pool_trim(p);
    free(p->free);
    free(p->spare);
}

size_t sbx_pool_read_size(const struct sbx_pool *p)
{
    if (p->lent >= SBX_GATE_LARGE_BUFFERS)
        return SBX_GATE_SMALL_BUFFER;
    return p->crowded ? SBX_GATE_CROWD_BUFFER : SBX_GATE_BUFFER;
}

static void give_back(struct sbx_pool *p, char *buf)
{
    p->lent--;
    if (p->nfree < SBX_GATE_LARGE_BUFFERS / 8) /* the rest goes back to the system */
        p->free[p->nfree++] = buf;
    else
        free(buf);
}

void sbx_pipe_clear(struct sbx_pool *p, struct sbx_pipe *pipe)
{
    if (pipe->secret)
        explicit_bzero(pipe->buf, pipe->off + pipe->len);
    if (pipe->large)
        give_back(p, pipe->buf);
    else
        free(pipe->buf);
    memset(pipe, 0, sizeof(*pipe));
}

static ssize_t push_tls(struct sbx_side *to, const char *buf, size_t len)
{
    size_t sent = 0;

    while (sent < len) {
        ssize_t n = sbx_tls_write(to, buf + sent, len - sent);

        if (n < 0)
            return -1;
        if (!n)
            break;
        sent += (size_t)n;
    }
    return (ssize_t)sent;
}

/* send() until it would block. Bytes sent, or -1: failed. */
static ssize_t push(struct sbx_side *to, const char *buf, size_t len)
{
    size_t sent = 0;

    if (to->tls)
        return push_tls(to, buf, len);
    while (sent < len && to->writable) {
        ssize_t n = send(to->source.fd, buf + sent, len - sent, MSG_NOSIGNAL);

        if (n >= 0) {
            sent += (size_t)n;
        } else if (errno == EAGAIN) {
            to->writable = false;
        } else if (errno != EINTR) {
            to->failed = true;
            return -1;
        }
    }
    return (ssize_t)sent;
}

int sbx_pipe_flush(struct sbx_pool *p, struct sbx_pipe *pipe, struct sbx_side *to)
{
    ssize_t n;

    if (!pipe->buf)
        return 1;
    n = push(to, pipe->buf + pipe->off, pipe->len);
    if (n < 0)
        return -1;
    p->moved += (uint64_t)n;
    pipe->off += (size_t)n;
    pipe->len -= (size_t)n;
    if (pipe->len)
        return 0;
    sbx_pipe_clear(p, pipe);
    return 1;
}

/* Let the pipe keep the spare buffer itself and take another one for the next read. */
static bool swap_spare(struct sbx_pool *p, struct sbx_pipe *pipe, size_t off, size_t len)
{
    char *other;

    if (p->lent >= SBX_GATE_LARGE_BUFFERS)
        return false;
    other = p->nfree ? p->free[--p->nfree] : malloc(SBX_GATE_BUFFER);
    if (!other)
        return false;
    p->lent++;
    *pipe = (struct sbx_pipe){ p->spare, off, len, true, false };
    p->spare = other;
    return true;
}

int sbx_pipe_send(struct sbx_pool *p, struct sbx_pipe *pipe, struct sbx_side *to, size_t off,
                  size_t len)
{
    ssize_t n = push(to, p->spare + off, len);

    p->moved += len;
    if (n < 0)
        return -1;
    off += (size_t)n;
    len -= (size_t)n;
    if (!len)
        return 1;
    if (len > SBX_GATE_SMALL_BUFFER && swap_spare(p, pipe, off, len))
        return 0;
    if (!sbx_pipe_add(p, pipe, p->spare + off, len))
        return 0;
    to->failed = to->ended = true; /* bytes are lost, so the stream is over */
    return -1;
}

int sbx_pipe_add(struct sbx_pool *p, struct sbx_pipe *pipe, const void *data, size_t len)
{
    bool secret = pipe->secret;
    char *buf;

    if (!len)
        return 0;
    buf = malloc(pipe->len + len);
    if (!buf)
        return -1;
    if (pipe->len)
        memcpy(buf, pipe->buf + pipe->off, pipe->len);
    memcpy(buf + pipe->len, data, len);
    len += pipe->len;
    sbx_pipe_clear(p, pipe);
    *pipe = (struct sbx_pipe){ buf, 0, len, false, secret };
    return 0;
}

void sbx_pipe_give_secret(struct sbx_pipe *pipe, char *buf, size_t len)
{
    *pipe = (struct sbx_pipe){ buf, 0, len, false, true };
}

/* The kernel's memory for TCP is one for the whole host, and past its bound it drops what arrives, for everybody.
 * So no socket takes more than the other side's window and a little, and one of a crowd has a small window too. */
void sbx_socket_tune(int fd)
{
    int one = 1, unsent = SBX_GATE_UNSENT;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

void sbx_socket_reset(int fd)
{
    struct linger now = { 1, 0 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void sbx_socket_crowd(int fd)
{
    int window = SBX_GATE_WINDOW;

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window));
}

/* The kernel may pass over a reset (RFC 5961: it asks back, at most twice a second) and then knows of no end. */
void sbx_socket_probe(int fd)
{
    int one = 1, seconds = SBX_GATE_PROBE_S;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
}

ssize_t sbx_side_receive(struct sbx_side *s, void *buf, size_t len)
{
    ssize_t n;

    if (!s->readable)
        return -1;
    do
        n = recv(s->source.fd, buf, len, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        /* Less than asked for: empty. New bytes make a new edge, an end told before does not. */
        if ((size_t)n < len && !s->hangup)
            s->readable = false;
        return n;
    }
    s->readable = false;
    return n == 0 ? 0 : errno == EAGAIN ? -1 : -2;
}

ssize_t sbx_side_read(struct sbx_side *s, void *buf, size_t len)
{
    ssize_t n;

    if (s->tls)
        return sbx_tls_read(s, buf, len);
    if (s->ended)
        return 0;
    n = sbx_side_receive(s, buf, len);
    if (n == 0 || n == -2)
        s->ended = true;
    if (n == -2)
        s->failed = true;
    return n;
}

void sbx_side_close(struct sbx_loop *l, struct sbx_side *s, bool reset)
{
    if (s->tls && !reset)
        sbx_tls_shut(s);
    sbx_tls_free(s);
    sbx_loop_close(l, &s->source);
}

void sbx_side_shut(struct sbx_side *s)
{
    if (s->shut || s->source.fd < 0)
        return;
    s->shut = true;
    if (s->tls)
        sbx_tls_shut(s);
    shutdown(s->source.fd, SHUT_WR);
}

void sbx_side_note(struct sbx_side *s, uint32_t events)
{
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        s->hangup = true;
    if (events & EPOLLERR)
        s->reset = true;
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        s->readable = true;
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        s->writable = true;
}
