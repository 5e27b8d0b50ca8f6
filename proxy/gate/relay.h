/**
 * @file
 * Moving bytes: sides (sockets with what is known of them, edge-triggered), pipes (bytes read from
 * one side that the other did not take yet) and the pool of large buffers.
 */
#ifndef SBX_GATE_RELAY_H
#define SBX_GATE_RELAY_H

#include <sys/types.h>

#include "bounds.h"
#include "loop.h"
#include "sbx/buf.h"

struct sbx_tls; /* tls.h */

struct sbx_side {
    struct sbx_source source;
    struct sbx_tls *tls;     /**< NULL: plain bytes */
    bool readable, writable; /**< as far as known; edge-triggered */
    bool ended;              /**< its end of stream was read */
    bool failed;             /**< reset, or another error: nothing goes out any more */
    bool shut;               /**< we have ended our direction */
    bool hangup;             /**< epoll has told of an end: only reading finds it */
    bool reset;              /**< epoll has told of an error; bytes from before it may still be there */
};

/** Large buffers; one is always at hand for the next read. */
struct sbx_pool {
    char *spare;     /**< SBX_GATE_BUFFER bytes: where reads go */
    char **free;
    size_t nfree;
    unsigned lent;   /**< held by pipes */
    bool crowded;    /**< many connections: less is read at once */
    uint64_t moved;  /**< bytes, of all connections */
};

SBX_MUST_USE enum sbx_code sbx_pool_init(struct sbx_pool *p, struct sbx_err *err);
void sbx_pool_release(struct sbx_pool *p);
void sbx_pool_trim(struct sbx_pool *p); /**< give back what nobody uses */
/** How much may be read at once now. */
size_t sbx_pool_read_size(const struct sbx_pool *p);

/** Bytes on their way; empty most of the time. */
struct sbx_pipe {
    char *buf;
    size_t off, len;
    bool large; /**< buf is of the pool */
    bool secret; /**< holds a secret: wiped when it is empty or dropped */
};

void sbx_pipe_clear(struct sbx_pool *p, struct sbx_pipe *pipe);
/** Send what the pipe holds. 1: it is empty now; 0: the side takes no more; -1: it failed. */
int sbx_pipe_flush(struct sbx_pool *p, struct sbx_pipe *pipe, struct sbx_side *to);
/**
 * Send `len` bytes that stand in p->spare at `off`; what does not go out at once stays in the pipe,
 * which must be empty. Result as sbx_pipe_flush(), or -1 when there is no memory.
 */
int sbx_pipe_send(struct sbx_pool *p, struct sbx_pipe *pipe, struct sbx_side *to, size_t off,
                  size_t len);
/** Append bytes behind what the pipe holds (heads, small pieces). 0, or -1: no memory. */
int sbx_pipe_add(struct sbx_pool *p, struct sbx_pipe *pipe, const void *data, size_t len);

/** Options of a socket that carries a connection, or of a listener for those it accepts. */
void sbx_socket_tune(int fd);
void sbx_socket_reset(int fd); /**< closing it will be a reset */
void sbx_socket_crowd(int fd); /**< many others carry one: its memory is to be small */
void sbx_socket_probe(int fd);  /**< a listener of clients on this machine: find out who is gone without a word */
/** Let an empty pipe have malloc'd bytes with a secret in them. */
void sbx_pipe_give_secret(struct sbx_pipe *pipe, char *buf, size_t len);

/** recv() of the socket itself: >0 bytes, 0 end, -1 nothing now, -2 failed; sets side->readable only. */
ssize_t sbx_side_receive(struct sbx_side *s, void *buf, size_t len);
/** recv(), through TLS where there is some: >0 bytes, 0 end (side->ended), -1 nothing now, -2 failed (side->failed). */
ssize_t sbx_side_read(struct sbx_side *s, void *buf, size_t len);
/** Close the socket and forget TLS; `reset`: without a word. Doing so twice is fine. */
void sbx_side_close(struct sbx_loop *l, struct sbx_side *s, bool reset);
/** End our direction once. */
void sbx_side_shut(struct sbx_side *s);
/** Take note of epoll's events. */
void sbx_side_note(struct sbx_side *s, uint32_t events);

#endif
