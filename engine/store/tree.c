#include <string.h>

#include "place.h"
#include "sbx/file.h"

#define READ_SIZE 65536 /* bytes handed to libarchive at a time */

ssize_t sbx_tree_from_fd(void *ctx, void *to, size_t len, struct sbx_err *err)
{
    ssize_t n;

    do
        n = read(*(int *)ctx, to, len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        sbx_err_errno(err, "read");
    return n;
}

enum sbx_code sbx_tree_to_fd(void *ctx, const void *data, size_t len, struct sbx_err *err)
{
    return sbx_write_all(*(int *)ctx, data, len) ? sbx_err_errno(err, "write") : SBX_OK;
}

struct feed {
    sbx_read_fn read;
    void *ctx;
    struct sbx_err *err; /* why reading failed; text empty: it did not */
    enum sbx_code failed;
    char data[READ_SIZE];
};

static la_ssize_t on_read(struct archive *a, void *ctx, const void **ret)
{
    struct feed *f = ctx;
    ssize_t n = f->read(f->ctx, f->data, sizeof(f->data), f->err);
    const struct sbx_archive *la;

    *ret = f->data;
    if (n >= 0)
        return n;
    f->failed = f->err->code ? f->err->code : SBX_IO;
    la = sbx_archive(NULL);
    la->set_error(a, EIO, "read failed");
    return -1;
}

/* libarchive's own words, or those of whoever gave it the bytes. */
static enum sbx_code broken(struct sbx_place *p, const struct feed *f, struct sbx_err *err)
{
    const char *text = p->la->error_string(p->archive);

    if (f->failed)
        return sbx_err_set(err, f->failed, "%s", f->err->text);
    return sbx_err_set(err, SBX_SYNTAX, "broken tar archive: %s", text ? text : "unknown reason");
}

/* Names from archives reach terminals: only what is printable, and not without end. */
static void shown(const char *name, char *to, size_t size)
{
    size_t i;

    for (i = 0; name && name[i] && i + 1 < size; i++)
        to[i] = name[i] >= ' ' && name[i] < 0x7f ? name[i] : '?';
    to[i] = '\0';
}

static enum sbx_code entries(struct sbx_place *p, const struct feed *f, struct sbx_err *err)
{
    struct archive_entry *entry;
    size_t n = 0;
    int got;

    while ((got = p->la->read_next_header(p->archive, &entry)) != ARCHIVE_EOF) {
        char name[200];
        enum sbx_code rc;

        /* ARCHIVE_WARN is about character sets: names are bytes to us */
        if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
            return broken(p, f, err);
        if (!p->la->entry_pathname(entry))
            return sbx_err_set(err, SBX_SCHEMA, "an entry without a name");
        if (++n > SBX_STORE_ENTRIES_MAX)
            return sbx_err_set(err, SBX_LIMIT, "more than %d entries", SBX_STORE_ENTRIES_MAX);
        rc = sbx_place_entry(p, entry, err);
        if (rc && f->failed)
            return broken(p, f, err);
        shown(p->la->entry_pathname(entry), name, sizeof(name));
        if (rc)
            return sbx_err_wrap(err, rc, "entry \"%s\"", name);
    }
    return SBX_OK;
}

enum sbx_code sbx_tree_unpack(const struct sbx_unpack *how, sbx_read_fn read, void *ctx,
                              struct sbx_err *err)
{
    struct sbx_err why = SBX_ERR_INIT;
    SBX_AUTO(sbx_place) p = { .how = how, .parent_fd = -1, .la = sbx_archive(err) };
    SBX_AUTO_FREE struct feed *f = calloc(1, sizeof(*f));
    enum sbx_code rc;

    if (!p.la)
        return SBX_UNAVAILABLE;
    p.archive = f ? p.la->read_new() : NULL;
    if (!p.archive)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    f->read = read;
    f->ctx = ctx;
    f->err = &why;
    p.la->read_support_format_tar(p.archive);
    if (p.la->read_open(p.archive, f, NULL, on_read, NULL) != ARCHIVE_OK)
        rc = broken(&p, f, err);
    else
        rc = entries(&p, f, err);
    if (!rc)
        rc = sbx_place_finish(&p, err);
    p.la->read_free(p.archive);
    return rc;
}
