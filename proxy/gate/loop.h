/**
 * @file
 * The event loop: one epoll set, timers in a heap, and turns. One thread. What takes long is no handler
 * of an event but a turn: events are all taken note of first, then turns run, the most urgent class first, for
 * a moment, then events again.
 */
#ifndef SBX_GATE_LOOP_H
#define SBX_GATE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "sbx/err.h"

#define sbx_container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

/** A doubly linked list; the head is a node too. */
struct sbx_list {
    struct sbx_list *next, *prev;
};

static inline void sbx_list_init(struct sbx_list *l)
{
    l->next = l->prev = l;
}

static inline bool sbx_list_empty(const struct sbx_list *l)
{
    return l->next == l;
}

static inline void sbx_list_append(struct sbx_list *l, struct sbx_list *node)
{
    node->prev = l->prev;
    node->next = l;
    l->prev->next = node;
    l->prev = node;
}

/** Take a node out; doing so twice is fine. */
static inline void sbx_list_remove(struct sbx_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    sbx_list_init(node);
}

/** A descriptor in the loop. */
struct sbx_source {
    int fd; /**< -1: not in the loop */
    void (*on)(struct sbx_source *s, uint32_t events);
    bool own; /**< no other process has the open file, so that close() takes it out of the set */
};

struct sbx_timer {
    uint64_t at;  /**< loop time in ms */
    size_t index; /**< in the heap, from 1; 0: not armed */
    void (*on)(struct sbx_timer *t);
};

#define SBX_LOOP_CLASSES 7 /* of turns: 0 first */
#define SBX_LOOP_SHARE 32  /* of so many turns one goes to the classes in rotation, so that none waits for ever */

/** Wants to run after the events of this round. */
struct sbx_turn {
    struct sbx_list node;
    void (*on)(struct sbx_turn *t);
    unsigned class; /**< below SBX_LOOP_CLASSES; counts from when it is queued */
};

#define SBX_LOOP_EVENTS 128 /* taken from the kernel at once; more only costs memory */
#define SBX_LOOP_BATCHES 8  /* of those a round, so that who is to go first is seen behind a thousand others */
#define SBX_LOOP_TIMERS 16  /* a round; the others are late by one */
#define SBX_LOOP_TURNS_NS 50000 /* of turns before new events are looked at, which costs 1 us: two turns of who
                                   wants little, or one copy of a large buffer */
#define SBX_LOOP_FIRST_NS 100000 /* the same while it is the first class's turn: nobody is to go before it */

struct sbx_loop {
    int epfd;
    uint64_t now; /**< CLOCK_MONOTONIC in ms, as of this round */
    bool stop;
    struct epoll_event events[SBX_LOOP_EVENTS];
    int nevents, current;
    struct sbx_timer **heap;
    size_t ntimers, cap;
    struct sbx_list turns[SBX_LOOP_CLASSES];
    unsigned served, rotated; /**< turns so far; the class that had the last one of the rotation */
};

SBX_MUST_USE enum sbx_code sbx_loop_init(struct sbx_loop *l, struct sbx_err *err);
void sbx_loop_release(struct sbx_loop *l);
/** Watch s->fd; events as for epoll. 0 or -1 with errno. */
int sbx_loop_add(struct sbx_loop *l, struct sbx_source *s, uint32_t events);
/** Forget s and close its descriptor; events of this round that are still to come are dropped. */
void sbx_loop_close(struct sbx_loop *l, struct sbx_source *s);
/** Let `to` (in no loop) have the descriptor of `from`, with events that are still to come. 0 or -1. */
int sbx_loop_move(struct sbx_loop *l, struct sbx_source *from, struct sbx_source *to,
                  uint32_t events);
/** (Re)arm a timer `ms` from now; only running out of memory fails: then it fires never (-1). */
int sbx_loop_arm(struct sbx_loop *l, struct sbx_timer *t, uint64_t ms);
void sbx_loop_disarm(struct sbx_loop *l, struct sbx_timer *t);
/** Queue a turn in its class; one that is queued keeps its place. */
void sbx_loop_again(struct sbx_loop *l, struct sbx_turn *t);
/** Take out the turn that is next; NULL: nobody waits. */
struct sbx_turn *sbx_loop_next(struct sbx_loop *l);
uint64_t sbx_loop_ns(void); /**< CLOCK_MONOTONIC at this instant */
/** One round: wait, events, timers, turns. */
void sbx_loop_round(struct sbx_loop *l);

#endif
