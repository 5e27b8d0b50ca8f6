/* Options as the user wrote them to what the engine takes. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "sbx/file.h"
#include "sbx/kit.h"
#include "session.h"

#define UPSTREAM_CA_MAX 1048576 /* bytes of an --upstream-ca; all roots of the web have 220 KiB */
#define ENV_FILE_MAX 1048576 /* bytes of an --env-file; a process's environment ends near 2 MiB */

const char *const *sbx_argv(struct sbx_arena *arena, const char *const *v, size_t n)
{
    const char **copy = sbx_arena_array(arena, n + 1, sizeof(*copy));

    if (copy && n)
        memcpy(copy, v, n * sizeof(*copy));
    return copy;
}

struct env {
    struct sbx_arena *arena;
    const char **v;
    size_t n, cap;
};

static enum sbx_code put_env(struct env *e, const char *entry, struct sbx_err *err)
{
    size_t name = strcspn(entry, "=") + 1;

    for (size_t i = 0; i < e->n; i++)
        if (!strncmp(e->v[i], entry, name)) {
            e->v[i] = entry;
            return SBX_OK;
        }
    if (e->n + 1 >= e->cap) {
        size_t cap = e->cap ? e->cap * 2 : 32;
        const char **v = sbx_arena_array(e->arena, cap, sizeof(*v));

        if (!v)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (e->n)
            memcpy(v, e->v, e->n * sizeof(*v));
        e->v = v;
        e->cap = cap;
    }
    e->v[e->n++] = entry;
    e->v[e->n] = NULL;
    return SBX_OK;
}

static enum sbx_code add_env(struct env *e, const char *text, const char *where,
                             struct sbx_err *err)
{
    size_t name = strcspn(text, "=");
    const char *value, *entry = text;

    if (!name || isdigit((unsigned char)text[0]) || strcspn(text, " \t") < name)
        return sbx_err_set(err, SBX_USAGE, "%s: \"%s\" is no NAME=VALUE", where, text);
    if (!text[name]) { /* a bare name copies the host's value; unset there is unset here */
        value = getenv(text);
        if (!value)
            return SBX_OK;
        entry = sbx_arena_printf(e->arena, "%s=%s", text, value);
    }
    return entry ? put_env(e, entry, err) : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code add_env_file(struct env *e, const char *path, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(ENV_FILE_MAX);
    enum sbx_code rc = sbx_file_read(AT_FDCWD, path, &b, err);
    unsigned number = 1;
    char *copy, *line, where[64];

    if (rc)
        return sbx_err_wrap(err, rc, "--env-file %s", path);
    if (b.len && memchr(b.ptr, 0, b.len))
        return sbx_err_set(err, SBX_USAGE, "--env-file %s: holds a NUL byte", path);
    copy = b.len ? sbx_arena_memdup(e->arena, b.ptr, b.len) : sbx_arena_strdup(e->arena, "");
    if (!copy)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (; (line = strsep(&copy, "\n")); number++) {
        line[strcspn(line, "\r")] = '\0';
        line += strspn(line, " \t");
        if (!*line || *line == '#')
            continue;
        snprintf(where, sizeof(where), "line %u", number);
        rc = add_env(e, line, where, err);
        if (rc)
            return sbx_err_wrap(err, rc, "--env-file %s", path);
    }
    return SBX_OK;
}

enum sbx_code sbx_env_list(struct sbx_arena *arena, const struct sbx_texts *env,
                           const struct sbx_texts *files, const char *const **ret,
                           struct sbx_err *err)
{
    struct env e = { .arena = arena };
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < files->n; i++)
        rc = add_env_file(&e, files->v[i], err);
    for (size_t i = 0; !rc && i < env->n; i++)
        rc = add_env(&e, env->v[i], "--env", err);
    *ret = e.v;
    return rc;
}

enum sbx_code sbx_workspace_list(struct sbx_arena *arena, const char *const *v, size_t n,
                                 struct sbx_workspace **ret, struct sbx_err *err)
{
    struct sbx_workspace *w = sbx_arena_array(arena, n + 1, sizeof(*w));

    for (size_t i = 0; w && i < n; i++) {
        size_t len = strlen(v[i]);
        bool mode = len > 3 && (!strcmp(v[i] + len - 3, ":ro") || !strcmp(v[i] + len - 3, ":rw"));

        if (!len)
            return sbx_err_set(err, SBX_USAGE, "an empty path");
        w[i].read_only = mode && v[i][len - 1] == 'o';
        w[i].path = sbx_arena_memdup(arena, v[i], mode ? len - 3 : len);
        if (!w[i].path)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    if (!w)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    *ret = w;
    return SBX_OK;
}

enum sbx_code sbx_port_list(struct sbx_arena *arena, const struct sbx_texts *words,
                            struct sbx_port_spec **ret, struct sbx_err *err)
{
    struct sbx_port_spec *v = sbx_arena_array(arena, words->n + 1, sizeof(*v));
    enum sbx_code rc = v ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");

    for (size_t i = 0; !rc && i < words->n; i++)
        rc = sbx_port_spec_parse(words->v[i], &v[i], err);
    if (!rc)
        *ret = v;
    return rc;
}

enum sbx_pull sbx_pull_of(const char *text)
{
    if (text && !strcmp(text, "always"))
        return SBX_PULL_ALWAYS;
    return text && !strcmp(text, "never") ? SBX_PULL_NEVER : SBX_PULL_MISSING;
}

/* NULL: err says why. */
static const char *read_text(struct sbx_arena *arena, const char *path, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(UPSTREAM_CA_MAX);
    const char *copy = NULL;

    if (sbx_file_read(AT_FDCWD, path, &text, err))
        return NULL;
    copy = sbx_arena_strdup(arena, text.ptr ? text.ptr : "");
    if (!copy)
        (void)!sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return copy;
}

enum sbx_code sbx_create_fill(struct sbx_arena *arena, const struct sbx_sandbox_opts *o,
                              struct sbx_create *ret, struct sbx_err *err)
{
    struct sbx_port_spec *ports = NULL;
    enum sbx_code rc = SBX_OK;

    if (o->name)
        rc = sbx_name_check(o->name, err);
    if (rc)
        return sbx_err_wrap(err, SBX_USAGE, "--name");
    rc = sbx_port_list(arena, &o->publish, &ports, err);
    if (rc)
        return sbx_err_wrap(err, rc, "--publish");
    ret->ports = ports;
    ret->n_ports = o->publish.n;
    if (o->memory && (!sbx_size_parse(o->memory, &ret->memory) || ret->memory <= 0))
        return sbx_err_set(err, SBX_USAGE, "--memory %s: want a size such as 512m or 8g",
                           o->memory);
    ret->name = o->name;
    ret->image = o->image;
    ret->cpus = o->cpus;
    ret->allow_privileged = o->privileged;
    ret->allow_userns = o->userns;
    ret->weak_network = o->weak_network;
    ret->strict_startup = o->strict_startup;
    ret->keep_failed = o->keep_failed;
    if (o->upstream_ca && !(ret->upstream_ca = read_text(arena, o->upstream_ca, err)))
        return sbx_err_wrap(err, err ? err->code : SBX_FAILED, "--upstream-ca");
    ret->learn = o->learn;
    ret->allow_sockets = sbx_argv(arena, o->sockets.v, o->sockets.n);
    ret->approve = sbx_argv(arena, o->approve.v, o->approve.n);
    if (!ret->allow_sockets || !ret->approve)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return sbx_env_list(arena, &o->env, &o->env_files, &ret->env, err);
}

enum sbx_runtime_kind sbx_session_runtime(const struct sbx_session *s,
                                          const struct sbx_runtime_opts *o)
{
    const char *text = o && o->runtime ? o->runtime : s->files.settings.runtime;

    if (text && !strcmp(text, "docker"))
        return SBX_RUNTIME_DOCKER;
    return text && !strcmp(text, "oci") ? SBX_RUNTIME_OCI : SBX_RUNTIME_AUTO;
}
