/* Whom the helper enters: containers with a namespace of their own that nothing leads out of. */
#include "fixture.h"

#include <inttypes.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "invariant.h"
#include "netlink.h"

static const char *const enter_args[] = { "--mode", "enter", NULL };

static void it_enters_a_container_and_says_which_namespace_that_is(void **state)
{
    struct fixture *f = *state;
    pid_t pid = child_in(f, true, NULL);
    uint64_t cookie, inode;
    char want[64], path[64], link[64] = "";
    int fd = pidfd_of(pid), conn;

    start_helper(f, enter_args, fd);
    assert_int_equal(sscanf(f->first, "ok %" SCNu64 " %" SCNu64, &cookie, &inode), 2);
    snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
    assert_true(readlink(path, link, sizeof(link) - 1) > 0);
    snprintf(want, sizeof(want), "net:[%" PRIu64 "]", inode);
    assert_string_equal(link, want);
    conn = dial(f);
    snprintf(want, sizeof(want), "ok %" PRIu64 " %" PRIu64, cookie, inode);
    assert_string_equal(ask(conn, "cookie", -1, NULL), want);
    close(conn);
    close(fd);
}

static void a_container_without_a_namespace_of_its_own_is_refused(void **state)
{
    struct fixture *f = *state;
    int fd = pidfd_of(child_in(f, false, NULL));

    start_helper(f, enter_args, fd);
    close(fd);
    assert_refused(f, "no network namespace of its own");
}

static void a_container_that_has_ended_is_refused(void **state)
{
    struct fixture *f = *state;
    pid_t pid = child_in(f, true, NULL);
    int fd = pidfd_of(pid);

    end_child(f, pid);
    start_helper(f, enter_args, fd);
    close(fd);
    assert_refused(f, "enter the container's network namespace");
}

static struct sbx_nl nl;

static int send_one(int protocol)
{
    struct sbx_err err = SBX_ERR_INIT;
    int fd = sbx_nl_open(protocol, &err);
    int failed;

    sbx_nl_end(&nl);
    failed = fd < 0 || sbx_nl_send(fd, &nl, false, &err);
    close(fd);
    return failed;
}

static void begin_one(uint16_t type, const void *head, size_t len)
{
    sbx_nl_init(&nl);
    sbx_nl_begin(&nl, "spoil", type, NLM_F_ACK | NLM_F_CREATE, head, len);
}

static int with_bridge(void)
{
    struct ifinfomsg head = { .ifi_family = AF_UNSPEC };
    size_t nest;

    begin_one(RTM_NEWLINK, &head, sizeof(head));
    sbx_nl_str(&nl, IFLA_IFNAME, "eth0");
    nest = sbx_nl_nest(&nl, IFLA_LINKINFO);
    sbx_nl_str(&nl, IFLA_INFO_KIND, "bridge");
    sbx_nl_nest_end(&nl, nest);
    return send_one(NETLINK_ROUTE);
}

static int with_address(void)
{
    struct ifaddrmsg head = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1 };
    uint32_t addr = htonl(0x0a000001);

    begin_one(RTM_NEWADDR, &head, sizeof(head));
    sbx_nl_attr(&nl, IFA_LOCAL, &addr, 4);
    sbx_nl_attr(&nl, IFA_ADDRESS, &addr, 4);
    return send_one(NETLINK_ROUTE);
}

static int with_policy_rule(void)
{
    struct fib_rule_hdr head = { .family = AF_INET, .table = 7, .action = FR_ACT_TO_TBL };

    begin_one(RTM_NEWRULE, &head, sizeof(head));
    sbx_nl_u32(&nl, FRA_PRIORITY, 5);
    return send_one(NETLINK_ROUTE);
}

static int with_table(void)
{
    struct nfgenmsg batch = { .res_id = htons(NFNL_SUBSYS_NFTABLES) }, head = { .nfgen_family = 1 };

    begin_one(NFNL_MSG_BATCH_BEGIN, &batch, sizeof(batch));
    sbx_nl_end(&nl);
    sbx_nl_begin(&nl, "table", NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE,
                 NLM_F_ACK | NLM_F_CREATE, &head, sizeof(head));
    sbx_nl_str(&nl, NFTA_TABLE_NAME, "foreign");
    sbx_nl_end(&nl);
    nl.acks = 1;
    sbx_nl_begin(&nl, "end", NFNL_MSG_BATCH_END, 0, &batch, sizeof(batch));
    return send_one(NETLINK_NETFILTER);
}

static void a_namespace_with_anything_that_leads_out_is_refused(void **state)
{
    static const struct {
        int (*spoil)(void);
        const char *why;
    } cases[] = {
        { with_bridge, "link eth0 beside lo" },
        { with_address, "address 10.0.0.1" },
        { with_policy_rule, "foreign policy rule (5)" },
        { with_table, "nf_tables table (foreign" },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(cases); i++) {
        struct fixture *f;
        void *each = NULL;
        int fd;

        (void)state;
        assert_int_equal(setup_empty(&each), 0);
        f = each;
        fd = pidfd_of(child_in(f, true, cases[i].spoil));
        start_helper(f, enter_args, fd);
        close(fd);
        assert_refused(f, cases[i].why);
        teardown(&each);
    }
}

static void it_enters_a_second_time_after_an_earlier_helper_died(void **state)
{
    struct fixture *f = *state;
    int fd = pidfd_of(child_in(f, true, NULL));

    for (int round = 0; round < 2; round++) {
        start_helper(f, enter_args, fd);
        if (strncmp(f->first, "ok ", 3))
            fail_msg("round %d: %s", round, f->first);
        gate_begin(f);
        gate_end(f);
        if (round)
            break;
        kill(f->helper, SIGKILL);
        helper_exit(f);
        unlink(f->path);
        close(f->listener);
        close(f->status);
        close(f->ended);
    }
    close(fd);
}

#define ALONE(test) cmocka_unit_test_setup_teardown(test, setup_empty, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(it_enters_a_container_and_says_which_namespace_that_is),
        ALONE(a_container_without_a_namespace_of_its_own_is_refused),
        ALONE(a_container_that_has_ended_is_refused),
        cmocka_unit_test(a_namespace_with_anything_that_leads_out_is_refused),
        ALONE(it_enters_a_second_time_after_an_earlier_helper_died),
    };

    return cannot_run() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
