#include "challenge.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static bool is_token(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token_len(const char *p)
{
    size_t n = 0;

    while (is_token(p[n]))
        n++;
    return n;
}

static const char *blank(const char *p)
{
    return p + strspn(p, " \t");
}

static char *lower(struct sbx_arena *arena, const char *p, size_t len)
{
    char *out = sbx_arena_memdup(arena, p, len);

    for (char *c = out; c && *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 'a' - 'A');
    return out;
}

/* A token or a quoted string behind "="; *p moves behind it. NULL: broken, or no memory. */
static const char *value(const char **p, struct sbx_arena *arena)
{
    size_t len = token_len(*p), n = 0;
    char *out;

    if (**p != '"') {
        out = len ? sbx_arena_memdup(arena, *p, len) : NULL;
        *p += len;
        return out;
    }
    out = sbx_arena_alloc(arena, strlen(*p) + 1);
    for (++*p; out && **p && **p != '"'; ++*p) {
        if (**p == '\\' && (*p)[1])
            ++*p;
        out[n++] = **p;
    }
    if (!out || **p != '"')
        return NULL;
    ++*p;
    return out;
}

/* Is this "name =", a parameter, or the next scheme? */
static bool is_param(const char *p)
{
    size_t len = token_len(p);
    const char *after = blank(p + len);

    return len && *after == '=';
}

static void keep(struct sbx_challenge *c, const char *name, size_t len, const char *text)
{
    const struct {
        const char *name;
        const char **at;
    } known[] = { { "realm", &c->realm }, { "service", &c->service }, { "scope", &c->scope } };

    for (size_t i = 0; i < SBX_ARRAY_LEN(known); i++)
        if (strlen(known[i].name) == len && !strncasecmp(name, known[i].name, len) && !*known[i].at)
            *known[i].at = text;
}

enum sbx_code sbx_challenge_parse(const char *text, struct sbx_arena *arena,
                                  struct sbx_challenge list[CHALLENGES_MAX], size_t *n)
{
    const char *p = text + strspn(text, " \t,");

    while (*n < CHALLENGES_MAX) {
        struct sbx_challenge c = { NULL, NULL, NULL, NULL };
        size_t len = token_len(p);

        if (!len || is_param(p))
            return SBX_OK;
        c.scheme = lower(arena, p, len);
        if (!c.scheme)
            return SBX_NO_MEMORY;
        p = blank(p + len);
        while (is_param(p)) {
            const char *name = p, *v;

            len = token_len(p);
            p = blank(blank(p + len) + 1);
            v = value(&p, arena);
            if (!v)
                return SBX_OK;
            keep(&c, name, len, v);
            p += strspn(p, " \t,");
        }
        list[(*n)++] = c;
        p += strspn(p, " \t,");
    }
    return SBX_OK;
}
