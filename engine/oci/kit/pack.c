/* An OCI layout in one tar file: the same kit gives the same bytes. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact.h"
#include "sbx/file.h"
#include "sbx/late_archive.h"

struct pack {
    const struct sbx_archive *la;
    struct archive *tar;
    struct archive_entry *entry;
    int dir; /* the layout */
};

static enum sbx_code failed(struct pack *p, struct sbx_err *err)
{
    const char *why = p->la->error_string(p->tar);

    return sbx_err_set(err, SBX_IO, "write the archive: %s", why ? why : "failed");
}

static la_ssize_t on_write(struct archive *a, void *ctx, const void *data, size_t len)
{
    (void)a;
    return sbx_write_all(*(int *)ctx, data, len) ? -1 : (la_ssize_t)len;
}

static enum sbx_code add(struct pack *p, const char *path, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = openat(p->dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char data[65536];
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st))
        return sbx_err_errno(err, "%s", path);
    p->la->entry_clear(p->entry);
    p->la->entry_set_pathname(p->entry, path);
    p->la->entry_set_filetype(p->entry, st.st_mode & S_IFMT);
    p->la->entry_set_perm(p->entry, S_ISDIR(st.st_mode) ? 0755 : 0644);
    p->la->entry_set_uid(p->entry, 0);
    p->la->entry_set_gid(p->entry, 0);
    p->la->entry_set_mtime(p->entry, 0, 0);
    p->la->entry_set_size(p->entry, S_ISREG(st.st_mode) ? st.st_size : 0);
    if (p->la->write_header(p->tar, p->entry))
        return failed(p, err);
    while (S_ISREG(st.st_mode) && (n = read(fd, data, sizeof(data))) > 0)
        if (p->la->write_data(p->tar, data, (size_t)n) < 0)
            return failed(p, err);
    return SBX_OK;
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

static enum sbx_code write_tar(struct pack *p, int *fd, struct sbx_err *err)
{
    static const char *const first[] = { "oci-layout", "index.json", "blobs", "blobs/sha256" };
    enum sbx_code rc = SBX_OK;

    p->tar = p->la->write_new();
    p->entry = p->la->entry_new();
    if (!p->tar || !p->entry)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (p->la->write_set_format_ustar(p->tar) ||
        p->la->write_set_bytes_in_last_block(p->tar, 1) ||
        p->la->write_open(p->tar, fd, NULL, on_write, NULL))
        return failed(p, err);
    for (size_t i = 0; !rc && i < SBX_ARRAY_LEN(first); i++)
        rc = add(p, first[i], err);
    if (!rc)
        rc = add_blobs(p, err);
    return rc || p->la->write_close(p->tar) == ARCHIVE_OK ? rc : failed(p, err);
}

static enum sbx_code write_file(const char *layout, const char *file, struct sbx_err *err)
{
    SBX_AUTO_FREE char *tmp = NULL;
    struct pack p = { .la = sbx_archive(err), .dir = -1 };
    SBX_AUTO_FD int fd = -1;
    mode_t mask = umask(0);
    enum sbx_code rc;

    umask(mask);
    if (!p.la)
        return SBX_UNAVAILABLE;
    if (asprintf(&tmp, "%s.sbx-XXXXXX", file) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0)
        return sbx_err_errno(err, "make a file beside %s", file);
    p.dir = open(layout, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = p.dir < 0 ? sbx_err_errno(err, "%s", layout) : write_tar(&p, &fd, err);
    if (!rc && (fchmod(fd, 0666 & ~mask) || fdatasync(fd) || rename(tmp, file)))
        rc = sbx_err_errno(err, "write %s", file);
    if (rc)
        unlink(tmp);
    if (p.dir >= 0)
        close(p.dir);
    if (p.entry)
        p.la->entry_free(p.entry);
    if (p.tar)
        p.la->write_free(p.tar);
    return rc;
}

enum sbx_code sbx_kit_pack(const struct sbx_kit_io *io, const char *dir, const char *file,
                           const char *tag, struct sbx_diags *diags, struct sbx_arena *arena,
                           struct sbx_pushed *ret, struct sbx_err *err)
{
    SBX_AUTO_FREE char *tmp = NULL;
    struct sbx_place place = { .text = file, .layout = true, .tag = tag };
    enum sbx_code rc = sbx_dir_make(io->cache, 0700, err);

    if (rc)
        return rc;
    if (asprintf(&tmp, "%s/.pack-XXXXXX", io->cache) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!mkdtemp(tmp))
        return sbx_err_errno(err, "make a directory in %s", io->cache);
    place.path = tmp;
    rc = sbx_kit_push(io, dir, &place, SBX_ANCHOR_NONE, diags, arena, ret, err);
    if (!rc)
        rc = write_file(tmp, file, err);
    if (sbx_dir_remove(AT_FDCWD, tmp, NULL))
        return rc; /* `cache prune` removes it */
    return rc;
}
