/* Commits in the cache: each is made once, by one of those who want it, whole or not at all. */
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "remote.h"
#include "sbx/cache.h"
#include "sbx/file.h"
#include "sbx/ref.h"

#define ASK_MS 100 /* between two looks whether another process is done */

/* Is the directory of this descriptor still the one of that name? Who held it before may have removed it. */
static bool is_same(int fd, const char *path)
{
    struct stat a, b;

    return !fstat(fd, &a) && !lstat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The directory in which this commit is made, ours alone for as long as *ret_fd is open. */
static enum sbx_code own(const char *tmp, struct git_signals *signals, int *ret_fd,
                         struct sbx_err *err)
{
    for (;;) {
        SBX_AUTO_FD int fd = -1;
        bool taken;

        if (mkdir(tmp, 0700) && errno != EEXIST)
            return sbx_err_errno(err, "make %s", tmp);
        fd = open(tmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0)
            return sbx_err_errno(err, "open %s", tmp);
        taken = !flock(fd, LOCK_EX | LOCK_NB);
        if (!taken && errno != EWOULDBLOCK)
            return sbx_err_errno(err, "lock %s", tmp);
        if (taken && is_same(fd, tmp)) {
            *ret_fd = sbx_take_fd(&fd);
            return SBX_OK;
        }
        if (git_signals_wait(signals, ASK_MS))
            return sbx_err_set(err, SBX_CANCELED, "interrupted");
    }
}

static enum sbx_code make_in(const char *tmp, int fd, const char *path,
                             const struct sbx_git_source *s, struct git_signals *signals,
                             struct sbx_err *err)
{
    struct git_job job = { .source = s, .dir = tmp };
    SBX_AUTO_FREE char *out = NULL;
    enum sbx_code rc;

    if (asprintf(&out, "%s/out", tmp) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    /* What somebody left who was killed. */
    rc = sbx_dir_remove(fd, "repo", err);
    if (!rc)
        rc = sbx_dir_remove(fd, "out", err);
    if (!rc)
        rc = git_in_worker(git_bring, &job, signals, err);
    if (!rc && rename(out, path))
        rc = sbx_err_errno(err, "name %s", path);
    return rc;
}

static enum sbx_code make(const char *base, const char *path, const struct sbx_git_source *s,
                          struct git_signals *signals, struct sbx_err *err)
{
    SBX_AUTO_FREE char *tmp = NULL;
    SBX_AUTO_FD int fd = -1;
    enum sbx_code rc = sbx_dir_make(base, 0700, err);

    if (rc)
        return rc;
    if (asprintf(&tmp, "%s/.tmp-%.40s", base, s->commit) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = own(tmp, signals, &fd, err);
    if (rc)
        return rc;
    if (access(path, F_OK))
        rc = make_in(tmp, fd, path, s, signals, err);
    if (sbx_dir_remove(AT_FDCWD, tmp, NULL))
        return rc; /* `cache prune` removes it */
    return rc;
}

static _Thread_local char marked[PATH_MAX]; /* nftw() takes no context */

static int look_for_marks(const char *path, const struct stat *st, int type, struct FTW *unused)
{
    (void)unused;
    if ((type != FTW_D && type != FTW_F) || !(st->st_mode & GIT_MARK))
        return 0;
    snprintf(marked, sizeof(marked), "%s", path);
    return type == FTW_D ? S_IFDIR : S_IFREG;
}

/* A kit without some of its files, or with pointers in their place, would work nowhere. */
static enum sbx_code check(const char *dir, size_t root_len, struct sbx_err *err)
{
    int found = nftw(dir, look_for_marks, 16, FTW_PHYS);

    if (found == S_IFDIR)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "%s is a submodule: copy its files into the kit's repository",
                           marked + root_len + 1);
    if (found == S_IFREG)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "%s is kept in Git LFS, which is not fetched: commit it as a file",
                           marked + root_len + 1);
    return SBX_OK;
}

/* For who lists the cache; without `dir`, as the whole commit is there. */
static enum sbx_code name_it(struct sbx_cache *c, const struct sbx_git_source *s,
                             struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const struct sbx_ref ref = { .kind = SBX_REF_GIT, .url = s->url };
    const char *text = arena ? sbx_ref_git_text(&ref, s->commit, arena) : NULL;

    return text ? sbx_cache_name(c, s->commit, text, err)
                : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

/* Links inside the repository are followed, others not. */
static enum sbx_code find(const char *dir, const char *root, const struct sbx_git_source *s,
                          char **ret, struct sbx_err *err)
{
    SBX_AUTO_FREE char *real = realpath(dir, NULL);
    SBX_AUTO_FREE char *base = realpath(root, NULL);
    size_t len = base ? strlen(base) : 0;
    enum sbx_code rc;
    struct stat st;

    if (real && base && (strncmp(real, base, len) || (real[len] && real[len] != '/')))
        return sbx_err_set(err, SBX_SCHEMA, "dir=%.200s: a link that leads out of the repository",
                           s->subdir);
    if (!real || !base || lstat(real, &st) || !S_ISDIR(st.st_mode))
        return sbx_err_set(err, SBX_NOT_FOUND, "the commit has no directory %.200s",
                           s->subdir ? s->subdir : "");
    rc = check(real, len, err);
    if (!rc)
        *ret = SBX_TAKE(real);
    return rc;
}

/* The files of an exported commit. */
static enum sbx_code files_of(const char *path, char **ret, struct sbx_err *err)
{
    SBX_AUTO_FREE char *objects = NULL;
    bool old;

    if (asprintf(&objects, "%s/" GIT_OBJECTS, path) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    old = access(objects, F_OK) != 0;
    return asprintf(ret, "%s%s", path, old ? "" : "/" GIT_TREE) < 0
               ? sbx_err_set(err, SBX_NO_MEMORY, "out of memory")
               : SBX_OK;
}

static enum sbx_code fetch_in(struct sbx_cache *c, const struct sbx_git_source *s,
                              struct git_signals *signals, char **ret_dir, struct sbx_err *err)
{
    SBX_AUTO_FREE char *base = NULL, *path = NULL, *root = NULL, *dir = NULL;
    enum sbx_code rc = SBX_OK;

    if (asprintf(&base, "%s/git", sbx_cache_dir(c)) < 0 ||
        asprintf(&path, "%s/%.40s", base, s->commit) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (access(path, F_OK)) {
        rc = make(base, path, s, signals, err);
        if (!rc)
            rc = name_it(c, s, err);
    }
    if (rc)
        return rc;
    sbx_cache_hold(path); /* the caller reads it when the cache is no longer in use */
    rc = files_of(path, &root, err);
    if (rc)
        return rc;
    if (asprintf(&dir, "%s/%s", root, s->subdir ? s->subdir : "") < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return find(dir, root, s, ret_dir, err);
}

enum sbx_code sbx_git_fetch(const char *cache, const struct sbx_git_source *s, char **ret_dir,
                            struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_cache) c = NULL;
    SBX_AUTO_FD int use = -1;
    struct git_signals signals;
    enum sbx_code rc = sbx_cache_open(cache, &c, err);

    if (!rc)
        rc = sbx_cache_use(c, &use, err);
    if (!rc)
        rc = git_signals_hold(&signals, err);
    if (rc)
        return rc;
    rc = fetch_in(c, s, &signals, ret_dir, err);
    git_signals_release(&signals);
    return rc;
}

enum sbx_code sbx_git_look(const struct sbx_git_source *s, char ret_commit[41], struct sbx_err *err)
{
    struct git_job job = { .source = s };
    struct git_signals signals;
    enum sbx_code rc = git_signals_hold(&signals, err);

    if (rc)
        return rc;
    rc = git_in_worker(git_look, &job, &signals, err);
    git_signals_release(&signals);
    if (!rc)
        memcpy(ret_commit, job.commit, sizeof(job.commit));
    return rc;
}
