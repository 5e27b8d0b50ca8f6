#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "place.h"

#define DEPTH_MAX 512 /* directories within directories: one descriptor each while we are there */
#define COPY_SIZE 131072 /* bytes read at a time */
#define XATTRS_MAX 65536 /* bytes of names, and of one value: the kernel's bounds */

struct pack {
    const struct sbx_pack *what;
    const struct sbx_archive *la;
    struct archive *archive;
    struct archive_entry *entry;
    json_t *links; /* "dev:inode" -> first name, of files with several names */
    sbx_write_fn write;
    void *ctx;
    struct sbx_err *err;
    enum sbx_code failed; /* of write */
    char path[4096];
    size_t len;
    char data[COPY_SIZE];
};

static la_ssize_t on_write(struct archive *a, void *ctx, const void *data, size_t len)
{
    struct pack *p = ctx;

    (void)a;
    p->failed = p->write(p->ctx, data, len, p->err);
    return p->failed ? -1 : (la_ssize_t)len;
}

static enum sbx_code archive_failed(struct pack *p)
{
    if (p->failed)
        return p->failed;
    return sbx_err_set(p->err, SBX_FAILED, "write tar: %s", p->la->error_string(p->archive));
}

static bool kept_xattr(const char *name)
{
    return strcmp(name, "security.capability") == 0 || strncmp(name, "user.", 5) == 0;
}

static void add_xattrs(struct pack *p, int fd)
{
    SBX_AUTO_FREE char *names = malloc(XATTRS_MAX), *value = malloc(XATTRS_MAX);
    ssize_t n = names && value ? flistxattr(fd, names, XATTRS_MAX) : -1;

    for (char *name = names; n > 0 && name < names + n; name += strlen(name) + 1) {
        ssize_t size = kept_xattr(name) ? fgetxattr(fd, name, value, XATTRS_MAX) : -1;

        if (size >= 0)
            p->la->entry_xattr_add_entry(p->entry, name, value, (size_t)size);
    }
}

static void describe(struct pack *p, const struct stat *st)
{
    p->la->entry_clear(p->entry);
    p->la->entry_set_pathname(p->entry, p->path);
    p->la->entry_set_filetype(p->entry, st->st_mode & S_IFMT);
    p->la->entry_set_perm(p->entry, st->st_mode & 07777);
    p->la->entry_set_uid(p->entry, st->st_uid);
    p->la->entry_set_gid(p->entry, st->st_gid);
    p->la->entry_set_mtime(p->entry, st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
    p->la->entry_set_size(p->entry, S_ISREG(st->st_mode) ? st->st_size : 0);
}

static enum sbx_code header(struct pack *p)
{
    int rc = p->la->write_header(p->archive, p->entry);

    return rc == ARCHIVE_OK || rc == ARCHIVE_WARN ? SBX_OK : archive_failed(p);
}

/* Exactly the bytes that the header promised, whatever happens to the file meanwhile. */
static enum sbx_code content(struct pack *p, int fd, int64_t size)
{
    while (size > 0) {
        ssize_t n = read(fd, p->data, size < COPY_SIZE ? (size_t)size : COPY_SIZE);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sbx_err_errno(p->err, "read %s", p->path);
        if (!n) {
            n = size < COPY_SIZE ? (ssize_t)size : COPY_SIZE;
            memset(p->data, 0, (size_t)n);
        }
        if (p->la->write_data(p->archive, p->data, (size_t)n) < 0)
            return archive_failed(p);
        size -= n;
    }
    return SBX_OK;
}

/* true: it was written before under another name, and is now a hard link to that */
static bool seen(struct pack *p, const struct stat *st)
{
    const char *first;
    char key[64];

    if (st->st_nlink < 2)
        return false;
    snprintf(key, sizeof(key), "%llu:%llu", (unsigned long long)st->st_dev,
             (unsigned long long)st->st_ino);
    first = json_string_value(json_object_get(p->links, key));
    if (!first) {
        json_object_set_new(p->links, key, json_stringn_nocheck(p->path, p->len));
        return false;
    }
    p->la->entry_set_hardlink(p->entry, first);
    p->la->entry_set_size(p->entry, 0);
    return true;
}

static enum sbx_code pack_file(struct pack *p, int dir, const char *name, struct stat *st)
{
    SBX_AUTO_FD int fd = openat(dir, name,
                                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    enum sbx_code rc;

    if (fd < 0 && errno == ENOENT)
        return SBX_OK; /* gone since we listed it */
    if (fd < 0 || fstat(fd, st))
        return sbx_err_errno(p->err, "open %s", p->path);
    if (!S_ISREG(st->st_mode))
        return SBX_OK;
    describe(p, st);
    if (seen(p, st))
        return header(p);
    add_xattrs(p, fd);
    rc = header(p);
    return rc ? rc : content(p, fd, st->st_size);
}

static enum sbx_code pack_symlink(struct pack *p, int dir, const char *name, const struct stat *st)
{
    char target[4096];
    ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

    if (n < 0)
        return errno == ENOENT || errno == EINVAL ? SBX_OK
                                                  : sbx_err_errno(p->err, "read %s", p->path);
    target[n] = '\0';
    describe(p, st);
    p->la->entry_set_symlink(p->entry, target);
    return header(p);
}

/* An empty file whose name, behind `at` bytes of the path, says what is not there any more. */
static enum sbx_code pack_mark(struct pack *p, size_t at, const char *prefix, const char *name)
{
    struct stat st = { .st_mode = S_IFREG | 0600 };

    if (snprintf(p->path + at, sizeof(p->path) - at, "%s%s", prefix, name) >=
        (int)(sizeof(p->path) - at))
        return sbx_err_set(p->err, SBX_LIMIT, "path too long: %s", p->path);
    describe(p, &st);
    return header(p);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dots(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

/* File systems that show the kernel, not data: their files have no size and no end. */
static bool kernel_view(int fd)
{
    struct statfs fs;

    if (fstatfs(fd, &fs))
        return false;
    return fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC ||
           fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC;
}

static enum sbx_code pack_one(struct pack *p, int dir, const char *name, int depth);

static enum sbx_code pack_children(struct pack *p, int fd, int depth)
{
    struct dirent **names;
    size_t len = p->len;
    int n = scandirat(fd, ".", &names, no_dots, by_name);
    enum sbx_code rc = SBX_OK;

    if (n < 0)
        return sbx_err_errno(p->err, "read directory %s", p->path);
    for (int i = 0; i < n; i++) {
        int add = rc ? 0
                     : snprintf(p->path + len, sizeof(p->path) - len, "%s%s", len ? "/" : "",
                                names[i]->d_name);

        if (!rc && (size_t)add >= sizeof(p->path) - len)
            rc = sbx_err_set(p->err, SBX_LIMIT, "path too long: %s", p->path);
        p->len = len + (size_t)add;
        if (!rc)
            rc = pack_one(p, fd, names[i]->d_name, depth + 1);
        p->len = len;
        p->path[len] = '\0';
        free(names[i]);
    }
    free(names);
    return rc;
}

static enum sbx_code pack_dir(struct pack *p, int dir, const char *name, int depth)
{
    SBX_AUTO_FD int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    char mark[8];
    enum sbx_code rc;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return SBX_OK;
    if (fd < 0 || fstat(fd, &st))
        return sbx_err_errno(p->err, "open %s", p->path);
    if (depth > DEPTH_MAX)
        return sbx_err_set(p->err, SBX_LIMIT, "more than %d directories within each other",
                           DEPTH_MAX);
    if (p->len) {
        describe(p, &st);
        add_xattrs(p, fd);
        rc = header(p);
        if (rc)
            return rc;
    }
    if (kernel_view(fd))
        return SBX_OK;
    if (p->len && p->what->overlay &&
        fgetxattr(fd, "trusted.overlay.opaque", mark, sizeof(mark)) == 1 && mark[0] == 'y') {
        rc = pack_mark(p, p->len, "/", ".wh..wh..opq");
        p->path[p->len] = '\0';
        if (rc)
            return rc;
    }
    return pack_children(p, fd, depth);
}

static enum sbx_code pack_one(struct pack *p, int dir, const char *name, int depth)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? SBX_OK : sbx_err_errno(p->err, "%s", p->path);
    if (S_ISDIR(st.st_mode))
        return pack_dir(p, dir, name, depth);
    if (S_ISREG(st.st_mode))
        return pack_file(p, dir, name, &st);
    if (S_ISLNK(st.st_mode))
        return pack_symlink(p, dir, name, &st);
    if (p->what->overlay && sbx_is_whiteout(&st))
        return pack_mark(p, p->len - strlen(name), ".wh.", name);
    if (S_ISSOCK(st.st_mode))
        return SBX_OK; /* nobody listens at the copy */
    describe(p, &st);
    if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) {
        p->la->entry_set_rdevmajor(p->entry, major(st.st_rdev));
        p->la->entry_set_rdevminor(p->entry, minor(st.st_rdev));
    }
    return header(p);
}

static enum sbx_code pack_all(struct pack *p)
{
    enum sbx_code rc;

    if (p->what->only) {
        p->len = (size_t)snprintf(p->path, sizeof(p->path), "%s", p->what->only);
        rc = pack_one(p, p->what->dir, p->what->only, 0);
    } else {
        rc = pack_dir(p, p->what->dir, ".", 0);
    }
    if (!rc && p->la->write_close(p->archive) != ARCHIVE_OK)
        rc = archive_failed(p);
    return rc;
}

enum sbx_code sbx_tree_pack(const struct sbx_pack *what, sbx_write_fn write, void *ctx,
                            struct sbx_err *err)
{
    struct sbx_err mine = SBX_ERR_INIT;
    SBX_AUTO_FREE struct pack *p = calloc(1, sizeof(*p));
    enum sbx_code rc = SBX_NO_MEMORY;

    if (!p)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    p->la = sbx_archive(err);
    if (!p->la)
        return SBX_UNAVAILABLE;
    p->what = what;
    p->write = write;
    p->ctx = ctx;
    p->err = err ? err : &mine;
    p->archive = p->la->write_new();
    p->entry = p->la->entry_new();
    p->links = json_object();
    if (p->archive && p->entry && p->links) {
        p->la->write_set_format_pax_restricted(p->archive);
        p->la->write_set_bytes_in_last_block(p->archive, 1);
        rc = p->la->write_open(p->archive, p, NULL, on_write, NULL) == ARCHIVE_OK
                 ? pack_all(p)
                 : archive_failed(p);
    }
    if (p->entry)
        p->la->entry_free(p->entry);
    if (p->archive)
        p->la->write_free(p->archive);
    json_decref(p->links);
    return rc == SBX_NO_MEMORY ? sbx_err_set(err, rc, "out of memory") : rc;
}
