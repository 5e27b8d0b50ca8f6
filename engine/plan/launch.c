/* How the agent is started (seed "entrypoint + command"). */
#include "sbx/plan.h"

#include <string.h>

/* No entrypoint: a login shell, the best that the image has. */
static const char *const shell[] = {
    "/bin/sh",
    "-c",
    "if command -v bash >/dev/null 2>&1; then exec bash -l \"$@\"; fi; exec sh -l \"$@\"",
    "sh",
    NULL,
};

static size_t count(const char *const *v)
{
    size_t n = 0;

    while (v && v[n])
        n++;
    return n;
}

static size_t append(const char **out, size_t n, const char *const *v)
{
    for (; v && *v; v++)
        out[n++] = *v;
    return n;
}

const char *const *sbx_plan_launch(const struct sbx_plan *p, bool interactive,
                                   const char *const *args, struct sbx_arena *arena)
{
    const char *const *fixed = count(p->entrypoint) ? p->entrypoint : shell;
    const char *const *tail = interactive ? p->interactive : p->noninteractive;
    bool replaces = args && args[0] && args[0][0] && args[0][0] != '-';
    const char **out = sbx_arena_array(arena, count(fixed) + count(tail) + count(args) + 1,
                                       sizeof(*out));
    size_t n = 0;

    if (!out)
        return NULL;
    if (!replaces) {
        n = append(out, n, fixed);
        n = append(out, n, tail);
    } else if (fixed != shell) { /* a sub-command of the agent */
        out[n++] = fixed[0];
    } else { /* a login shell has none: run it */
        return args;
    }
    append(out, n, args);
    return out;
}
