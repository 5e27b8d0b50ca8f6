#include <string.h>

#include "http.h"

bool sbx_url_loopback(const char *host)
{
    size_t len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");

    if (len == 9 && strncmp(host, "localhost", 9) == 0)
        return true;
    if (len == 5 && strncmp(host, "[::1]", 5) == 0)
        return true;
    return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") >= len;
}

const char *sbx_url_origin(struct sbx_http *h, struct sbx_arena *arena, const char *url)
{
    const struct sbx_curl *curl = h->curl;
    char *scheme = NULL, *host = NULL, *port = NULL, *user = NULL;
    const char *out = NULL;
    CURLU *u = curl->url();

    if (u && !curl->url_set(u, CURLUPART_URL, url, 0) &&
        curl->url_get(u, CURLUPART_USER, &user, 0) &&
        !curl->url_get(u, CURLUPART_SCHEME, &scheme, 0) &&
        !curl->url_get(u, CURLUPART_HOST, &host, 0) &&
        !curl->url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) &&
        (!strcmp(scheme, "https") || !strcmp(scheme, "http"))) {
        for (char *p = host; *p; p++)
            if (*p >= 'A' && *p <= 'Z')
                *p = (char)(*p + 'a' - 'A');
        out = sbx_arena_printf(arena, "%s://%s:%s", scheme, host, port);
    }
    curl->free(user);
    curl->free(scheme);
    curl->free(host);
    curl->free(port);
    curl->url_cleanup(u);
    return out;
}

const char *sbx_url_resolve(struct sbx_http *h, struct sbx_arena *arena, const char *base,
                            const char *reference)
{
    const struct sbx_curl *curl = h->curl;
    const char *out = NULL;
    char *text = NULL;
    CURLU *u = curl->url();

    if (u && !curl->url_set(u, CURLUPART_URL, base, 0) &&
        !curl->url_set(u, CURLUPART_URL, reference, 0) &&
        !curl->url_get(u, CURLUPART_URL, &text, 0))
        out = sbx_arena_strdup(arena, text);
    curl->free(text);
    curl->url_cleanup(u);
    return out;
}
