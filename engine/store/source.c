#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sbx/file.h"
#include "sbx/late_archive.h"
#include "store.h"

#define ENTRIES_MAX 16384 /* of an archive: 128 layers with three files each, and many images */
#define SMALL_MAX 1048576 /* bytes: kept in memory; layers are larger, JSON is not */
#define SMALL_TOTAL_MAX (64 << 20) /* bytes kept in memory of one archive */
#define LINKS_MAX 8                /* symlinks from one name to the next */

/*
 * Order means nothing in an archive: its manifest often comes last. So one pass keeps small
 * entries in memory and puts large ones into the cache, where they end anyway.
 */
struct entry {
    char *name;
    char *link; /* other entry's name; NULL: a file */
    char *data; /* small file, NUL behind it; NULL: in the cache */
    size_t len;
    char digest[SBX_DIGEST_TEXT_SIZE]; /* of what is in the cache */
    bool used;
};

struct sbx_source {
    struct sbx_store *store;
    int dir; /* directory to import; -1: an archive */
    const struct sbx_archive *la;
    struct archive *archive;
    struct entry *v;
    size_t n, cap, small;
    int64_t total;
};

void sbx_source_close(struct sbx_source *src)
{
    if (!src)
        return;
    for (size_t i = 0; i < src->n; i++) {
        struct entry *e = &src->v[i];

        if (e->digest[0] && !e->used)
            sbx_blob_remove(src->store, e->digest); /* no image named it */
        free(e->name);
        free(e->link);
        free(e->data);
    }
    free(src->v);
    if (src->archive)
        src->la->read_free(src->archive);
    if (src->dir >= 0)
        close(src->dir);
    free(src);
}

static struct entry *find(struct sbx_source *src, const char *name)
{
    for (size_t i = 0; i < src->n; i++)
        if (strcmp(src->v[i].name, name) == 0)
            return &src->v[i];
    return NULL;
}

/* Follow the links that `docker save` makes between equal layers. */
static struct entry *lookup(struct sbx_source *src, const char *name)
{
    struct sbx_entry_name n;
    struct entry *e;

    if (sbx_entry_name(name, false, &n, NULL))
        return NULL;
    e = find(src, n.path);
    for (int i = 0; e && e->link && i < LINKS_MAX; i++)
        e = find(src, e->link);
    return e && !e->link ? e : NULL;
}

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
    rc = sbx_blob_put(src->store, read_entry, src, hex ? expect : NULL, SBX_STORE_SIZE_MAX,
                      e->digest, &got, err);
    if (!rc && got != size)
        return sbx_err_set(err, SBX_SYNTAX, "the archive is cut off");
    return rc;
}

static struct entry *add(struct sbx_source *src, const char *name)
{
    if (src->n == src->cap) {
        size_t cap = src->cap ? 2 * src->cap : 64;
        struct entry *grown = reallocarray(src->v, cap, sizeof(*grown));

        if (!grown)
            return NULL;
        src->v = grown;
        src->cap = cap;
    }
    src->v[src->n] = (struct entry){ .name = strdup(name) };
    return src->v[src->n].name ? &src->v[src->n++] : NULL;
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
    if (find(src, name.path))
        return sbx_err_set(err, SBX_SCHEMA, "comes twice");
    e = add(src, name.path);
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

static enum sbx_code open_archive(struct sbx_source *src, int fd, struct sbx_err *err)
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

enum sbx_code sbx_source_open(struct sbx_store *s, const char *path, struct sbx_source **ret,
                              struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_source) src = calloc(1, sizeof(*src));
    SBX_AUTO_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    enum sbx_code rc;

    if (!src)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    src->store = s;
    src->dir = -1;
    if (fd < 0 || fstat(fd, &st))
        return sbx_err_errno(err, "open");
    if (S_ISDIR(st.st_mode)) {
        src->dir = sbx_take_fd(&fd);
    } else if (S_ISREG(st.st_mode)) {
        rc = open_archive(src, fd, err);
        if (rc)
            return rc;
    } else {
        return sbx_err_set(err, SBX_UNSUPPORTED, "neither a file nor a directory");
    }
    *ret = SBX_TAKE(src);
    return SBX_OK;
}

/* A regular file of the directory; symlinks may not lead out of it. */
static int open_member(struct sbx_source *src, const char *name)
{
    struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
    int fd = (int)syscall(SYS_openat2, src->dir, name, &how, sizeof(how));
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
        close(fd);
        errno = ENOENT;
        return -1;
    }
    return fd;
}

bool sbx_source_has(struct sbx_source *src, const char *name)
{
    SBX_AUTO_FD int fd = -1;

    if (src->dir < 0)
        return lookup(src, name);
    fd = open_member(src, name);
    return fd >= 0;
}

static enum sbx_code load_member(struct sbx_source *src, const char *name, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_STORE_JSON_MAX);
    SBX_AUTO_FD int fd = open_member(src, name);
    char self[64];
    struct entry *e;
    enum sbx_code rc;

    if (fd < 0)
        return sbx_err_errno(err, "%s", name);
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    rc = sbx_file_read(AT_FDCWD, self, &text, err);
    if (rc)
        return sbx_err_wrap(err, rc, "%s", name);
    e = add(src, name);
    if (!e)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    e->len = text.len;
    e->data = sbx_buf_take(&text);
    return e->data ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code load_blob(struct entry *e, struct sbx_source *src, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    struct stat st;
    enum sbx_code rc = sbx_blob_open(src->store, e->digest, &fd, err);

    if (rc)
        return rc;
    if (fstat(fd, &st) || st.st_size > SBX_STORE_JSON_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%s is larger than %d bytes", e->name,
                           SBX_STORE_JSON_MAX);
    e->data = calloc(1, (size_t)st.st_size + 1);
    if (!e->data)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    e->len = (size_t)st.st_size;
    if (pread(fd, e->data, e->len, 0) != st.st_size)
        return sbx_err_errno(err, "read %s", e->name);
    return SBX_OK;
}

enum sbx_code sbx_source_text(struct sbx_source *src, const char *name, const char **ret,
                              size_t *ret_len, struct sbx_err *err)
{
    struct entry *e = lookup(src, name);
    enum sbx_code rc = SBX_OK;

    if (!e && src->dir >= 0) {
        rc = load_member(src, name, err);
        if (rc)
            return rc;
        e = find(src, name);
    }
    if (!e)
        return sbx_err_set(err, SBX_NOT_FOUND, "%.200s is missing", name);
    if (!e->data)
        rc = load_blob(e, src, err);
    if (rc)
        return rc;
    *ret = e->data;
    *ret_len = e->len;
    return SBX_OK;
}

static ssize_t read_fd(void *ctx, void *to, size_t len, struct sbx_err *err)
{
    ssize_t n;

    do
        n = read(*(int *)ctx, to, len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        sbx_err_errno(err, "read");
    return n;
}

enum sbx_code sbx_source_blob(struct sbx_source *src, const char *name, const char *expect,
                              char ret_digest[SBX_DIGEST_TEXT_SIZE], struct sbx_err *err)
{
    struct entry *e = lookup(src, name);

    if (e && e->digest[0]) {
        e->used = true;
        if (expect && strcmp(expect, e->digest) != 0)
            return sbx_err_set(err, SBX_SCHEMA, "%.200s is %s, not %s", name, e->digest, expect);
        memcpy(ret_digest, e->digest, sizeof(e->digest));
        return SBX_OK;
    }
    if (e)
        return sbx_blob_put_mem(src->store, e->data, e->len, expect, ret_digest, err);
    if (src->dir >= 0) {
        SBX_AUTO_FD int fd = open_member(src, name);

        if (fd < 0)
            return sbx_err_errno(err, "%.200s", name);
        return sbx_blob_put(src->store, read_fd, &fd, expect, SBX_STORE_SIZE_MAX, ret_digest, NULL,
                            err);
    }
    return sbx_err_set(err, SBX_NOT_FOUND, "%.200s is missing", name);
}
