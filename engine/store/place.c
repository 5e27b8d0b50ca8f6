#include "place.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

static enum sbx_code write_data(struct sbx_place *p, int fd, const struct sbx_entry_meta *m,
                                struct sbx_err *err)
{
    const void *data;
    la_int64_t offset;
    size_t size;
    int rc;

    while ((rc = p->la->read_data_block(p->archive, &data, &size, &offset)) == ARCHIVE_OK) {
        const char *from = data;

        if (offset < 0 || offset > m->size || (int64_t)size > m->size - offset)
            return sbx_err_set(err, SBX_SYNTAX, "data beyond the end of the file");
        if (p->how->budget && (*p->how->budget -= (int64_t)size) < 0)
            return sbx_err_set(err, SBX_LIMIT, "unpacks to more than the bound");
        while (size) {
            ssize_t n = pwrite(fd, from, size, offset);

            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                return sbx_err_errno(err, "write");
            from += n;
            offset += n;
            size -= (size_t)n;
        }
    }
    if (rc != ARCHIVE_EOF)
        return sbx_err_set(err, SBX_SYNTAX, "%s", p->la->error_string(p->archive));
    if (ftruncate(fd, m->size))
        return sbx_err_errno(err, "set size");
    return SBX_OK;
}

/*
 * Make room for something that is no directory: an earlier file of that name goes (the last entry
 * wins, as with tar), a directory stays and is an error.
 */
static enum sbx_code make_room(int dir, const char *name, struct sbx_err *err)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? SBX_OK : sbx_err_errno(err, "look at it");
    if (S_ISDIR(st.st_mode))
        return sbx_err_set(err, SBX_SCHEMA, "would replace a directory by something else");
    if (unlinkat(dir, name, 0) && errno != ENOENT)
        return sbx_err_errno(err, "replace");
    return SBX_OK;
}

static enum sbx_code keep_dir_time(struct sbx_place *p, const char *path, struct timespec mtime,
                                   struct sbx_err *err)
{
    if (p->n_dirs == p->cap_dirs) {
        size_t cap = p->cap_dirs ? 2 * p->cap_dirs : 64;
        struct sbx_dir_time *grown = reallocarray(p->dirs, cap, sizeof(*grown));

        if (!grown)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        p->dirs = grown;
        p->cap_dirs = cap;
    }
    p->dirs[p->n_dirs] = (struct sbx_dir_time){ strdup(path), mtime };
    if (!p->dirs[p->n_dirs].path)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    p->n_dirs++;
    return SBX_OK;
}

static enum sbx_code put_dir(struct sbx_place *p, int dir, const struct sbx_entry_name *n,
                             const struct sbx_entry_meta *m, struct archive_entry *entry,
                             struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    bool opaque = false;
    struct stat st;
    enum sbx_code rc;

    if (fstatat(dir, n->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode)) {
        if (!p->how->layer || !sbx_is_whiteout(&st))
            return sbx_err_set(err, SBX_SCHEMA, "would replace something else by a directory");
        if (unlinkat(dir, n->name, 0))
            return sbx_err_errno(err, "replace whiteout");
        opaque = true;
    }
    if (mkdirat(dir, n->name, 0700) && errno != EEXIST)
        return sbx_err_errno(err, "make directory");
    fd = openat(dir, n->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sbx_err_errno(err, "open directory");
    if (opaque && sbx_make_opaque(fd))
        return sbx_err_errno(err, "mark directory opaque");
    rc = sbx_place_attributes(p, fd, m, entry, err);
    return rc ? rc : keep_dir_time(p, n->path, m->mtime, err);
}

static enum sbx_code put_file(struct sbx_place *p, int dir, const struct sbx_entry_name *n,
                              const struct sbx_entry_meta *m, struct archive_entry *entry,
                              struct sbx_err *err)
{
    SBX_AUTO_FD int fd = openat(dir, n->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                0600);
    enum sbx_code rc;

    if (fd < 0)
        return sbx_err_errno(err, "create");
    rc = write_data(p, fd, m, err);
    return rc ? rc : sbx_place_attributes(p, fd, m, entry, err);
}

/* The other name must be in the same archive's tree, reached without symlinks. */
static enum sbx_code put_hardlink(struct sbx_place *p, const struct sbx_entry_name *n,
                                  const char *target, struct sbx_err *err)
{
    struct sbx_entry_name to;
    SBX_AUTO_FD int other = -1;
    struct stat st;
    int dir;
    enum sbx_code rc = sbx_entry_name(target, false, &to, err);

    if (!rc)
        rc = sbx_place_parent(p, to.path, to.parent_len, &dir, err);
    if (rc)
        return sbx_err_wrap(err, rc, "hard link to \"%s\"", target);
    other = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    if (other < 0)
        return sbx_err_errno(err, "hard link");
    rc = sbx_place_parent(p, n->path, n->parent_len, &dir, err);
    if (rc)
        return rc;
    if (fstatat(other, to.name, &st, AT_SYMLINK_NOFOLLOW))
        return sbx_err_set(err, SBX_SCHEMA, "hard link to \"%s\", which is not there", target);
    if (S_ISDIR(st.st_mode) || (p->how->layer && sbx_is_whiteout(&st)))
        return sbx_err_set(err, SBX_SCHEMA, "hard link to \"%s\", which is no file", target);
    if (strcmp(to.path, n->path) == 0)
        return SBX_OK;
    rc = make_room(dir, n->name, err);
    if (!rc && linkat(other, to.name, dir, n->name, 0))
        rc = sbx_err_errno(err, "hard link to \"%s\"", target);
    return rc;
}

static enum sbx_code put_symlink(int dir, const struct sbx_entry_name *n,
                                 const struct sbx_entry_meta *m, struct sbx_err *err)
{
    struct timespec times[2] = { { 0, UTIME_OMIT }, m->mtime };

    if (symlinkat(m->link, dir, n->name))
        return sbx_err_errno(err, "make symlink");
    if (fchownat(dir, n->name, m->uid, m->gid, AT_SYMLINK_NOFOLLOW))
        return sbx_err_errno(err, "set owner %u:%u", m->uid, m->gid);
    utimensat(dir, n->name, times, AT_SYMLINK_NOFOLLOW); /* of a symlink nobody relies on it */
    return SBX_OK;
}

/* FIFO, device: never opened, so mode and owner go by an O_PATH descriptor. */
static enum sbx_code put_special(struct sbx_place *p, int dir, const struct sbx_entry_name *n,
                                 const struct sbx_entry_meta *m, struct sbx_err *err)
{
    bool device = S_ISCHR(m->type) || S_ISBLK(m->type);
    SBX_AUTO_FD int fd = -1;
    struct stat st;
    char self[64];

    if (device && (!p->how->layer || (S_ISCHR(m->type) && m->rdev == makedev(0, 0))))
        return sbx_err_set(err, SBX_SCHEMA, "a device node %u:%u", major(m->rdev), minor(m->rdev));
    if (mknodat(dir, n->name, m->type | 0600, device ? m->rdev : 0))
        return sbx_err_errno(err, "make node");
    fd = openat(dir, n->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        return sbx_err_errno(err, "open node");
    if ((st.st_mode & S_IFMT) != m->type)
        return sbx_err_set(err, SBX_CONFLICT, "somebody else changed it");
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (fchownat(fd, "", m->uid, m->gid, AT_EMPTY_PATH) || chmod(self, m->perm))
        return sbx_err_errno(err, "set owner and mode");
    return SBX_OK;
}

static enum sbx_code put_whiteout(int dir, const struct sbx_entry_name *n, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    struct stat st;

    if (fstatat(dir, n->name, &st, AT_SYMLINK_NOFOLLOW)) {
        if (errno != ENOENT || sbx_make_whiteout(dir, n->name))
            return sbx_err_errno(err, "make whiteout");
        return SBX_OK;
    }
    if (!S_ISDIR(st.st_mode))
        return SBX_OK; /* the same layer made it anew: that hides the lower one */
    fd = openat(dir, n->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || sbx_make_opaque(fd))
        return sbx_err_errno(err, "mark directory opaque");
    return SBX_OK;
}

static enum sbx_code put(struct sbx_place *p, int dir, const struct sbx_entry_name *n,
                         const struct sbx_entry_meta *m, struct archive_entry *entry,
                         struct sbx_err *err)
{
    enum sbx_code rc;

    if (S_ISDIR(m->type))
        return put_dir(p, dir, n, m, entry, err);
    rc = make_room(dir, n->name, err);
    if (rc)
        return rc;
    if (S_ISREG(m->type))
        return put_file(p, dir, n, m, entry, err);
    if (S_ISLNK(m->type))
        return put_symlink(dir, n, m, err);
    if (S_ISFIFO(m->type) || S_ISCHR(m->type) || S_ISBLK(m->type))
        return put_special(p, dir, n, m, err);
    return sbx_err_set(err, SBX_SCHEMA, "an entry of unknown type");
}

enum sbx_code sbx_place_entry(struct sbx_place *p, struct archive_entry *entry, struct sbx_err *err)
{
    struct sbx_entry_name n;
    struct sbx_entry_meta m;
    int dir;
    enum sbx_code rc = sbx_entry_name(p->la->entry_pathname(entry), p->how->layer, &n, err);

    if (!rc)
        rc = sbx_entry_meta(p->la, entry, &m, err);
    if (rc || n.kind == SBX_ENTRY_SKIP)
        return rc;
    if (n.kind == SBX_ENTRY_ROOT) {
        if (!S_ISDIR(m.type))
            return sbx_err_set(err, SBX_SCHEMA, "the root is not a directory");
        if (!p->how->layer)
            return SBX_OK; /* the directory copied into keeps its owner and mode */
        rc = sbx_place_attributes(p, p->how->root, &m, entry, err);
        return rc ? rc : keep_dir_time(p, "", m.mtime, err);
    }
    rc = sbx_place_parent(p, n.path, n.parent_len, &dir, err);
    if (rc)
        return rc;
    if (n.kind == SBX_ENTRY_WHITEOUT)
        return put_whiteout(dir, &n, err);
    if (n.kind == SBX_ENTRY_OPAQUE)
        return sbx_make_opaque(dir) ? sbx_err_errno(err, "mark directory opaque") : SBX_OK;
    if (m.hardlink)
        return put_hardlink(p, &n, m.hardlink, err);
    return put(p, dir, &n, &m, entry, err);
}

/* Times of directories, deepest last written first; in a living tree one may be gone again. */
enum sbx_code sbx_place_finish(struct sbx_place *p, struct sbx_err *err)
{
    for (size_t i = p->n_dirs; i-- > 0;) {
        struct timespec times[2] = { { 0, UTIME_OMIT }, p->dirs[i].mtime };
        const char *path = p->dirs[i].path;
        int fd;
        enum sbx_code rc = sbx_place_parent(p, path, strlen(path), &fd, err);

        if (rc && p->how->layer)
            return sbx_err_wrap(err, rc, "%s", path);
        if (!rc)
            futimens(fd, times);
    }
    return SBX_OK;
}

void sbx_place_release(struct sbx_place *p)
{
    for (size_t i = 0; i < p->n_dirs; i++)
        free(p->dirs[i].path);
    free(p->dirs);
    if (p->parent_fd >= 0)
        close(p->parent_fd);
}
