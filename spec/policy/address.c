/*
 * Classes of addresses. The ranges are those of the IANA special-purpose registries (RFC 6890 and its
 * successors) and the addresses at which clouds serve instance metadata.
 */
#include <endian.h>
#include <string.h>

#include "policy_int.h"

#define V4(a, b, c, d, len) { { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d } } }, 96 + (len)
#define HI(x) (uint8_t)((x) >> 8), (uint8_t)(x)
#define V6(a, b, c, d, e, f, g, h, len)                                                            \
    { { { HI(a), HI(b), HI(c), HI(d), HI(e), HI(f), HI(g), HI(h) } } }, (len)

static const struct range {
    struct in6_addr net;
    unsigned len;
    struct address_class class;
} ranges[] = {
    /* instance metadata: first, since some lie inside ranges that rules can open */
    { V4(169, 254, 169, 254, 32), { "metadata", OPEN_NEVER } }, /* nearly every cloud */
    { V4(169, 254, 170, 2, 32), { "metadata", OPEN_NEVER } },   /* container credentials */
    { V4(169, 254, 170, 23, 32), { "metadata", OPEN_NEVER } },  /* pod identity */
    { V4(169, 254, 0, 23, 32), { "metadata", OPEN_NEVER } },
    { V4(100, 100, 100, 200, 32), { "metadata", OPEN_NEVER } },
    { V4(168, 63, 129, 16, 32), { "metadata", OPEN_NEVER } }, /* a public address by its looks */
    { V4(192, 0, 0, 192, 32), { "metadata", OPEN_NEVER } },
    { V6(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254, 128), { "metadata", OPEN_NEVER } },
    { V6(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23, 128), { "metadata", OPEN_NEVER } },
    { V6(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254, 128), { "metadata", OPEN_NEVER } },
    /* the gate's own doors and synthetic addresses (benchmarking ranges, RFC 2544 and 5180) */
    { V4(198, 18, 0, 0, 15), { "gate", OPEN_NEVER } },
    { V6(0x2001, 2, 0, 0, 0, 0, 0, 0, 48), { "gate", OPEN_NEVER } },
    /* IPv4 */
    { V4(127, 0, 0, 0, 8), { "loopback", OPEN_HOST } },
    { V4(10, 0, 0, 0, 8), { "private", OPEN_NAMED } },
    { V4(172, 16, 0, 0, 12), { "private", OPEN_NAMED } },
    { V4(192, 168, 0, 0, 16), { "private", OPEN_NAMED } },
    { V4(100, 64, 0, 0, 10), { "private", OPEN_NAMED } }, /* carrier-grade NAT, VPN meshes */
    { V4(169, 254, 0, 0, 16), { "link-local", OPEN_NAMED } },
    { V4(192, 0, 2, 0, 24), { "documentation", OPEN_NAMED } },
    { V4(198, 51, 100, 0, 24), { "documentation", OPEN_NAMED } },
    { V4(203, 0, 113, 0, 24), { "documentation", OPEN_NAMED } },
    { V4(0, 0, 0, 0, 8), { "special", OPEN_NEVER } }, /* 0.0.0.0 connects to the host itself */
    { V4(192, 0, 0, 0, 24), { "special", OPEN_NEVER } },
    { V4(192, 88, 99, 0, 24), { "translated", OPEN_NEVER } }, /* 6to4 relays */
    { V4(224, 0, 0, 0, 4), { "special", OPEN_NEVER } },       /* multicast */
    { V4(240, 0, 0, 0, 4), { "special", OPEN_NEVER } },       /* reserved, broadcast */
    { V4(0, 0, 0, 0, 0), { "public", OPEN_PUBLIC } },
    /* IPv6 */
    { V6(0, 0, 0, 0, 0, 0, 0, 1, 128), { "loopback", OPEN_HOST } },
    { V6(0, 0, 0, 0, 0, 0, 0, 0, 128), { "special", OPEN_NEVER } },
    { V6(0, 0, 0, 0, 0, 0, 0, 0, 96), { "translated", OPEN_NEVER } }, /* ::a.b.c.d */
    { V6(0, 0, 0, 0, 0xffff, 0, 0, 0, 96), { "translated", OPEN_NEVER } },
    { V6(0x64, 0xff9b, 0, 0, 0, 0, 0, 0, 96), { "translated", OPEN_NEVER } },
    { V6(0x64, 0xff9b, 1, 0, 0, 0, 0, 0, 48), { "translated", OPEN_NEVER } },
    { V6(0x2002, 0, 0, 0, 0, 0, 0, 0, 16), { "translated", OPEN_NEVER } }, /* 6to4 */
    { V6(0x2001, 0, 0, 0, 0, 0, 0, 0, 32), { "translated", OPEN_NEVER } }, /* Teredo */
    { V6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0, 32), { "documentation", OPEN_NAMED } },
    { V6(0x3fff, 0, 0, 0, 0, 0, 0, 0, 20), { "documentation", OPEN_NAMED } },
    { V6(0x2001, 0, 0, 0, 0, 0, 0, 0, 23), { "special", OPEN_NEVER } },
    { V6(0xfc00, 0, 0, 0, 0, 0, 0, 0, 7), { "private", OPEN_NAMED } },
    { V6(0xfec0, 0, 0, 0, 0, 0, 0, 0, 10), { "private", OPEN_NAMED } },
    { V6(0xfe80, 0, 0, 0, 0, 0, 0, 0, 10), { "link-local", OPEN_NAMED } },
    { V6(0x2000, 0, 0, 0, 0, 0, 0, 0, 3), { "public", OPEN_PUBLIC } },
    { V6(0, 0, 0, 0, 0, 0, 0, 0, 0), { "special", OPEN_NEVER } }, /* not global unicast */
};

bool sbx_address_is_v4(const struct in6_addr *a)
{
    return IN6_IS_ADDR_V4MAPPED(a);
}

struct in6_addr sbx_address_map_v4(const struct in_addr *v4)
{
    struct in6_addr a = { { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0 } } };

    memcpy(a.s6_addr + 12, v4, 4);
    return a;
}

/* The first `bits` of 64 in network order. */
static uint64_t mask_of(unsigned bits)
{
    return bits ? htobe64(UINT64_MAX << (64 - bits)) : 0;
}

void sbx_address_mask(struct in6_addr *a, unsigned prefix_len)
{
    uint64_t half[2];

    memcpy(half, a, sizeof(half));
    half[0] &= mask_of(prefix_len < 64 ? prefix_len : 64);
    half[1] &= mask_of(prefix_len > 64 ? prefix_len - 64 : 0);
    memcpy(a, half, sizeof(half));
}

/* An IPv6 range never holds IPv4 addresses, though ::/0 in bits does. */
bool sbx_address_in(const struct in6_addr *a, const struct in6_addr *range, unsigned prefix_len)
{
    struct in6_addr masked = *a;

    if (prefix_len < 96 && sbx_address_is_v4(a))
        return false;
    sbx_address_mask(&masked, prefix_len);
    return !memcmp(&masked, range, sizeof(masked));
}

struct address_class sbx_address_classify(const struct in6_addr *a)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(ranges); i++)
        if (sbx_address_in(a, &ranges[i].net, ranges[i].len))
            return ranges[i].class;
    return (struct address_class){ "special", OPEN_NEVER };
}

const char *sbx_address_class(const struct in6_addr *address)
{
    return sbx_address_classify(address).name;
}

static bool overlaps(const struct range *r, const struct in6_addr *a, unsigned len)
{
    return r->len <= len ? sbx_address_in(a, &r->net, r->len) : sbx_address_in(&r->net, a, len);
}

bool sbx_range_touches_special(const struct in6_addr *a, unsigned prefix_len)
{
    if (sbx_address_classify(a).open != OPEN_PUBLIC)
        return true;
    for (size_t i = 0; i < SBX_ARRAY_LEN(ranges); i++)
        if (ranges[i].class.open == OPEN_NAMED && overlaps(&ranges[i], a, prefix_len))
            return true;
    return false;
}

bool sbx_range_never_opens(const struct in6_addr *a, unsigned prefix_len)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(ranges); i++)
        if (ranges[i].len <= prefix_len && sbx_address_in(a, &ranges[i].net, ranges[i].len))
            return ranges[i].class.open == OPEN_NEVER;
    return false;
}

bool sbx_range_is_named(const struct in6_addr *a, unsigned prefix_len)
{
    return prefix_len >= (sbx_address_is_v4(a) ? 96 + 8 : 7); /* 10.0.0.0/8 and fc00::/7 */
}

const char *sbx_name_never(const char *name)
{
    static const char *const metadata[] = {
        "metadata.google.internal", "metadata.goog",       "metadata",
        "instance-data",            "instance-data.ec2.internal",
        "metadata.azure.internal",  "metadata.tencentyun.com",
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(metadata); i++)
        if (!strcmp(name, metadata[i]))
            return "metadata";
    return strcmp(name, "gateway.docker.internal") ? NULL : "gate";
}

bool sbx_name_is_localhost(const char *name)
{
    size_t len = strlen(name), n = sizeof("localhost") - 1;

    return len >= n && !strcmp(name + len - n, "localhost") &&
           (len == n || name[len - n - 1] == '.');
}
