/*
 * From a layer to files. Everything in it comes from strangers: only regular files and directories, below
 * home/agent and workspace, under clean names, each once; modes without setuid, setgid, sticky.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact.h"
#include "sbx/file.h"
#include "sbx/late_archive.h"
#include "sbx/text.h"

#define READ_SIZE 65536

struct unpack {
    const struct sbx_archive *la;
    struct archive *tar;
    int layer, dir;
    int64_t left; /* bytes that may still come */
    size_t entries;
    char data[READ_SIZE];
};

static la_ssize_t on_read(struct archive *a, void *ctx, const void **ret)
{
    struct unpack *u = ctx;
    ssize_t n;

    do
        n = read(u->layer, u->data, sizeof(u->data));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        u->la->set_error(a, errno, "read: %s", strerror(errno));
    *ret = u->data;
    return n;
}

static enum sbx_code damaged(struct unpack *u, struct sbx_err *err)
{
    const char *why = u->la->error_string(u->tar);

    return sbx_err_set(err, SBX_SYNTAX, "the layer is no whole tar+gzip archive: %.200s",
                       why ? why : "cut off");
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
    int64_t size = 0;
    char data[16384];
    la_ssize_t n;

    if (fd < 0 && (errno == EEXIST || errno == ENOTDIR || errno == EISDIR))
        return refuse(err, name, "given twice");
    if (fd < 0)
        return sbx_err_errno(err, "make %s", path);
    while ((n = u->la->read_data(u->tar, data, sizeof(data))) > 0) {
        size += n;
        u->left -= n;
        if (size > SBX_KIT_FILE_MAX || u->left < 0)
            return sbx_err_set(err, SBX_LIMIT, "the layer unpacks to more than a kit may have");
        if (sbx_write_all(fd, data, (size_t)n))
            return sbx_err_errno(err, "write %s", path);
    }
    if (n < 0)
        return damaged(u, err);
    mode &= 0777;
    return fchmod(fd, mode ? mode : 0644) ? sbx_err_errno(err, "mode of %s", path) : SBX_OK;
}

static enum sbx_code take(struct unpack *u, struct archive_entry *e, struct sbx_err *err)
{
    const char *name = u->la->entry_pathname(e);
    char clean[4096], path[4096 + 16];
    bool dir = u->la->entry_filetype(e) == AE_IFDIR;
    size_t len = name ? strlen(name) : 0;
    enum sbx_code rc;

    if (!name || !len || len >= sizeof(clean))
        return refuse(err, name, "no name, or one that is too long");
    if (u->la->entry_hardlink(e))
        return refuse(err, name, "a hard link; only files and directories may be in a kit");
    if (!dir && u->la->entry_filetype(e) != AE_IFREG)
        return refuse(err, name, "no regular file; only files and directories may be in a kit");
    memcpy(clean, name, len + 1);
    if (dir && clean[len - 1] == '/')
        clean[len - 1] = '\0';
    rc = route(clean, path, sizeof(path), err);
    if (!rc && u->la->entry_size(e) > SBX_KIT_FILE_MAX)
        rc = sbx_err_set(err, SBX_LIMIT, "%.200s: larger than %d bytes", clean, SBX_KIT_FILE_MAX);
    if (!rc)
        rc = make_parents(u, path, err);
    if (rc || !dir)
        return rc ? rc : write_file(u, path, name, u->la->entry_perm(e), err);
    if (mkdirat(u->dir, path, 0755) && errno != EEXIST)
        return sbx_err_errno(err, "make %s", path);
    return SBX_OK;
}

static enum sbx_code take_all(struct unpack *u, struct sbx_err *err)
{
    struct archive_entry *e;
    int rc;

    while ((rc = u->la->read_next_header(u->tar, &e)) == ARCHIVE_OK || rc == ARCHIVE_WARN) {
        enum sbx_code code = ++u->entries > SBX_KIT_FILES_MAX
                                 ? sbx_err_set(err, SBX_LIMIT, "more than %d entries in the layer",
                                               SBX_KIT_FILES_MAX)
                                 : take(u, e, err);

        if (code)
            return code;
    }
    return rc == ARCHIVE_EOF ? SBX_OK : damaged(u, err);
}

enum sbx_code kit_layer_unpack(int layer, int dir, struct sbx_err *err)
{
    SBX_AUTO_FREE struct unpack *u = calloc(1, sizeof(*u));
    enum sbx_code rc;

    if (!u)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    u->la = sbx_archive(err);
    if (!u->la)
        return SBX_UNAVAILABLE;
    u->layer = layer;
    u->dir = dir;
    u->left = SBX_KIT_UNPACKED_MAX;
    u->tar = u->la->read_new();
    if (!u->tar)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (u->la->read_support_filter_gzip(u->tar) || u->la->read_support_format_tar(u->tar) ||
        u->la->read_open(u->tar, u, NULL, on_read, NULL))
        rc = damaged(u, err);
    else
        rc = take_all(u, err);
    u->la->read_free(u->tar);
    return rc;
}
