/**
 * @file
 * zlib by late loading: `z->inflate()`. Add a function to the list to use it; of macros such as
 * inflateInit2() the function behind (inflateInit2_). zlib 1.2.11 (Debian 11) or newer.
 */
#ifndef SBX_LATE_ZLIB_H
#define SBX_LATE_ZLIB_H

#include <zlib.h>

#include "sbx/err.h"

#define SBX_ZLIB_FUNCTIONS(X)                                                                      \
    X(deflateInit2_)                                                                               \
    X(deflateSetDictionary)                                                                        \
    X(deflate)                                                                                     \
    X(deflateEnd)                                                                                  \
    X(crc32)                                                                                       \
    X(crc32_combine)                                                                               \
    X(inflateInit2_)                                                                               \
    X(inflate)                                                                                     \
    X(inflateReset)                                                                                \
    X(inflateEnd)

struct sbx_zlib {
#define SBX_ZLIB_FIELD(name) __typeof__(name) *name;
    SBX_ZLIB_FUNCTIONS(SBX_ZLIB_FIELD)
#undef SBX_ZLIB_FIELD
};

/** The functions, loaded at the first call; NULL with `err` (SBX_UNAVAILABLE). */
const struct sbx_zlib *sbx_zlib(struct sbx_err *err);

#endif
