/* A commit's tree as files, and beside them what they can be checked by: the commit and its trees. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "remote.h"
#include "sbx/file.h"

struct writer {
    struct git_walk walk;
    git_odb *odb;
    int objects;     /* the file of objects */
    size_t kept;     /* bytes in it */
    long long bytes; /* of files */
};

/* As git names it, so that its digest is the object's id: "tree LENGTH", a NUL, the content. */
static enum sbx_code keep(struct writer *x, const git_oid *id, struct sbx_err *err)
{
    const struct sbx_git2 *git = x->walk.git;
    git_odb_object *object = NULL;
    enum sbx_code rc = SBX_OK;
    char head[64];
    size_t size;
    int n;

    if (git->odb_read(&object, x->odb, id)) {
        rc = sbx_err_set(err, SBX_SCHEMA, "%s: its content is missing", x->walk.path);
    } else {
        size = git->odb_object_size(object);
        n = snprintf(head, sizeof(head), "%s %zu",
                     git->object_type2string(git->odb_object_type(object)), size);
        x->kept += (size_t)n + 1 + size;
        if (x->kept > GIT_OBJECTS_MAX)
            rc = sbx_err_set(err, SBX_LIMIT,
                             "the commit and its directories have more than %d bytes",
                             GIT_OBJECTS_MAX);
        else if (sbx_write_all(x->objects, head, (size_t)n + 1) ||
                 sbx_write_all(x->objects, git->odb_object_data(object), size))
            rc = sbx_err_errno(err, "write " GIT_OBJECTS);
    }
    git->odb_object_free(object);
    return rc;
}

/* ---- how much it is: nothing is written of a commit that is too large, or a bomb of equal directories ---- */

static enum sbx_code enter_none(struct git_walk *w, const git_tree *tree, int dir,
                                struct sbx_err *err)
{
    (void)w, (void)tree, (void)dir, (void)err;
    return SBX_OK;
}

static enum sbx_code open_none(struct git_walk *w, int at, const char *name, int *ret_fd,
                               struct sbx_err *err)
{
    (void)w, (void)at, (void)name, (void)ret_fd, (void)err;
    return SBX_OK;
}

static enum sbx_code no_submodule(struct git_walk *w, int at, const char *name, struct sbx_err *err)
{
    (void)w, (void)at, (void)name, (void)err;
    return SBX_OK;
}

static enum sbx_code add_size(struct git_walk *w, int at, const char *name, const git_oid *id,
                              int mode, struct sbx_err *err)
{
    struct writer *x = (struct writer *)w;
    git_object_t type;
    size_t len;

    (void)at, (void)name, (void)mode;
    if (w->git->odb_read_header(&len, &type, x->odb, id))
        return sbx_err_set(err, SBX_SCHEMA, "%s: its content is missing", w->path);
    if (len > SBX_GIT_FILE_BYTES_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%s has more than %d bytes", w->path,
                           SBX_GIT_FILE_BYTES_MAX);
    x->bytes += (long long)len;
    return x->bytes <= SBX_GIT_BYTES_MAX
               ? SBX_OK
               : sbx_err_set(err, SBX_LIMIT, "the commit has more than %lld bytes",
                             SBX_GIT_BYTES_MAX);
}

static const struct git_visit measure = {
    .enter = enter_none,
    .dir = open_none,
    .submodule = no_submodule,
    .file = add_size,
};

/* ---- making it ---- */

static enum sbx_code enter(struct git_walk *w, const git_tree *tree, int dir, struct sbx_err *err)
{
    (void)dir;
    return keep((struct writer *)w, w->git->tree_id(tree), err);
}

static enum sbx_code make_link(const struct git_walk *w, int at, const char *name, const char *data,
                               size_t len, struct sbx_err *err)
{
    char target[GIT_PATH_SIZE] = "";

    if (len >= sizeof(target) || memchr(data, '\0', len))
        return sbx_err_set(err, SBX_SCHEMA, "%s: not a link that a directory can hold", w->path);
    memcpy(target, data, len);
    return symlinkat(target, at, name) ? sbx_err_errno(err, "make link %s", w->path) : SBX_OK;
}

static enum sbx_code make_file(struct git_walk *w, int at, const char *name, const git_oid *id,
                               int mode, struct sbx_err *err)
{
    git_blob *blob = NULL;
    SBX_AUTO_FD int fd = -1;
    const char *data;
    enum sbx_code rc = SBX_OK;
    size_t len;

    if (w->git->blob_lookup(&blob, w->repo, id))
        return sbx_err_set(err, SBX_SCHEMA, "%s: its content is missing", w->path);
    data = w->git->blob_rawcontent(blob);
    len = (size_t)w->git->blob_rawsize(blob);
    if (mode == GIT_FILEMODE_LINK) {
        rc = make_link(w, at, name, data, len, err);
    } else {
        fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 || (len && sbx_write_all(fd, data, len)) ||
            fchmod(fd, git_file_mode(mode, data, len)))
            rc = sbx_err_errno(err, "write %s", w->path);
    }
    w->git->blob_free(blob);
    return rc;
}

static enum sbx_code make_dir(struct git_walk *w, int at, const char *name, int *ret_fd,
                              struct sbx_err *err)
{
    if (!mkdirat(at, name, 0755))
        *ret_fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *ret_fd < 0 ? sbx_err_errno(err, "make %s", w->path) : SBX_OK;
}

static enum sbx_code make_submodule(struct git_walk *w, int at, const char *name,
                                    struct sbx_err *err)
{
    return mkdirat(at, name, 0700) || fchmodat(at, name, 0755 | GIT_MARK, 0)
               ? sbx_err_errno(err, "make %s", w->path)
               : SBX_OK;
}

static const struct git_visit make = {
    .enter = enter,
    .dir = make_dir,
    .submodule = make_submodule,
    .file = make_file,
};

static enum sbx_code make_all(struct writer *x, const git_oid *commit, int out, struct sbx_err *err)
{
    SBX_AUTO_FD int dir = -1, objects = -1;
    enum sbx_code rc;

    objects = openat(out, GIT_OBJECTS, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (objects < 0 || mkdirat(out, GIT_TREE, 0755) ||
        (dir = openat(out, GIT_TREE, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return sbx_err_errno(err, "make " GIT_TREE);
    x->objects = objects;
    x->walk.visit = &make;
    x->walk.files = 0;
    rc = keep(x, commit, err);
    return rc ? rc : git_walk(&x->walk, commit, dir, err);
}

enum sbx_code git_export(const struct sbx_git2 *git, git_repository *repo, const git_oid *commit,
                         int out, struct git_job *job, struct sbx_err *err)
{
    SBX_AUTO_FREE struct writer *x = calloc(1, sizeof(*x));
    enum sbx_code rc;

    if (!x || git->repository_odb(&x->odb, repo))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    x->walk = (struct git_walk){ .visit = &measure, .git = git, .repo = repo, .job = job };
    rc = git_walk(&x->walk, commit, -1, err);
    if (!rc)
        rc = make_all(x, commit, out, err);
    git->odb_free(x->odb);
    return rc;
}
