#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sbx/file.h"
#include "source.h"

#define LINKS_MAX 8 /* symlinks from one name to the next */

void sbx_source_close(struct sbx_source *src)
{
    if (!src)
        return;
    for (size_t i = 0; i < src->n; i++) {
        struct entry *e = &src->v[i];

        if (e->digest[0] && !e->used)
            sbx_blob_remove(src->store->cache, e->digest); /* no image named it */
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

struct entry *sbx_source_find(struct sbx_source *src, const char *name)
{
    for (size_t i = 0; i < src->n; i++)
        if (strcmp(src->v[i].name, name) == 0)
            return &src->v[i];
    return NULL;
}

struct entry *sbx_source_add(struct sbx_source *src, const char *name)
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

/* Follow the links that `docker save` makes between equal layers. */
static struct entry *lookup(struct sbx_source *src, const char *name)
{
    struct sbx_entry_name n;
    struct entry *e;

    if (sbx_entry_name(name, false, &n, NULL))
        return NULL;
    e = sbx_source_find(src, n.path);
    for (int i = 0; e && e->link && i < LINKS_MAX; i++)
        e = sbx_source_find(src, e->link);
    return e && !e->link ? e : NULL;
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
        rc = sbx_source_read(src, fd, err);
        if (rc)
            return rc;
    } else {
        return sbx_err_set(err, SBX_UNSUPPORTED, "neither a file nor a directory");
    }
    *ret = SBX_TAKE(src);
    return SBX_OK;
}

enum sbx_code sbx_source_cache(struct sbx_store *s, struct sbx_source **ret, struct sbx_err *err)
{
    enum sbx_code rc = sbx_source_open(s, sbx_cache_dir(s->cache), ret, err);

    if (!rc)
        (*ret)->own = true;
    return rc;
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
    e = sbx_source_add(src, name);
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
    enum sbx_code rc = sbx_blob_open(src->store->cache, e->digest, &fd, err);

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
        e = sbx_source_find(src, name);
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

enum sbx_code sbx_source_blob(struct sbx_source *src, const char *name, const char *expect,
                              char ret_digest[SBX_DIGEST_TEXT_SIZE], struct sbx_err *err)
{
    struct entry *e = lookup(src, name);

    if (src->own && expect) {
        memcpy(ret_digest, expect, SBX_DIGEST_TEXT_SIZE);
        return SBX_OK;
    }
    if (e && e->digest[0]) {
        e->used = true;
        if (expect && strcmp(expect, e->digest) != 0)
            return sbx_err_set(err, SBX_SCHEMA, "%.200s is %s, not %s", name, e->digest, expect);
        memcpy(ret_digest, e->digest, sizeof(e->digest));
        return SBX_OK;
    }
    if (e)
        return sbx_blob_put_mem(src->store->cache, e->data, e->len, expect, ret_digest, err);
    if (src->dir >= 0) {
        SBX_AUTO_FD int fd = open_member(src, name);

        if (fd < 0)
            return sbx_err_errno(err, "%.200s", name);
        return sbx_blob_put(src->store->cache, sbx_tree_from_fd, &fd, expect, SBX_STORE_SIZE_MAX, ret_digest, NULL,
                            err);
    }
    return sbx_err_set(err, SBX_NOT_FOUND, "%.200s is missing", name);
}
