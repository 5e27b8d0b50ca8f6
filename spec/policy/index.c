/* Where a host stands among the rules. */
#include "index.h"

#include <endian.h>
#include <string.h>

#define FNV_START 0xcbf29ce484222325u
#define FNV_STEP 0x100000001b3u
#define LABELS_MAX (SBX_HOST_MAX / 2 + 1)

/* A name and its parents, the highest first. */
struct tails {
    const char *text[LABELS_MAX];
    uint64_t hash[LABELS_MAX];
    size_t n;
};

/*
 * Hashed from the last byte to the first, so that one pass gives the hash of every parent; and elsewhere otherwise, so
 * that nobody can write a kit whose names all share a hash.
 */
static void split(const struct sbx_policy *p, const char *name, struct tails *t)
{
    uint64_t h = FNV_START ^ (uintptr_t)p->arena;

    t->n = 0;
    for (size_t i = strlen(name); i-- > 0;) {
        if (name[i] == '.' && t->n < LABELS_MAX - 1) {
            t->text[t->n] = name + i + 1;
            t->hash[t->n++] = h;
        }
        h = (h ^ (unsigned char)name[i]) * FNV_STEP;
    }
    t->text[t->n] = name;
    t->hash[t->n++] = h;
}

static uint16_t *find(const struct sbx_policy *p, const char *name, uint64_t hash)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    size_t at = (hash ^ tag) & p->mask;

    for (; p->slots[at]; at = (at + 1) & p->mask) {
        const struct index_name *x = &p->names[p->slots[at]];

        if (x->hash == tag && !strcmp(x->text, name))
            break;
    }
    return &p->slots[at];
}

uint16_t *sbx_index_slot(const struct sbx_policy *p, const char *name, uint32_t *ret_hash)
{
    struct tails t;

    split(p, name, &t);
    *ret_hash = (uint32_t)(t.hash[t.n - 1] >> 32);
    return find(p, name, t.hash[t.n - 1]);
}

/* The lowest of the first `n` that rules speak of; the root, if of none. */
static uint16_t lowest(const struct sbx_policy *p, const struct tails *t, size_t n)
{
    uint16_t id = 0;

    while (n > 0 && !id) {
        n--;
        id = *find(p, t->text[n], t->hash[n]);
    }
    return id;
}

uint16_t sbx_index_above(const struct sbx_policy *p, const char *name)
{
    struct tails t;

    split(p, name, &t);
    return lowest(p, &t, t.n - 1);
}

struct index_place sbx_index_place_name(const struct sbx_policy *p, const char *name)
{
    struct index_place place = { .one = 0 };
    uint16_t self, parent = 0;
    struct tails t;

    split(p, name, &t);
    self = *find(p, name, t.hash[t.n - 1]);
    if (t.n > 1) {
        parent = *find(p, t.text[t.n - 2], t.hash[t.n - 2]);
        place.one = p->names[parent].one;
    }
    if (self)
        place.all = p->names[self].self;
    else
        place.all = p->names[parent || t.n < 3 ? parent : lowest(p, &t, t.n - 2)].below;
    return place;
}

address_key sbx_address_key(const struct in6_addr *a)
{
    uint64_t half[2];

    memcpy(half, a, sizeof(half));
    return (address_key)be64toh(half[0]) << 64 | be64toh(half[1]);
}

/* IPv4 addresses are apart: no range of IPv6 holds them, though ::/0 in bits does. */
size_t sbx_index_start(const struct sbx_policy *p, address_key key, bool v4)
{
    size_t at = v4 ? 0 : p->n_v4, n = (v4 ? p->n_v4 : p->n_starts) - at;

    while (n > 1) {
        size_t half = n / 2;

        at += p->starts[at + half] <= key ? half : 0;
        n -= half;
    }
    return at;
}

struct index_place sbx_index_place_address(const struct sbx_policy *p, const struct in6_addr *a)
{
    return (struct index_place){
        .all = p->ranges[sbx_index_start(p, sbx_address_key(a), sbx_address_is_v4(a))]
    };
}
