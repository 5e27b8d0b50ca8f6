/*
 * Mounts of workspaces, id-mapped (decision F6): the owner of the directory and uid 1000 change places, so the
 * agent can write whoever owns it, and what it writes belongs to the owner. Root's files made inside
 * belong to whom the mapping gives: themselves, or 1000 where root is the owner.
 */
#include "workspace.h"

#include "sbx/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ID_MAX 4294967294U /* (uid_t)-1 is no id */

/* Lines "on-disk seen count": a and b swapped, all else itself. */
static void map_text(char *out, size_t size, unsigned a, unsigned b)
{
    unsigned lo = a < b ? a : b, hi = a < b ? b : a;
    size_t n = 0;

    if (lo == hi) {
        snprintf(out, size, "0 0 %u\n", ID_MAX);
        return;
    }
    if (lo)
        n += (size_t)snprintf(out + n, size - n, "0 0 %u\n", lo);
    n += (size_t)snprintf(out + n, size - n, "%u %u 1\n", lo, hi);
    if (hi - lo > 1)
        n += (size_t)snprintf(out + n, size - n, "%u %u %u\n", lo + 1, lo + 1, hi - lo - 1);
    n += (size_t)snprintf(out + n, size - n, "%u %u 1\n", hi, lo);
    snprintf(out + n, size - n, "%u %u %u\n", hi + 1, hi + 1, ID_MAX - hi - 1);
}

static int write_map(pid_t pid, const char *which, const char *text)
{
    char path[64];
    SBX_AUTO_FD int fd = -1;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, which);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : sbx_write_all(fd, text, strlen(text));
}

/* A user namespace with these maps; it lives as long as the descriptor. */
static int make_userns(unsigned uid, unsigned gid)
{
    char uids[256], gids[256], path[64];
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    int fd = -1;

    if (pid == 0)
        for (;;)
            pause();
    if (pid < 0)
        return -1;
    map_text(uids, sizeof(uids), uid, SBX_AGENT_UID);
    map_text(gids, sizeof(gids), gid, SBX_AGENT_UID);
    snprintf(path, sizeof(path), "/proc/%ld/ns/user", pid);
    if (!write_map((pid_t)pid, "uid_map", uids) && !write_map((pid_t)pid, "gid_map", gids))
        fd = open(path, O_RDONLY | O_CLOEXEC);
    kill((pid_t)pid, SIGKILL);
    waitpid((pid_t)pid, NULL, 0);
    return fd;
}

/* Mount what is open at `target`, nosuid; with a mapping unless `uid` is the agent's. */
static int mount_one(int fd, const char *target, unsigned uid, unsigned gid)
{
    bool map = uid != SBX_AGENT_UID;
    SBX_AUTO_FD int userns = map ? make_userns(uid, gid) : -1;
    SBX_AUTO_FD int tree = -1;
    struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | (map ? MOUNT_ATTR_IDMAP : 0),
                               .userns_fd = (uint64_t)(map ? userns : 0) };

    if (map && userns < 0)
        return -1;
    tree = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)))
        return -1;
    return move_mount(tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH);
}

static void warn(struct sbx_box *box, const char *path, unsigned owner, const char *why)
{
    sbx_event_send(box->e, SBX_EVENT_WARNING, NULL,
                   "workspace %s belongs to uid %u, and the agent is uid %d inside: it may not be "
                   "able to write there (%s); \"chown -R %d %s\" helps",
                   path, owner, SBX_AGENT_UID, why, SBX_AGENT_UID, path);
}

/* What the agent makes there is root's on this machine: with a setuid bit, a way to be root. */
static void warn_of_root(struct sbx_box *box, const struct sbx_spot *p, bool read_only)
{
    struct statvfs fs;

    if (p->st.st_uid || read_only || fstatvfs(p->fd, &fs) || fs.f_flag & ST_NOSUID)
        return;
    sbx_event_send(box->e, SBX_EVENT_WARNING, NULL,
                   "workspace %s belongs to root: what the agent makes there is root's on this "
                   "machine too, setuid programs among it, which any user here could run; let a user "
                   "own it, or mount it nosuid",
                   p->path);
}

/* A place to mount at: a directory or an empty file. */
static enum sbx_code make_target(const char *path, bool directory, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;

    if (directory ? mkdir(path, 0700) && errno != EEXIST
                  : (fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) < 0)
        return sbx_err_errno(err, "%s", path);
    return SBX_OK;
}

/* With its owner mapped, or, where the file system cannot do that, as it is. */
static int mount_mapped(struct sbx_box *box, const struct sbx_spot *p, const char *target)
{
    if (!mount_one(p->fd, target, p->st.st_uid, p->st.st_gid))
        return 0;
    if (p->st.st_uid == SBX_AGENT_UID)
        return -1;
    warn(box, p->path, p->st.st_uid, strerror(errno));
    return mount_one(p->fd, target, SBX_AGENT_UID, SBX_AGENT_UID);
}

/* `before`: the source that the container was made with; NULL at create. */
static enum sbx_code one(struct sbx_box *box, const struct sbx_plan_mount *m, size_t i,
                         const char *before, const char **ret, struct sbx_err *err)
{
    const char *target = sbx_box_path(box, "mnt/%zu", i);
    SBX_AUTO(sbx_spot) p = SBX_SPOT_INIT;
    enum sbx_code rc = target ? sbx_spot_open(box, m->source, i, &p, err) : sbx_out_of_memory(err);

    *ret = before ? before : m->source;
    if (rc)
        return rc;
    if (!before)
        warn_of_root(box, &p, m->read_only);
    if (before ? !strcmp(before, m->source) : box->info->kind == SBX_RUNTIME_FAKE)
        return SBX_OK;
    if (!before && geteuid() != 0) {
        if (p.st.st_uid != SBX_AGENT_UID)
            warn(box, m->source, p.st.st_uid, "mapping owners needs root");
        return SBX_OK;
    }
    rc = make_target(target, S_ISDIR(p.st.st_mode), err);
    if (rc)
        return rc;
    if (mount_mapped(box, &p, target)) {
        if (!before && errno == EPERM) /* root of a container: the Engine mounts it by its path */
            return SBX_OK;
        return sbx_err_errno(err, "workspace %s: mount it below %s/mnt", m->source, box->dir);
    }
    *ret = target;
    return SBX_OK;
}

enum sbx_code sbx_workspaces_mount(struct sbx_box *box, struct sbx_err *err)
{
    const char **sources = sbx_arena_array(box->arena, box->plan->n_mounts + 1, sizeof(*sources));
    const char *const *before = box->record.sources;
    enum sbx_code rc = sources ? SBX_OK : sbx_out_of_memory(err);
    size_t n = 0;

    sbx_workspaces_unmount(box->dir);
    if (mkdirat(box->dirfd, "mnt", 0755) && errno != EEXIST)
        return sbx_err_errno(err, "%s/mnt", box->dir);
    for (size_t i = 0; !rc && i < box->plan->n_mounts; i++)
        if (box->plan->mounts[i].kind == SBX_PLAN_WORKSPACE) {
            rc = one(box, &box->plan->mounts[i], n, before ? before[n] : NULL, &sources[n], err);
            n++;
        }
    if (!rc)
        box->record.sources = sources;
    return rc;
}

void sbx_workspaces_unmount(const char *dir)
{
    SBX_AUTO_FREE char *mnt = NULL;
    DIR *d;

    if (asprintf(&mnt, "%s/mnt", dir) < 0 || !(d = opendir(mnt)))
        return;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        SBX_AUTO_FREE char *path = NULL;

        if (asprintf(&path, "%s/%s", mnt, e->d_name) < 0)
            break;
        while (!umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW))
            ;
        if (rmdir(path))
            unlink(path);
    }
    closedir(d);
}
