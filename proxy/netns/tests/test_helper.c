/* The helper itself: whom it enters, whom it serves, what it keeps, when it ends. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "invariant.h"
#include "netlink.h"

static const char *const enter_args[] = { "--mode", "enter", NULL };
static const char *const create_args[] = { "--mode", "create", NULL };

static void assert_refused(struct fixture *f, const char *why)
{
    if (strncmp(f->first, "error ", 6) || !strstr(f->first, why))
        fail_msg("want an error with \"%s\", got: %s", why, f->first);
    assert_int_not_equal(helper_exit(f), 0);
}

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

static void it_ends_with_the_container_and_says_so(void **state)
{
    struct fixture *f = *state;
    pid_t pid = child_in(f, true, NULL);
    int fd = pidfd_of(pid);

    start_helper(f, enter_args, fd);
    gate_begin(f);
    end_child(f, pid);
    assert_string_equal(ended_text(f), "helper: container ended\n");
    assert_int_equal(helper_exit(f), 0);
    assert_int_equal(recv(f->gate, &(char){ 0 }, 1, 0), 0); /* how the gate learns of it */
    close(fd);
}

static void it_ends_with_the_process_that_it_was_told_to_watch(void **state)
{
    struct fixture *f = *state;
    pid_t first = child_in(f, false, NULL), second = child_in(f, false, NULL);
    int fds[2] = { pidfd_of(first), pidfd_of(second) }, conn;

    start_helper(f, create_args, fds[0]);
    conn = dial(f);
    assert_string_equal(ask(conn, "watch", fds[1], NULL), "ok");
    end_child(f, first); /* no longer the one */
    assert_memory_equal(ask(conn, "cookie", -1, NULL), "ok ", 3);
    end_child(f, second);
    assert_string_equal(ended_text(f), "helper: container ended\n");
    assert_int_equal(helper_exit(f), 0);
    close(conn);
    close(fds[0]);
    close(fds[1]);
}

static void it_ends_when_asked_and_on_sigterm(void **state)
{
    struct fixture *f = *state;

    start_helper(f, create_args, -1);
    assert_string_equal(ask(dial(f), "quit", -1, NULL), "ok");
    assert_string_equal(ended_text(f), "helper: asked to quit\n");
    assert_int_equal(helper_exit(f), 0);
    unlink(f->path);
    start_helper(f, create_args, -1);
    kill(f->helper, SIGTERM);
    assert_string_equal(ended_text(f), "helper: terminated by a signal\n");
    assert_int_equal(helper_exit(f), 0);
}

static void the_doors_go_to_one_gate_at_a_time(void **state)
{
    struct fixture *f = *state;
    int other = dial(f), fds[3];

    gate_begin(f);
    assert_string_equal(ask(other, "doors", -1, fds), "error a gate is connected already");
    assert_int_equal(fds[0], -1);
    assert_string_equal(ask(f->gate, "doors", -1, fds),
                        "ok tcp4 tcp6 udp4"); /* the same one may ask */
    gate_end(f);
    assert_string_equal(ask(other, "doors", -1, fds), "ok tcp4 tcp6 udp4");
    close(other);
}

static void what_is_no_request_is_answered_with_an_error(void **state)
{
    struct fixture *f = *state;
    static const char *const requests[] = {
        "x", "doors now", "socket", "socket sctp4", "Doors", "\n"
    };
    char longest[1024];
    int conn = dial(f), fd = open("/dev/null", O_RDONLY);

    for (size_t i = 0; i < SBX_ARRAY_LEN(requests); i++)
        assert_string_equal(ask(conn, requests[i], fd, NULL), "error unknown request");
    memset(longest, 'd', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_string_equal(ask(conn, longest, -1, NULL), "error unknown request");
    assert_string_equal(ask(conn, "watch", -1, NULL), "error watch needs a pidfd");
    assert_string_equal(ask(conn, "watch", fd, NULL), "error watch needs a pidfd");
    assert_string_equal(ask(conn, "watch", conn, NULL), "error watch needs a pidfd");
    assert_memory_equal(ask(conn, "cookie\n", -1, NULL), "ok ", 3);
    close(conn);
    close(fd);
}

static void too_many_connections_are_turned_away_and_the_gate_stays(void **state)
{
    struct fixture *f = *state;
    int conns[20], fds[3];
    char text[64];
    ssize_t n;

    gate_begin(f);
    for (size_t i = 0; i < SBX_ARRAY_LEN(conns); i++)
        conns[i] = dial(f);
    n = recv(conns[19], text, sizeof(text) - 1, 0);
    assert_true(n > 0);
    text[n] = '\0';
    assert_string_equal(text, "error too many connections");
    assert_string_equal(ask(f->gate, "doors", -1, fds), "ok tcp4 tcp6 udp4");
    for (size_t i = 0; i < SBX_ARRAY_LEN(conns); i++)
        close(conns[i]);
}

static int ask_as_stranger(struct fixture *f)
{
    char text[64] = "";
    int conn;

    if (setgid(54321) || setuid(54321))
        return 2;
    conn = dial(f);
    return recv(conn, text, sizeof(text) - 1, 0) < 0 || strcmp(text, "error not your sandbox");
}

static void another_users_processes_are_not_served(void **state)
{
    struct fixture *f = *state;
    pid_t pid = fork();
    int status;

    if (!pid)
        _exit(ask_as_stranger(f));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void read_proc(pid_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    int fd;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    fd = open(path, O_RDONLY);
    n = read(fd, out, size - 1);
    assert_true(n >= 0);
    out[n] = '\0';
    close(fd);
}

static void it_keeps_no_privilege_and_no_descriptor_of_its_caller(void **state)
{
    static const char *const wanted[] = { "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
                                          "CapBnd:\t0000000000000000", "NoNewPrivs:\t1",
                                          "Seccomp:\t2" };
    struct fixture *f = *state;
    char text[8192], path[64], link[128];

    read_proc(f->helper, "status", text, sizeof(text));
    for (size_t i = 0; i < SBX_ARRAY_LEN(wanted); i++)
        assert_non_null(strstr(text, wanted[i]));
    assert_int_equal(getsid(f->helper), f->helper);
    snprintf(path, sizeof(path), "/proc/%d/cwd", f->helper);
    memset(link, 0, sizeof(link));
    assert_int_equal(readlink(path, link, sizeof(link)), 1);
    for (int fd = 0; fd < 64; fd++) { /* stdio, listener, signals, ended, three doors */
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/fd/%d", f->helper, fd);
        n = readlink(path, link, sizeof(link) - 1);
        if (n < 0)
            continue;
        link[n] = '\0';
        if (fd < 3)
            assert_string_equal(link, "/dev/null");
        else if (strncmp(link, "socket:", 7) && strncmp(link, "pipe:", 5) &&
                 strcmp(link, "anon_inode:[signalfd]"))
            fail_msg("descriptor %d is still open: %s", fd, link);
    }
}

/* Started as a container's PID 1 would be: already inside. */
static void start_holder(struct fixture *f, const char *cookie)
{
    int out[2];
    size_t len = 0;
    ssize_t n;

    snprintf(f->path, sizeof(f->path), "%s/netns.sock", f->dir);
    assert_int_equal(pipe(out), 0);
    f->helper = fork();
    assert_true(f->helper >= 0);
    if (!f->helper) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], STDOUT_FILENO);
        if (!cookie && unshare(CLONE_NEWNET))
            _exit(126);
        execl(SBX_BINARY_DIR "/libexec/sbx/sbx-netns", "sbx-netns", "--mode", "holder", "--socket",
              f->path, "--host-cookie", cookie ? cookie : "1", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    while (len < sizeof(f->first) - 1 &&
           (n = read(out[0], f->first + len, sizeof(f->first) - 1 - len)) > 0)
        len += (size_t)n;
    f->first[len] = '\0';
    close(out[0]);
}

static void a_holder_serves_the_namespace_that_it_is_in(void **state)
{
    struct fixture *f = *state;

    start_holder(f, NULL);
    if (strncmp(f->first, "ok ", 3))
        fail_msg("%s", f->first);
    gate_begin(f);
    gate_end(f);
    kill(f->helper, SIGTERM);
    assert_int_equal(helper_exit(f), 0);
    start_holder(f, NULL); /* its socket is still there from before */
    assert_memory_equal(f->first, "ok ", 3);
    gate_begin(f);
}

static void a_holder_in_the_engines_own_namespace_is_refused(void **state)
{
    struct fixture *f = *state;
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_ns ns;
    char cookie[32];

    assert_int_equal(sbx_ns_read(&ns, &err), SBX_OK);
    snprintf(cookie, sizeof(cookie), "%" PRIu64, ns.cookie);
    start_holder(f, cookie);
    assert_refused(f, "no network namespace of its own");
}

static void a_wrong_command_line_is_refused_before_anything_is_done(void **state)
{
    static const char *const lines[] = {
        "",
        "--mode",
        "--mode enter --socket-fd 0",
        "--mode none --socket-fd 0",
        "--mode create",
        "--mode create --socket-fd x",
        "--mode create --socket-fd -1",
        "--mode create --socket-fd 0 --socket /tmp/x",
        "--mode create --socket-fd 0 extra",
        "--mode create --socket-fd 0 --host-cookie -1",
        "--wrong",
    };
    char command[512];

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(lines); i++) {
        int status;

        snprintf(command, sizeof(command),
                 SBX_BINARY_DIR "/libexec/sbx/sbx-netns %s >/dev/null 2>&1", lines[i]);
        status = system(command);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 2)
            fail_msg("\"%s\": status %d", lines[i], status);
    }
}

#define ALONE(test) cmocka_unit_test_setup_teardown(test, setup_empty, teardown)
#define WITH_HELPER(test) cmocka_unit_test_setup_teardown(test, setup_created, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(it_enters_a_container_and_says_which_namespace_that_is),
        ALONE(a_container_without_a_namespace_of_its_own_is_refused),
        ALONE(a_container_that_has_ended_is_refused),
        cmocka_unit_test(a_namespace_with_anything_that_leads_out_is_refused),
        ALONE(it_enters_a_second_time_after_an_earlier_helper_died),
        ALONE(it_ends_with_the_container_and_says_so),
        ALONE(it_ends_with_the_process_that_it_was_told_to_watch),
        ALONE(it_ends_when_asked_and_on_sigterm),
        WITH_HELPER(the_doors_go_to_one_gate_at_a_time),
        WITH_HELPER(what_is_no_request_is_answered_with_an_error),
        WITH_HELPER(too_many_connections_are_turned_away_and_the_gate_stays),
        WITH_HELPER(another_users_processes_are_not_served),
        WITH_HELPER(it_keeps_no_privilege_and_no_descriptor_of_its_caller),
        ALONE(a_holder_serves_the_namespace_that_it_is_in),
        ALONE(a_holder_in_the_engines_own_namespace_is_refused),
        cmocka_unit_test(a_wrong_command_line_is_refused_before_anything_is_done),
    };

    return cannot_run() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
