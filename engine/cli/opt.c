#include "opt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sbx/suggest.h"

/* Completion looks rows up without a struct to write to. */
static char *base_of(const struct sbx_opt_set *set, size_t group)
{
    return set->into ? (char *)set->into + set->groups[group].at : NULL;
}

bool sbx_opt_find(const struct sbx_opt_set *sets, size_t n, const char *name, size_t len,
                  struct sbx_opt_found *ret)
{
    for (size_t s = 0; s < n; s++)
        for (size_t g = 0; g < sets[s].n; g++)
            for (size_t i = 0; sets[s].groups[g].v[i].name; i++) {
                const struct sbx_opt *o = &sets[s].groups[g].v[i];

                if (strlen(o->name) != len || memcmp(o->name, name, len))
                    continue;
                *ret = (struct sbx_opt_found){ o, base_of(&sets[s], g) };
                return true;
            }
    return false;
}

bool sbx_opt_find_letter(const struct sbx_opt_set *sets, size_t n, char letter,
                         struct sbx_opt_found *ret)
{
    for (size_t s = 0; s < n; s++)
        for (size_t g = 0; g < sets[s].n; g++)
            for (size_t i = 0; sets[s].groups[g].v[i].name; i++) {
                const struct sbx_opt *o = &sets[s].groups[g].v[i];

                if (!o->letter || o->letter != letter)
                    continue;
                *ret = (struct sbx_opt_found){ o, base_of(&sets[s], g) };
                return true;
            }
    return false;
}

static enum sbx_code unknown_flag(const struct sbx_opt_set *sets, size_t n, const char *name,
                                  size_t len, const char *what, struct sbx_err *err)
{
    struct sbx_suggest best = SBX_SUGGEST_INIT(name, len);

    for (size_t s = 0; s < n; s++)
        for (size_t g = 0; g < sets[s].n; g++)
            for (size_t i = 0; sets[s].groups[g].v[i].name; i++)
                if (!sets[s].groups[g].v[i].hidden)
                    sbx_suggest_try(&best, sets[s].groups[g].v[i].name);
    if (best.best)
        return sbx_err_set(err, SBX_USAGE, "unknown flag --%.*s for \"%s\"; did you mean --%s?",
                           (int)len, name, what, best.best);
    return sbx_err_set(err, SBX_USAGE, "unknown flag --%.*s for \"%s\"", (int)len, name, what);
}

static enum sbx_code check_choice(const struct sbx_opt *o, const char *text, struct sbx_err *err)
{
    char list[160] = "";
    size_t used = 0;

    if (!o->choices)
        return SBX_OK;
    for (size_t i = 0; o->choices[i]; i++) {
        if (!strcmp(o->choices[i], text))
            return SBX_OK;
        if (o->some && !strcmp(o->choices[i], o->some))
            continue;
        used += (size_t)snprintf(list + used, used < sizeof(list) ? sizeof(list) - used : 0, "%s%s",
                                 *list ? ", " : "", o->choices[i]);
        if (used >= sizeof(list))
            break;
    }
    return sbx_err_set(err, SBX_USAGE, "--%s %s: want one of %s", o->name, text, list);
}

static enum sbx_code put_switch(const struct sbx_opt *o, bool *to, const char *text,
                                struct sbx_err *err)
{
    if (!text || !strcmp(text, "true"))
        *to = true;
    else if (!strcmp(text, "false"))
        *to = false;
    else
        return sbx_err_set(err, SBX_USAGE, "--%s=%s: want true or false", o->name, text);
    return SBX_OK;
}

static enum sbx_code put_number(const struct sbx_opt *o, double *to, const char *text,
                                struct sbx_err *err)
{
    char *end;
    double v = strtod(text, &end);

    if (!*text || *end || !isfinite(v) || v < 0 || strpbrk(text, "xXpP \t"))
        return sbx_err_set(err, SBX_USAGE, "--%s %s: want a number, 0 or more", o->name, text);
    *to = v;
    return SBX_OK;
}

static enum sbx_code put_count(const struct sbx_opt *o, unsigned *to, const char *text,
                               struct sbx_err *err)
{
    unsigned v = 0;

    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9' || v > 100000000)
            return sbx_err_set(err, SBX_USAGE, "--%s %s: want a whole number", o->name, text);
        v = v * 10 + (unsigned)(*p - '0');
    }
    if (!*text)
        return sbx_err_set(err, SBX_USAGE, "--%s: want a whole number", o->name);
    *to = v;
    return SBX_OK;
}

static enum sbx_code put(const struct sbx_opt_found *f, const char *text, int max,
                         struct sbx_arena *arena, struct sbx_err *err)
{
    void *to = f->base + f->opt->at;
    struct sbx_texts *list = to;

    if (f->opt->refused)
        return sbx_err_set(err, SBX_UNSUPPORTED, "--%s: %s", f->opt->name, f->opt->refused);
    if (f->opt->type != SBX_OPT_SWITCH && check_choice(f->opt, text, err))
        return SBX_USAGE;
    if ((f->opt->type == SBX_OPT_TEXT || f->opt->type == SBX_OPT_LIST) && !*text)
        return sbx_err_set(err, SBX_USAGE, "--%s: the value (%s) is empty", f->opt->name,
                           f->opt->value);
    switch (f->opt->type) {
    case SBX_OPT_SWITCH:
        return put_switch(f->opt, to, text, err);
    case SBX_OPT_NUMBER:
        return put_number(f->opt, to, text, err);
    case SBX_OPT_COUNT:
        return put_count(f->opt, to, text, err);
    case SBX_OPT_TEXT:
        *(const char **)to = text;
        return SBX_OK;
    case SBX_OPT_LIST:
        break;
    }
    if (!list->v)
        list->v = sbx_arena_array(arena, (size_t)max, sizeof(*list->v));
    if (!list->v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    list->v[list->n++] = text;
    return SBX_OK;
}

static enum sbx_code read_long(const struct sbx_opt_set *sets, size_t n, int argc,
                               char *const *argv, int *i, const char *what, struct sbx_arena *arena,
                               struct sbx_err *err)
{
    const char *name = argv[*i] + 2, *text = strchr(name, '=');
    size_t len = text ? (size_t)(text - name) : strlen(name);
    struct sbx_opt_found f;

    if (!sbx_opt_find(sets, n, name, len, &f))
        return unknown_flag(sets, n, name, len, what, err);
    if (text)
        text++;
    (*i)++;
    if (f.opt->type != SBX_OPT_SWITCH && !text && !f.opt->refused) {
        if (*i >= argc)
            return sbx_err_set(err, SBX_USAGE, "--%s needs a value (%s)", f.opt->name,
                               f.opt->value);
        text = argv[(*i)++];
    }
    return put(&f, text, argc, arena, err);
}

static enum sbx_code read_letters(const struct sbx_opt_set *sets, size_t n, int argc,
                                  char *const *argv, int *i, const char *what,
                                  struct sbx_arena *arena, struct sbx_err *err)
{
    struct sbx_opt_found f;

    for (const char *p = argv[(*i)++] + 1; *p; p++) {
        const char *text = NULL;
        enum sbx_code rc;

        if (!sbx_opt_find_letter(sets, n, *p, &f))
            return sbx_err_set(err, SBX_USAGE, "unknown flag -%c for \"%s\"", *p, what);
        if (f.opt->type != SBX_OPT_SWITCH && !f.opt->refused) {
            text = p[1] == '=' ? p + 2 : p + 1;
            if (!p[1] && *i >= argc)
                return sbx_err_set(err, SBX_USAGE, "-%c needs a value (%s)", *p, f.opt->value);
            if (!p[1])
                text = argv[(*i)++];
        }
        rc = put(&f, text, argc, arena, err);
        if (rc || text)
            return rc;
    }
    return SBX_OK;
}

enum sbx_code sbx_opt_read(const struct sbx_opt_set *sets, size_t n, int argc, char *const *argv,
                           int *i, const char *what, struct sbx_arena *arena, struct sbx_err *err)
{
    return argv[*i][1] == '-' ? read_long(sets, n, argc, argv, i, what, arena, err)
                              : read_letters(sets, n, argc, argv, i, what, arena, err);
}
