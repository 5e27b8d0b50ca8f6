/* A commit's tree as files: only what a kit may hold; each directory is opened once and never through a link. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "remote.h"
#include "sbx/file.h"

#define DEPTH_MAX 128  /* directories within each other */
#define PATH_SIZE 4096 /* bytes of a path below the root */

#define LFS_MARK "version https://git-lfs.github.com/spec/"
#define LFS_MAX 1024 /* bytes: pointers of LFS are smaller by their specification */

struct export
{
    const struct sbx_git2 *git;
    git_repository *repo;
    struct git_job *job;
    size_t files;
    long long bytes;
    char path[PATH_SIZE]; /* of the entry */
};

/* Names that a repository may hold and a directory may not. */
static bool bad_name(const char *name)
{
    return !*name || !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, ".git") ||
           strchr(name, '/');
}

static mode_t mode_of(int mode, const char *data, size_t len)
{
    bool lfs = len < LFS_MAX && len > strlen(LFS_MARK) && !memcmp(data, LFS_MARK, strlen(LFS_MARK));

    return (mode == GIT_FILEMODE_BLOB_EXECUTABLE ? 0755 : 0644) | (lfs ? GIT_MARK : 0);
}

static enum sbx_code write_link(const struct export *x, int dir, const char *name, const char *data,
                                size_t len, struct sbx_err *err)
{
    char target[PATH_SIZE] = "";

    if (len >= sizeof(target) || memchr(data, '\0', len))
        return sbx_err_set(err, SBX_SCHEMA, "%s: not a link that a directory can hold", x->path);
    memcpy(target, data, len);
    return symlinkat(target, dir, name) ? sbx_err_errno(err, "make link %s", x->path) : SBX_OK;
}

static enum sbx_code write_blob(struct export *x, int dir, const char *name, const git_oid *id,
                                int mode, struct sbx_err *err)
{
    git_blob *blob = NULL;
    SBX_AUTO_FD int fd = -1;
    const char *data;
    enum sbx_code rc = SBX_OK;
    size_t len;

    if (x->git->blob_lookup(&blob, x->repo, id))
        return sbx_err_set(err, SBX_SCHEMA, "%s: its content is missing", x->path);
    data = x->git->blob_rawcontent(blob);
    len = (size_t)x->git->blob_rawsize(blob);
    x->bytes += (long long)len;
    if (x->bytes > SBX_GIT_BYTES_MAX) {
        rc = sbx_err_set(err, SBX_LIMIT, "the commit has more than %lld bytes", SBX_GIT_BYTES_MAX);
    } else if (mode == GIT_FILEMODE_LINK) {
        rc = write_link(x, dir, name, data, len, err);
    } else {
        fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 || (len && sbx_write_all(fd, data, len)) || fchmod(fd, mode_of(mode, data, len)))
            rc = sbx_err_errno(err, "write %s", x->path);
    }
    x->git->blob_free(blob);
    return rc;
}

static enum sbx_code write_tree(struct export *x, const git_tree *tree, int dir, int depth,
                                struct sbx_err *err);

static enum sbx_code write_dir(struct export *x, int dir, const char *name, const git_oid *id,
                               int depth, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    git_tree *tree = NULL;
    enum sbx_code rc;

    if (x->git->tree_lookup(&tree, x->repo, id))
        return sbx_err_set(err, SBX_SCHEMA, "%s: its content is missing", x->path);
    if (!mkdirat(dir, name, 0755))
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    rc = fd < 0 ? sbx_err_errno(err, "make %s", x->path) : write_tree(x, tree, fd, depth + 1, err);
    x->git->tree_free(tree);
    return rc;
}

static enum sbx_code write_entry(struct export *x, const git_tree_entry *e, int dir, int depth,
                                 struct sbx_err *err)
{
    const char *name = x->git->tree_entry_name(e);
    int mode = (int)x->git->tree_entry_filemode(e);
    const git_oid *id = x->git->tree_entry_id(e);

    if (bad_name(name))
        return sbx_err_set(err, SBX_SCHEMA, "%s: not a name for a file", x->path);
    if (++x->files > SBX_GIT_FILES_MAX)
        return sbx_err_set(err, SBX_LIMIT, "the commit has more than %d files", SBX_GIT_FILES_MAX);
    git_alive(x->job);
    if (mode == GIT_FILEMODE_COMMIT) /* refused where a kit has it */
        return mkdirat(dir, name, 0700) || fchmodat(dir, name, 0755 | GIT_MARK, 0)
                   ? sbx_err_errno(err, "make %s", x->path)
                   : SBX_OK;
    return mode == GIT_FILEMODE_TREE ? write_dir(x, dir, name, id, depth, err)
                                     : write_blob(x, dir, name, id, mode, err);
}

static enum sbx_code write_tree(struct export *x, const git_tree *tree, int dir, int depth,
                                struct sbx_err *err)
{
    size_t n = x->git->tree_entrycount(tree), len = strlen(x->path);
    enum sbx_code rc = SBX_OK;

    if (depth > DEPTH_MAX)
        return sbx_err_set(err, SBX_LIMIT, "more than %d directories within each other", DEPTH_MAX);
    for (size_t i = 0; !rc && i < n; i++) {
        const git_tree_entry *e = x->git->tree_entry_byindex(tree, i);
        int add = snprintf(x->path + len, sizeof(x->path) - len, "%s%s", len ? "/" : "",
                           x->git->tree_entry_name(e));

        rc = (size_t)add >= sizeof(x->path) - len
                 ? sbx_err_set(err, SBX_LIMIT, "a path longer than %d bytes", PATH_SIZE)
                 : write_entry(x, e, dir, depth, err);
        x->path[len] = '\0';
    }
    return rc;
}

enum sbx_code git_export(const struct sbx_git2 *git, git_repository *repo, git_tree *tree, int dir,
                         struct git_job *job, struct sbx_err *err)
{
    SBX_AUTO_FREE struct export *x = calloc(1, sizeof(*x));

    if (!x)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    x->git = git;
    x->repo = repo;
    x->job = job;
    return write_tree(x, tree, dir, 0, err);
}
