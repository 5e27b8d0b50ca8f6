#include <string.h>

#include "store.h"

#define DEFAULT_HOST "docker.io"
#define NAME_MAX_LEN 255 /* bytes of host and path together, as registries bound it */
#define TAG_MAX 128      /* bytes: distribution specification */

static bool lower_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

static bool alnum(char c) { return lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

/* path-component: alnum runs joined by ".", "_", "__" or dashes */
static bool component(const char *p, size_t len)
{
    if (!len || !lower_alnum(p[0]) || !lower_alnum(p[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!lower_alnum(p[i]) && !strchr("._-", p[i]))
            return false;
        if (p[i] == '.' && !lower_alnum(p[i + 1]))
            return false;
    }
    return true;
}

static bool path(const char *p, size_t len)
{
    while (len) {
        const char *slash = memchr(p, '/', len);
        size_t n = slash ? (size_t)(slash - p) : len;

        if (!component(p, n))
            return false;
        if (!slash)
            return true;
        p += n + 1;
        len -= n + 1;
    }
    return false;
}

static bool host(const char *p, size_t len)
{
    if (!len || (!alnum(p[0]) && p[0] != '['))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!alnum(p[i]) && !strchr(".-:[]", p[i]))
            return false;
    return true;
}

/* The part before the first "/" is a host when it could not be a path. */
static size_t host_len(const char *name, size_t len)
{
    const char *slash = memchr(name, '/', len);
    size_t n = slash ? (size_t)(slash - name) : 0;

    if (n && (memchr(name, '.', n) || memchr(name, ':', n) ||
              (n == 9 && memcmp(name, "localhost", 9) == 0)))
        return n;
    return 0;
}

static bool tag(const char *p, size_t len)
{
    if (!len || len > TAG_MAX || (!alnum(p[0]) && p[0] != '_'))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!alnum(p[i]) && !strchr("_.-", p[i]))
            return false;
    return true;
}

char *sbx_store_full_name(struct sbx_arena *arena, const char *reference)
{
    const char *digest = strchr(reference, '@');
    size_t all = digest ? (size_t)(digest - reference) : strlen(reference), len = all, h;
    const char *colon = memrchr(reference, ':', all), *slash = memrchr(reference, '/', all);
    const char *rest, *hub = "";
    bool tagged = colon && (!slash || colon > slash);

    if (tagged) {
        len = (size_t)(colon - reference);
        if (!tag(colon + 1, all - len - 1))
            return NULL;
    }
    if (!len || len > NAME_MAX_LEN || (digest && !sbx_digest_valid(digest + 1)))
        return NULL;
    h = host_len(reference, len);
    rest = reference + h + (h > 0);
    if ((h && !host(reference, h)) || !path(rest, len - (size_t)(rest - reference)))
        return NULL;
    if (!h || (h == strlen(DEFAULT_HOST) && memcmp(reference, DEFAULT_HOST, h) == 0))
        hub = memchr(rest, '/', len - (size_t)(rest - reference)) ? "" : "library/";
    return sbx_arena_printf(arena, "%.*s/%s%.*s%s", h ? (int)h : (int)strlen(DEFAULT_HOST),
                            h ? reference : DEFAULT_HOST, hub,
                            (int)(all - (size_t)(rest - reference)), rest,
                            digest   ? digest
                            : tagged ? ""
                                     : ":latest");
}

char *sbx_store_familiar_name(struct sbx_arena *arena, const char *full)
{
    if (strncmp(full, DEFAULT_HOST "/", strlen(DEFAULT_HOST) + 1) == 0)
        full += strlen(DEFAULT_HOST) + 1;
    else
        return sbx_arena_strdup(arena, full);
    if (strncmp(full, "library/", 8) == 0)
        full += 8;
    return sbx_arena_strdup(arena, full);
}
