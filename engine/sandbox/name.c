#include "box.h"

#include <ctype.h>
#include <dirent.h>
#include <string.h>

static bool plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

enum sbx_code sbx_name_check(const char *name, struct sbx_err *err)
{
    size_t len = strlen(name);

    if (len < 2 || len > SBX_SANDBOX_NAME_MAX)
        return sbx_err_set(err, SBX_USAGE, "sandbox name \"%.80s\": must have 2 to %d characters",
                           name, SBX_SANDBOX_NAME_MAX);
    for (size_t i = 0; i < len; i++)
        if (!plain(name[i]) && name[i] != '-' && name[i] != '.')
            return sbx_err_set(err, SBX_USAGE,
                               "sandbox name \"%s\": only letters, digits, \"-\" and \".\"", name);
    if (!plain(name[0]) || !plain(name[len - 1]))
        return sbx_err_set(err, SBX_USAGE,
                           "sandbox name \"%s\": must begin and end with a letter or digit", name);
    if (!strcmp(name, "default"))
        return sbx_err_set(err, SBX_USAGE, "sandbox name \"default\" is reserved");
    return SBX_OK;
}

const char *sbx_name_default(const char *agent, const char *workspace, struct sbx_arena *arena)
{
    const char *last = workspace ? strrchr(workspace, '/') : NULL;
    char *name = sbx_arena_printf(arena, "%s%s%s", agent, last && last[1] ? "-" : "",
                                  last ? last + 1 : "");
    size_t n = 0;

    if (!name)
        return NULL;
    for (const char *c = name; *c && n < SBX_SANDBOX_NAME_MAX; c++) {
        char fit = plain(*c) || *c == '.' ? (char)tolower((unsigned char)*c) : '-';

        if (!plain(fit) && (!n || !plain(name[n - 1])))
            continue; /* no separator first, no two in a row */
        name[n++] = fit;
    }
    while (n && !plain(name[n - 1]))
        n--;
    name[n] = '\0';
    if (n >= 2 && strcmp(name, "default"))
        return name;
    return sbx_arena_printf(arena, "%s-sandbox", n ? name : "sbx");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum sbx_code sbx_sandbox_names(struct sbx_engine *e, struct sbx_arena *arena,
                                const char *const **ret, size_t *ret_n, struct sbx_err *err)
{
    SBX_AUTO_FREE char *path = NULL;
    const char **v;
    size_t n = 0, most = 0;
    DIR *dir;

    if (asprintf(&path, "%s/sandboxes", e->paths.state) < 0)
        return sbx_out_of_memory(err);
    dir = opendir(path);
    if (!dir && errno != ENOENT)
        return sbx_err_errno(err, "%s", path);
    while (dir && readdir(dir))
        most++;
    v = sbx_arena_array(arena, most + 1, sizeof(*v));
    if (dir)
        rewinddir(dir);
    for (struct dirent *d; v && dir && n < most && (d = readdir(dir));)
        if (!sbx_name_check(d->d_name, NULL) && (v[n] = sbx_arena_strdup(arena, d->d_name)))
            n++;
    if (dir)
        closedir(dir);
    if (!v)
        return sbx_out_of_memory(err);
    qsort(v, n, sizeof(*v), by_text);
    *ret = v;
    *ret_n = n;
    return SBX_OK;
}
