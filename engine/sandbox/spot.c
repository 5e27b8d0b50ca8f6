/*
 * Where a workspace is. An agent that may write a directory can put a symlink in a path below it, and
 * the next start would mount what it points to. So what is mounted is what was there at create: it
 * is opened without following any symlink, compared, and used by its descriptor from then on.
 */
#include "workspace.h"

#include "sbx/boot.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

void sbx_spot_release(struct sbx_spot *p)
{
    if (p->fd >= 0)
        close(p->fd);
    *p = (struct sbx_spot)SBX_SPOT_INIT;
}

static int open_real(const char *path)
{
    struct open_how how = { .flags = O_PATH | O_CLOEXEC,
                            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static enum sbx_code open_at(const char *path, struct sbx_spot *ret, struct sbx_err *err)
{
    ret->path = path;
    ret->fd = open_real(path);
    if (ret->fd < 0 && errno == ELOOP)
        return sbx_err_set(err, SBX_FAILED,
                           "workspace %s: a part of this path is a symbolic link by now, which is not "
                           "followed (a process inside may have made it); look at it, and put the "
                           "directory back or create the sandbox anew",
                           path);
    if (ret->fd < 0 || fstat(ret->fd, &ret->st))
        return sbx_err_errno(err, "workspace %s", path);
    return SBX_OK;
}

/* Numbers of devices may change with a boot, those of files do not. */
static const char *identity(struct sbx_arena *arena, const struct sbx_spot *p)
{
    char boot[SBX_BOOT_ID_SIZE];

    if (S_ISREG(p->st.st_mode))
        return "file";
    sbx_boot_id(boot);
    return sbx_arena_printf(arena, "%s %llu %llu", boot, (unsigned long long)p->st.st_dev,
                            (unsigned long long)p->st.st_ino);
}

/* Is it what `text` remembers? Of a file only that it is one: editors replace files. */
static bool is_same(const char *text, const struct sbx_spot *p)
{
    char boot[SBX_BOOT_ID_SIZE], now[SBX_BOOT_ID_SIZE];
    unsigned long long dev, ino;

    if (S_ISREG(p->st.st_mode))
        return !strcmp(text, "file");
    if (!S_ISDIR(p->st.st_mode) || sscanf(text, "%39s %llu %llu", boot, &dev, &ino) != 3)
        return false;
    sbx_boot_id(now);
    return ino == p->st.st_ino && (strcmp(boot, now) || dev == p->st.st_dev);
}

enum sbx_code sbx_spot_open(struct sbx_box *box, const char *path, size_t i, struct sbx_spot *ret,
                             struct sbx_err *err)
{
    enum sbx_code rc = open_at(path, ret, err);

    if (rc)
        return rc;
    if (!is_same(box->record.places[i], ret))
        return sbx_err_set(err, SBX_FAILED,
                           "workspace %s: is not the directory that the sandbox was created with (it "
                           "was replaced); put that one back, or remove the sandbox and create it "
                           "anew: sbx rm %s",
                           path, box->name);
    return sbx_workspace_refuse(box->e, ret, err);
}

enum sbx_code sbx_spots_learn(struct sbx_box *box, struct sbx_err *err)
{
    const char *const *known = box->record.places;
    const char **v = sbx_arena_array(box->arena, box->plan->n_mounts + 1, sizeof(*v));
    enum sbx_code rc = v ? SBX_OK : sbx_out_of_memory(err);
    size_t n = 0;

    for (size_t i = 0; !rc && i < box->plan->n_mounts; i++) {
        const struct sbx_plan_mount *m = &box->plan->mounts[i];
        SBX_AUTO(sbx_spot) place = SBX_SPOT_INIT;

        if (m->kind != SBX_PLAN_WORKSPACE)
            continue;
        rc = open_at(m->source, &place, err);
        if (rc)
            break;
        /* a boot makes new numbers of devices: the place is the same, and is remembered anew */
        v[n] = known && *known && !is_same(*known, &place) ? *known : identity(box->arena, &place);
        rc = v[n++] ? SBX_OK : sbx_out_of_memory(err);
        known += known && *known;
    }
    if (!rc)
        box->record.places = v;
    return rc;
}
