#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "source.h"

#define ENTRIES_MAX 16384 /* of an archive: 128 layers with three files each, and many images */
#define SMALL_MAX 1048576 /* bytes: kept in memory; layers are larger, JSON is not */
#define SMALL_TOTAL_MAX (64 << 20) /* bytes kept in memory of one archive */

/* The target of a symlink, relative to the directory of `name`, as a clean name; no memory: NULL. */
static char *link_target(const struct sbx_entry_name *name, const char *text)
{
    char dir[4096];
    size_t len = name->parent_len;

    memcpy(dir, name->path, len);
    dir[len] = '\0';
    while (strncmp(text, "../", 3) == 0) {
        char *slash = strrchr(dir, '/');

        if (!dir[0])
            return strdup("..");
        *(slash ? slash : dir) = '\0';
        text += 3;
    }
    len = strlen(dir);
    if (snprintf(dir + len, sizeof(dir) - len, "%s%s", len ? "/" : "", text) >=
        (int)(sizeof(dir) - len))
        return strdup("..");
    return strdup(dir);
}

static ssize_t read_entry(void *ctx, void *to, size_t len, struct sbx_err *err)
{
    struct sbx_source *src = ctx;
    la_ssize_t n = src->la->read_data(src->archive, to, len);

    if (n < 0)
        sbx_err_set(err, SBX_SYNTAX, "broken archive: %s", src->la->error_string(src->archive));
    else
        src->total += n;
    if (src->total > SBX_STORE_SIZE_MAX) {
        sbx_err_set(err, SBX_LIMIT, "the archive holds more than %lld bytes", SBX_STORE_SIZE_MAX);
        return -1;
    }
    return n < 0 ? -1 : n;
}

static enum sbx_code keep_small(struct sbx_source *src, struct entry *e, size_t size,
                                struct sbx_err *err)
{
    e->data = calloc(1, size + 1);
    if (!e->data)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    while (e->len < size) {
        ssize_t n = read_entry(src, e->data + e->len, size - e->len, err);

        if (n < 0)
            return err && err->code ? err->code : SBX_SYNTAX;
        if (!n)
            return sbx_err_set(err, SBX_SYNTAX, "the archive is cut off");
        e->len += (size_t)n;
    }
    src->small += size;
    return SBX_OK;
}

static enum sbx_code keep_file(struct sbx_source *src, struct entry *e, int64_t size,
                               struct sbx_err *err)
{
    const char *hex = strncmp(e->name, "blobs/sha256/", 13) == 0 ? e->name + 13 : NULL;
    char expect[SBX_DIGEST_TEXT_SIZE] = "";
    int64_t got;
    enum sbx_code rc;

    if (size >= 0 && size <= SMALL_MAX && src->small + (size_t)size <= SMALL_TOTAL_MAX)
        return keep_small(src, e, (size_t)size, err);
    if (hex)
        snprintf(expect, sizeof(expect), "sha256:%.64s", hex);
    rc = sbx_blob_put(src->store->cache, read_entry, src, hex ? expect : NULL, SBX_STORE_SIZE_MAX,
                      e->digest, &got, err);
    if (!rc && got != size)
        return sbx_err_set(err, SBX_SYNTAX, "the archive is cut off");
    return rc;
}

static enum sbx_code keep_entry(struct sbx_source *src, struct archive_entry *ae,
                                struct sbx_err *err)
{
    const char *symlink = src->la->entry_symlink(ae), *hard = src->la->entry_hardlink(ae);
    const char *text = src->la->entry_pathname(ae);
    mode_t type = src->la->entry_filetype(ae);
    struct sbx_entry_name name;
    struct entry *e;
    enum sbx_code rc;

    if (!text)
        return sbx_err_set(err, SBX_SCHEMA, "an entry without a name");
    rc = sbx_entry_name(text, false, &name, err);
    if (rc || name.kind == SBX_ENTRY_ROOT || (S_ISDIR(type) && !hard))
        return rc;
    if (!hard && !S_ISREG(type) && !S_ISLNK(type))
        return sbx_err_set(err, SBX_SCHEMA, "neither file, directory nor link");
    if (src->n >= ENTRIES_MAX)
        return sbx_err_set(err, SBX_LIMIT, "more than %d files", ENTRIES_MAX);
    if (sbx_source_find(src, name.path))
        return sbx_err_set(err, SBX_SCHEMA, "comes twice");
    e = sbx_source_add(src, name.path);
    if (!e)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!hard && !symlink)
        return keep_file(src, e, src->la->entry_size(ae), err);
    e->link = hard ? strdup(hard) : link_target(&name, symlink);
    return e->link ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code read_archive(struct sbx_source *src, struct sbx_err *err)
{
    struct archive_entry *ae;
    int got;

    while ((got = src->la->read_next_header(src->archive, &ae)) != ARCHIVE_EOF) {
        enum sbx_code rc;

        if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
            return sbx_err_set(err, SBX_SYNTAX, "not a whole tar archive: %s",
                               src->la->error_string(src->archive));
        rc = keep_entry(src, ae, err);
        if (rc)
            return sbx_err_wrap(err, rc, "entry \"%.200s\"", src->la->entry_pathname(ae));
    }
    return SBX_OK;
}

struct file_feed {
    const struct sbx_archive *la;
    int fd;
    char data[65536];
};

static la_ssize_t read_file(struct archive *a, void *ctx, const void **ret)
{
    struct file_feed *f = ctx;
    ssize_t n;

    do
        n = read(f->fd, f->data, sizeof(f->data));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        f->la->set_error(a, errno, "%s", strerror(errno));
    *ret = f->data;
    return n;
}

enum sbx_code sbx_source_read(struct sbx_source *src, int fd, struct sbx_err *err)
{
    SBX_AUTO_FREE struct file_feed *f = calloc(1, sizeof(*f));
    enum sbx_code rc;

    src->la = sbx_archive(err);
    if (!src->la)
        return SBX_UNAVAILABLE;
    src->archive = f ? src->la->read_new() : NULL;
    if (!src->archive)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    f->la = src->la;
    f->fd = fd;
    src->la->read_support_filter_gzip(src->archive);
    src->la->read_support_filter_zstd(src->archive);
    src->la->read_support_filter_xz(src->archive);
    src->la->read_support_filter_bzip2(src->archive);
    src->la->read_support_format_tar(src->archive);
    if (src->la->read_open(src->archive, f, NULL, read_file, NULL) == ARCHIVE_OK)
        rc = read_archive(src, err);
    else
        rc = sbx_err_set(err, SBX_SYNTAX, "not a tar archive: %s",
                         src->la->error_string(src->archive));
    src->la->read_free(src->archive);
    src->archive = NULL; /* it reads through f */
    return rc;
}
