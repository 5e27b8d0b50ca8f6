/**
 * @file
 * Shared libraries that are loaded on first use, so that commands which do not need them stay fast
 * (libcurl alone costs a cold start 4 ms). One header a library (sbx/late_curl.h) lists its
 * functions once in a macro; the compiler checks every call against the library's own header.
 */
#ifndef SBX_LATE_H
#define SBX_LATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "sbx/err.h"

struct sbx_late_symbol {
    const char *name;
    size_t offset; /**< of its pointer in the table */
};

/** One library; a static object of its loader. */
struct sbx_late {
    const char *soname;  /**< "libcurl.so.4" */
    const char *package; /**< Debian package that brings it: "libcurl4" */
    const struct sbx_late_symbol *symbols;
    size_t n_symbols;
    void *table; /**< struct of function pointers */
    bool (*ready)(void); /**< NULL, or called once after loading; false: it does not work */
    pthread_mutex_t lock;
    bool loaded;
};

/**
 * Load it, once a process; safe from several threads. It is never unloaded.
 * @return SBX_OK; SBX_UNAVAILABLE naming the library and the package, or the function it lacks
 */
SBX_MUST_USE enum sbx_code sbx_late_load(struct sbx_late *lib, struct sbx_err *err);

#endif
