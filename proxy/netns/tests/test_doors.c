/* What programs inside the namespace meet, with a gate and without. */
#include "programs.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct target anywhere[] = {
    { "93.184.216.34", 443, 0 }, { "10.0.0.1", 1, 0 },    { "169.254.169.254", 80, 0 },
    { "198.18.0.1", 3128, 0 },   { "198.18.0.1", 53, 0 }, { "198.18.200.7", 22, 0 },
    { "172.17.0.1", 2375, 0 },   { "8.8.8.8", 53, 0 },    { "2606:4700::1", 443, 0 },
    { "2001:2::1", 3128, 0 },    { "fd00::1", 65535, 0 }, { "2001:2::1", 53, 0 },
};

static void tcp_to_any_address_and_port_arrives_with_its_destination(void **state)
{
    struct fixture *f = *state;

    gate_begin(f);
    for (size_t i = 0; i < sizeof(anywhere) / sizeof(*anywhere); i++) {
        int got = inside(f, try_connect, &anywhere[i]);

        if (got)
            fail_msg("%s port %u: %s", anywhere[i].addr, anywhere[i].port, strerror(got));
        assert_arrived(strchr(anywhere[i].addr, ':') ? f->tcp6 : f->tcp4, anywhere[i].addr,
                       anywhere[i].port);
    }
}

/* An IPv6-only program's socket with a mapped address is IPv4 on the wire. */
static int connect_mapped(const void *arg)
{
    (void)arg;
    return try_connect(&(struct target){ "::ffff:1.2.3.4", 99, 0 });
}

static void a_mapped_address_arrives_at_the_ipv4_door(void **state)
{
    struct fixture *f = *state;

    gate_begin(f);
    assert_int_equal(inside(f, connect_mapped, NULL), 0);
    assert_arrived(f->tcp4, "1.2.3.4", 99);
}

static void a_doors_own_port_and_own_addresses_do_not_reach_the_gate(void **state)
{
    static const struct target cases[] = {
        { "198.18.0.1", 1, 0 },  { "2001:2::1", 1, 0 },   { "127.0.0.1", 80, 0 },
        { "127.0.0.2", 80, 0 },  { "127.255.0.1", 1, 0 }, { "::1", 80, 0 },
        { "198.18.0.2", 80, 0 }, { "2001:2::2", 80, 0 },  { "0.0.0.0", 80, 0 },
    };
    struct fixture *f = *state;

    gate_begin(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(inside(f, try_connect, &cases[i]), ECONNREFUSED);
    assert_nothing_arrived(f);
}

static void datagrams_ping_and_multicast_find_no_route(void **state)
{
    static const struct target cases[] = {
        { "8.8.8.8", 53, SOCK_DGRAM },      { "198.18.0.1", 99, SOCK_DGRAM },
        { "198.18.5.5", 443, SOCK_DGRAM },  { "224.0.0.251", 5353, SOCK_DGRAM },
        { "2001:4860::8", 53, SOCK_DGRAM }, { "ff05::fb", 5353, SOCK_DGRAM },
        { "2001:2::1", 53, SOCK_DGRAM },    { "ff0e::1", 1, SOCK_DGRAM },
    };
    struct fixture *f = *state;

    gate_begin(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(inside(f, try_connect, &cases[i]), ENETUNREACH);
        assert_int_equal(inside(f, try_send, &cases[i]), ENETUNREACH);
    }
    assert_nothing_arrived(f);
}

static void ping_works_on_loopback_only(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(inside(f, try_ping, "127.0.0.1"), 0);
    assert_int_equal(inside(f, try_ping, "8.8.8.8"), ENETUNREACH);
    assert_int_equal(inside(f, try_ping, "198.18.0.1"), ENETUNREACH);
}

static void a_dns_question_arrives_and_its_answer_returns_from_port_53(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_in from;
    socklen_t len = sizeof(from);
    char got[64];
    pid_t pid;
    int status;

    gate_begin(f);
    pid = inside_running(f, ask_dns, "answer");
    assert_int_equal(recvfrom(f->udp4, got, sizeof(got), 0, (struct sockaddr *)&from, &len),
                     sizeof(question));
    assert_memory_equal(got, question, sizeof(question));
    assert_int_equal(sendto(f->udp4, "answer", 6, 0, (struct sockaddr *)&from, len), 6);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    f->children[0] = 0;
    assert_int_equal(status, 0);
}

static void without_a_gate_tcp_is_reset_and_dns_fails_at_once(void **state)
{
    struct fixture *f = *state;

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(anywhere) / sizeof(*anywhere); i++)
            assert_int_equal(inside(f, connect_and_read, &anywhere[i]), ECONNRESET);
        assert_int_equal(inside(f, ask_dns, NULL), 2); /* SERVFAIL */
        gate_begin(f);
        assert_int_equal(inside(f, try_connect, &anywhere[0]), 0);
        assert_arrived(f->tcp4, anywhere[0].addr, anywhere[0].port);
        gate_end(f);
        close(dial(
            f)); /* the helper serves in order: it has seen the gate's end by its next answer */
        assert_string_equal(ask(f->gate = dial(f), "what", -1, NULL), "error unknown request");
    }
}

static void a_connection_that_waits_at_the_door_is_reset_when_the_gate_dies(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t pid;

    gate_begin(f);
    pid = inside_running(f, connect_and_wait, &anywhere[0]);
    gate_end(f);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    f->children[0] = 0;
    assert_int_equal(WEXITSTATUS(status), ECONNRESET);
}

/* errno of binding (and listening) where a door is, with every option that root inside can set. */
static int try_steal(const void *arg)
{
    const struct target *t = arg;
    struct sockaddr_storage at;
    socklen_t len = address(t->addr, t->port, &at);
    int fd = socket_for(&at, t->type), one = 1;

    if (setsockopt(fd, SOL_IP, IP_FREEBIND, &one, sizeof(one)) && at.ss_family == AF_INET)
        return 255;
    if (at.ss_family == AF_INET6)
        setsockopt(fd, SOL_IPV6, IPV6_FREEBIND, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&at, len))
        return errno;
    return t->type == SOCK_STREAM && listen(fd, 5) ? errno : 0;
}

static void nothing_inside_takes_a_doors_port(void **state)
{
    static const struct target cases[] = {
        { "198.18.0.1", 1, SOCK_STREAM }, { "0.0.0.0", 1, SOCK_STREAM },
        { "2001:2::1", 1, SOCK_STREAM },  { "::", 1, SOCK_STREAM },
        { "198.18.0.1", 1, SOCK_DGRAM },  { "0.0.0.0", 1, SOCK_DGRAM },
    };
    struct fixture *f = *state;

    for (int round = 0; round < 3; round++) { /* before a gate, with one, after it */
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
            if (inside(f, try_steal, &cases[i]) != EADDRINUSE)
                fail_msg("round %d: %s could be bound", round, cases[i].addr);
        if (round == 0)
            gate_begin(f);
        else
            gate_end(f);
    }
}

/* Serve where a door is for others, then see that the door is still the gate's, not ours. As
 * servers do, with SO_REUSEADDR: connections through the door have its port as their local one. */
static int serve_at(const void *arg)
{
    const struct target *t = arg;
    struct sockaddr_storage at;
    socklen_t len = address(t->addr, t->port, &at);
    int fd = socket_for(&at, SOCK_STREAM), one = 1;
    struct target door = { at.ss_family == AF_INET ? "198.18.0.1" : "2001:2::1", t->port, 0 };
    struct target own = { at.ss_family == AF_INET ? "127.0.0.1" : "::1", t->port, 0 };

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&at, len) || listen(fd, 5))
        return errno;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (try_connect(&door) || accept(fd, NULL, NULL) >= 0)
        return 254;
    return try_connect(&own) || accept(fd, NULL, NULL) < 0 ? 253 : 0;
}

static void services_inside_may_use_the_doors_ports(void **state)
{
    static const struct target cases[] = {
        { "0.0.0.0", 53, 0 },
        { "0.0.0.0", 3128, 0 },
        { "::", 3128, 0 },
        { "0.0.0.0", 443, 0 },
    };
    struct fixture *f = *state;

    gate_begin(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        bool v6 = strchr(cases[i].addr, ':');

        assert_int_equal(inside(f, serve_at, &cases[i]), 0);
        assert_arrived(v6 ? f->tcp6 : f->tcp4, v6 ? "2001:2::1" : "198.18.0.1", cases[i].port);
    }
    assert_nothing_arrived(f);
}

static int serve_dns(const void *arg)
{
    struct sockaddr_storage at;
    socklen_t len = address("0.0.0.0", 53, &at);
    int fd = socket_for(&at, SOCK_DGRAM);
    struct sockaddr_storage own;

    if (bind(fd, (struct sockaddr *)&at, len))
        return errno;
    if (ask_dns(arg) != 2) /* not ours: the helper's SERVFAIL */
        return 254;
    len = address("127.0.0.1", 53, &own);
    if (sendto(socket_for(&own, SOCK_DGRAM), "x", 1, 0, (struct sockaddr *)&own, len) != 1)
        return 253;
    return recv(fd, &(char){ 0 }, 1, 0) == 1 ? 0 : 252;
}

static void a_name_server_inside_may_use_port_53(void **state)
{
    assert_int_equal(inside(*state, serve_dns, NULL), 0);
}

static int listen_and_greet(const void *arg)
{
    const struct target *t = arg;
    struct sockaddr_storage at;
    socklen_t len = address(t->addr, t->port, &at);
    int fd = socket_for(&at, SOCK_STREAM), peer;

    if (bind(fd, (struct sockaddr *)&at, len) || listen(fd, 5) || write(STDOUT_FILENO, "", 1) != 1)
        return 1;
    peer = accept(fd, NULL, NULL);
    return write(peer, "hello", 5) != 5;
}

static void a_socket_made_inside_reaches_a_service_on_its_loopback(void **state)
{
    static const struct {
        const char *request;
        struct target at;
    } cases[] = { { "socket tcp4", { "127.0.0.1", 8080, 0 } },
                  { "socket tcp6", { "::1", 8080, 0 } } };
    struct fixture *f = *state;

    for (size_t i = 0; i < 2; i++) {
        struct sockaddr_storage to;
        socklen_t len = address(cases[i].at.addr, cases[i].at.port, &to);
        int conn = dial(f), fds[3];
        char got[5];

        inside_running(f, listen_and_greet, &cases[i].at);
        assert_string_equal(ask(conn, cases[i].request, -1, fds), "ok");
        assert_int_equal(connect(fds[0], (struct sockaddr *)&to, len), 0);
        assert_int_equal(recv(fds[0], got, 5, MSG_WAITALL), 5);
        assert_memory_equal(got, "hello", 5);
        close(fds[0]);
        close(conn);
    }
}

/* AI_ADDRCONFIG looks for an address that is not a loopback one, for each family. */
static int resolve_both(const void *arg)
{
    struct addrinfo want = { .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_ADDRCONFIG | AI_NUMERICHOST };
    struct addrinfo *found;
    static const char *const names[] = { "192.0.2.1", "2606:4700::1" };

    (void)arg;
    for (int i = 0; i < 2; i++) {
        want.ai_family = i ? AF_INET6 : AF_INET;
        if (getaddrinfo(names[i], "443", &want, &found))
            return 1 + i;
        freeaddrinfo(found);
    }
    return 0;
}

static void getaddrinfo_finds_both_families_configured(void **state)
{
    assert_int_equal(inside(*state, resolve_both, NULL), 0);
}

static int tracked(const void *arg)
{
    int fd = open("/proc/thread-self/net/nf_conntrack", O_RDONLY);
    char byte;

    (void)arg;
    return fd >= 0 && read(fd, &byte, 1) > 0;
}

static void no_connection_is_tracked(void **state)
{
    struct fixture *f = *state;

    gate_begin(f);
    assert_int_equal(inside(f, try_connect, &anywhere[0]), 0);
    assert_int_equal(inside(f, tracked, NULL), 0);
}

#define WITH_HELPER(test) cmocka_unit_test_setup_teardown(test, setup_created, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HELPER(tcp_to_any_address_and_port_arrives_with_its_destination),
        WITH_HELPER(a_mapped_address_arrives_at_the_ipv4_door),
        WITH_HELPER(a_doors_own_port_and_own_addresses_do_not_reach_the_gate),
        WITH_HELPER(datagrams_ping_and_multicast_find_no_route),
        WITH_HELPER(ping_works_on_loopback_only),
        WITH_HELPER(a_dns_question_arrives_and_its_answer_returns_from_port_53),
        WITH_HELPER(without_a_gate_tcp_is_reset_and_dns_fails_at_once),
        WITH_HELPER(a_connection_that_waits_at_the_door_is_reset_when_the_gate_dies),
        WITH_HELPER(nothing_inside_takes_a_doors_port),
        WITH_HELPER(services_inside_may_use_the_doors_ports),
        WITH_HELPER(a_name_server_inside_may_use_port_53),
        WITH_HELPER(a_socket_made_inside_reaches_a_service_on_its_loopback),
        WITH_HELPER(getaddrinfo_finds_both_families_configured),
        WITH_HELPER(no_connection_is_tracked),
    };

    return cannot_run() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
