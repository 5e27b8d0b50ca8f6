/* Is an exported commit of the cache still that commit? Its objects beside it say what its files ought to be. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "remote.h"
#include "sbx/cache.h"
#include "sbx/file.h"

#define HEAD_SIZE 65536 /* bytes of a file that are hashed without opening it once more */

/* What differs: SBX_CONFLICT says so, and with what. */
static enum sbx_code differs(const struct git_walk *w, const char *how, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_CONFLICT, "%s %s", *w->path ? w->path : GIT_TREE, how);
}

/* It cannot be opened, or looked at. */
static enum sbx_code no_entry(const struct git_walk *w, struct sbx_err *err)
{
    if (errno == ENOENT)
        return differs(w, "is missing", err);
    if (errno == ENOTDIR || errno == ELOOP || errno == ENXIO)
        return differs(w, "is of another kind", err);
    return errno == EACCES ? differs(w, "cannot be read", err) : sbx_err_errno(err, "%s", w->path);
}

/* Old tools wrote trees that are not in order, in which libgit2 does not find everything. */
static bool has(const struct sbx_git2 *git, const git_tree *tree, const char *name)
{
    if (git->tree_entry_byname(tree, name))
        return true;
    for (size_t i = 0; i < git->tree_entrycount(tree); i++)
        if (!strcmp(git->tree_entry_name(git->tree_entry_byindex(tree, i)), name))
            return true;
    return false;
}

/* The next entry of a directory, or NULL. */
static const char *next(DIR *d)
{
    struct dirent *e;

    do
        e = readdir(d);
    while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
    return e ? e->d_name : NULL;
}

/* Nothing is in a directory but what is in its tree, as the walk finds out; a submodule (NULL) has nothing. */
static enum sbx_code no_more(struct git_walk *w, const git_tree *tree, int dir, struct sbx_err *err)
{
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    size_t want = tree ? w->git->tree_entrycount(tree) : 0, n = 0;
    const char *name = NULL;

    if (!d) {
        if (again >= 0)
            close(again);
        return no_entry(w, err);
    }
    while (n <= want && next(d))
        n++;
    if (n > want) {
        rewinddir(d);
        do
            name = next(d);
        while (name && tree && has(w->git, tree, name));
    }
    if (name)
        sbx_err_set(err, SBX_CONFLICT, "%s%s%s was added", w->path, *w->path ? "/" : "", name);
    closedir(d);
    return name ? SBX_CONFLICT : SBX_OK;
}

/* A directory's mode is the umask's, but for the mark. */
static enum sbx_code open_dir(struct git_walk *w, int at, const char *name, bool mark, int *ret_fd,
                              struct sbx_err *err)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    *ret_fd = fd;
    if (fd < 0 || fstat(fd, &st))
        return no_entry(w, err);
    return mark == !!(st.st_mode & GIT_MARK) ? SBX_OK : differs(w, "has another mode", err);
}

static enum sbx_code check_dir(struct git_walk *w, int at, const char *name, int *ret_fd,
                               struct sbx_err *err)
{
    return open_dir(w, at, name, false, ret_fd, err);
}

static enum sbx_code check_submodule(struct git_walk *w, int at, const char *name,
                                     struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    enum sbx_code rc = open_dir(w, at, name, true, &fd, err);

    return rc ? rc : no_more(w, NULL, fd, err);
}

static enum sbx_code check_link(struct git_walk *w, int at, const char *name, const git_oid *id,
                                struct sbx_err *err)
{
    char target[GIT_PATH_SIZE];
    ssize_t n = readlinkat(at, name, target, sizeof(target));
    git_oid is;

    if (n < 0)
        return errno == EINVAL ? differs(w, "is of another kind", err) : no_entry(w, err);
    if (w->git->odb_hash(&is, target, (size_t)n, GIT_OBJECT_BLOB))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return w->git->oid_equal(&is, id) ? SBX_OK : differs(w, "leads elsewhere", err);
}

/* The id that content has; of a large file it is read once more, in pieces. */
static enum sbx_code hash(struct git_walk *w, int fd, const char *head, size_t n, size_t size,
                          git_oid *ret, struct sbx_err *err)
{
    char self[64];
    int rc;

    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    rc = n == size ? w->git->odb_hash(ret, head, n, GIT_OBJECT_BLOB)
                   : w->git->odb_hashfile(ret, self, GIT_OBJECT_BLOB);
    return rc ? sbx_err_set(err, SBX_IO, "%s cannot be read", w->path) : SBX_OK;
}

static enum sbx_code check_file(struct git_walk *w, int at, const char *name, const git_oid *id,
                                int mode, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    char head[HEAD_SIZE];
    struct stat st;
    size_t size;
    ssize_t n;
    git_oid is;
    enum sbx_code rc;

    if (mode == GIT_FILEMODE_LINK)
        return check_link(w, at, name, id, err);
    fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        return no_entry(w, err);
    if (!S_ISREG(st.st_mode))
        return differs(w, "is of another kind", err);
    n = pread(fd, head, sizeof(head), 0);
    if (n < 0)
        return sbx_err_errno(err, "read %s", w->path);
    size = (size_t)st.st_size;
    rc = hash(w, fd, head, (size_t)n, size, &is, err);
    if (rc)
        return rc;
    if (!w->git->oid_equal(&is, id))
        return differs(w, "has another content", err);
    return (st.st_mode & 07777) == git_file_mode(mode, head, size)
               ? SBX_OK
               : differs(w, "has another mode", err);
}

static const struct git_visit check = {
    .enter = no_more,
    .dir = check_dir,
    .submodule = check_submodule,
    .file = check_file,
};

/* The next of the objects at `p`, which has `left` bytes; its length, 0: none. */
static size_t add_object(const struct sbx_git2 *git, git_odb *odb, const char *p, size_t left)
{
    const char *end = memchr(p, '\0', left), *space = strchr(p, ' ');
    size_t len = 0, head = end ? (size_t)(end + 1 - p) : 0;
    char type[16];
    git_oid id;

    if (!end || !space || (size_t)(space - p) >= sizeof(type))
        return 0;
    for (const char *c = space + 1; *c >= '0' && *c <= '9' && len <= left; c++)
        len = len * 10 + (size_t)(*c - '0');
    snprintf(type, sizeof(type), "%.*s", (int)(space - p), p);
    if (len > left - head || git->odb_write(&id, odb, end + 1, len, git->object_string2type(type)))
        return 0;
    return head + len;
}

/* A repository in memory with the objects that were kept. Each is named by what it is, not by what it was said to be. */
static enum sbx_code load(const struct sbx_git2 *git, int dir, git_repository **ret,
                          struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) all = SBX_BUF_INIT(GIT_OBJECTS_MAX);
    git_odb_backend *memory = NULL;
    git_odb *odb = NULL;
    struct stat st;
    enum sbx_code rc;

    if (fstatat(dir, GIT_OBJECTS, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
        faccessat(dir, GIT_OBJECTS, R_OK, AT_EACCESS))
        return sbx_err_set(err, SBX_CONFLICT, GIT_OBJECTS " is no file that can be read");
    rc = sbx_file_read(dir, GIT_OBJECTS, &all, err);
    if (rc)
        return rc;
    if (git->odb_new(&odb) || git->mempack_new(&memory) || git->odb_add_backend(odb, memory, 1) ||
        git->repository_wrap_odb(ret, odb))
        rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t at = 0, n; !rc && at < all.len; at += n) {
        n = add_object(git, odb, all.ptr + at, all.len - at);
        if (!n)
            rc = sbx_err_set(err, SBX_CONFLICT, GIT_OBJECTS " has another content");
    }
    git->odb_free(odb);
    return rc;
}

static enum sbx_code compare(const struct sbx_git2 *git, int export, const char *commit,
                             struct sbx_err *err)
{
    SBX_AUTO_FREE struct git_walk *w = calloc(1, sizeof(*w));
    SBX_AUTO_FD int dir = -1;
    git_repository *repo = NULL;
    git_oid id;
    enum sbx_code rc;

    if (!w)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    *w = (struct git_walk){ .visit = &check, .git = git };
    if (git->oid_fromstr(&id, commit))
        return sbx_err_set(err, SBX_CONFLICT, "no commit has such a name");
    rc = load(git, export, &repo, err);
    if (!rc)
        rc = open_dir(w, export, GIT_TREE, false, &dir, err);
    w->repo = repo;
    if (!rc)
        rc = git_walk(w, &id, dir, err);
    git->repository_free(repo);
    return rc;
}

/*
 * An earlier version exported without objects, the commit's files right there. Where there is nothing but our directory of
 * files, the objects are gone.
 */
static bool is_unchecked(int export)
{
    SBX_AUTO_FD int again = openat(export, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    const char *name;
    bool other = false;

    if (!d)
        return true;
    (void)sbx_take_fd(&again);
    while (!other && (name = next(d)))
        other = strcmp(name, GIT_TREE) != 0;
    closedir(d);
    return other && faccessat(export, GIT_OBJECTS, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Besides what differs, objects that a whole export cannot have. */
static bool says_other(enum sbx_code rc)
{
    return rc == SBX_CONFLICT || rc == SBX_SCHEMA || rc == SBX_LIMIT;
}

enum sbx_code sbx_git_verify(const char *cache, const char *name, enum sbx_cache_state *ret,
                             char **ret_what, struct sbx_err *err)
{
    const struct sbx_git2 *git = sbx_git2(NULL);
    struct sbx_err found = SBX_ERR_INIT;
    SBX_AUTO_FREE char *path = NULL;
    SBX_AUTO_FD int export = -1;
    enum sbx_code rc;

    *ret = SBX_CACHE_UNKNOWN;
    if (asprintf(&path, "%s/git/%s", cache, name) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    export = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (export < 0 && errno != ENOTDIR && errno != ELOOP)
        return sbx_err_errno(err, "%s", path);
    if (!git || (export >= 0 && is_unchecked(export)))
        return SBX_OK;
    rc = export < 0 ? sbx_err_set(&found, SBX_CONFLICT, "it is no directory")
                    : compare(git, export, name, &found);
    if (rc && !says_other(rc))
        return sbx_err_set(err, rc, "%s: %s", path, found.text);
    *ret = rc ? SBX_CACHE_CHANGED : SBX_CACHE_WHOLE;
    *ret_what = rc ? strdup(found.text) : NULL;
    return rc && !*ret_what ? sbx_err_set(err, SBX_NO_MEMORY, "out of memory") : SBX_OK;
}
