/*
 * The walk over files/home and files/workspace. Every path is resolved from the kit's own directory
 * and may not leave it; what is found is looked at by O_PATH, so that nothing is opened by looking.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "load.h"
#include "sbx/file.h"
#include "sbx/text.h"

#define DEPTH_MAX 64 /* directories below a target; real kits have five */

struct walk {
    int kit;
    struct sbx_artifact *a;
    struct sbx_diags *diags;
    struct sbx_err *err;
    const char *path; /* of the kit, as the user wrote it */
    enum sbx_target target;
    struct sbx_static_file *v;
    size_t len, cap, seen;
    struct stat above[DEPTH_MAX + 1]; /* the directories around, to notice circles */
};

static struct sbx_pos pos_of(struct walk *w, const char *path)
{
    return (struct sbx_pos){ .file = sbx_arena_strdup(w->a->arena, path) };
}

static void report(struct walk *w, enum sbx_severity severity, const char *code, const char *path,
                   const char *hint, const char *text)
{
    const char *slash = w->path[strlen(w->path) - 1] == '/' ? "" : "/";
    struct sbx_pos pos = { .file = sbx_arena_printf(w->a->arena, "%s%s%s", w->path, slash, path) };

    w->diags->no_memory |= !pos.file;
    sbx_diags_add(w->diags, severity, code, pos, "", hint, "%s", text);
}

static enum sbx_code no_memory(struct walk *w)
{
    return sbx_err_set(w->err, SBX_NO_MEMORY, "no memory");
}

static bool is_below(const char *path, const char *root)
{
    size_t len = strlen(root);

    return !strncmp(path, root, len) && (path[len] == '/' || !path[len] || (len && root[len - 1] == '/'));
}

/* Real path of an open descriptor, malloc'd; NULL: unknown. */
static char *path_of_fd(int fd)
{
    char link[40], path[4096];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0 || n == (ssize_t)sizeof(path) - 1)
        return NULL;
    path[n] = '\0';
    return strdup(path);
}

int sbx_kit_open_below(int kit_fd, const char *path)
{
    struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
    int fd = (int)syscall(SYS_openat2, kit_fd, path, &how, sizeof(how));
    SBX_AUTO_FREE char *real = NULL;
    SBX_AUTO_FREE char *root = NULL;

    if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EXDEV))
        return fd;
    /* no openat2, or an absolute link: judge the place where it ends */
    root = path_of_fd(kit_fd);
    fd = openat(kit_fd, path, O_PATH | O_CLOEXEC);
    real = fd >= 0 ? path_of_fd(fd) : NULL;
    if (fd >= 0 && (!real || !root || !is_below(real, root))) {
        close(fd);
        errno = EXDEV;
        return -1;
    }
    return fd;
}

static int open_below(const struct walk *w, const char *path)
{
    return sbx_kit_open_below(w->kit, path);
}

static void report_unopened(struct walk *w, const char *path, int number)
{
    w->diags->no_memory |= number == ENOMEM;
    if (number == EXDEV || number == ELOOP)
        report(w, SBX_ERROR, "bad-file", path, "copy the file into the kit",
               number == ELOOP ? "symbolic links in a circle" : "a link that leads out of the kit");
    else if (number == ENOENT)
        report(w, SBX_ERROR, "bad-file", path, "remove the link", "a link to nothing");
    else
        report(w, SBX_ERROR, "unreadable-file", path, NULL, strerror(number));
}

static enum sbx_code grow(struct walk *w)
{
    if (w->len == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 32;
        struct sbx_static_file *v = realloc(w->v, cap * sizeof(*v));

        if (!v)
            return no_memory(w);
        w->v = v;
        w->cap = cap;
    }
    return SBX_OK;
}

static enum sbx_code add_regular(struct walk *w, int fd, const char *path, const char *rel,
                                 const struct stat *st)
{
    SBX_AUTO_FREE char *real = path_of_fd(fd);
    struct sbx_static_file *f;
    char link[40];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (!real && errno == ENOMEM)
        return no_memory(w);
    if (!real || faccessat(AT_FDCWD, link, R_OK, AT_EACCESS)) {
        report_unopened(w, path, real ? errno : EIO);
        return SBX_OK;
    }
    if (st->st_size > SBX_KIT_FILE_MAX)
        return sbx_err_set(w->err, SBX_LIMIT, "%s: larger than %d bytes", path, SBX_KIT_FILE_MAX);
    if (grow(w))
        return SBX_NO_MEMORY;
    f = &w->v[w->len];
    *f = (struct sbx_static_file){
        .at = { w->a->name, pos_of(w, path) },
        .target = w->target,
        .path = sbx_arena_strdup(w->a->arena, rel),
        .mode = st->st_mode & 0111 ? 0755 : 0644,
        .size = (size_t)st->st_size,
        .source = sbx_arena_strdup(w->a->arena, real),
    };
    if (!f->path || !f->source || !f->at.pos.file)
        return no_memory(w);
    w->len++;
    return SBX_OK;
}

static enum sbx_code walk_directory(struct walk *w, const char *path, size_t skip, unsigned depth);

static bool is_above(const struct walk *w, const struct stat *st, unsigned depth)
{
    for (unsigned i = 0; i <= depth; i++)
        if (w->above[i].st_ino == st->st_ino && w->above[i].st_dev == st->st_dev)
            return true;
    return false;
}

static enum sbx_code enter_directory(struct walk *w, const char *path, size_t skip, unsigned depth,
                                     const struct stat *st)
{
    if (depth > DEPTH_MAX)
        return sbx_err_set(w->err, SBX_LIMIT, "%s: deeper than %d directories", path, DEPTH_MAX);
    w->above[depth] = *st;
    return walk_directory(w, path, skip, depth);
}

static enum sbx_code walk_entry(struct walk *w, const char *path, size_t skip, unsigned depth)
{
    SBX_AUTO_FD int fd = -1;
    struct stat st;

    if (++w->seen > SBX_KIT_FILES_MAX)
        return sbx_err_set(w->err, SBX_LIMIT, "files/: more than %d entries", SBX_KIT_FILES_MAX);
    if (!sbx_utf8_valid(path, strlen(path))) {
        report(w, SBX_ERROR, "bad-file", path, "rename it", "the name is not UTF-8");
        return SBX_OK;
    }
    fd = open_below(w, path);
    if (fd < 0 || fstat(fd, &st)) {
        report_unopened(w, path, errno);
        return SBX_OK;
    }
    if (S_ISDIR(st.st_mode) && is_above(w, &st, depth)) {
        report_unopened(w, path, ELOOP);
        return SBX_OK;
    }
    if (S_ISDIR(st.st_mode))
        return enter_directory(w, path, skip, depth + 1, &st);
    if (S_ISREG(st.st_mode))
        return add_regular(w, fd, path, path + skip, &st);
    report(w, SBX_ERROR, "bad-file", path, "only files, directories and links belong into a kit",
           S_ISFIFO(st.st_mode)   ? "is a FIFO"
           : S_ISSOCK(st.st_mode) ? "is a socket"
                                  : "is a device");
    return SBX_OK;
}

/* A directory stream; NULL with errno. */
static DIR *open_stream(struct walk *w, const char *path)
{
    int at = open_below(w, path), fd, saved;
    DIR *dir;

    if (at < 0)
        return NULL;
    fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    saved = errno;
    close(at);
    errno = saved;
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

static enum sbx_code walk_directory(struct walk *w, const char *path, size_t skip, unsigned depth)
{
    enum sbx_code rc = SBX_OK;
    DIR *dir;

    dir = open_stream(w, path);
    if (!dir) {
        report_unopened(w, path, errno);
        return SBX_OK;
    }
    for (struct dirent *e; !rc && (e = readdir(dir));) {
        SBX_AUTO_FREE char *name = NULL;

        if (is_dots(e->d_name))
            continue;
        if (asprintf(&name, "%s/%s", path, e->d_name) < 0)
            rc = no_memory(w);
        else
            rc = walk_entry(w, name, skip, depth);
    }
    closedir(dir);
    return rc;
}

static enum sbx_code walk_target(struct walk *w, const char *name)
{
    SBX_AUTO_FREE char *path = NULL;
    bool home = !strcmp(name, "home");
    SBX_AUTO_FD int fd = -1;
    struct stat st;

    if (asprintf(&path, "files/%s", name) < 0)
        return no_memory(w);
    if (!home && strcmp(name, "workspace")) {
        report(w, SBX_WARNING, "ignored-directory", path,
               "only files/home and files/workspace are copied", "is ignored");
        return SBX_OK;
    }
    fd = open_below(w, path);
    if (fd < 0 || fstat(fd, &st)) {
        report_unopened(w, path, errno);
        return SBX_OK;
    }
    if (!S_ISDIR(st.st_mode)) {
        report(w, SBX_ERROR, "bad-file", path, NULL, "must be a directory");
        return SBX_OK;
    }
    w->target = home ? SBX_TARGET_HOME : SBX_TARGET_WORKSPACE;
    return enter_directory(w, path, strlen(path) + 1, 0, &st);
}

static int compare(const void *a, const void *b)
{
    const struct sbx_static_file *x = a, *y = b;

    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    return strcmp(x->path, y->path);
}

void sbx_kit_sort_files(struct sbx_artifact *a)
{
    if (a->files.len)
        qsort(a->files.v, a->files.len, sizeof(*a->files.v), compare);
}

static enum sbx_code walk_all(struct walk *w)
{
    enum sbx_code rc = SBX_OK;
    DIR *dir = open_stream(w, "files");

    if (!dir && errno == ENOENT)
        return SBX_OK;
    if (!dir && errno == ENOTDIR) {
        report(w, SBX_ERROR, "bad-file", "files", NULL, "must be a directory");
        return SBX_OK;
    }
    if (!dir) {
        report_unopened(w, "files", errno);
        return SBX_OK;
    }
    for (struct dirent *e; !rc && (e = readdir(dir));)
        if (!is_dots(e->d_name))
            rc = walk_target(w, e->d_name);
    closedir(dir);
    return rc;
}

static enum sbx_code keep(struct walk *w)
{
    struct sbx_static_file *v = sbx_arena_array(w->a->arena, w->len, sizeof(*v));

    if (!v)
        return no_memory(w);
    if (w->len)
        memcpy(v, w->v, w->len * sizeof(*v));
    w->a->files.v = v;
    w->a->files.len = w->len;
    w->a->files.set = w->len > 0;
    sbx_kit_sort_files(w->a);
    return SBX_OK;
}

enum sbx_code sbx_kit_walk_files(int kit_fd, const char *kit_path, struct sbx_artifact *a,
                                 struct sbx_diags *diags, struct sbx_err *err)
{
    struct walk w = { .kit = kit_fd, .path = kit_path, .a = a, .diags = diags, .err = err };
    size_t before = diags->errors;
    enum sbx_code rc;

    rc = walk_all(&w);
    if (!rc)
        rc = keep(&w);
    free(w.v);
    if (!rc && diags->no_memory)
        rc = no_memory(&w);
    if (!rc && diags->errors > before)
        rc = SBX_SCHEMA;
    return rc;
}
