/* Addresses of a name, tried beside each other: when the next one has its turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gate.h"

#include <sys/socket.h>

#define LEFT_MS 5000 /* until the end of all attempts */

static struct sbx_gate gate;
static struct sbx_conn conn;
static int listener; /* takes every attempt */

static int setup(void **state)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof(at);

    (void)state;
    memset(&gate, 0, sizeof(gate));
    memset(&conn, 0, sizeof(conn));
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 16) ||
        getsockname(listener, (struct sockaddr *)&at, &len) || sbx_loop_init(&gate.loop, NULL))
        return -1;
    conn.gate = &gate;
    conn.state = SBX_CONN_DIALING;
    conn.server.source.fd = -1;
    conn.asked.port = ntohs(at.sin_port);
    conn.asked.dial_ends = gate.loop.now + LEFT_MS;
    for (unsigned i = 0; i < SBX_GATE_ADDRESSES; i++)
        conn.asked.addresses.v[i] = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } };
    for (unsigned i = 0; i < SBX_GATE_ATTEMPTS; i++)
        conn.attempts[i].source.fd = -1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sbx_dial_cancel(&conn);
    sbx_loop_disarm(&gate.loop, &conn.timer);
    sbx_loop_release(&gate.loop);
    return close(listener);
}

/* Attempts under way for so long; one address more than there are places is left, or none. */
static uint64_t waits(uint64_t age_ms, bool more)
{
    for (unsigned i = 0; i < SBX_GATE_ATTEMPTS; i++) {
        conn.attempts[i].source.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        conn.attempts[i].source.own = true;
        conn.attempts[i].began = gate.loop.now - age_ms + i;
    }
    conn.asked.next_address = SBX_GATE_ATTEMPTS;
    conn.asked.addresses.len = SBX_GATE_ATTEMPTS + 1 + more;
    sbx_dial_timeout(&conn); /* the oldest makes room for one */
    assert_int_equal(conn.state, SBX_CONN_DIALING);
    assert_int_equal(conn.asked.next_address, SBX_GATE_ATTEMPTS + 1);
    return conn.timer.at - gate.loop.now;
}

static void the_next_address_waits_for_the_oldest_attempt(void **state)
{
    (void)state;
    assert_int_equal(waits(SBX_GATE_ATTEMPT_MS - 100, true), 100 + 1);
}

static void a_loop_that_looks_late_makes_it_wait_no_longer(void **state)
{
    (void)state;
    assert_int_equal(waits(SBX_GATE_ATTEMPT_MS + 500, true), 0);
}

static void with_no_more_addresses_the_end_is_waited_for(void **state)
{
    (void)state;
    assert_int_equal(waits(SBX_GATE_ATTEMPT_MS + 500, false), LEFT_MS);
}

#define DIALING(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIALING(the_next_address_waits_for_the_oldest_attempt),
        DIALING(a_loop_that_looks_late_makes_it_wait_no_longer),
        DIALING(with_no_more_addresses_the_end_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
