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

static uint64_t monotonic_ms(void)
{
    return sbx_loop_ns() / 1000000;
}

enum sbx_code sbx_loop_init(struct sbx_loop *l, struct sbx_err *err)
{
    memset(l, 0, sizeof(*l));
    sbx_list_init(&l->turns);
    l->now = monotonic_ms();
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
        sbx_list_append(&l->turns, &t->node);
}

static int wait_ms(const struct sbx_loop *l)
{
    if (!sbx_list_empty(&l->turns))
        return 0;
    if (!l->ntimers)
        return -1;
    if (l->heap[0]->at <= l->now)
        return 0;
    return l->heap[0]->at - l->now > INT_MAX ? INT_MAX : (int)(l->heap[0]->at - l->now);
}

static void run_turns(struct sbx_loop *l)
{
    uint64_t end;

    if (sbx_list_empty(&l->turns))
        return;
    end = sbx_loop_ns() + SBX_LOOP_TURNS_NS;
    do { /* the rest, and those that ask again, wait for the next round */
        struct sbx_turn *t = sbx_container_of(l->turns.next, struct sbx_turn, node);

        sbx_list_remove(&t->node);
        t->on(t);
    } while (!sbx_list_empty(&l->turns) && sbx_loop_ns() < end);
}

void sbx_loop_round(struct sbx_loop *l)
{
    l->now = monotonic_ms();
    l->nevents = epoll_wait(l->epfd, l->events, SBX_LOOP_EVENTS, wait_ms(l));
    l->now = monotonic_ms();
    for (l->current = 0; l->current < l->nevents; l->current++) {
        struct sbx_source *s = l->events[l->current].data.ptr;

        if (s)
            s->on(s, l->events[l->current].events);
    }
    l->nevents = 0;
    while (l->ntimers && l->heap[0]->at <= l->now) {
        struct sbx_timer *t = l->heap[0];

        sbx_loop_disarm(l, t);
        t->on(t);
    }
    run_turns(l);
}
