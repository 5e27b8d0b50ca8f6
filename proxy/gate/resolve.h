/**
 * @file
 * Names to addresses as the host's own programs see them (getaddrinfo), in a few threads so that the
 * loop never blocks. Equal names asked at once share one lookup.
 */
#ifndef SBX_GATE_RESOLVE_H
#define SBX_GATE_RESOLVE_H

#include <netinet/in.h>

#include "bounds.h"
#include "loop.h"

enum sbx_resolved { SBX_RESOLVED, SBX_RESOLVED_NONE, SBX_RESOLVED_FAILED };

struct sbx_addresses {
    size_t len;
    struct in6_addr v[SBX_GATE_ADDRESSES]; /**< IPv4 as ::ffff:a.b.c.d */
};

struct sbx_resolver;

/** One who waits for a name. Belongs to the caller; zero it before the first use. */
struct sbx_waiter {
    struct sbx_list node;
    bool waiting;
    struct sbx_lookup *lookup; /**< of the resolver, while waiting */
    void (*on)(struct sbx_waiter *w, enum sbx_resolved result, const struct sbx_addresses *a);
};

SBX_MUST_USE enum sbx_code sbx_resolver_new(struct sbx_loop *loop, struct sbx_resolver **ret,
                                            struct sbx_err *err);
/** Stop the threads that are idle; lookups under way are left to end with the process. */
void sbx_resolver_free(struct sbx_resolver *r);
/** Ask for a name; w->on is called later, from the loop. 0, or -1: too many lookups, no memory. */
int sbx_resolve(struct sbx_resolver *r, const char *name, struct sbx_waiter *w);
void sbx_resolve_cancel(struct sbx_waiter *w);

#endif
