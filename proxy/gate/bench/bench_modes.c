/* What tunnels do once they are open. See bench_client.h.
 *
 *     tunnels   open, one byte there and back, reset, again: counts tunnels
 *     trips     64 bytes there and back, without a pause: counts round trips
 *     slow      the same ten times a second each, all of them evenly spread
 *     stream    read without end: counts MiB
 *     flood     the same by many, and only so many MiB a second
 *     hold      one byte there and back, then silence: counts open tunnels
 *     stall     write until nothing more goes, to a server that never reads: counts MiB
 *     deaf      to a server that never answers: counts refusals
 *     reset     to a server that resets, again and again, or only so many a second: counts resets
 *     quiet     a round trip every 5 ms on an open tunnel: what a lone user sees
 *     visit     a new tunnel every 5 ms
 */
#include "bench_client.h"

#define TRIP 64
#define SLOW_NS 100000000u
#define QUIET_NS 5000000u
#define REOPEN_MAX 64 /* tunnels opened anew a tick, so that the load is not all of one kind */

static char block[BENCH_BLOCK];

static void say(struct client *c, struct flow *f, size_t len)
{
    f->got = 0;
    f->began = bench_now_ns();
    if (send(f->fd, block, len, MSG_NOSIGNAL) == (ssize_t)len)
        return;
    flow_close(c, f);
    c->mode->gone(c, f);
}

/* Read what is there; false: nothing for this time, or the tunnel is gone. */
static bool hear(struct client *c, struct flow *f, size_t len)
{
    ssize_t n = recv(f->fd, block, sizeof(block), 0);

    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        flow_close(c, f);
        c->mode->gone(c, f);
        return false;
    }
    f->got += (size_t)n;
    return f->got >= len;
}

static void count_failure(struct client *c, struct flow *f)
{
    (void)f;
    c->failed++;
}

static void fail(struct client *c, struct flow *f)
{
    fprintf(stderr, "%s: tunnel %u to b%u broke: %s\n", c->mode->name, f->index, f->number, strerror(errno));
    exit(1);
}

static void tunnels_opened(struct client *c, struct flow *f)
{
    uint64_t began = f->began;

    say(c, f, 1);
    f->began = began; /* of the tunnel, not of the byte */
}

static void tunnels_data(struct client *c, struct flow *f)
{
    if (!hear(c, f, 1))
        return;
    c->count++;
    client_sample(c, f->began);
    flow_close(c, f);
    flow_open(c, f);
}

static void trips_opened(struct client *c, struct flow *f) { say(c, f, TRIP); }

static void trips_data(struct client *c, struct flow *f)
{
    if (!hear(c, f, TRIP))
        return;
    c->count++;
    client_sample(c, f->began);
    say(c, f, TRIP);
}

static void slow_opened(struct client *c, struct flow *f)
{
    f->got = SIZE_MAX;
    f->began = bench_now_ns() - SLOW_NS * (uint64_t)f->index / c->nflows;
}

static void slow_data(struct client *c, struct flow *f)
{
    if (f->got == SIZE_MAX || !hear(c, f, TRIP))
        return;
    c->count++;
    client_sample(c, f->began);
    f->got = SIZE_MAX; /* silent until its tick */
}

static void slow_tick(struct client *c, uint64_t now)
{
    for (unsigned i = 0; i < c->nflows; i++) {
        struct flow *f = &c->flows[i];

        if (f->state == FLOW_OPEN && f->got == SIZE_MAX && now - f->began >= SLOW_NS)
            say(c, f, TRIP);
    }
}

static uint64_t taken; /* bytes of stream, flood or stall */

static bool take(struct client *c, struct flow *f)
{
    ssize_t n = recv(f->fd, block, sizeof(block), 0);

    if (n > 0) {
        taken += (uint64_t)n;
        c->count = taken >> 20;
        return true;
    }
    if (n < 0 && errno == EAGAIN)
        return false;
    flow_close(c, f);
    c->mode->gone(c, f);
    return false;
}

static void stream_read(struct client *c, struct flow *f)
{
    while (bench_now_ns() < c->ends_ns && take(c, f))
        ;
}

/* A block of each in turn, as long as the budget lasts: the servers are held up by it. */
static void flood_tick(struct client *c, uint64_t now)
{
    static unsigned next;
    uint64_t may = (c->rate << 20) / 1000 * ((now - c->began_ns) / 1000000);

    for (unsigned i = 0; i < c->nflows && taken < may; i++) {
        struct flow *f = &c->flows[next++ % c->nflows];

        if (f->state == FLOW_OPEN)
            take(c, f);
    }
}

static void nothing(struct client *c, struct flow *f)
{
    (void)c;
    (void)f;
}

static void hold_opened(struct client *c, struct flow *f) { say(c, f, 1); }

static void hold_data(struct client *c, struct flow *f)
{
    if (hear(c, f, 1) && f->got == 1)
        c->count++;
}

static void stall_data(struct client *c, struct flow *f)
{
    ssize_t n;

    while ((n = send(f->fd, block, sizeof(block), MSG_NOSIGNAL)) > 0)
        taken += (uint64_t)n;
    c->count = taken >> 20;
    if (errno == EAGAIN)
        return;
    flow_close(c, f);
    c->failed++;
}

static void reset_opened(struct client *c, struct flow *f) { say(c, f, 1); }

static void reset_data(struct client *c, struct flow *f) { (void)hear(c, f, SIZE_MAX); }

static void count_reset(struct client *c, struct flow *f)
{
    (void)f;
    c->count++;
}

static void reopen_tick(struct client *c, uint64_t now)
{
    static uint64_t opened;
    uint64_t last = opened + REOPEN_MAX, may = c->rate * ((now - c->began_ns) / 1000000) / 1000;

    if (c->rate && opened + REOPEN_MAX < may)
        opened = may - REOPEN_MAX; /* what could not be done in time is not made up for */
    if (c->rate && last > may)
        last = may;
    for (unsigned i = 0; i < c->nflows && opened < last; i++)
        if (c->flows[i].fd < 0 && ++opened)
            flow_open(c, &c->flows[i]);
}

/* A lone user: something small every few ms. */
static void quiet_tick(struct client *c, uint64_t now)
{
    static uint64_t last;
    struct flow *f = c->flows;

    if (now - last < QUIET_NS)
        return;
    last = now;
    if (f->fd < 0)
        flow_open(c, f);
    else if (f->state == FLOW_OPEN && f->got == SIZE_MAX)
        say(c, f, TRIP);
}

static void visit_data(struct client *c, struct flow *f)
{
    if (!hear(c, f, 1))
        return;
    c->count++;
    client_sample(c, f->began);
    flow_close(c, f);
}

static const struct mode
    tunnels = { "tunnels", BENCH_ECHO, true, false, false, tunnels_opened, tunnels_data, fail, NULL },
    trips = { "trips", BENCH_ECHO, true, false, false, trips_opened, trips_data, fail, NULL },
    slow = { "slow", BENCH_ECHO, true, false, true, slow_opened, slow_data, fail, slow_tick },
    stream = { "stream", BENCH_SOURCE, false, false, false, stream_read, stream_read, fail, NULL },
    flood = { "flood", BENCH_SOURCE, false, false, true, nothing, nothing, count_failure, flood_tick },
    hold = { "hold", BENCH_ECHO, false, true, true, hold_opened, hold_data, count_failure, NULL },
    stall = { "stall", BENCH_STALL, false, false, true, nothing, stall_data, count_failure, NULL },
    deaf = { "deaf", BENCH_DEAF, false, false, true, nothing, nothing, count_reset, NULL },
    reset = { "reset", BENCH_RESET, false, false, true, reset_opened, reset_data, count_reset, reopen_tick },
    quiet = { "quiet", BENCH_LONE, true, false, false, trips_opened, slow_data, fail, quiet_tick },
    visit = { "visit", BENCH_LONE, true, false, false, tunnels_opened, visit_data, count_failure, quiet_tick };

const struct mode *const bench_modes[] = { &tunnels, &trips, &slow, &stream, &flood, &hold, &stall, &deaf,
                                           &reset, &quiet, &visit, NULL };
