/* Threads that call getaddrinfo(). See resolve.h. */
#include "resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sbx/policy.h"

#define STACK_BYTES 524288 /* modules of the name switch keep answers of 64 KiB on the stack */

struct sbx_lookup {
    struct sbx_list all;     /* of the resolver; touched by the loop only */
    struct sbx_lookup *next;     /* in the queue or among the done */
    struct sbx_list waiters; /* touched by the loop only */
    struct sbx_resolver *resolver;
    bool unwanted;           /* behind the lock: nobody waits; not asked if it is still in the queue */
    bool skipped;            /* that is what happened */
    enum sbx_resolved result;
    struct sbx_addresses addresses;
    char name[SBX_HOST_MAX + 1];
};

struct sbx_resolver {
    struct sbx_loop *loop;
    struct sbx_source wake; /* eventfd: something is done */
    struct sbx_list lookups;
    unsigned nlookups, nthreads;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct sbx_lookup *queue, **queue_end, *done; /* behind the lock, with all below */
    unsigned idle;
    bool stop;
    unsigned running;
};

static void take_address(struct sbx_lookup *l, const struct sockaddr *sa)
{
    struct in6_addr a = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

    if (sa->sa_family == AF_INET)
        memcpy(&a.s6_addr[12], &((const struct sockaddr_in *)(const void *)sa)->sin_addr, 4);
    else if (sa->sa_family == AF_INET6)
        a = ((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
    else
        return;
    if (l->addresses.len < SBX_GATE_ADDRESSES)
        l->addresses.v[l->addresses.len++] = a;
}

static void look_up(struct sbx_lookup *l)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *list = NULL;
    int rc = getaddrinfo(l->name, NULL, &hints, &list);

    for (struct addrinfo *a = rc ? NULL : list; a; a = a->ai_next)
        take_address(l, a->ai_addr);
    if (!rc)
        freeaddrinfo(list);
    if (l->addresses.len)
        l->result = SBX_RESOLVED;
    else
        l->result = rc == EAI_NONAME || rc == EAI_NODATA || !rc ? SBX_RESOLVED_NONE
                                                                : SBX_RESOLVED_FAILED;
}

static void *worker(void *arg)
{
    struct sbx_resolver *r = arg;

    pthread_mutex_lock(&r->lock);
    while (!r->stop) {
        struct sbx_lookup *l = r->queue;
        uint64_t one = 1;

        if (!l) {
            r->idle++;
            pthread_cond_wait(&r->work, &r->lock);
            r->idle--;
            continue;
        }
        r->queue = l->next;
        if (!r->queue)
            r->queue_end = &r->queue;
        if (l->unwanted) { /* a crowd of names that nobody answers must not hold up the next ones */
            l->skipped = true;
        } else {
            pthread_mutex_unlock(&r->lock);
            look_up(l);
            pthread_mutex_lock(&r->lock);
        }
        l->next = r->done;
        r->done = l;
        if (write(r->wake.fd, &one, sizeof(one)) < 0)
            continue; /* only full counters fail, and they are readable */
    }
    r->running--;
    pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* To the end of the queue; with the lock held. */
static void push(struct sbx_resolver *r, struct sbx_lookup *l)
{
    l->next = NULL;
    l->skipped = false;
    *r->queue_end = l;
    r->queue_end = &l->next;
    pthread_cond_signal(&r->work);
}

static void deliver(struct sbx_resolver *r, struct sbx_lookup *l)
{
    if (l->skipped && !sbx_list_empty(&l->waiters)) { /* somebody wants it again meanwhile */
        pthread_mutex_lock(&r->lock);
        push(r, l);
        pthread_mutex_unlock(&r->lock);
        return;
    }
    sbx_list_remove(&l->all);
    r->nlookups--;
    while (!sbx_list_empty(&l->waiters)) {
        struct sbx_waiter *w = sbx_container_of(l->waiters.next, struct sbx_waiter, node);

        sbx_resolve_cancel(w);
        w->on(w, l->result, &l->addresses);
    }
    free(l);
}

static void on_wake(struct sbx_source *s, uint32_t events)
{
    struct sbx_resolver *r = sbx_container_of(s, struct sbx_resolver, wake);
    struct sbx_lookup *done;
    uint64_t count;

    (void)events;
    if (read(s->fd, &count, sizeof(count)) < 0)
        return;
    pthread_mutex_lock(&r->lock);
    done = r->done;
    r->done = NULL;
    pthread_mutex_unlock(&r->lock);
    while (done) {
        struct sbx_lookup *l = done;

        done = l->next;
        deliver(r, l);
    }
}

enum sbx_code sbx_resolver_new(struct sbx_loop *loop, struct sbx_resolver **ret,
                               struct sbx_err *err)
{
    struct sbx_resolver *r = calloc(1, sizeof(*r));

    if (!r)
        return sbx_err_set(err, SBX_NO_MEMORY, "resolver: out of memory");
    r->loop = loop;
    r->queue_end = &r->queue;
    r->wake.on = on_wake;
    sbx_list_init(&r->lookups);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->work, NULL);
    r->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->wake.fd < 0 || sbx_loop_add(loop, &r->wake, EPOLLIN)) {
        enum sbx_code rc = sbx_err_errno(err, "resolver");

        sbx_loop_close(loop, &r->wake);
        free(r);
        return rc;
    }
    *ret = r;
    return SBX_OK;
}

void sbx_resolver_free(struct sbx_resolver *r)
{
    bool busy;

    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->work);
    while (r->idle)
        pthread_cond_wait(&r->work, &r->lock);
    busy = r->running > 0;
    pthread_mutex_unlock(&r->lock);
    if (busy) /* a thread inside getaddrinfo() still uses it; the process is about to end */
        return;
    while (!sbx_list_empty(&r->lookups)) {
        struct sbx_lookup *l = sbx_container_of(r->lookups.next, struct sbx_lookup, all);

        sbx_list_remove(&l->all);
        free(l);
    }
    sbx_loop_close(r->loop, &r->wake);
    free(r);
}

static int start_thread(struct sbx_resolver *r)
{
    pthread_attr_t attr;
    pthread_t thread;
    int rc;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    rc = pthread_create(&thread, &attr, worker, r);
    pthread_attr_destroy(&attr);
    if (rc)
        return -1;
    r->nthreads++;
    r->running++;
    return 0;
}

static struct sbx_lookup *find(struct sbx_resolver *r, const char *name)
{
    for (struct sbx_list *n = r->lookups.next; n != &r->lookups; n = n->next) {
        struct sbx_lookup *l = sbx_container_of(n, struct sbx_lookup, all);

        if (strcmp(l->name, name) == 0)
            return l;
    }
    return NULL;
}

static struct sbx_lookup *enqueue(struct sbx_resolver *r, const char *name)
{
    struct sbx_lookup *l = r->nlookups < SBX_GATE_LOOKUPS ? calloc(1, sizeof(*l)) : NULL;
    int rc = 0;

    if (!l)
        return NULL;
    l->resolver = r;
    strcpy(l->name, name); /* the caller's host is at most SBX_HOST_MAX bytes */
    sbx_list_init(&l->waiters);
    pthread_mutex_lock(&r->lock);
    if (!r->idle && r->nthreads < SBX_GATE_RESOLVER_THREADS)
        rc = start_thread(r);
    if (rc && !r->nthreads) {
        pthread_mutex_unlock(&r->lock);
        free(l);
        return NULL;
    }
    push(r, l);
    pthread_mutex_unlock(&r->lock);
    sbx_list_append(&r->lookups, &l->all);
    r->nlookups++;
    return l;
}

static void want(struct sbx_lookup *l, bool wanted)
{
    pthread_mutex_lock(&l->resolver->lock);
    l->unwanted = !wanted;
    pthread_mutex_unlock(&l->resolver->lock);
}

int sbx_resolve(struct sbx_resolver *r, const char *name, struct sbx_waiter *w)
{
    struct sbx_lookup *l;

    if (strlen(name) > SBX_HOST_MAX)
        return -1;
    l = find(r, name);
    if (!l)
        l = enqueue(r, name);
    if (!l)
        return -1;
    want(l, true);
    sbx_list_append(&l->waiters, &w->node);
    w->waiting = true;
    w->lookup = l;
    return 0;
}

void sbx_resolve_cancel(struct sbx_waiter *w)
{
    if (!w->waiting)
        return;
    sbx_list_remove(&w->node);
    w->waiting = false;
    if (sbx_list_empty(&w->lookup->waiters))
        want(w->lookup, false);
}
