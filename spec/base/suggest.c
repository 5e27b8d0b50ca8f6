#include "sbx/suggest.h"

#include <string.h>

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;

    return m < c ? m : c;
}

/* Optimal string alignment: insert, delete, replace, swap of neighbours. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned d[3][SBX_SUGGEST_MAX + 1];

    for (size_t j = 0; j <= m; j++)
        d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *now = d[i % 3], *last = d[(i + 2) % 3], *before = d[(i + 1) % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned cost = a[i - 1] != b[j - 1];

            now[j] = min3(now[j - 1] + 1, last[j] + 1, last[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return d[n % 3][m];
}

void sbx_suggest_try(struct sbx_suggest *s, const char *name)
{
    size_t len = strlen(name), longer = len > s->len ? len : s->len;
    unsigned far, limit;

    if (!s->len || s->len > SBX_SUGGEST_MAX || len > SBX_SUGGEST_MAX)
        return;
    limit = longer <= 3 ? 1 : longer <= 7 ? 2 : 3;
    far = distance(s->word, s->len, name, len);
    /* The beginning of a longer name counts as near: "comp" for "completion". */
    if (far > limit && s->len >= 3 && s->len < len && !memcmp(s->word, name, s->len))
        far = limit;
    if (far > limit || far >= longer || (s->best && far >= s->distance))
        return;
    s->best = name;
    s->distance = far;
}
