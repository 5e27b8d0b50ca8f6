/* Memory of the two nghttp2 sessions. All of it is in a list, since a session that has run out of memory may
 * hold the same thing twice (nghttp2 1.52: an item of a stream whose queue could not grow) and is then not
 * taken apart by its own hand. The session that faces the server holds copies of secrets (http.h, add): its
 * memory is wiped before it goes. The buffer of the largest frame, which each session has for good, is of
 * pages of its own: most are never touched, and cost nothing. See h2part.h. */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "h2part.h"

#define PAGES 16384 /* bytes of a block from which on it has its own pages */

struct block {
    struct sbx_list node;
    size_t size;
    alignas(max_align_t) char data[];
};

static struct block *new_block(size_t size)
{
    struct block *b;

    if (size > PTRDIFF_MAX - sizeof(*b))
        return NULL;
    if (size < PAGES)
        return malloc(sizeof(*b) + size);
    b = mmap(NULL, sizeof(*b) + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return b == MAP_FAILED ? NULL : b;
}

static void *take(size_t size, void *ctx)
{
    struct sbx_h2_mem *m = ctx;
    struct block *b = new_block(size);

    if (!b) {
        m->failed = true;
        return NULL;
    }
    b->size = size;
    sbx_list_append(&m->blocks, &b->node);
    return b->data;
}

static void drop(struct sbx_h2_mem *m, struct block *b)
{
    sbx_list_remove(&b->node);
    if (b->size >= PAGES) { /* whoever has these pages next finds them empty */
        munmap(b, sizeof(*b) + b->size);
        return;
    }
    if (m->wipe)
        explicit_bzero(b->data, b->size);
    free(b);
}

static void give(void *p, void *ctx)
{
    if (p)
        drop(ctx, sbx_container_of(p, struct block, data));
}

static void *take_zero(size_t n, size_t size, void *ctx)
{
    void *p = size && n > SIZE_MAX / size ? NULL : take(n * size, ctx);

    if (p)
        memset(p, 0, n * size);
    return p;
}

static void *take_more(void *p, size_t size, void *ctx)
{
    size_t had = p ? sbx_container_of(p, struct block, data)->size : 0;
    void *to = take(size, ctx);

    if (!to || !p)
        return to;
    memcpy(to, p, had < size ? had : size);
    give(p, ctx);
    return to;
}

void sbx_h2_mem_init(struct sbx_h2_mem *m, bool wipe)
{
    *m = (struct sbx_h2_mem){ .calls = { m, take, give, take_zero, take_more }, .wipe = wipe };
    sbx_list_init(&m->blocks);
}

void sbx_h2_mem_release(struct sbx_h2_mem *m)
{
    while (!sbx_list_empty(&m->blocks))
        drop(m, sbx_container_of(m->blocks.next, struct block, node));
}
