#include "sbx/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE 8192 /* bytes; a usual spec with its artifact takes two or three */
#define ALIGN _Alignof(max_align_t)

struct block {
    struct block *next;
    size_t used, cap;
    _Alignas(max_align_t) char data[];
};

struct deferred {
    struct deferred *next;
    void (*release)(void *);
    void *p;
};

struct sbx_arena {
    struct block *blocks; /* newest first: the one that is filled */
    struct deferred *deferred;
};

struct sbx_arena *sbx_arena_new(void)
{
    return calloc(1, sizeof(struct sbx_arena));
}

void sbx_arena_free(struct sbx_arena *a)
{
    if (!a)
        return;
    for (struct deferred *d = a->deferred; d; d = d->next)
        d->release(d->p);
    for (struct block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(a);
}

static struct block *add_block(struct sbx_arena *a, size_t size)
{
    size_t cap = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    struct block *b;

    if (cap > SIZE_MAX - sizeof(*b))
        return NULL;
    b = calloc(1, sizeof(*b) + cap);
    if (!b)
        return NULL;
    b->cap = cap;
    b->next = a->blocks;
    a->blocks = b;
    return b;
}

void *sbx_arena_alloc(struct sbx_arena *a, size_t size)
{
    struct block *b = a->blocks;
    void *p;

    if (size > SIZE_MAX - ALIGN)
        return NULL;
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (!b || b->cap - b->used < size)
        b = add_block(a, size);
    if (!b)
        return NULL;
    p = b->data + b->used;
    b->used += size;
    return p;
}

void *sbx_arena_array(struct sbx_arena *a, size_t n, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(n, size, &total))
        return NULL;
    return sbx_arena_alloc(a, total);
}

char *sbx_arena_memdup(struct sbx_arena *a, const void *data, size_t len)
{
    char *copy = len < SIZE_MAX ? sbx_arena_alloc(a, len + 1) : NULL;

    if (copy && len)
        memcpy(copy, data, len);
    return copy;
}

char *sbx_arena_strdup(struct sbx_arena *a, const char *text)
{
    return text ? sbx_arena_memdup(a, text, strlen(text)) : NULL;
}

char *sbx_arena_vprintf(struct sbx_arena *a, const char *fmt, va_list args)
{
    va_list again;
    char *text;
    int len;

    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    text = len < 0 ? NULL : sbx_arena_alloc(a, (size_t)len + 1);
    if (text)
        vsnprintf(text, (size_t)len + 1, fmt, args);
    return text;
}

char *sbx_arena_printf(struct sbx_arena *a, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = sbx_arena_vprintf(a, fmt, args);
    va_end(args);
    return text;
}

int sbx_arena_defer(struct sbx_arena *a, void (*release)(void *), void *p)
{
    struct deferred *d = sbx_arena_alloc(a, sizeof(*d));

    if (!d)
        return -1;
    d->release = release;
    d->p = p;
    d->next = a->deferred;
    a->deferred = d;
    return 0;
}
