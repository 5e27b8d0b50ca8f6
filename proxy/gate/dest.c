/* How many connections there are to each destination (N18). See gate.h. */
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
    }
    d->count++;
    return d;
}

void sbx_dest_give(struct sbx_gate *g, struct sbx_dest *d)
{
    struct sbx_dest **p;

    if (--d->count)
        return;
    for (p = bucket(g, d->host, d->port); *p != d; p = &(*p)->next)
        ;
    *p = d->next;
    free(d);
}
