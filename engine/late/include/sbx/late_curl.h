/**
 * @file
 * libcurl by late loading: `curl->easy_init()` is curl_easy_init(). Add a function to the list to
 * use it. libcurl 7.74 (Debian 11) or newer.
 *
 *     const struct sbx_curl *curl = sbx_curl(err);
 *     if (!curl)
 *         return SBX_UNAVAILABLE;
 */
#ifndef SBX_LATE_CURL_H
#define SBX_LATE_CURL_H

#include <curl/curl.h>

#include "sbx/err.h"

#define SBX_CURL_FUNCTIONS(X)                                                                      \
    X(global_init)                                                                                 \
    X(easy_init)                                                                                   \
    X(easy_cleanup)                                                                                \
    X(easy_reset)                                                                                  \
    X(easy_setopt)                                                                                 \
    X(easy_getinfo)                                                                                \
    X(easy_perform)                                                                                \
    X(easy_strerror)                                                                               \
    X(easy_escape)                                                                                 \
    X(easy_send)                                                                                   \
    X(easy_recv)                                                                                   \
    X(easy_pause)                                                                                  \
    X(free)                                                                                        \
    X(slist_append)                                                                                \
    X(slist_free_all)                                                                              \
    X(multi_init)                                                                                  \
    X(multi_cleanup)                                                                               \
    X(multi_add_handle)                                                                            \
    X(multi_remove_handle)                                                                         \
    X(multi_perform)                                                                               \
    X(multi_poll)                                                                                  \
    X(multi_info_read)                                                                             \
    X(multi_strerror)                                                                              \
    X(url)                                                                                         \
    X(url_set)                                                                                     \
    X(url_get)                                                                                     \
    X(url_cleanup)                                                                                 \
    X(version_info)

struct sbx_curl {
#define SBX_CURL_FIELD(name) __typeof__(curl_##name) *name;
    SBX_CURL_FUNCTIONS(SBX_CURL_FIELD)
#undef SBX_CURL_FIELD
};

/** The functions, loaded and initialised at the first call; NULL with `err` (SBX_UNAVAILABLE). */
const struct sbx_curl *sbx_curl(struct sbx_err *err);

#endif
