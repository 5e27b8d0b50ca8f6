/* Netlink messages as built, and the invariant on messages as a kernel would send them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

#include "doors.h"
#include "invariant.h"
#include "netlink.h"
#include "normal.h"
#include "place.h"
#include "rules.h"

static struct sbx_nl nl; /* 16 KiB: not on the stack of every test */

/* Attributes fill exactly `len` bytes, nested ones too. */
static void check_attributes(const unsigned char *p, size_t len)
{
    while (len) {
        struct nlattr a;

        assert_true(len >= sizeof(a));
        memcpy(&a, p, sizeof(a));
        assert_true(a.nla_len >= NLA_HDRLEN && a.nla_len <= len);
        if (a.nla_type & NLA_F_NESTED)
            check_attributes(p + NLA_HDRLEN, NLA_ALIGN(a.nla_len) - NLA_HDRLEN);
        p += NLA_ALIGN(a.nla_len);
        len -= NLA_ALIGN(a.nla_len);
    }
}

/* Messages fill the buffer exactly and number themselves; returns how many. */
static size_t check_messages(size_t head_len)
{
    size_t at = 0, n = 0;

    assert_false(nl.full);
    while (at < nl.len) {
        struct nlmsghdr h;

        memcpy(&h, nl.data + at, sizeof(h));
        assert_true(h.nlmsg_len >= NLMSG_HDRLEN + head_len && h.nlmsg_len <= nl.len - at);
        assert_int_equal(h.nlmsg_seq, n);
        assert_true(h.nlmsg_flags & NLM_F_REQUEST);
        check_attributes(nl.data + at + NLMSG_HDRLEN + head_len,
                         h.nlmsg_len - NLMSG_HDRLEN - head_len);
        at += h.nlmsg_len;
        n++;
    }
    assert_int_equal(n, nl.n);
    return n;
}

static uint16_t type_at(size_t wanted)
{
    size_t at = 0;
    struct nlmsghdr h;

    for (size_t i = 0;; i++) {
        memcpy(&h, nl.data + at, sizeof(h));
        if (i == wanted)
            return h.nlmsg_type;
        at += h.nlmsg_len;
    }
}

static void the_rules_are_one_well_formed_transaction(void **state)
{
    size_t with6, without6;

    (void)state;
    sbx_rules_build(&nl, false, false);
    without6 = check_messages(sizeof(struct nfgenmsg));
    sbx_rules_build(&nl, true, false);
    with6 = check_messages(sizeof(struct nfgenmsg));
    assert_int_equal(with6, without6 + 2);
    assert_int_equal(type_at(0), NFNL_MSG_BATCH_BEGIN);
    assert_int_equal(type_at(1), NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE);
    assert_int_equal(type_at(with6 - 1), NFNL_MSG_BATCH_END);
    assert_int_equal(nl.acks, with6 - 2);
    sbx_rules_build(&nl, true, true);
    assert_int_equal(check_messages(sizeof(struct nfgenmsg)), with6 + 1);
    assert_int_equal(type_at(1), NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_DELTABLE);
}

static void the_normal_form_names_each_of_its_messages(void **state)
{
    (void)state;
    sbx_normal_build(&nl, true);
    assert_false(nl.full);
    assert_int_equal(nl.acks, nl.n);
    for (size_t i = 0; i < nl.n; i++)
        assert_true(strlen(nl.what[i]) > 5);
    assert_int_equal(type_at(0), RTM_NEWLINK);
}

static void what_does_not_fit_is_refused_whole(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;
    struct rtmsg head = { .rtm_family = AF_INET };
    static const char much[1000];

    (void)state;
    sbx_nl_init(&nl);
    sbx_nl_begin(&nl, "big", RTM_NEWROUTE, 0, &head, sizeof(head));
    for (int i = 0; i < 17; i++)
        sbx_nl_attr(&nl, RTA_DST, much, sizeof(much));
    sbx_nl_end(&nl);
    assert_true(nl.full && nl.len <= sizeof(nl.data));
    assert_int_equal(sbx_nl_send(-1, &nl, false, &err), SBX_LIMIT);
    sbx_nl_init(&nl);
    for (int i = 0; i <= SBX_NL_MESSAGES; i++) {
        sbx_nl_begin(&nl, "small", RTM_NEWROUTE, 0, &head, sizeof(head));
        sbx_nl_end(&nl);
    }
    assert_true(nl.full);
}

static void an_attribute_is_found_by_its_type(void **state)
{
    struct rtmsg head = { .rtm_family = AF_INET };
    struct nlmsghdr *h = (struct nlmsghdr *)nl.data;
    size_t len;

    (void)state;
    sbx_nl_init(&nl);
    sbx_nl_begin(&nl, "x", RTM_NEWROUTE, 0, &head, sizeof(head));
    sbx_nl_u8(&nl, 3, 9);
    sbx_nl_u32(&nl, RTA_OIF, 7);
    sbx_nl_end(&nl);
    assert_int_equal(*(const uint8_t *)sbx_nl_find(h, sizeof(head), 3, &len), 9);
    assert_int_equal(len, 1);
    assert_int_equal(*(const uint32_t *)sbx_nl_find(h, sizeof(head), RTA_OIF, &len), 7);
    assert_null(sbx_nl_find(h, sizeof(head), RTA_DST, &len));
    for (uint32_t cut = NLMSG_LENGTH(sizeof(head)); cut < nl.len; cut++) {
        h->nlmsg_len = cut; /* a cut message is read to its end and no further */
        assert_null(sbx_nl_find(h, sizeof(head), RTA_DST, &len));
    }
}

/* ---- the invariant ---- */

struct link_case {
    const char *name;
    int index;
    unsigned flags;
    int peer_netns; /* -1: none */
    enum sbx_code want;
};

static void only_lo_and_sleeping_tunnels_are_links(void **state)
{
    static const struct link_case cases[] = {
        { "lo", 1, IFF_UP, -1, SBX_OK },
        { "eth0", 2, IFF_UP, -1, SBX_DENIED },
        { "eth0", 2, 0, 3, SBX_DENIED },
        { "lo", 2, IFF_UP, -1, SBX_DENIED }, /* another link that took the name */
        { "sit0", 2, 0, -1, SBX_OK },
        { "sit0", 2, IFF_UP, -1, SBX_DENIED },
        { "sit0", 2, 0, 0, SBX_DENIED }, /* its other end is in another namespace */
        { "tun0", 3, 0, -1, SBX_DENIED },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(cases); i++) {
        struct ifinfomsg head = { .ifi_index = cases[i].index, .ifi_flags = cases[i].flags };
        struct sbx_err err = SBX_ERR_INIT;
        unsigned loopbacks = 0;

        sbx_nl_init(&nl);
        sbx_nl_begin(&nl, "link", RTM_NEWLINK, 0, &head, sizeof(head));
        sbx_nl_str(&nl, IFLA_IFNAME, cases[i].name);
        if (cases[i].peer_netns >= 0)
            sbx_nl_u32(&nl, IFLA_LINK_NETNSID, (uint32_t)cases[i].peer_netns);
        sbx_nl_end(&nl);
        assert_int_equal(sbx_ns_check_link((struct nlmsghdr *)nl.data, &loopbacks, &err),
                         cases[i].want);
        assert_int_equal(loopbacks, i == 0);
    }
}

static void only_loopback_and_our_own_are_addresses(void **state)
{
    static const struct {
        const char *text;
        enum sbx_code want;
    } cases[] = {
        { "127.0.0.1", SBX_OK },      { "127.9.8.7", SBX_OK },      { "198.18.0.2", SBX_OK },
        { "198.18.0.1", SBX_DENIED }, { "172.17.0.2", SBX_DENIED }, { "::1", SBX_OK },
        { "2001:2::2", SBX_OK },      { "fe80::1", SBX_DENIED },    { "2001:2::1", SBX_DENIED },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(cases); i++) {
        int family = strchr(cases[i].text, ':') ? AF_INET6 : AF_INET;
        struct ifaddrmsg head = { .ifa_family = (uint8_t)family, .ifa_index = 1 };
        struct sbx_err err = SBX_ERR_INIT;
        unsigned char addr[16];

        assert_int_equal(inet_pton(family, cases[i].text, addr), 1);
        sbx_nl_init(&nl);
        sbx_nl_begin(&nl, "addr", RTM_NEWADDR, 0, &head, sizeof(head));
        sbx_nl_attr(&nl, IFA_ADDRESS, addr, family == AF_INET ? 4 : 16);
        sbx_nl_end(&nl);
        assert_int_equal(sbx_ns_check_addr((struct nlmsghdr *)nl.data, NULL, &err), cases[i].want);
        if (cases[i].want)
            assert_non_null(strstr(err.text, cases[i].text));
    }
}

static void a_route_over_another_link_or_with_none_is_foreign(void **state)
{
    static const struct {
        uint32_t oif; /* 0: none */
        uint8_t type;
        enum sbx_code want;
    } cases[] = {
        { 1, RTN_LOCAL, SBX_OK },       { 1, RTN_UNICAST, SBX_OK },
        { 2, RTN_UNICAST, SBX_DENIED }, { 0, RTN_UNREACHABLE, SBX_OK },
        { 0, RTN_UNICAST, SBX_DENIED }, /* several next hops */
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(cases); i++) {
        struct rtmsg head = { .rtm_family = AF_INET, .rtm_type = cases[i].type };
        struct sbx_err err = SBX_ERR_INIT;

        sbx_nl_init(&nl);
        sbx_nl_begin(&nl, "route", RTM_NEWROUTE, 0, &head, sizeof(head));
        if (cases[i].oif)
            sbx_nl_u32(&nl, RTA_OIF, cases[i].oif);
        sbx_nl_end(&nl);
        assert_int_equal(sbx_ns_check_route((struct nlmsghdr *)nl.data, NULL, &err), cases[i].want);
    }
}

static void other_policy_rules_and_tables_are_foreign(void **state)
{
    struct fib_rule_hdr rule = { .family = AF_INET };
    struct nfgenmsg head = { .nfgen_family = AF_INET };
    struct sbx_err err = SBX_ERR_INIT;
    const struct nlmsghdr *h = (const struct nlmsghdr *)nl.data;
    static const char *const tables[] = { "sbx", "sbx2", "nat", "" };
    unsigned ours = 0;

    (void)state;
    for (uint32_t pref = 32700; pref < 32900; pref++) {
        bool known = pref == 32766 || pref == 32767 || pref == 32790 ||
                     (pref >= 32800 && pref <= 32802);

        sbx_nl_init(&nl);
        sbx_nl_begin(&nl, "rule", RTM_NEWRULE, 0, &rule, sizeof(rule));
        sbx_nl_u32(&nl, FRA_PRIORITY, pref);
        sbx_nl_end(&nl);
        assert_int_equal(sbx_ns_check_rule(h, NULL, &err), known ? SBX_OK : SBX_DENIED);
    }
    for (size_t i = 0; i < SBX_ARRAY_LEN(tables); i++) {
        sbx_nl_init(&nl);
        sbx_nl_begin(&nl, "table", NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE, 0, &head,
                     sizeof(head));
        sbx_nl_str(&nl, NFTA_TABLE_NAME, tables[i]);
        sbx_nl_end(&nl);
        assert_int_equal(sbx_ns_check_table(h, &ours, &err), i ? SBX_DENIED : SBX_OK);
    }
    assert_int_equal(ours, 1);
}

static void one_equal_number_makes_a_namespace_ours(void **state)
{
    static const struct {
        struct sbx_ns before, now;
        enum sbx_code want;
    } cases[] = {
        { { 1, 1 }, { 2, 2 }, SBX_OK },
        { { 1, 1 }, { 1, 1 }, SBX_DENIED },
        { { 1, 1 }, { 1, 2 }, SBX_DENIED },
        { { 1, 1 }, { 2, 1 }, SBX_DENIED },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(cases); i++) {
        struct sbx_err err = SBX_ERR_INIT;

        assert_int_equal(sbx_ns_differs(&cases[i].before, &cases[i].now, &err), cases[i].want);
    }
}

static void a_question_becomes_servfail_and_nothing_else_does(void **state)
{
    unsigned char question[] = { 0x12, 0x34, 0x01, 0x20, 0, 1, 0, 0, 0, 0,
                                 0,    0,    1,    'a',  0, 0, 1, 0, 1 };
    unsigned char want[] = {
        0x12, 0x34, 0x81, 0x82, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 1, 0, 1
    };

    (void)state;
    assert_int_equal(sbx_dns_fail(question, sizeof(question)), sizeof(question));
    assert_memory_equal(question, want, sizeof(want));
    assert_int_equal(sbx_dns_fail(question, sizeof(question)), 0); /* an answer now: no ping-pong */
    for (size_t len = 0; len < 12; len++)
        assert_int_equal(sbx_dns_fail((unsigned char[12]){ 0 }, len), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rules_are_one_well_formed_transaction),
        cmocka_unit_test(the_normal_form_names_each_of_its_messages),
        cmocka_unit_test(what_does_not_fit_is_refused_whole),
        cmocka_unit_test(an_attribute_is_found_by_its_type),
        cmocka_unit_test(only_lo_and_sleeping_tunnels_are_links),
        cmocka_unit_test(only_loopback_and_our_own_are_addresses),
        cmocka_unit_test(a_route_over_another_link_or_with_none_is_foreign),
        cmocka_unit_test(other_policy_rules_and_tables_are_foreign),
        cmocka_unit_test(one_equal_number_makes_a_namespace_ours),
        cmocka_unit_test(a_question_becomes_servfail_and_nothing_else_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
