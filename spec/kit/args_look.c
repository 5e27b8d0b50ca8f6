/* Names of references to values of one kit: what the trees' and the files' substitution share. */
#include <string.h>

#include "args.h"
#include "sbx/suggest.h"

void sbx_args_look_begin(struct sbx_args_lookup *l, struct sbx_pos pos)
{
    l->pos = pos;
    l->names = NULL;
}

static void unknown(struct sbx_args_lookup *l, const char *name, size_t len)
{
    const struct sbx_substitution *s = l->a->substitution;
    struct sbx_suggest nearest = SBX_SUGGEST_INIT(name, len);
    char hint[200] = "declare it below args:";

    for (size_t i = 0; i < s->n_args; i++)
        sbx_suggest_try(&nearest, s->args[i].name);
    if (nearest.best)
        snprintf(hint, sizeof(hint), "did you mean \"%s\"?", nearest.best);
    sbx_diags_add(l->diags, SBX_ERROR, "undeclared-arg", l->pos, "", hint,
                  "references ${{ kit.args.%.*s }}, which spec.yaml does not declare in its args: "
                  "block",
                  (int)(len > 60 ? 60 : len), name);
}

static bool is_listed(const char *names, const char *name, size_t len)
{
    for (const char *s = names; s; s = strstr(s, ", "), s = s ? s + 2 : NULL)
        if (!strncmp(s, name, len) && (!s[len] || s[len] == ','))
            return true;
    return false;
}

const char *sbx_args_names_add(struct sbx_arena *arena, const char *names, const char *name, size_t len)
{
    if (is_listed(names, name, len))
        return names;
    return sbx_arena_printf(arena, "%s%s%.*s", names ? names : "", names ? ", " : "", (int)len, name);
}

static void note(struct sbx_args_lookup *l, const char *name)
{
    l->names = sbx_args_names_add(l->a->arena, l->names, name, strlen(name));
    if (!l->names)
        l->no_memory = true;
}

const char *sbx_args_look(void *data, const char *name, size_t len)
{
    struct sbx_args_lookup *l = data;
    const struct sbx_substitution *s = l->a->substitution;

    for (size_t i = 0; i < s->n_args; i++)
        if (!strncmp(s->args[i].name, name, len) && !s->args[i].name[len]) {
            note(l, s->args[i].name);
            return s->values[i];
        }
    unknown(l, name, len);
    return NULL;
}

bool sbx_args_look_keep(struct sbx_args_lookup *l)
{
    struct sbx_substitution *s = l->a->substitution;

    if (l->no_memory)
        return false;
    if (!l->names)
        return true; /* only an escape */
    if (s->n_uses == s->uses_cap) {
        size_t cap = s->uses_cap ? s->uses_cap * 2 : 16;
        struct sbx_arg_use *v = sbx_arena_array(l->a->arena, cap, sizeof(*v));

        if (!v)
            return false;
        if (s->n_uses)
            memcpy(v, s->uses, s->n_uses * sizeof(*v));
        s->uses = v;
        s->uses_cap = cap;
    }
    s->uses[s->n_uses++] = (struct sbx_arg_use){ l->pos, l->names };
    return true;
}
