/**
 * @file
 * Ownership that ends with the scope. An owned thing starts empty, is released when its scope ends,
 * and is handed over with SBX_TAKE().
 */
#ifndef SBX_AUTO_H
#define SBX_AUTO_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define SBX_MUST_USE __attribute__((warn_unused_result))
#define SBX_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define SBX_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/** A struct on the stack that `type_auto` releases: SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(MAX); */
#define SBX_AUTO(type) __attribute__((cleanup(type##_auto))) struct type
/** A pointer to a struct that `type_auto_ptr` frees: SBX_AUTO_PTR(sbx_x) x = NULL; */
#define SBX_AUTO_PTR(type) __attribute__((cleanup(type##_auto_ptr))) struct type *

#define SBX_DEFINE_AUTO(type, release)                                                             \
    static inline void type##_auto(struct type *p) { release(p); }                                 \
    struct sbx_semicolon
#define SBX_DEFINE_AUTO_PTR(type, release)                                                         \
    static inline void type##_auto_ptr(struct type **p) { release(*p); }                           \
    struct sbx_semicolon

/** Give an owned pointer away: its holder becomes NULL. */
#define SBX_TAKE(p)                                                                                \
    __extension__({                                                                                \
        __typeof__(p) *p_ = &(p), v_ = *p_;                                                        \
        *p_ = NULL;                                                                                \
        v_;                                                                                        \
    })

static inline void sbx_auto_free_(void *p) { free(*(void **)p); }

static inline void sbx_auto_fd_(int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

/** Give a descriptor away: its holder becomes -1. */
static inline int sbx_take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#define SBX_AUTO_FREE __attribute__((cleanup(sbx_auto_free_)))
#define SBX_AUTO_FD __attribute__((cleanup(sbx_auto_fd_)))

#endif
