/** @file What the files of inbound share. See inbound.h. */
#ifndef SBX_GATE_INBOUND_INT_H
#define SBX_GATE_INBOUND_INT_H

#include <sys/socket.h>

#include "inbound.h"

struct sbx_inbound {
    struct sbx_gate *gate;
    struct sbx_source helper;
    struct sbx_list ports;
    struct sbx_list asks;     /* questions to the helper, in their order: answers carry no name */
    struct sbx_list arrivals; /* connections on their way in */
    unsigned n_ports, n_arrivals, n_peers, n_asks;
    size_t held; /* bytes of datagrams whose way in is not known yet */
    struct sbx_timer paused;  /* out of descriptors: accept again later */
};

struct sbx_inport {
    struct sbx_list node;
    struct sbx_inbound *inbound;
    struct sbx_source listener;
    struct sbx_list conns; /* TCP: tunnels, by their node */
    struct sbx_list peers; /* UDP: who sends, the latest last */
    unsigned n_peers;
    bool udp;
    char id[SBX_GATE_PORT_ID_MAX + 1];
    uint16_t inside;
};

/* ---- inhelper.c: sockets of the inside ---- */

struct sbx_ask;
typedef void sbx_ask_fn(void *ctx, int fd); /* takes fd; -1: there is none. The ask is gone then */
/** "tcp4", "tcp6", "udp4", "udp6". NULL: the helper cannot be asked. */
struct sbx_ask *sbx_inside_ask(struct sbx_inbound *in, const char *kind, sbx_ask_fn *fn, void *ctx);
void sbx_inside_forget(struct sbx_ask *a); /**< Its answer is closed. NULL is fine. */
/** Keep this connection to the helper unless there is one. 0, or -1. */
int sbx_inside_take(struct sbx_inbound *in, struct sbx_passed *passed);
void sbx_inside_close(struct sbx_inbound *in);
/** Begin to connect a socket to PORT of 127.0.0.1 or ::1 inside. 0, or -1 with errno (EINPROGRESS too). */
int sbx_inside_connect(int fd, bool v6, uint16_t port);

/* ---- arrive.c: TCP ---- */

void sbx_arrive(struct sbx_source *listener, uint32_t events);
void sbx_arrive_paused(struct sbx_timer *t);
/** Give up the connections on their way to a port; NULL: all. */
void sbx_arrivals_drop(struct sbx_inbound *in, const struct sbx_inport *p);

/* ---- inudp.c ---- */

void sbx_inudp(struct sbx_source *listener, uint32_t events);
void sbx_inudp_drop(struct sbx_inport *p); /**< all its peers */

#endif
