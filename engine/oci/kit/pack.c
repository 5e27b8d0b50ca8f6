/* An OCI layout in one tar file: the same kit gives the same bytes. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact.h"
#include "sbx/file.h"
#include "sbx/ustar.h"
#include "work.h"

struct pack {
    int dir; /* the layout */
    int out;
};

static enum sbx_code put(struct pack *p, const void *data, size_t len, struct sbx_err *err)
{
    return sbx_write_all(p->out, data, len) ? sbx_err_errno(err, "write the archive") : SBX_OK;
}

static enum sbx_code take_piece(void *ctx, const void *data, size_t len, struct sbx_err *err)
{
    return put(ctx, data, len, err);
}

static enum sbx_code add(struct pack *p, const char *path, struct sbx_err *err)
{
    static const char zeros[SBX_USTAR_BLOCK];
    char header[SBX_USTAR_BLOCK];
    struct stat st;
    size_t size;
    bool dir;
    enum sbx_code rc;

    if (fstatat(p->dir, path, &st, AT_SYMLINK_NOFOLLOW))
        return sbx_err_errno(err, "%s", path);
    dir = S_ISDIR(st.st_mode);
    size = dir ? 0 : (size_t)st.st_size;
    sbx_ustar_header(header, path, size, dir ? 0755 : 0644, 0, dir ? '5' : '0');
    rc = put(p, header, sizeof(header), err);
    if (rc || dir)
        return rc;
    rc = sbx_file_stream(p->dir, path, size, take_piece, p, err);
    return rc || !(size % sizeof(zeros)) ? rc
                                         : put(p, zeros, sizeof(zeros) - size % sizeof(zeros), err);
}

static int no_dots(const struct dirent *e) { return e->d_name[0] != '.'; }

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static enum sbx_code add_blobs(struct pack *p, struct sbx_err *err)
{
    struct dirent **names;
    int n = scandirat(p->dir, "blobs/sha256", &names, no_dots, by_name);
    enum sbx_code rc = SBX_OK;

    if (n < 0)
        return sbx_err_errno(err, "read the layout");
    for (int i = 0; i < n; i++) {
        char path[300];

        snprintf(path, sizeof(path), "blobs/sha256/%s", names[i]->d_name);
        if (!rc)
            rc = add(p, path, err);
        free(names[i]);
    }
    free(names);
    return rc;
}

static enum sbx_code write_tar(struct pack *p, struct sbx_err *err)
{
    static const char *const first[] = { "oci-layout", "index.json", "blobs/", "blobs/sha256/" };
    static const char end[2 * SBX_USTAR_BLOCK];
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < SBX_ARRAY_LEN(first); i++)
        rc = add(p, first[i], err);
    if (!rc)
        rc = add_blobs(p, err);
    return rc ? rc : put(p, end, sizeof(end), err);
}

/* Where the archive's name leads, malloc'd. It takes the place of a file, never of a device such as /dev/stdout. */
static enum sbx_code find_target(const char *file, char **ret, struct sbx_err *err)
{
    struct stat st;

    if (!stat(file, &st) && !S_ISREG(st.st_mode))
        return sbx_err_set(err, SBX_USAGE, "%s exists and is no regular file; an archive is written to a file", file);
    *ret = realpath(file, NULL);
    if (!*ret && errno == ENOENT)
        *ret = strdup(file);
    return *ret ? SBX_OK : sbx_err_errno(err, "%s", file);
}

static enum sbx_code write_file(const char *layout, const char *file, struct sbx_err *err)
{
    SBX_AUTO_FREE char *tmp = NULL;
    SBX_AUTO_FD int dir = open(layout, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
    struct pack p;
    mode_t mask = umask(0);
    enum sbx_code rc;

    umask(mask);
    if (dir < 0)
        return sbx_err_errno(err, "%s", layout);
    if (asprintf(&tmp, "%s.sbx-XXXXXX", file) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0)
        return sbx_err_errno(err, "make a file beside %s", file);
    p = (struct pack){ dir, fd };
    rc = write_tar(&p, err);
    if (!rc && (fchmod(fd, 0666 & ~mask) || fdatasync(fd) || rename(tmp, file)))
        rc = sbx_err_errno(err, "write %s", file);
    if (rc)
        unlink(tmp);
    return rc;
}

enum sbx_code sbx_kit_pack(const struct sbx_kit_io *io, const char *dir, const char *file,
                           const char *tag, struct sbx_diags *diags, struct sbx_arena *arena,
                           struct sbx_pushed *ret, struct sbx_err *err)
{
    SBX_AUTO_FREE char *target = NULL, *tmp = NULL, *layout = NULL;
    SBX_AUTO_FD int lock = -1;
    struct sbx_place place = { .text = file, .layout = true, .tag = tag };
    enum sbx_code rc = find_target(file, &target, err);

    if (!rc)
        rc = kit_work_make(io->cache, &tmp, &lock, err);
    if (rc)
        return rc;
    if (asprintf(&layout, "%s/layout", tmp) < 0) /* whose own lock is another one */
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    place.path = layout;
    rc = sbx_kit_push(io, dir, &place, SBX_ANCHOR_NONE, diags, arena, ret, err);
    if (!rc)
        rc = write_file(layout, target, err);
    if (sbx_dir_remove(AT_FDCWD, tmp, NULL))
        return rc; /* `cache prune` removes it */
    return rc;
}
