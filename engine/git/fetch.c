#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "remote.h"
#include "sbx/buf.h"
#include "sbx/file.h"

#define LFS_MARK "version https://git-lfs.github.com/spec/"
#define LFS_MAX 1024 /* bytes: pointers of LFS are smaller by their specification */

enum sbx_code git_failed(const struct sbx_git2 *git, const struct git_login *login, int code,
                         const char *url, struct sbx_err *err)
{
    const git_error *last = git->error_last();

    if (code == GIT_EAUTH || (last && login->asked_helper && strstr(last->message, "auth")))
        return sbx_err_set(err, SBX_CONSENT,
                           "no log-in for %.200s that works; git itself must be able to fetch it "
                           "(git credential, or a key in the ssh agent)",
                           url);
    return sbx_err_set(err, code == GIT_ENOTFOUND ? SBX_NOT_FOUND : SBX_UNAVAILABLE, "%.200s: %.300s",
                       url, last && last->message ? last->message : "cannot be fetched");
}

static bool have(const struct sbx_git2 *git, git_repository *repo, const git_oid *id)
{
    git_commit *c = NULL;

    if (git->commit_lookup(&c, repo, id))
        return false;
    git->commit_free(c);
    return true;
}

/* The commit alone, where the server gives it by its id; else all that has a name. */
static enum sbx_code fetch(const struct sbx_git2 *git, git_repository *repo,
                           const struct sbx_git_source *s, const git_oid *id, struct sbx_err *err)
{
    struct git_login login = { .git = git };
    git_fetch_options opts = {
        .version = GIT_FETCH_OPTIONS_VERSION,
        .callbacks = { .version = GIT_REMOTE_CALLBACKS_VERSION,
                       .credentials = git_login_acquire,
                       .payload = &login },
        .download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE,
        .proxy_opts = { .version = GIT_PROXY_OPTIONS_VERSION, .type = GIT_PROXY_AUTO },
    };
    char one[128];
    char *specs[] = { one };
    char *all[] = { (char *)"+refs/heads/*:refs/sbx/heads/*", (char *)"+refs/tags/*:refs/sbx/tags/*" };
    const git_strarray by_id = { specs, 1 }, by_name = { all, 2 };
    git_remote *remote = NULL;
    enum sbx_code rc = SBX_OK;
    int code;

    snprintf(one, sizeof(one), "+%.40s:refs/sbx/pinned", s->commit);
    code = git->remote_create_anonymous(&remote, repo, s->url);
    if (!code && (git->remote_fetch(remote, &by_id, &opts, NULL) || !have(git, repo, id))) {
        login = (struct git_login){ .git = git };
        code = git->remote_fetch(remote, &by_name, &opts, NULL);
    }
    if (code)
        rc = git_failed(git, &login, code, s->url, err);
    else if (!have(git, repo, id))
        rc = sbx_err_set(err, SBX_NOT_FOUND, "%.200s has no commit %s", s->url, s->commit);
    git->remote_free(remote);
    return rc;
}

/* Fetch into a repository in TMP/repo, export to TMP/tree. */
static enum sbx_code bring(const char *tmp, const struct sbx_git_source *s, struct sbx_err *err)
{
    const struct sbx_git2 *git = sbx_git2(err);
    SBX_AUTO_FREE char *path = NULL, *out = NULL;
    SBX_AUTO_FD int dir = -1;
    git_repository *repo = NULL;
    git_commit *commit = NULL;
    git_tree *tree = NULL;
    git_oid id;
    enum sbx_code rc;

    if (!git)
        return SBX_UNAVAILABLE;
    if (asprintf(&path, "%s/repo", tmp) < 0 || asprintf(&out, "%s/tree", tmp) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (mkdir(out, 0755) || (dir = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return sbx_err_errno(err, "make %s", out);
    if (git->oid_fromstr(&id, s->commit) || git->repository_init(&repo, path, 1))
        return sbx_err_set(err, SBX_IO, "make a repository in %s", tmp);
    rc = fetch(git, repo, s, &id, err);
    if (!rc && (git->commit_lookup(&commit, repo, &id) || git->commit_tree(&tree, commit)))
        rc = sbx_err_set(err, SBX_SCHEMA, "commit %s has no tree", s->commit);
    if (!rc)
        rc = git_export(git, repo, tree, dir, s->subdir ? s->subdir : "", err);
    if (!rc && syncfs(dir))
        rc = sbx_err_errno(err, "write %s", out);
    git->tree_free(tree);
    git->commit_free(commit);
    git->repository_free(repo);
    return rc;
}

/* All of it or nothing; a name appears when it is whole. */
static enum sbx_code make(const char *base, const char *path, const struct sbx_git_source *s,
                          struct sbx_err *err)
{
    SBX_AUTO_FREE char *tmp = NULL, *tree = NULL;
    enum sbx_code rc = sbx_dir_make(base, 0700, err);

    if (rc)
        return rc;
    if (asprintf(&tmp, "%s/.tmp-XXXXXX", base) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!mkdtemp(tmp))
        return sbx_err_errno(err, "make a directory in %s", base);
    rc = asprintf(&tree, "%s/tree", tmp) < 0 ? sbx_err_set(err, SBX_NO_MEMORY, "out of memory")
                                             : bring(tmp, s, err);
    if (!rc && rename(tree, path) && errno != EEXIST && errno != ENOTEMPTY)
        rc = sbx_err_errno(err, "name %s", path);
    if (sbx_dir_remove(AT_FDCWD, tmp, NULL))
        return rc; /* `cache prune` removes it */
    return rc;
}

static int look_for_lfs(const char *path, const struct stat *st, int type, struct FTW *unused)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(LFS_MAX);

    (void)unused;
    if (type != FTW_F || st->st_size > LFS_MAX || sbx_file_read(AT_FDCWD, path, &text, NULL))
        return 0;
    return text.len > strlen(LFS_MARK) && !memcmp(text.ptr, LFS_MARK, strlen(LFS_MARK));
}

/* A kit whose files are only pointers would work nowhere. */
static enum sbx_code check(const char *dir, const struct sbx_git_source *s, struct sbx_err *err)
{
    struct stat st;

    if (lstat(dir, &st) || !S_ISDIR(st.st_mode))
        return sbx_err_set(err, SBX_NOT_FOUND, "the commit has no directory %.200s",
                           s->subdir ? s->subdir : "");
    if (nftw(dir, look_for_lfs, 16, FTW_PHYS) == 1)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "its files are kept in Git LFS, which is not fetched: commit them as files");
    return SBX_OK;
}

enum sbx_code sbx_git_fetch(const char *cache, const struct sbx_git_source *s, char **ret_dir,
                            struct sbx_err *err)
{
    SBX_AUTO_FREE char *base = NULL, *path = NULL, *dir = NULL;
    enum sbx_code rc = SBX_OK;

    if (asprintf(&base, "%s/git", cache) < 0 || asprintf(&path, "%s/%.40s", base, s->commit) < 0 ||
        asprintf(&dir, "%s%s%s", path, s->subdir ? "/" : "", s->subdir ? s->subdir : "") < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (access(path, F_OK))
        rc = make(base, path, s, err);
    if (!rc)
        rc = check(dir, s, err);
    if (!rc)
        (void)utimensat(AT_FDCWD, path, NULL, 0); /* used now; where that fails it only looks older */
    if (!rc)
        *ret_dir = SBX_TAKE(dir);
    return rc;
}

/* Branch before tag, as git; an annotated tag stands for its commit. */
static const git_oid *pick(const git_remote_head **heads, size_t n, const char *name)
{
    static const char *const forms[][2] = {
        { "", "" }, { "refs/heads/", "" }, { "refs/tags/", "^{}" }, { "refs/tags/", "" }
    };
    char full[1024];

    for (size_t f = 0; f < SBX_ARRAY_LEN(forms); f++) {
        snprintf(full, sizeof(full), "%s%.900s%s", forms[f][0], name ? name : "HEAD", forms[f][1]);
        for (size_t i = 0; i < n; i++)
            if (!strcmp(heads[i]->name, full))
                return &heads[i]->oid;
    }
    return NULL;
}

enum sbx_code sbx_git_look(const struct sbx_git_source *s, char ret_commit[41], struct sbx_err *err)
{
    const struct sbx_git2 *git = sbx_git2(err);
    struct git_login login = { .git = git };
    git_remote_callbacks callbacks = { .version = GIT_REMOTE_CALLBACKS_VERSION,
                                       .credentials = git_login_acquire,
                                       .payload = &login };
    const git_remote_head **heads = NULL;
    git_remote *remote = NULL;
    const git_oid *id = NULL;
    enum sbx_code rc = SBX_OK;
    size_t n = 0;
    int code;

    if (!git)
        return SBX_UNAVAILABLE;
    code = git->remote_create_detached(&remote, s->url);
    if (!code)
        code = git->remote_connect(remote, GIT_DIRECTION_FETCH, &callbacks, NULL, NULL);
    if (!code)
        code = git->remote_ls(&heads, &n, remote);
    if (code)
        rc = git_failed(git, &login, code, s->url, err);
    else if (!(id = pick(heads, n, s->commit)))
        rc = sbx_err_set(err, SBX_NOT_FOUND, "%.200s has no branch or tag %.100s", s->url,
                         s->commit ? s->commit : "HEAD");
    else
        git->oid_tostr(ret_commit, 41, id);
    git->remote_free(remote);
    return rc;
}
