/* Workspaces, volumes and tmpfs; the implicit /run/secrets. */
#include "build.h"

#include "sbx/auto.h"

#include <stdio.h>
#include <string.h>

#define SECRETS_PATH "/run/secrets"
#define SECRETS_SIZE 16777216 /* bytes; secrets are small, and count as the sandbox's memory */
#define VOLUME_MODE 0755      /* F8 */

/* What a mount must not hide: the container would not work, or not be closed, without it. */
static const char *const exact[] = {
    "/",    "/bin",  "/boot", "/dev", "/etc",  "/home", "/lib", "/lib32", "/lib64",
    "/opt", "/proc", "/root", "/run", "/sbin", "/srv",  "/sys", "/usr",   "/var",
};
static const char *const below[] = {
    "/dev",     "/proc",     "/sys",     "/run/sbx",   "/run/sbx-startup", SBX_STARTUP_DIR,
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64",       "/usr/libx32",
};
/* Symlinks of every image with a merged /usr and a /run: a mount through one lands at the other. */
static const char *const links[][2] = {
    { "/bin", "/usr/bin" },     { "/sbin", "/usr/sbin" },     { "/lib", "/usr/lib" },
    { "/lib32", "/usr/lib32" }, { "/lib64", "/usr/lib64" },   { "/libx32", "/usr/libx32" },
    { "/var/run", "/run" },     { "/var/lock", "/run/lock" },
};

static bool is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

static const char *reserved_as(const char *path)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(exact); i++)
        if (!strcmp(path, exact[i]))
            return exact[i];
    for (size_t i = 0; i < SBX_ARRAY_LEN(below); i++)
        if (is_below(path, below[i]))
            return below[i];
    return NULL;
}

static const char *reserved(const char *path)
{
    const char *found = reserved_as(path);

    for (size_t i = 0; !found && i < SBX_ARRAY_LEN(links); i++)
        if (is_below(path, links[i][0])) {
            SBX_AUTO_FREE char *real = NULL;

            if (asprintf(&real, "%s%s", links[i][1], path + strlen(links[i][0])) < 0)
                return links[i][0]; /* no memory: refused rather than let through */
            found = reserved_as(real);
        }
    return found;
}

/* Absolute, and nothing but names between single slashes. */
static bool is_clean(const char *path)
{
    size_t len = strlen(path);

    if (path[0] != '/' || (len > 1 && path[len - 1] == '/') || strstr(path, "//"))
        return false;
    for (const char *c = path; (c = strstr(c, "/.")); c++)
        if (!c[2] || c[2] == '/' || (c[2] == '.' && (!c[3] || c[3] == '/')))
            return false;
    return true;
}

static struct sbx_plan_mount *find(struct sbx_planner *b, const char *target)
{
    for (size_t i = 0; i < b->p->n_mounts; i++)
        if (!strcmp(b->p->mounts[i].target, target))
            return &b->p->mounts[i];
    return NULL;
}

static enum sbx_code add_workspace(struct sbx_planner *b, const struct sbx_workspace *w)
{
    const struct sbx_plan_mount *same;

    if (!is_clean(w->path))
        return sbx_err_set(b->err, SBX_USAGE, "workspace %s: must be an absolute path", w->path);
    if (reserved(w->path))
        return sbx_err_set(
            b->err, SBX_FAILED,
            "workspace %s: would hide the sandbox's own %s; use a directory below it", w->path,
            reserved(w->path));
    same = find(b, w->path);
    if (same)
        return sbx_err_set(b->err, SBX_USAGE, "workspace %s: given twice", w->path);
    b->p->mounts[b->p->n_mounts++] = (struct sbx_plan_mount){
        .kind = SBX_PLAN_WORKSPACE,
        .source = sbx_build_str(b, w->path),
        .target = sbx_build_str(b, w->path),
        .read_only = w->read_only,
    };
    return SBX_OK;
}

static unsigned octal(const char *text, unsigned fallback)
{
    return text && *text ? (unsigned)strtoul(text, NULL, 8) & 07777 : fallback;
}

static enum sbx_code add_volume(struct sbx_planner *b, const struct sbx_volume *v)
{
    bool tmpfs = v->type && !strcmp(v->type, "tmpfs");
    struct sbx_plan_mount *slot;
    int64_t size = 0;

    if (!is_clean(v->path) || reserved(v->path))
        return sbx_err_set(b->err, SBX_SCHEMA, "volumes: %s: %s", v->path,
                           reserved(v->path) ? "would hide a part of the system; use a directory "
                                               "below it"
                                             : "must be an absolute path without \"..\"");
    if (v->size && *v->size && !sbx_size_parse(v->size, &size))
        return sbx_err_set(b->err, SBX_SCHEMA, "volumes: %s: size \"%s\" is not a size", v->path,
                           v->size);
    slot = find(b, v->path);
    if (slot && slot->kind == SBX_PLAN_WORKSPACE)
        return sbx_err_set(b->err, SBX_CONFLICT, "volumes: %s of kit %s is also a workspace",
                           v->path, v->at.kit ? v->at.kit : b->a->name);
    if (!slot)
        slot = &b->p->mounts[b->p->n_mounts++];
    *slot = (struct sbx_plan_mount){
        .kind = tmpfs ? SBX_PLAN_TMPFS : SBX_PLAN_VOLUME,
        .source = tmpfs ? NULL : sbx_build_str(b, v->path),
        .target = sbx_build_str(b, v->path),
        .size = size,
        .mode = octal(v->mode, tmpfs ? 01777 : VOLUME_MODE),
        .uid = SBX_AGENT_UID,
        .kit = sbx_build_kit(b, &v->at),
        .at = sbx_build_at(b, &v->at),
    };
    return SBX_OK;
}

enum sbx_code sbx_build_mounts(struct sbx_planner *b)
{
    size_t most = b->o->n_workspaces + b->a->volumes.len + 1;
    enum sbx_code rc = SBX_OK;

    b->p->mounts = sbx_build_array(b, most, sizeof(*b->p->mounts));
    if (!b->p->mounts)
        return SBX_OK;
    for (size_t i = 0; !rc && i < b->o->n_workspaces; i++)
        rc = add_workspace(b, &b->o->workspaces[i]);
    for (size_t i = 0; !rc && i < b->a->volumes.len; i++)
        rc = add_volume(b, &b->a->volumes.v[i]);
    if (rc || find(b, SECRETS_PATH))
        return rc;
    b->p->mounts[b->p->n_mounts++] = (struct sbx_plan_mount){
        .kind = SBX_PLAN_TMPFS,
        .target = SECRETS_PATH,
        .noexec = true,
        .size = SECRETS_SIZE,
        .mode = 0755,
        .uid = SBX_AGENT_UID,
    };
    return SBX_OK;
}
