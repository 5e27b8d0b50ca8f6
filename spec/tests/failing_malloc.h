/**
 * @file
 * malloc and its kin before libc's own, for programs in which each allocation fails in turn. Included once a
 * program: libraries it is linked with get them too. Not with sanitizers, which put theirs in the same place.
 */
#ifndef SBX_TEST_FAILING_MALLOC_H
#define SBX_TEST_FAILING_MALLOC_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static long countdown = -1; /* allocations until the one that fails; -1: none does */
static bool hit;
static long live;

static bool fails(void)
{
    if (countdown < 0 || countdown-- > 0)
        return false;
    hit = true;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    void *p = fails() ? NULL : __libc_malloc(size);

    live += p != NULL;
    return p;
}

void *calloc(size_t n, size_t size)
{
    void *p = fails() ? NULL : __libc_calloc(n, size);

    live += p != NULL;
    return p;
}

void *realloc(void *old, size_t size)
{
    void *p = fails() ? NULL : __libc_realloc(old, size);

    live += p && !old;
    return p;
}

void free(void *p)
{
    live -= p != NULL;
    __libc_free(p);
}

#endif
