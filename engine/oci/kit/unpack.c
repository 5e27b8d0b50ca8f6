/*
 * From a layer to files. Everything in it comes from strangers: only regular files and directories, below
 * home/agent and workspace, under clean names, each once; modes without setuid, setgid, sticky.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact.h"
#include "gzip.h"
#include "sbx/file.h"
#include "sbx/text.h"
#include "tar.h"

#define READ_SIZE 65536

struct unpack {
    struct gzip_in gzip;
    struct tar_in tar;
    struct tar_entry entry;
    int dir;
    size_t entries;
    char data[READ_SIZE];
};

static enum sbx_code read_gzip(void *ctx, void *to, size_t len, size_t *ret_n, struct sbx_err *err)
{
    return gzip_in_read(ctx, to, len, ret_n, err);
}

static enum sbx_code refuse(struct sbx_err *err, const char *name, const char *why)
{
    SBX_AUTO(sbx_buf) safe = SBX_BUF_INIT(1024);

    if (!name || sbx_text_escape(&safe, name, strnlen(name, 200)))
        sbx_buf_clear(&safe);
    return sbx_err_set(err, SBX_SCHEMA, "entry \"%s\" of the layer: %s",
                       safe.ptr ? safe.ptr : "", why);
}

/* No empty, "." or ".." part; no slash at the start or the end. */
static bool is_clean(const char *name)
{
    for (const char *p = name;; p++) {
        size_t len = strcspn(p, "/");

        if (!len || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        p += len;
        if (!*p)
            return true;
    }
}

/* "files/home/REL" of "home/agent/REL"; the name without a directory's last slash comes in. */
static enum sbx_code route(const char *name, char *out, size_t size, struct sbx_err *err)
{
    static const char *const ways[][2] = { { "home/agent", "home" }, { "workspace", "workspace" } };

    if (!is_clean(name))
        return refuse(err, name, "not a clean relative path");
    for (size_t i = 0; i < SBX_ARRAY_LEN(ways); i++) {
        size_t len = strlen(ways[i][0]);

        if (strncmp(name, ways[i][0], len) != 0 || (name[len] && name[len] != '/'))
            continue;
        if (!name[len])
            return refuse(err, name, "the target directory itself");
        if (snprintf(out, size, "files/%s%s", ways[i][1], name + len) >= (int)size)
            return refuse(err, name, "too long");
        return SBX_OK;
    }
    return refuse(err, name, "neither below home/agent/ nor below workspace/");
}

/* The directories on the way, in a tree that holds only what we made: no symlinks. */
static enum sbx_code make_parents(struct unpack *u, char *path, struct sbx_err *err)
{
    for (char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
        int failed;

        *p = '\0';
        failed = mkdirat(u->dir, path, 0755) && errno != EEXIST;
        if (failed)
            return sbx_err_errno(err, "make %s", path);
        *p = '/';
    }
    return SBX_OK;
}

static enum sbx_code write_file(struct unpack *u, const char *path, const char *name, unsigned mode,
                                struct sbx_err *err)
{
    SBX_AUTO_FD int fd = openat(u->dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                0600);
    size_t n;

    if (fd < 0 && (errno == EEXIST || errno == ENOTDIR || errno == EISDIR))
        return refuse(err, name, "given twice");
    if (fd < 0)
        return sbx_err_errno(err, "make %s", path);
    for (;;) {
        enum sbx_code rc = tar_data(&u->tar, u->data, sizeof(u->data), &n, err);

        if (rc)
            return rc;
        if (!n)
            break;
        if (sbx_write_all(fd, u->data, n))
            return sbx_err_errno(err, "write %s", path);
    }
    mode &= 0777;
    return fchmod(fd, mode ? mode : 0644) ? sbx_err_errno(err, "mode of %s", path) : SBX_OK;
}

static enum sbx_code take(struct unpack *u, struct sbx_err *err)
{
    const struct tar_entry *e = &u->entry;
    char clean[TAR_NAME_MAX], path[TAR_NAME_MAX + 16];
    bool dir = e->type == '5';
    size_t len = strlen(e->name);
    struct stat st;
    enum sbx_code rc;

    if (e->type == '1')
        return refuse(err, e->name, "a hard link; only files and directories may be in a kit");
    if (!dir && e->type != '0')
        return refuse(err, e->name, "no regular file; only files and directories may be in a kit");
    memcpy(clean, e->name, len + 1);
    if (dir && clean[len - 1] == '/')
        clean[len - 1] = '\0';
    rc = route(clean, path, sizeof(path), err);
    if (!rc && e->size > SBX_KIT_FILE_MAX)
        rc = sbx_err_set(err, SBX_LIMIT, "%.200s: larger than %d bytes", clean, SBX_KIT_FILE_MAX);
    if (!rc)
        rc = make_parents(u, path, err);
    if (rc || !dir)
        return rc ? rc : write_file(u, path, e->name, e->mode, err);
    if (!mkdirat(u->dir, path, 0755))
        return SBX_OK;
    if (errno != EEXIST)
        return sbx_err_errno(err, "make %s", path);
    if (fstatat(u->dir, path, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode))
        return refuse(err, e->name, "given twice");
    return SBX_OK; /* which a file below it has made */
}

static enum sbx_code take_all(struct unpack *u, struct sbx_err *err)
{
    bool more = true;

    for (;;) {
        enum sbx_code rc = tar_next(&u->tar, &u->entry, &more, err);

        if (!rc && !more)
            return SBX_OK;
        if (!rc && ++u->entries > SBX_KIT_FILES_MAX)
            rc = sbx_err_set(err, SBX_LIMIT, "more than %d entries in the layer",
                             SBX_KIT_FILES_MAX);
        if (!rc)
            rc = take(u, err);
        if (rc)
            return rc;
    }
}

/* What is behind the archive's end is read too: a layer that is cut off there is not whole. */
static enum sbx_code read_rest(struct unpack *u, struct sbx_err *err)
{
    enum sbx_code rc;
    size_t n;

    do
        rc = read_gzip(&u->gzip, u->data, sizeof(u->data), &n, err);
    while (!rc && n);
    return rc;
}

enum sbx_code kit_layer_unpack(int layer, int dir, struct sbx_err *err)
{
    SBX_AUTO_FREE struct unpack *u = calloc(1, sizeof(*u));
    enum sbx_code rc;

    if (!u)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    u->dir = dir;
    u->tar = (struct tar_in){ .read = read_gzip, .ctx = &u->gzip };
    rc = gzip_in_begin(&u->gzip, layer, SBX_KIT_UNPACKED_MAX, err);
    if (!rc)
        rc = take_all(u, err);
    if (!rc)
        rc = read_rest(u, err);
    gzip_in_release(&u->gzip);
    return rc == SBX_SYNTAX ? sbx_err_wrap(err, rc, "the layer is no whole tar+gzip archive") : rc;
}
