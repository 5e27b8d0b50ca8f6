/**
 * @file
 * Load for a proxy that speaks CONNECT. bench_client.c opens tunnels and hands bytes to a mode
 * (bench_modes.c), which decides what a tunnel does once it is open. One thread, edge-triggered.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include "net.h"

struct flow {
    int fd;              /**< -1: none */
    enum { FLOW_NONE, FLOW_CONNECTING, FLOW_ASKED, FLOW_OPEN } state;
    unsigned index;      /**< which one of the mode's, from 0 */
    unsigned number;     /**< destination */
    uint64_t began;      /**< ns: of the tunnel, then of the round trip */
    size_t got;          /**< bytes of the present round trip */
};

struct client {
    const struct mode *mode;
    struct sockaddr_in proxy;
    int ep;
    struct flow *flows;
    unsigned nflows, open, next_number;
    uint64_t began_ns, ends_ns, tick_ns;
    uint64_t count;      /**< of what the mode counts */
    uint64_t failed;     /**< tunnels that were refused or broke off */
    uint32_t *samples;   /**< 100 ns each; NULL: none are kept */
    size_t nsamples, samples_cap;
    uint64_t rate;       /**< MiB or tunnels a second; 0: as fast as it goes */
    bool waits;          /**< ends with stdin, not with the time */
};

struct mode {
    const char *name;
    uint16_t port;
    bool timed;          /**< samples are kept */
    bool waits;
    bool small;          /**< with small buffers: there are many */
    void (*opened)(struct client *c, struct flow *f);
    void (*data)(struct client *c, struct flow *f); /**< readable, or writable again */
    void (*gone)(struct client *c, struct flow *f); /**< refused, ended or reset; it is closed already */
    void (*tick)(struct client *c, uint64_t now);   /**< every few ms; NULL: none */
};

extern const struct mode *const bench_modes[];

void flow_open(struct client *c, struct flow *f);
void flow_close(struct client *c, struct flow *f);
void client_sample(struct client *c, uint64_t began_ns);

#endif
