#include "ref_int.h"

#include <string.h>

/* Append one component to `out` of length `len`; the new length, or SIZE_MAX: above the root. */
static size_t step(char *out, size_t len, const char *part, size_t n)
{
    if (!n || (n == 1 && part[0] == '.'))
        return len;
    if (n == 2 && !memcmp(part, "..", 2)) {
        const char *slash;

        if (!len)
            return (size_t)-1;
        slash = memrchr(out, '/', len);
        return slash ? (size_t)(slash - out) : 0;
    }
    if (len)
        out[len++] = '/';
    memcpy(out + len, part, n);
    return len + n;
}

char *sbx_ref_join(struct sbx_arena *a, const char *dir, const char *path, bool *ret_escapes)
{
    const char *both[] = { dir, path };
    char *out = sbx_arena_alloc(a, strlen(dir) + strlen(path) + 2);
    size_t len = 0;

    for (size_t i = 0; out && i < 2; i++) {
        const char *p = both[i];

        for (;;) {
            size_t n = strcspn(p, "/");

            len = step(out, len, p, n);
            if (len == (size_t)-1) {
                *ret_escapes = true;
                return NULL;
            }
            if (!p[n])
                break;
            p += n + 1;
        }
    }
    if (out)
        out[len] = '\0';
    return out;
}
