/* The event loop. See loop.h. */
#include "loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t sbx_loop_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

enum sbx_code sbx_loop_init(struct sbx_loop *l, struct sbx_err *err)
{
    memset(l, 0, sizeof(*l));
    for (unsigned i = 0; i < SBX_LOOP_CLASSES; i++)
        sbx_list_init(&l->turns[i]);
    l->now = sbx_loop_ns() / 1000000;
    l->epfd = epoll_create1(EPOLL_CLOEXEC);
    return l->epfd < 0 ? sbx_err_errno(err, "epoll") : SBX_OK;
}

void sbx_loop_release(struct sbx_loop *l)
{
    if (l->epfd >= 0)
        close(l->epfd);
    free(l->heap);
}

int sbx_loop_add(struct sbx_loop *l, struct sbx_source *s, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.ptr = s };

    return epoll_ctl(l->epfd, EPOLL_CTL_ADD, s->fd, &ev);
}

void sbx_loop_close(struct sbx_loop *l, struct sbx_source *s)
{
    if (s->fd < 0)
        return;
    if (!s->own)
        epoll_ctl(l->epfd, EPOLL_CTL_DEL, s->fd, NULL);
    close(s->fd);
    s->fd = -1;
    for (int i = l->current + 1; i < l->nevents; i++)
        if (l->events[i].data.ptr == s)
            l->events[i].data.ptr = NULL;
}

int sbx_loop_move(struct sbx_loop *l, struct sbx_source *from, struct sbx_source *to,
                  uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.ptr = to };

    to->fd = from->fd;
    to->own = from->own;
    from->fd = -1;
    for (int i = l->current + 1; i < l->nevents; i++)
        if (l->events[i].data.ptr == from)
            l->events[i].data.ptr = to;
    return epoll_ctl(l->epfd, EPOLL_CTL_MOD, to->fd, &ev);
}

static void put(struct sbx_loop *l, size_t i, struct sbx_timer *t)
{
    l->heap[i - 1] = t;
    t->index = i;
}

static void sift_up(struct sbx_loop *l, size_t i)
{
    struct sbx_timer *t = l->heap[i - 1];

    while (i > 1 && l->heap[i / 2 - 1]->at > t->at) {
        put(l, i, l->heap[i / 2 - 1]);
        i /= 2;
    }
    put(l, i, t);
}

static void sift_down(struct sbx_loop *l, size_t i)
{
    struct sbx_timer *t = l->heap[i - 1];

    for (;;) {
        size_t child = i * 2;

        if (child > l->ntimers)
            break;
        if (child < l->ntimers && l->heap[child]->at < l->heap[child - 1]->at)
            child++;
        if (l->heap[child - 1]->at >= t->at)
            break;
        put(l, i, l->heap[child - 1]);
        i = child;
    }
    put(l, i, t);
}

void sbx_loop_disarm(struct sbx_loop *l, struct sbx_timer *t)
{
    size_t i = t->index;
    struct sbx_timer *last;

    if (!i)
        return;
    t->index = 0;
    last = l->heap[--l->ntimers];
    if (last == t)
        return;
    put(l, i, last);
    sift_up(l, i);
    sift_down(l, last->index);
}

int sbx_loop_arm(struct sbx_loop *l, struct sbx_timer *t, uint64_t ms)
{
    sbx_loop_disarm(l, t);
    if (l->ntimers == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        struct sbx_timer **heap = realloc(l->heap, cap * sizeof(*heap));

        if (!heap)
            return -1;
        l->heap = heap;
        l->cap = cap;
    }
    t->at = l->now + ms;
    put(l, ++l->ntimers, t);
    sift_up(l, l->ntimers);
    return 0;
}

void sbx_loop_again(struct sbx_loop *l, struct sbx_turn *t)
{
    if (sbx_list_empty(&t->node))
        sbx_list_append(&l->turns[t->class], &t->node);
}

/* The first class in which somebody waits, looking around from `from`; SBX_LOOP_CLASSES: nobody does. */
static unsigned waiting(const struct sbx_loop *l, unsigned from)
{
    for (unsigned i = 0; i < SBX_LOOP_CLASSES; i++) {
        unsigned class = (from + i) % SBX_LOOP_CLASSES;

        if (!sbx_list_empty(&l->turns[class]))
            return class;
    }
    return SBX_LOOP_CLASSES;
}

struct sbx_turn *sbx_loop_next(struct sbx_loop *l)
{
    bool rotate = l->served % SBX_LOOP_SHARE == SBX_LOOP_SHARE - 1;
    unsigned class = waiting(l, rotate ? l->rotated + 1 : 0);
    struct sbx_turn *t;

    if (class == SBX_LOOP_CLASSES)
        return NULL;
    if (rotate)
        l->rotated = class;
    l->served++;
    t = sbx_container_of(l->turns[class].next, struct sbx_turn, node);
    sbx_list_remove(&t->node);
    return t;
}

static int wait_ms(const struct sbx_loop *l)
{
    if (waiting(l, 0) < SBX_LOOP_CLASSES)
        return 0;
    if (!l->ntimers)
        return -1;
    if (l->heap[0]->at <= l->now)
        return 0;
    return l->heap[0]->at - l->now > INT_MAX ? INT_MAX : (int)(l->heap[0]->at - l->now);
}

/* Events, all there are within reason: handlers of connections only take note of them. */
static void take_events(struct sbx_loop *l)
{
    int wait = wait_ms(l);

    for (unsigned batch = 0; batch < SBX_LOOP_BATCHES; batch++, wait = 0) {
        int n = epoll_wait(l->epfd, l->events, SBX_LOOP_EVENTS, wait);

        if (!batch)
            l->now = sbx_loop_ns() / 1000000;
        l->nevents = n;
        for (l->current = 0; l->current < l->nevents; l->current++) {
            struct sbx_source *s = l->events[l->current].data.ptr;

            if (s)
                s->on(s, l->events[l->current].events);
        }
        l->nevents = 0;
        if (n < SBX_LOOP_EVENTS)
            return;
    }
}

static void run_timers(struct sbx_loop *l)
{
    for (unsigned i = 0; i < SBX_LOOP_TIMERS && l->ntimers && l->heap[0]->at <= l->now; i++) {
        struct sbx_timer *t = l->heap[0];

        sbx_loop_disarm(l, t);
        t->on(t);
    }
}

/* The rest, and those that ask again, wait for the next round. Who is alone does not look at the clock. */
static void run_turns(struct sbx_loop *l)
{
    struct sbx_turn *t = sbx_loop_next(l);
    uint64_t began = 0, now;

    while (t) {
        t->on(t);
        if (waiting(l, 0) == SBX_LOOP_CLASSES)
            return;
        now = sbx_loop_ns();
        if (!began)
            began = now;
        else if (now - began >= (waiting(l, 0) ? SBX_LOOP_TURNS_NS : SBX_LOOP_FIRST_NS))
            return;
        t = sbx_loop_next(l);
    }
}

void sbx_loop_round(struct sbx_loop *l)
{
    take_events(l);
    run_timers(l);
    run_turns(l);
}
