/* `locked`: what a parent says of a path holds for all that extend it (S6). */
#include <string.h>

#include "compose.h"

/* Is one path the other, or below or above it? */
static bool touches(const char *path, const char *locked)
{
    size_t n = strlen(path), m = strlen(locked), shorter = n < m ? n : m;
    char next;

    if (strncmp(path, locked, shorter))
        return false;
    next = n < m ? locked[shorter] : path[shorter];
    return !next || next == '.' || next == '[';
}

static bool is_inherited(const struct sbx_element *e, const struct sbx_element *of, size_t n)
{
    for (size_t i = 0; !e->adds && i < n; i++)
        if (!strcmp(of[i].path, e->path) && !strcmp(of[i].value, e->value))
            return true;
    return false;
}

static void check(struct sbx_composer *c, const struct sbx_element *e,
                  const struct sbx_element *parents, size_t n)
{
    const struct sbx_artifact *parent = c->kits[0];

    for (size_t i = 0; i < parent->locked.len; i++) {
        struct sbx_origin lock = parent->locked.at ? parent->locked.at[i] : parent->at;

        if (!touches(e->path, parent->locked.v[i]) || is_inherited(e, parents, n))
            continue;
        sbx_compose_conflict(c, "locked-path", e->at, e->path, "leave it out, or extend another kit",
                             "kit %s may not change %s: kit %s locks %s (%s:%u)",
                             c->kits[1]->name, e->path, lock.kit ? lock.kit : parent->name,
                             parent->locked.v[i], lock.pos.file ? lock.pos.file : "",
                             lock.pos.line);
        return;
    }
}

void sbx_compose_locked(struct sbx_composer *c)
{
    SBX_AUTO_PTR(sbx_arena) arena = NULL;
    struct sbx_element *of_parent, *of_child;
    size_t n, m;

    if (!c->kits[0]->locked.len)
        return;
    arena = sbx_arena_new();
    if (!arena || sbx_artifact_elements(c->kits[0], arena, &of_parent, &n) ||
        sbx_artifact_elements(c->kits[1], arena, &of_child, &m)) {
        c->no_memory = true;
        return;
    }
    for (size_t i = 0; i < m; i++)
        check(c, &of_child[i], of_parent, n);
}
