#include "sbx/crowd.h"

#include <pthread.h>

struct run {
    const struct sbx_crowd *c;
    pthread_mutex_t lock; /* of all below */
    size_t next;
    enum sbx_code rc;
    struct sbx_err why;
};

/* The next thing; c->n when there is none, or something failed. */
static size_t take(struct run *r)
{
    size_t i;

    pthread_mutex_lock(&r->lock);
    i = r->rc || r->next == r->c->n ? r->c->n : r->next++;
    pthread_mutex_unlock(&r->lock);
    return i;
}

static void *work(void *ctx)
{
    struct run *r = ctx;
    const struct sbx_crowd *c = r->c;
    struct sbx_err err = SBX_ERR_INIT;
    void *state = NULL;
    enum sbx_code rc = c->begin(c->ctx, &state, &err);

    while (!rc) {
        size_t i = take(r);

        if (i == c->n)
            break;
        rc = c->one(c->ctx, state, i, &err);
    }
    c->end(state);
    pthread_mutex_lock(&r->lock);
    if (rc && !r->rc) {
        r->rc = rc;
        r->why = err;
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

enum sbx_code sbx_crowd_run(const struct sbx_crowd *c, struct sbx_err *err)
{
    struct run r = { .c = c, .lock = PTHREAD_MUTEX_INITIALIZER, .why = SBX_ERR_INIT };
    pthread_t threads[SBX_CROWD_THREADS];
    size_t n = 0;

    while (n + 1 < SBX_CROWD_THREADS && n + 1 < c->n &&
           !pthread_create(&threads[n], NULL, work, &r))
        n++;
    if (c->n)
        work(&r); /* this one works too */
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    if (r.rc && err)
        *err = r.why;
    return r.rc;
}
