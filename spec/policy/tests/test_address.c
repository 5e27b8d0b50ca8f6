#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "policy_int.h"

static struct in6_addr address(const char *text)
{
    struct in6_addr a;
    struct in_addr v4;

    if (inet_pton(AF_INET, text, &v4) == 1)
        return sbx_address_map_v4(&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &a), 1);
    return a;
}

static void every_range_has_its_class_at_both_ends(void **state)
{
    static const struct {
        const char *first, *last, *class;
    } rows[] = {
        { "0.0.0.0", "0.255.255.255", "special" },
        { "1.0.0.0", "9.255.255.255", "public" },
        { "10.0.0.0", "10.255.255.255", "private" },
        { "11.0.0.0", "100.63.255.255", "public" },
        { "100.64.0.0", "100.127.255.255", "private" },
        { "100.128.0.0", "126.255.255.255", "public" },
        { "127.0.0.0", "127.255.255.255", "loopback" },
        { "169.253.255.255", "169.255.0.0", "public" },
        { "169.254.0.0", "169.254.255.255", "link-local" },
        { "172.15.255.255", "172.32.0.0", "public" },
        { "172.16.0.0", "172.31.255.255", "private" },
        { "192.0.0.0", "192.0.0.255", "special" },
        { "192.0.1.0", "192.0.3.0", "public" },
        { "192.0.2.0", "192.0.2.255", "documentation" },
        { "192.88.99.0", "192.88.99.255", "translated" },
        { "192.168.0.0", "192.168.255.255", "private" },
        { "198.17.255.255", "198.20.0.0", "public" },
        { "198.18.0.0", "198.19.255.255", "gate" },
        { "198.51.100.0", "198.51.100.255", "documentation" },
        { "203.0.113.0", "203.0.113.255", "documentation" },
        { "223.255.255.255", "223.255.255.255", "public" },
        { "224.0.0.0", "239.255.255.255", "special" },
        { "240.0.0.0", "255.255.255.255", "special" },
        { "::", "::", "special" },
        { "::1", "::1", "loopback" },
        { "::2", "::ffff:ffff", "translated" },
        { "64:ff9b::", "64:ff9b::ffff:ffff", "translated" },
        { "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "translated" },
        { "64:ff9b:2::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "special" },
        { "2000::", "2000:ffff::", "public" },
        { "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "translated" },
        { "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "gate" },
        { "2001:20::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "special" },
        { "2001:200::", "2001:db7::", "public" },
        { "2001:db8::", "2001:db8:ffff::", "documentation" },
        { "2002::", "2002:ffff::", "translated" },
        { "2003::", "3ffe:ffff::", "public" },
        { "3fff::", "3fff:fff::", "documentation" },
        { "4000::", "fbff::", "special" },
        { "fc00::", "fdff::", "private" },
        { "fe80::", "febf::", "link-local" },
        { "fec0::", "feff::", "private" },
        { "ff00::", "ffff::", "special" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct in6_addr first = address(rows[i].first), last = address(rows[i].last);

        if (strcmp(sbx_address_class(&first), rows[i].class) ||
            strcmp(sbx_address_class(&last), rows[i].class))
            fail_msg("%s: %s, %s: %s", rows[i].first, sbx_address_class(&first), rows[i].last,
                     sbx_address_class(&last));
    }
}

static void masks_cut_at_every_bit(void **state)
{
    (void)state;
    for (unsigned len = 0; len <= 128; len++) {
        struct in6_addr a;
        unsigned ones = 0;

        memset(&a, 0xff, sizeof(a));
        sbx_address_mask(&a, len);
        for (unsigned i = 0; i < 128; i++) {
            unsigned bit = a.s6_addr[i / 8] >> (7 - i % 8) & 1;

            assert_int_equal(bit, i < len);
            ones += bit;
        }
        assert_int_equal(ones, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_range_has_its_class_at_both_ends),
        cmocka_unit_test(masks_cut_at_every_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
