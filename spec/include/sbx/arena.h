/**
 * @file
 * Memory that is freed as a whole: the tree of a document, an artifact, a plan. Not thread-safe.
 */
#ifndef SBX_ARENA_H
#define SBX_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "sbx/auto.h"

struct sbx_arena;

struct sbx_arena *sbx_arena_new(void); /**< NULL: no memory */
void sbx_arena_free(struct sbx_arena *a); /**< Free it and all it gave out; NULL is fine. */
SBX_DEFINE_AUTO_PTR(sbx_arena, sbx_arena_free);

/** Zeroed, aligned for any type, valid until the arena is freed; NULL: no memory. */
void *sbx_arena_alloc(struct sbx_arena *a, size_t size);
/** The same for `n` elements; NULL on overflow too. */
void *sbx_arena_array(struct sbx_arena *a, size_t n, size_t size);
/** Copy `len` bytes and a NUL behind them. */
char *sbx_arena_memdup(struct sbx_arena *a, const void *data, size_t len);
char *sbx_arena_strdup(struct sbx_arena *a, const char *text); /**< NULL gives NULL */
char *sbx_arena_printf(struct sbx_arena *a, const char *fmt, ...) SBX_PRINTF(2, 3);
char *sbx_arena_vprintf(struct sbx_arena *a, const char *fmt, va_list args) SBX_PRINTF(2, 0);
/** Call `release(p)` when the arena is freed (for what malloc or a library owns). 0 or -1. */
int sbx_arena_defer(struct sbx_arena *a, void (*release)(void *), void *p);

#endif
