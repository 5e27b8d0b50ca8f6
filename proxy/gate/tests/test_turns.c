/* Who is served first: turns and their classes, destinations that are busy, what a round takes. Counters, no times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gate.h"

#include <sys/eventfd.h>
#include <unistd.h>

struct item {
    struct sbx_turn turn;
    struct sbx_source source;
    struct sbx_timer timer;
    struct sbx_loop *loop;
};

static unsigned seen, seen_at_turn, fired;

static void on_turn(struct sbx_turn *t)
{
    (void)t;
    seen_at_turn = seen;
}

static void on_event(struct sbx_source *s, uint32_t events)
{
    struct item *i = sbx_container_of(s, struct item, source);
    uint64_t value;

    (void)events;
    seen++;
    assert_int_equal(read(s->fd, &value, sizeof(value)), sizeof(value));
    sbx_loop_again(i->loop, &i->turn);
}

static void on_late(struct sbx_timer *t)
{
    (void)t;
    fired++;
}

static struct item *items(struct sbx_loop *l, unsigned n, unsigned class)
{
    struct item *v = calloc(n, sizeof(*v));

    assert_non_null(v);
    for (unsigned i = 0; i < n; i++) {
        v[i].turn.on = on_turn;
        v[i].turn.class = class;
        v[i].source = (struct sbx_source){ -1, on_event, true };
        v[i].timer.on = on_late;
        v[i].loop = l;
        sbx_list_init(&v[i].turn.node);
    }
    return v;
}

static int open_loop(void **state)
{
    struct sbx_loop *l = malloc(sizeof(*l));

    assert_non_null(l);
    assert_int_equal(sbx_loop_init(l, NULL), SBX_OK);
    *state = l;
    return 0;
}

static int close_loop(void **state)
{
    sbx_loop_release(*state);
    free(*state);
    return 0;
}

static void urgent_turns_go_first_and_the_others_get_their_share(void **state)
{
    struct sbx_loop *l = *state;
    struct item *first = items(l, 200, 0), *middle = items(l, 2, 3), *last = items(l, 4, SBX_LOOP_CLASSES - 1);
    unsigned n[3] = { 0 }, places[6], nplaces = 0;

    for (unsigned i = 0; i < 4; i++)
        sbx_loop_again(l, &last[i].turn);
    for (unsigned i = 0; i < 2; i++)
        sbx_loop_again(l, &middle[i].turn);
    for (unsigned i = 0; i < 200; i++)
        sbx_loop_again(l, &first[i].turn);
    for (unsigned k = 1; k <= 206; k++) {
        struct sbx_turn *t = sbx_loop_next(l);

        assert_non_null(t);
        if (t->class && nplaces < 4)
            places[nplaces++] = k * 10 + t->class;
        /* in its class each has its place */
        if (!t->class)
            assert_ptr_equal(t, &first[n[0]++].turn);
        else if (t->class == 3)
            assert_ptr_equal(t, &middle[n[1]++].turn);
        else
            assert_ptr_equal(t, &last[n[2]++].turn);
    }
    assert_null(sbx_loop_next(l));
    /* One of so many is for whoever else waits, in rotation: class 3, 6, 0 itself, 3. */
    assert_int_equal(places[0], SBX_LOOP_SHARE * 10 + 3);
    assert_int_equal(places[1], 2 * SBX_LOOP_SHARE * 10 + 6);
    assert_int_equal(places[2], 4 * SBX_LOOP_SHARE * 10 + 3);
    assert_int_equal(places[3], 5 * SBX_LOOP_SHARE * 10 + 6);
    free(first);
    free(middle);
    free(last);
}

static void a_turn_that_is_queued_keeps_its_place(void **state)
{
    struct sbx_loop *l = *state;
    struct item *two = items(l, 2, 2);

    sbx_loop_again(l, &two[0].turn);
    sbx_loop_again(l, &two[1].turn);
    two[0].turn.class = 5;
    sbx_loop_again(l, &two[0].turn);
    assert_ptr_equal(sbx_loop_next(l), &two[0].turn);
    assert_ptr_equal(sbx_loop_next(l), &two[1].turn);
    assert_null(sbx_loop_next(l));
    free(two);
}

static void all_events_are_noted_before_a_turn_runs(void **state)
{
    enum { MANY = 3 * SBX_LOOP_EVENTS };
    struct sbx_loop *l = *state;
    struct item *v = items(l, MANY, 0);

    for (unsigned i = 0; i < MANY; i++) {
        v[i].source.fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
        assert_int_equal(sbx_loop_add(l, &v[i].source, EPOLLIN | EPOLLET), 0);
    }
    seen = 0;
    sbx_loop_round(l);
    assert_int_equal(seen_at_turn, MANY);
    while (sbx_loop_next(l))
        ;
    for (unsigned i = 0; i < MANY; i++)
        sbx_loop_close(l, &v[i].source);
    free(v);
}

static void many_late_timers_do_not_hold_up_a_round(void **state)
{
    enum { MANY = 3 * SBX_LOOP_TIMERS };
    struct sbx_loop *l = *state;
    struct item *v = items(l, MANY, 0);

    fired = 0;
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(sbx_loop_arm(l, &v[i].timer, 0), 0);
    for (unsigned round = 1; round <= 3; round++) {
        sbx_loop_round(l);
        assert_int_equal(fired, round * SBX_LOOP_TIMERS);
    }
    free(v);
}

static struct sbx_gate *new_gate(void)
{
    struct sbx_gate *g = calloc(1, sizeof(*g));

    assert_non_null(g);
    sbx_list_init(&g->idle_dests);
    return g;
}

static void a_destination_is_busy_while_many_connections_come(void **state)
{
    struct sbx_gate *g = new_gate();
    struct sbx_dest *d = NULL, *other;

    (void)state;
    for (unsigned i = 0; i < 4 * SBX_GATE_DEST_FEW; i++)
        d = sbx_dest_take(g, "a.de", 443);
    assert_int_equal(sbx_dest_rank(d, g->loop.now, 5), 2);
    assert_int_equal(sbx_dest_rank(d, g->loop.now, 1), 1);
    other = sbx_dest_take(g, "a.de", 444);
    assert_int_equal(sbx_dest_rank(other, g->loop.now, 5), 0);
    /* Its connections have ended, and it is the same destination when the next one comes. */
    for (unsigned i = 0; i < 4 * SBX_GATE_DEST_FEW; i++)
        sbx_dest_give(g, d);
    assert_ptr_equal(sbx_dest_take(g, "a.de", 443), d);
    assert_int_equal(d->count, 1);
    assert_int_equal(sbx_dest_rank(d, g->loop.now, 5), 2);
    g->loop.now += 1000;
    assert_int_equal(sbx_dest_rank(d, g->loop.now, 5), 1);
    g->loop.now += 3600000;
    assert_int_equal(sbx_dest_rank(d, g->loop.now, 5), 0);
    sbx_dest_give(g, d);
    sbx_dest_give(g, other);
    sbx_dests_free(g);
    free(g);
}

static void destinations_without_connections_are_forgotten_in_the_end(void **state)
{
    struct sbx_gate *g = new_gate();
    unsigned left = 0;

    (void)state;
    for (unsigned port = 1; port <= 2 * SBX_GATE_DESTS_IDLE; port++)
        sbx_dest_give(g, sbx_dest_take(g, "a.de", (uint16_t)port));
    assert_int_equal(g->nidle_dests, SBX_GATE_DESTS_IDLE);
    sbx_dests_free(g);
    for (unsigned i = 0; i < SBX_GATE_DEST_BUCKETS; i++)
        left += g->dests[i] != NULL;
    assert_int_equal(left, 0);
    free(g);
}

static void connections_are_served_by_what_they_do_and_where_they_go(void **state)
{
    enum { LAST = SBX_LOOP_CLASSES - 1 };
    static const struct {
        const char *what;
        enum sbx_conn_state state;
        unsigned turns, others;
        bool bulky, gone;
        unsigned want;
    } rows[] = {
        { "open and small", SBX_CONN_TUNNEL, SBX_GATE_YOUNG, 0, false, false, 0 },
        { "the same in a crowd", SBX_CONN_TUNNEL, SBX_GATE_YOUNG, 500, false, false, 0 },
        { "large", SBX_CONN_TUNNEL, SBX_GATE_YOUNG, 0, true, false, LAST },
        { "new", SBX_CONN_DIALING, 2, 0, false, false, 0 },
        { "just open", SBX_CONN_TUNNEL, 3, 0, false, false, 0 },
        { "new among some", SBX_CONN_DIALING, 2, 2 * SBX_GATE_DEST_FEW, false, false, 2 },
        { "new among many", SBX_CONN_DIALING, 2, 1000, false, false, LAST },
        { "left by its client", SBX_CONN_TUNNEL, SBX_GATE_YOUNG, 0, true, true, 0 },
        { "the same among many", SBX_CONN_TUNNEL, SBX_GATE_YOUNG, 1000, false, true, LAST },
        { "next request of an old one", SBX_CONN_HEAD, SBX_GATE_YOUNG, 0, false, false, 0 },
        { "a head", SBX_CONN_HEAD, 0, -1U, false, false, 1 },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_gate *g = new_gate();
        struct sbx_conn c = { .gate = g, .state = rows[i].state, .turns = rows[i].turns,
                              .bulky = rows[i].bulky, .gone = rows[i].gone };

        for (unsigned k = 0; k < rows[i].others + 1; k++) /* -1: it is not known yet */
            c.asked.dest = sbx_dest_take(g, "a.de", 443);
        if (sbx_conn_class(&c) != rows[i].want)
            fail_msg("%s: class %u", rows[i].what, sbx_conn_class(&c));
        for (unsigned k = 0; k < rows[i].others + 1; k++)
            sbx_dest_give(g, c.asked.dest);
        sbx_dests_free(g);
        free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(urgent_turns_go_first_and_the_others_get_their_share, open_loop, close_loop),
        cmocka_unit_test_setup_teardown(a_turn_that_is_queued_keeps_its_place, open_loop, close_loop),
        cmocka_unit_test_setup_teardown(all_events_are_noted_before_a_turn_runs, open_loop, close_loop),
        cmocka_unit_test_setup_teardown(many_late_timers_do_not_hold_up_a_round, open_loop, close_loop),
        cmocka_unit_test(a_destination_is_busy_while_many_connections_come),
        cmocka_unit_test(destinations_without_connections_are_forgotten_in_the_end),
        cmocka_unit_test(connections_are_served_by_what_they_do_and_where_they_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
