/* What the user gave for arguments, and which names kits declared (S25). */
#include <fcntl.h>
#include <string.h>

#include "args.h"
#include "sbx/arena.h"
#include "sbx/file.h"
#include "sbx/suggest.h"
#include "sbx/text.h"

#define COMMAND_LINE UINT32_MAX /* rank above every file */

struct given {
    const char *kit; /* NULL: for every kit */
    const char *name, *value, *from;
    uint32_t rank; /* 0 the first file, 1 the second ... */
    bool used;
};

struct declared {
    const char *kit, *name;
};

struct sbx_arg_values {
    struct sbx_arena *arena;
    struct given *v;
    size_t len, cap;
    struct declared *known;
    size_t n_known, known_cap;
    uint32_t files;
};

struct sbx_arg_values *sbx_arg_values_new(void)
{
    struct sbx_arg_values *v = calloc(1, sizeof(*v));

    if (v)
        v->arena = sbx_arena_new();
    if (v && !v->arena) {
        free(v);
        return NULL;
    }
    return v;
}

void sbx_arg_values_free(struct sbx_arg_values *v)
{
    if (!v)
        return;
    sbx_arena_free(v->arena);
    free(v->v);
    free(v->known);
    free(v);
}

static enum sbx_code no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
}

static bool grow(void **v, size_t len, size_t *cap, size_t size)
{
    size_t more = *cap ? *cap * 2 : 16;
    void *grown;

    if (len < *cap)
        return true;
    grown = realloc(*v, more * size);
    if (!grown)
        return false;
    *v = grown;
    *cap = more;
    return true;
}

/* `text` is a copy that may be cut up. */
static enum sbx_code add(struct sbx_arg_values *v, char *text, uint32_t rank, const char *from,
                         struct sbx_err *err)
{
    char *equals = strchr(text, '='), *dot;
    struct given g = { .name = text, .rank = rank, .from = from };

    if (!equals || equals == text)
        return sbx_err_set(err, SBX_USAGE, "want [KIT.]NAME=VALUE, got \"%.60s\"", text);
    if (!sbx_utf8_valid(text, strlen(text)))
        return sbx_err_set(err, SBX_USAGE, "the value is not UTF-8");
    *equals = '\0';
    g.value = equals + 1;
    if (strlen(g.value) > SBX_ARG_VALUE_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%.60s: a value of over %d bytes", text,
                           SBX_ARG_VALUE_MAX);
    if (v->len == SBX_ARG_VALUES_MAX)
        return sbx_err_set(err, SBX_LIMIT, "over %d values", SBX_ARG_VALUES_MAX);
    dot = strchr(text, '.');
    if (dot) {
        *dot = '\0';
        g.kit = text;
        g.name = dot + 1;
    }
    if (!*g.name || (g.kit && !*g.kit))
        return sbx_err_set(err, SBX_USAGE, "want [KIT.]NAME=VALUE, a part is empty");
    if (!g.from)
        g.from = sbx_arena_printf(v->arena, "--kit-arg %s%s%s", g.kit ? g.kit : "",
                                  g.kit ? "." : "", g.name);
    if (!g.from || !grow((void **)&v->v, v->len, &v->cap, sizeof(*v->v)))
        return no_memory(err);
    v->v[v->len++] = g;
    return SBX_OK;
}

enum sbx_code sbx_arg_values_add(struct sbx_arg_values *v, const char *text, struct sbx_err *err)
{
    char *copy = sbx_arena_strdup(v->arena, text);
    enum sbx_code rc = copy ? add(v, copy, COMMAND_LINE, NULL, err) : no_memory(err);

    return rc ? sbx_err_wrap(err, rc, "--kit-arg") : SBX_OK;
}

static enum sbx_code add_line(struct sbx_arg_values *v, const char *path, unsigned number,
                              const char *line, size_t len, struct sbx_err *err)
{
    char *copy = sbx_arena_memdup(v->arena, line, len), *start;
    const char *from = sbx_arena_printf(v->arena, "%s:%u", path, number);
    enum sbx_code rc;

    if (!copy || !from)
        return no_memory(err);
    if (strlen(copy) != len)
        return sbx_err_set(err, SBX_USAGE, "%s: holds a NUL byte", from);
    if (len && copy[len - 1] == '\r')
        copy[len - 1] = '\0';
    start = copy + strspn(copy, " \t");
    if (!*start || *start == '#')
        return SBX_OK;
    rc = add(v, start, v->files, from, err);
    return rc ? sbx_err_wrap(err, rc, "%s", from) : SBX_OK;
}

enum sbx_code sbx_arg_values_read(struct sbx_arg_values *v, const char *path, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_ARGS_FILE_MAX);
    enum sbx_code rc = sbx_file_read(AT_FDCWD, path, &text, err);
    unsigned number = 1;

    for (size_t at = 0; !rc && at < text.len; number++) {
        const char *line = text.ptr + at, *end = memchr(line, '\n', text.len - at);
        size_t len = end ? (size_t)(end - line) : text.len - at;

        rc = add_line(v, path, number, line, len, err);
        at += len + 1;
    }
    v->files++;
    return rc ? sbx_err_wrap(err, rc, "--kit-args-file") : SBX_OK;
}

static bool wins(const struct given *a, const struct given *b)
{
    if (!b || a->rank != b->rank)
        return !b || a->rank > b->rank;
    return !!a->kit >= !!b->kit; /* equals: the later */
}

bool sbx_arg_values_take(struct sbx_arg_values *v, const char *kit, const char *name,
                         struct sbx_arg_value *ret)
{
    const struct given *best = NULL;
    struct declared d = { sbx_arena_strdup(v->arena, kit), sbx_arena_strdup(v->arena, name) };

    if (!d.kit || !d.name || !grow((void **)&v->known, v->n_known, &v->known_cap, sizeof(d)))
        return false;
    v->known[v->n_known++] = d;
    *ret = (struct sbx_arg_value){ NULL, NULL };
    for (size_t i = 0; i < v->len; i++) {
        struct given *g = &v->v[i];

        if (strcmp(g->name, name) || (g->kit && strcmp(g->kit, kit)))
            continue;
        g->used = true;
        if (wins(g, best))
            best = g;
    }
    if (best)
        *ret = (struct sbx_arg_value){ best->value, best->from };
    return true;
}

enum sbx_code sbx_arg_values_finish(const struct sbx_arg_values *v, struct sbx_err *err)
{
    const struct given *g = NULL;
    struct sbx_suggest s;

    for (size_t i = 0; i < v->len && !g; i++)
        g = v->v[i].used ? NULL : &v->v[i];
    if (!g)
        return SBX_OK;
    s = (struct sbx_suggest)SBX_SUGGEST_INIT(g->name, strlen(g->name));
    for (size_t i = 0; i < v->n_known; i++)
        if (!g->kit || !strcmp(v->known[i].kit, g->kit))
            sbx_suggest_try(&s, v->known[i].name);
    return sbx_err_set(err, SBX_USAGE, "%s: no %s%s%s declares an argument \"%s\"%s%s%s", g->from,
                       g->kit ? "kit \"" : "kit here", g->kit ? g->kit : "", g->kit ? "\"" : "",
                       g->name, s.best ? "; did you mean \"" : "", s.best ? s.best : "",
                       s.best ? "\"?" : "");
}
