/* Directories of the user that a sandbox sees: what they are, and which are refused (N22). */
#include "workspace.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SOCKETS_NAMED 5 /* in an error; the rest is counted */

/* Is `path` this directory or below it? Both clean and absolute. */
static bool within(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    if (!strcmp(dir, "/"))
        return true;
    return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is `st` the directory `path`, or one that holds it? Symlinks followed; false where nothing is. */
static bool holds(const struct stat *st, const char *path)
{
    SBX_AUTO_FREE char *real = realpath(path, NULL);
    struct stat at;

    while (real) {
        char *slash = strrchr(real, '/');

        if (!stat(*real ? real : "/", &at) && same(st, &at))
            return true;
        if (!slash || !*real)
            break;
        *slash = '\0';
    }
    return false;
}

/*
 * Would the mount show `dir`, whole or in part, or is it a part of it? By path, and by identity: a
 * directory that is bind-mounted elsewhere has other paths.
 */
static bool shows(const struct sbx_spot *w, const char *dir)
{
    SBX_AUTO_FREE char *real = realpath(dir, NULL);
    struct stat st;

    if (within(real ? real : dir, w->path) || within(w->path, real ? real : dir))
        return true;
    return holds(&w->st, dir) || (!stat(dir, &st) && holds(&st, w->path));
}

static enum sbx_code refuse_ours(struct sbx_engine *e, const struct sbx_spot *w, struct sbx_err *err)
{
    const char *dirs[] = { e->paths.state, e->paths.config, e->paths.cache };

    for (size_t i = 0; i < SBX_ARRAY_LEN(dirs); i++)
        if (shows(w, dirs[i]))
            return sbx_err_set(err, SBX_FAILED,
                               "workspace %s: would show the sandbox %s, where sbx keeps its own "
                               "data; use another directory",
                               w->path, dirs[i]);
    return SBX_OK;
}

static enum sbx_code refuse_engine(struct sbx_engine *e, const struct sbx_spot *w,
                                   struct sbx_err *err)
{
    const char *host = e->docker_host;
    const char *sockets[] = { "/run/docker.sock", "/run/podman/podman.sock",
                              "/run/containerd/containerd.sock",
                              host && !strncmp(host, "unix://", 7) ? host + 7 : NULL };

    for (size_t i = 0; i < SBX_ARRAY_LEN(sockets); i++) {
        SBX_AUTO_FREE char *real = sockets[i] ? realpath(sockets[i], NULL) : NULL;

        if (real && (within(real, w->path) || holds(&w->st, real)))
            return sbx_err_set(err, SBX_FAILED,
                               "workspace %s: holds %s, which gives control of this machine",
                               w->path, real);
    }
    return SBX_OK;
}

enum sbx_code sbx_workspace_refuse(struct sbx_engine *e, const struct sbx_spot *w,
                                   struct sbx_err *err)
{
    const char *home = getenv("HOME");
    enum sbx_code rc;

    if (holds(&w->st, "/"))
        return sbx_err_set(err, SBX_FAILED, "workspace %s: the whole machine is refused", w->path);
    rc = refuse_engine(e, w, err);
    if (!rc && home && holds(&w->st, home))
        rc = sbx_err_set(err, SBX_FAILED,
                         "workspace %s: your whole home directory is refused (keys, mail and "
                         "log-ins are in it); use a directory below it",
                         w->path);
    return rc ? rc : refuse_ours(e, w, err);
}

static enum sbx_code resolve(struct sbx_engine *e, const struct sbx_workspace *from,
                             struct sbx_arena *arena, struct sbx_workspace *to, struct sbx_err *err)
{
    SBX_AUTO_FREE char *real = realpath(from->path, NULL);
    struct sbx_spot place = { .path = real };

    if (!real || stat(real, &place.st))
        return sbx_err_errno(err, "workspace %s", from->path);
    if (!S_ISDIR(place.st.st_mode) && !(from->read_only && S_ISREG(place.st.st_mode)))
        return sbx_err_set(err, SBX_USAGE, "workspace %s: %s", from->path,
                           S_ISREG(place.st.st_mode)
                               ? "a single file can only be given read-only (:ro)"
                               : "not a directory");
    to->read_only = from->read_only;
    to->path = sbx_arena_strdup(arena, real);
    return to->path ? sbx_workspace_refuse(e, &place, err) : sbx_out_of_memory(err);
}

/* The agent could put something else where the inner one is, at the next start. */
static enum sbx_code refuse_nested(const struct sbx_workspace *v, size_t n, struct sbx_err *err)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (i != k && !v[i].read_only && !v[k].read_only && strcmp(v[i].path, v[k].path) &&
                within(v[k].path, v[i].path))
                return sbx_err_set(err, SBX_USAGE,
                                   "workspace %s: is inside the workspace %s, which shows it "
                                   "already; leave it out, or protect it with %s:ro",
                                   v[k].path, v[i].path, v[k].path);
    return SBX_OK;
}

enum sbx_code sbx_workspaces_resolve(struct sbx_engine *e, const struct sbx_workspace *from, size_t n,
                                     struct sbx_arena *arena, struct sbx_workspace **ret,
                                     struct sbx_err *err)
{
    struct sbx_workspace *v = sbx_arena_array(arena, n + 1, sizeof(*v));
    enum sbx_code rc = v ? SBX_OK : sbx_out_of_memory(err);

    for (size_t i = 0; !rc && i < n; i++)
        rc = resolve(e, &from[i], arena, &v[i], err);
    if (!rc && n && v[0].read_only) {
        struct stat st;

        if (!stat(v[0].path, &st) && !S_ISDIR(st.st_mode))
            rc = sbx_err_set(err, SBX_USAGE, "workspace %s: the first one must be a directory",
                             v[0].path);
    }
    if (!rc)
        rc = refuse_nested(v, n, err);
    if (!rc)
        *ret = v;
    return rc;
}

struct finds {
    const char *const *allowed;
    struct sbx_buf *text;
    size_t n;
};

static bool found(void *ctx, const char *path)
{
    struct finds *f = ctx;

    for (const char *const *a = f->allowed; a && *a; a++) {
        SBX_AUTO_FREE char *real = realpath(*a, NULL);

        if (within(path, real ? real : *a))
            return true;
    }
    if (f->n++ < SOCKETS_NAMED && sbx_buf_addf(f->text, "%s%s", f->n > 1 ? ", " : "", path))
        return false;
    return true;
}

static enum sbx_code check(struct sbx_box *box, const char *path, int fd, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(16384);
    struct finds f = { box->record.allow_sockets, &text, 0 };
    bool whole = true;
    enum sbx_code rc = sbx_walk_sockets(fd, path, SBX_WALK_MAX, found, &f, &whole, err);

    if (rc)
        return sbx_err_wrap(err, rc, "workspace %s", path);
    if (f.n)
        return sbx_err_set(err, SBX_FAILED,
                           "workspace %s: has %zu socket%s that a process on this machine may answer "
                           "(%s); remove, or allow with --allow-socket PATH",
                           path, f.n, f.n > 1 ? "s" : "", text.ptr);
    if (!whole)
        sbx_event_send(box->e, SBX_EVENT_WARNING, NULL,
                       "workspace %s could not be searched whole for sockets (more than %d files, or "
                       "directories that may not be read)",
                       path, SBX_WALK_MAX);
    return SBX_OK;
}

enum sbx_code sbx_workspaces_check(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code rc = sbx_spots_learn(box, err);
    size_t n = 0;

    for (size_t i = 0; !rc && i < box->plan->n_mounts; i++) {
        const struct sbx_plan_mount *m = &box->plan->mounts[i];
        SBX_AUTO(sbx_spot) place = SBX_SPOT_INIT;

        if (m->kind != SBX_PLAN_WORKSPACE)
            continue;
        rc = sbx_spot_open(box, m->source, n++, &place, err);
        if (!rc)
            rc = check(box, m->source, place.fd, err);
    }
    return rc;
}
