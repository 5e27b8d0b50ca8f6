/*
 * Packing: the caller fills blocks and writes them out in order, threads pack them in between. A ring of
 * blocks, in three parts: written <= taken <= filled, counted from the member's start.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "block.h"
#include "gzip.h"
#include "sbx/file.h"

#define OS_UNKNOWN 255 /* the system in the header: none */

struct slot {
    struct gzip_block *block; /* NULL: not needed so far */
    bool packed;
    enum sbx_code rc;
};

struct gzip_out {
    const struct sbx_zlib *z;
    struct sbx_hasher *hasher; /* of what is written */
    int fd;
    int64_t in, out; /* bytes */
    unsigned long crc;
    struct gzip_block *filling; /* not handed on yet; NULL: none */
    unsigned wanted, threads;   /* how many at most, how many there are */
    struct worker {
        struct gzip_out *g;
        struct gzip_room *room; /* NULL: not needed so far */
        pthread_t thread;
    } worker[GZIP_THREADS_MAX]; /* the first one's room is ours where there are no threads */
    pthread_mutex_t lock; /* of all below; who holds a block may touch it without */
    pthread_cond_t work, done;
    bool stop;
    size_t written, taken, filled;
    size_t n; /* slots: two for each thread, so that none waits for the writer */
    struct slot slot[2 * GZIP_THREADS_MAX + 1];
};

static struct slot *slot_of(struct gzip_out *g, size_t i) { return &g->slot[i % g->n]; }

/* Processors that are for us. */
static unsigned processors(void)
{
    cpu_set_t set;
    long n = sched_getaffinity(0, sizeof(set), &set) ? sysconf(_SC_NPROCESSORS_ONLN)
                                                    : CPU_COUNT(&set);

    return n < 1 ? 1 : (unsigned)n;
}

static enum sbx_code put(struct gzip_out *g, const void *data, size_t len, struct sbx_err *err)
{
    sbx_hasher_add(g->hasher, data, len);
    g->out += (int64_t)len;
    return sbx_write_all(g->fd, data, len) ? sbx_err_errno(err, "write") : SBX_OK;
}

static enum sbx_code no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

enum sbx_code gzip_out_open(int fd, unsigned threads, struct gzip_out **ret, struct sbx_err *err)
{
    static const unsigned char header[10] = { 0x1f, 0x8b, Z_DEFLATED, [9] = OS_UNKNOWN };
    SBX_AUTO_PTR(gzip_out) g = NULL;
    const struct sbx_zlib *z = sbx_zlib(err);
    enum sbx_code rc;

    if (!z)
        return SBX_UNAVAILABLE;
    g = calloc(1, sizeof(*g));
    if (!g)
        return no_memory(err);
    g->z = z;
    g->fd = fd;
    g->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    g->work = g->done = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    g->wanted = threads ? threads : processors();
    if (!threads && g->wanted == 1)
        g->wanted = 0; /* taking turns gains nothing */
    if (g->wanted > GZIP_THREADS_MAX)
        g->wanted = GZIP_THREADS_MAX;
    g->n = 2 * g->wanted + 1;
    g->hasher = sbx_hasher_new();
    if (!g->hasher)
        return no_memory(err);
    rc = put(g, header, sizeof(header), err); /* no name and no time */
    if (!rc)
        *ret = SBX_TAKE(g);
    return rc;
}

static void *work(void *ctx)
{
    struct worker *w = ctx;
    struct gzip_out *g = w->g;

    pthread_mutex_lock(&g->lock);
    while (!g->stop) {
        struct slot *s;
        enum sbx_code rc;

        if (g->taken == g->filled) {
            pthread_cond_wait(&g->work, &g->lock);
            continue;
        }
        s = slot_of(g, g->taken++);
        pthread_mutex_unlock(&g->lock);
        rc = gzip_block_pack(g->z, w->room, s->block);
        pthread_mutex_lock(&g->lock);
        s->rc = rc;
        s->packed = true;
        pthread_cond_signal(&g->done);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

static bool has_room(struct worker *w)
{
    if (!w->room)
        w->room = malloc(sizeof(*w->room));
    return w->room;
}

/* The oldest block, once it is packed; without a thread (not wanted, or not to be had) by ourselves. */
static enum sbx_code write_one(struct gzip_out *g, struct sbx_err *err)
{
    struct slot *s = slot_of(g, g->written);
    enum sbx_code rc;

    pthread_mutex_lock(&g->lock);
    if (!g->threads) {
        g->taken++;
        s->rc = has_room(g->worker) ? gzip_block_pack(g->z, g->worker->room, s->block)
                                    : SBX_NO_MEMORY;
        s->packed = true;
    }
    while (!s->packed)
        pthread_cond_wait(&g->done, &g->lock);
    rc = s->rc;
    s->packed = false;
    g->written++;
    pthread_mutex_unlock(&g->lock);
    if (rc)
        return no_memory(err);
    g->in += (int64_t)s->block->len;
    g->crc = g->z->crc32_combine(g->crc, s->block->crc, (z_off_t)s->block->len);
    return put(g, s->block->out, s->block->packed, err);
}

/* A block to fill: the next slot's, once that is free, with what came before in it. */
static enum sbx_code next(struct gzip_out *g, struct sbx_err *err)
{
    struct slot *s = slot_of(g, g->filled), *before = slot_of(g, g->filled + g->n - 1);
    enum sbx_code rc = g->filled - g->written == g->n ? write_one(g, err) : SBX_OK;

    if (rc)
        return rc;
    if (!s->block)
        s->block = calloc(1, sizeof(*s->block));
    if (!s->block)
        return no_memory(err);
    if (g->filled) /* the one before is full: only the last is not */
        memmove(s->block->data, before->block->data + before->block->dict + BLOCK_SIZE - BLOCK_DICT,
                BLOCK_DICT);
    s->block->dict = g->filled ? BLOCK_DICT : 0;
    s->block->len = 0;
    g->filling = s->block;
    return SBX_OK;
}

/* A thread more for each block, until there are enough: a small kit has none. */
static void submit(struct gzip_out *g, bool last)
{
    struct worker *w = &g->worker[g->threads]; /* the next one, if there is to be one */

    g->filling->last = last;
    g->filling = NULL;
    pthread_mutex_lock(&g->lock);
    g->filled++;
    pthread_cond_signal(&g->work);
    pthread_mutex_unlock(&g->lock);
    if (g->threads == g->wanted || last || !has_room(w))
        return;
    w->g = g;
    if (!pthread_create(&w->thread, NULL, work, w))
        g->threads++;
}

enum sbx_code gzip_out_add(struct gzip_out *g, const void *data, size_t len, struct sbx_err *err)
{
    const unsigned char *p = data;

    while (len) {
        struct gzip_block *b;
        size_t step;

        if (g->filling && g->filling->len == BLOCK_SIZE) /* not before: it may be the last */
            submit(g, false);
        if (!g->filling) {
            enum sbx_code rc = next(g, err);

            if (rc)
                return rc;
        }
        b = g->filling;
        step = len < BLOCK_SIZE - b->len ? len : BLOCK_SIZE - b->len;
        memcpy(b->data + b->dict + b->len, p, step);
        b->len += step;
        p += step;
        len -= step;
    }
    return SBX_OK;
}

static void put_le32(unsigned char *to, unsigned long value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

enum sbx_code gzip_out_end(struct gzip_out *g, struct gzip_result *ret, struct sbx_err *err)
{
    unsigned char trailer[8];
    enum sbx_code rc = g->filling ? SBX_OK : next(g, err);

    if (rc)
        return rc;
    submit(g, true);
    while (!rc && g->written < g->filled)
        rc = write_one(g, err);
    put_le32(trailer, g->crc);
    put_le32(trailer + 4, (unsigned long)(g->in & 0xffffffff));
    if (!rc)
        rc = put(g, trailer, sizeof(trailer), err);
    if (rc)
        return rc;
    *ret = (struct gzip_result){ .in = g->in, .out = g->out };
    sbx_hasher_text(g->hasher, ret->digest);
    return SBX_OK;
}

void gzip_out_free(struct gzip_out *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    g->stop = true;
    pthread_cond_broadcast(&g->work);
    pthread_mutex_unlock(&g->lock);
    for (unsigned i = 0; i < g->threads; i++)
        pthread_join(g->worker[i].thread, NULL);
    for (size_t i = 0; i < GZIP_THREADS_MAX; i++)
        free(g->worker[i].room);
    for (size_t i = 0; i < g->n; i++)
        free(g->slot[i].block);
    sbx_hasher_free(g->hasher);
    free(g);
}
