/**
 * @file
 * Addresses of names for a few seconds: programs open several connections to a host at once. Bounded
 * by its size; a name that falls on the place of another takes it. Addresses are judged at every use.
 */
#ifndef SBX_GATE_CACHE_H
#define SBX_GATE_CACHE_H

#include "resolve.h"

struct sbx_cache; /* opaque */

struct sbx_cache *sbx_cache_new(void); /**< NULL: no memory */
void sbx_cache_free(struct sbx_cache *c);
const struct sbx_addresses *sbx_cache_find(const struct sbx_cache *c, const char *name,
                                           uint64_t now_ms); /**< or NULL; for the moment only */
void sbx_cache_put(struct sbx_cache *c, const char *name, const struct sbx_addresses *a,
                   uint64_t now_ms);
void sbx_cache_drop(struct sbx_cache *c, const char *name); /**< none of them could be reached */
void sbx_cache_clear(struct sbx_cache *c);                  /**< the rules have changed */

#endif
