/* A kit of the cache to where the user wants it: whole, under its name at the end. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact.h"
#include "sbx/file.h"

#define DEPTH_MAX 512 /* directories within each other; PATH_MAX allows at most 2,048 */

static mode_t masked(mode_t mode)
{
    mode_t mask = umask(0);

    umask(mask);
    return (mode & 0777 & ~mask) | (mode & 0700); /* what the owner may do is part of the kit */
}

static enum sbx_code write_piece(void *out, const void *data, size_t len, struct sbx_err *err)
{
    return sbx_write_all(*(int *)out, data, len) ? sbx_err_errno(err, "write") : SBX_OK;
}

static enum sbx_code copy_file(int from, int to, const char *name, struct sbx_err *err)
{
    SBX_AUTO_FD int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 0600);
    struct stat st;
    enum sbx_code rc;

    if (out < 0)
        return sbx_err_errno(err, "write %s", name);
    rc = sbx_file_stream(from, name, SBX_KIT_FILE_MAX, write_piece, &out, err);
    if (rc)
        return sbx_err_wrap(err, rc, "copy %s", name);
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) || fchmod(out, masked(st.st_mode)))
        return sbx_err_errno(err, "write %s", name);
    return SBX_OK;
}

static enum sbx_code copy_tree(int from, int to, int depth, struct sbx_err *err);

static enum sbx_code copy_dir(int from, int to, const char *name, int depth, struct sbx_err *err)
{
    SBX_AUTO_FD int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    SBX_AUTO_FD int out = -1;

    if (in < 0 || mkdirat(to, name, 0700))
        return sbx_err_errno(err, "make %s", name);
    out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (out < 0 || fchmod(out, masked(0755)))
        return sbx_err_errno(err, "make %s", name);
    return copy_tree(in, out, depth + 1, err);
}

static enum sbx_code copy_tree(int from, int to, int depth, struct sbx_err *err)
{
    int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    enum sbx_code rc = SBX_OK;
    struct dirent *e;

    if (!d) {
        if (again >= 0)
            close(again);
        return sbx_err_errno(err, "read a directory of the cache");
    }
    if (depth > DEPTH_MAX)
        rc = sbx_err_set(err, SBX_LIMIT, "more than %d directories within each other", DEPTH_MAX);
    while (!rc && (e = readdir(d))) {
        struct stat st;

        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (fstatat(from, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
            rc = sbx_err_errno(err, "%s", e->d_name);
        else if (S_ISDIR(st.st_mode))
            rc = copy_dir(from, to, e->d_name, depth, err);
        else
            rc = copy_file(from, to, e->d_name, err);
    }
    closedir(d);
    return rc;
}

static enum sbx_code name_it(const char *tmp, const char *to, struct sbx_err *err)
{
    if (!rename(tmp, to))
        return SBX_OK;
    return errno == ENOTEMPTY || errno == EEXIST
               ? sbx_err_set(err, SBX_EXISTS, "%s exists and is not empty", to)
               : sbx_err_errno(err, "make %s", to);
}

/* As git clone does. */
static enum sbx_code make_parent(const char *to, struct sbx_err *err)
{
    SBX_AUTO_FREE char *copy = strdup(to);

    return copy ? sbx_dir_make(dirname(copy), 0777, err)
                : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

enum sbx_code sbx_kit_copy(const char *from, const char *to, struct sbx_err *err)
{
    SBX_AUTO_FREE char *tmp = NULL;
    SBX_AUTO_FD int in = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SBX_AUTO_FD int out = -1;
    size_t len = strlen(to);
    enum sbx_code rc;

    while (len > 1 && to[len - 1] == '/')
        len--;
    if (in < 0)
        return sbx_err_errno(err, "%s", from);
    if (asprintf(&tmp, "%.*s.sbx-XXXXXX", (int)len, to) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = make_parent(to, err);
    if (rc)
        return rc;
    if (!mkdtemp(tmp))
        return sbx_err_errno(err, "make a directory beside %s", to);
    out = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = out < 0 || fchmod(out, masked(0755)) ? sbx_err_errno(err, "open %s", tmp)
                                              : copy_tree(in, out, 0, err);
    if (!rc)
        rc = name_it(tmp, to, err);
    if (rc && sbx_dir_remove(AT_FDCWD, tmp, NULL))
        return rc;
    return rc;
}

static int give_mode(const char *path, const struct stat *st, int type, struct FTW *unused)
{
    mode_t wanted = masked(type == FTW_D ? 0755 : st->st_mode);

    (void)unused;
    return (st->st_mode & 07777) == wanted ? 0 : chmod(path, wanted);
}

enum sbx_code sbx_kit_move(const char *from, const char *to, struct sbx_err *err)
{
    struct stat a, b;
    SBX_AUTO_FREE char *parent = strdup(to);
    enum sbx_code rc;

    rc = make_parent(to, err);
    if (!rc && !parent)
        rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (rc)
        ; /* `from` goes all the same */
    else if (stat(from, &a) || stat(dirname(parent), &b) || a.st_dev != b.st_dev)
        rc = sbx_kit_copy(from, to, err);
    else if (nftw(from, give_mode, 16, FTW_PHYS))
        rc = sbx_err_errno(err, "modes of %s", from);
    else
        rc = name_it(from, to, err);
    if (sbx_dir_remove(AT_FDCWD, from, NULL))
        return rc; /* `cache prune` removes it */
    return rc;
}
