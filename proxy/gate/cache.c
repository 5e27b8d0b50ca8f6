/* Addresses of names for a few seconds. See cache.h. */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "sbx/policy.h"

struct slot {
    uint64_t ends; /* loop time; 0: empty */
    struct sbx_addresses addresses;
    char name[SBX_HOST_MAX + 1];
};

struct sbx_cache {
    struct slot slots[SBX_GATE_CACHE];
};

struct sbx_cache *sbx_cache_new(void)
{
    return calloc(1, sizeof(struct sbx_cache));
}

void sbx_cache_free(struct sbx_cache *c)
{
    free(c);
}

static size_t place(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return (hash ^ hash >> 16) % SBX_GATE_CACHE;
}

const struct sbx_addresses *sbx_cache_find(const struct sbx_cache *c, const char *name,
                                           uint64_t now_ms)
{
    const struct slot *s = &c->slots[place(name)];

    return s->ends > now_ms && strcmp(s->name, name) == 0 ? &s->addresses : NULL;
}

void sbx_cache_put(struct sbx_cache *c, const char *name, const struct sbx_addresses *a,
                   uint64_t now_ms)
{
    struct slot *s = &c->slots[place(name)];

    if (strlen(name) >= sizeof(s->name))
        return;
    strcpy(s->name, name);
    s->addresses = *a;
    s->ends = now_ms + SBX_GATE_CACHE_MS;
}

void sbx_cache_drop(struct sbx_cache *c, const char *name)
{
    struct slot *s = &c->slots[place(name)];

    if (strcmp(s->name, name) == 0)
        s->ends = 0;
}

void sbx_cache_clear(struct sbx_cache *c)
{
    for (size_t i = 0; i < SBX_GATE_CACHE; i++)
        c->slots[i].ends = 0;
}
