/* How many connections there are to each destination (N18), and how many came lately. See gate.h. */
#include <stdlib.h>
#include <string.h>

#include "gate.h"

static struct sbx_dest **bucket(struct sbx_gate *g, const char *host, uint16_t port)
{
    uint32_t hash = 2166136261u ^ port; /* FNV-1a; the table is bounded by the cap of tunnels */

    for (; *host; host++)
        hash = (hash ^ (unsigned char)*host) * 16777619u;
    return &g->dests[(hash ^ hash >> 16) % SBX_GATE_DEST_BUCKETS];
}

static unsigned lately_at(const struct sbx_dest *d, uint64_t now)
{
    uint64_t seconds = (now - d->lately_at) / 1000;

    return seconds < 32 ? d->lately >> seconds : 0;
}

static void decay(struct sbx_dest *d, uint64_t now)
{
    d->lately = lately_at(d, now);
    d->lately_at += (now - d->lately_at) / 1000 * 1000;
}

struct sbx_dest *sbx_dest_take(struct sbx_gate *g, const char *host, uint16_t port)
{
    struct sbx_dest **b = bucket(g, host, port), *d = *b;

    while (d && (d->port != port || strcmp(d->host, host) != 0))
        d = d->next;
    if (!d) {
        d = calloc(1, sizeof(*d));
        if (!d)
            return NULL;
        strcpy(d->host, host); /* a sbx_host.text */
        d->port = port;
        d->next = *b;
        *b = d;
        sbx_list_init(&d->node);
        d->lately_at = g->loop.now;
    } else if (!d->count) {
        sbx_list_remove(&d->node);
        g->nidle_dests--;
    }
    decay(d, g->loop.now);
    d->lately++;
    d->count++;
    return d;
}

static void forget(struct sbx_gate *g, struct sbx_dest *d)
{
    struct sbx_dest **p;

    for (p = bucket(g, d->host, d->port); *p != d; p = &(*p)->next)
        ;
    *p = d->next;
    sbx_list_remove(&d->node);
    g->nidle_dests--;
    free(d);
}

static struct sbx_dest *oldest(const struct sbx_gate *g)
{
    return sbx_container_of(g->idle_dests.next, struct sbx_dest, node);
}

/* It is remembered for a while: who comes and goes all the time is not new each time. */
void sbx_dest_give(struct sbx_gate *g, struct sbx_dest *d)
{
    if (--d->count)
        return;
    sbx_list_append(&g->idle_dests, &d->node);
    if (++g->nidle_dests > SBX_GATE_DESTS_IDLE)
        forget(g, oldest(g));
}

unsigned sbx_dest_rank(const struct sbx_dest *d, uint64_t now, unsigned max)
{
    unsigned lately = lately_at(d, now), rank = 0;

    while (rank < max && lately > SBX_GATE_DEST_FEW) {
        lately /= 2;
        rank++;
    }
    return rank;
}

void sbx_dests_free(struct sbx_gate *g)
{
    while (g->nidle_dests)
        forget(g, oldest(g));
}
