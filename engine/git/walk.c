/* A commit's tree, entry by entry, beside the directory that holds it as files: that is never left through a link. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "remote.h"

#define DEPTH_MAX 128 /* directories within each other */

#define LFS_WORDS "version https://git-lfs.github.com/spec/"
#define LFS_MAX 1024 /* bytes: pointers of LFS are smaller by their specification */

mode_t git_file_mode(int mode, const char *data, size_t len)
{
    bool lfs = len < LFS_MAX && len > strlen(LFS_WORDS) &&
               !memcmp(data, LFS_WORDS, strlen(LFS_WORDS));

    return (mode == GIT_FILEMODE_BLOB_EXECUTABLE ? 0755 : 0644) | (lfs ? GIT_MARK : 0);
}

/* Names that a repository may hold and a directory may not. */
static bool bad_name(const char *name)
{
    return !*name || !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, ".git") ||
           strchr(name, '/');
}

static enum sbx_code walk_tree(struct git_walk *w, const git_tree *tree, int dir, int depth,
                               struct sbx_err *err);

static enum sbx_code walk_dir(struct git_walk *w, int at, const char *name, const git_oid *id,
                              int depth, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    git_tree *tree = NULL;
    enum sbx_code rc;

    if (w->git->tree_lookup(&tree, w->repo, id))
        return sbx_err_set(err, SBX_SCHEMA, "%s: its content is missing", w->path);
    rc = w->visit->dir(w, at, name, &fd, err);
    if (!rc)
        rc = walk_tree(w, tree, fd, depth + 1, err);
    w->git->tree_free(tree);
    return rc;
}

static enum sbx_code walk_entry(struct git_walk *w, const git_tree_entry *e, int at, int depth,
                                struct sbx_err *err)
{
    const char *name = w->git->tree_entry_name(e);
    int mode = (int)w->git->tree_entry_filemode(e);
    const git_oid *id = w->git->tree_entry_id(e);

    if (bad_name(name))
        return sbx_err_set(err, SBX_SCHEMA, "%s: not a name for a file", w->path);
    if (++w->files > SBX_GIT_FILES_MAX)
        return sbx_err_set(err, SBX_LIMIT, "the commit has more than %d files", SBX_GIT_FILES_MAX);
    if (w->job)
        git_alive(w->job);
    if (mode == GIT_FILEMODE_TREE)
        return walk_dir(w, at, name, id, depth, err);
    return mode == GIT_FILEMODE_COMMIT ? w->visit->submodule(w, at, name, err)
                                       : w->visit->file(w, at, name, id, mode, err);
}

static enum sbx_code walk_tree(struct git_walk *w, const git_tree *tree, int dir, int depth,
                               struct sbx_err *err)
{
    size_t n = w->git->tree_entrycount(tree), len = strlen(w->path);
    enum sbx_code rc;

    if (depth > DEPTH_MAX)
        return sbx_err_set(err, SBX_LIMIT, "more than %d directories within each other", DEPTH_MAX);
    rc = w->visit->enter(w, tree, dir, err);
    for (size_t i = 0; !rc && i < n; i++) {
        const git_tree_entry *e = w->git->tree_entry_byindex(tree, i);
        int add = snprintf(w->path + len, sizeof(w->path) - len, "%s%s", len ? "/" : "",
                           w->git->tree_entry_name(e));

        rc = (size_t)add >= sizeof(w->path) - len
                 ? sbx_err_set(err, SBX_LIMIT, "a path longer than %d bytes", GIT_PATH_SIZE)
                 : walk_entry(w, e, dir, depth, err);
        w->path[len] = '\0';
    }
    return rc;
}

enum sbx_code git_walk(struct git_walk *w, const git_oid *id, int dir, struct sbx_err *err)
{
    git_commit *commit = NULL;
    git_tree *tree = NULL;
    enum sbx_code rc;

    if (w->git->commit_lookup(&commit, w->repo, id) || w->git->commit_tree(&tree, commit))
        rc = sbx_err_set(err, SBX_SCHEMA, "the commit has no tree");
    else
        rc = walk_tree(w, tree, dir, 0, err);
    w->git->tree_free(tree);
    w->git->commit_free(commit);
    return rc;
}
