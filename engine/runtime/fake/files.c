#include "fake.h"

#include <stdio.h>
#include <string.h>

/* Files by path. Reads and writes the tar that copy_in and copy_out speak: ustar with pax paths. */

#define BLOCK 512u /* bytes of a tar record */

struct tar_head {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct tar_head) == BLOCK, "a tar header is one record");

static unsigned long octal(const char *field, size_t size)
{
    unsigned long v = 0;

    for (size_t i = 0; i < size && field[i]; i++)
        if (field[i] >= '0' && field[i] <= '7')
            v = v * 8 + (unsigned long)(field[i] - '0');
    return v;
}

/* "/a/b" of "/a" and "./b/" */
static const char *place(struct fake *f, const char *base, const char *name)
{
    char *path;
    size_t len;

    while (strncmp(name, "./", 2) == 0 || *name == '/')
        name += *name == '/' ? 1 : 2;
    if (strcmp(name, ".") == 0)
        name++;
    path = sbx_fake_printf(f, "%s%s%s", strcmp(base, "/") == 0 ? "" : base, *name ? "/" : "", name);
    len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = '\0';
    return path;
}

void sbx_fake_add_file(struct fake *f, struct fake_container *c, struct sbx_fake_file file)
{
    struct fake_file *x = sbx_fake_alloc(f, 1, sizeof(*x));

    x->f = file;
    x->f.path = sbx_fake_printf(f, "%s", file.path);
    x->f.data = sbx_arena_memdup(f->mem, file.data ? file.data : "", file.len);
    x->next = c->files;
    c->files = x;
}

void sbx_fake_put(struct sbx_runtime *rt, const char *id, const char *path, const void *data,
                  size_t len)
{
    struct fake *f = (struct fake *)rt;
    struct fake_container *c = sbx_fake_find(f, id);

    if (c)
        sbx_fake_add_file(f, c, (struct sbx_fake_file){ path, 'f', 0644, 0, 0, data, len });
}

const struct sbx_fake_file *sbx_fake_file(struct sbx_runtime *rt, const char *id, const char *path)
{
    struct fake_container *c = sbx_fake_find((struct fake *)rt, id);

    for (struct fake_file *x = c ? c->files : NULL; x; x = x->next)
        if (strcmp(x->f.path, path) == 0)
            return &x->f;
    return NULL;
}

/* One `LEN key=value\n` of a pax header: the path if there is one. */
static char *pax_path(struct fake *f, const char *data, size_t len)
{
    for (const char *p = data, *end = data + len; p < end;) {
        size_t n = strtoul(p, NULL, 10);
        const char *key = memchr(p, ' ', (size_t)(end - p));

        if (!n || !key || n > (size_t)(end - p))
            return NULL;
        if (strncmp(key + 1, "path=", 5) == 0)
            return sbx_fake_printf(f, "%.*s", (int)(p + n - 1 - (key + 6)), key + 6);
        p += n;
    }
    return NULL;
}

static void unpack(struct fake *f, struct fake_container *c, const char *base,
                   const struct tar_head *h, const char *data, size_t len, char **longer)
{
    struct sbx_fake_file file = { .mode = octal(h->mode, 8),
                                  .uid = octal(h->uid, 8),
                                  .gid = octal(h->gid, 8),
                                  .data = data,
                                  .len = len };
    const char *name;

    if (h->type == 'x' || h->type == 'L') {
        *longer = h->type == 'x' ? pax_path(f, data, len) : sbx_fake_printf(f, "%s", data);
        return;
    }
    name = *longer
               ? *longer
               : sbx_fake_printf(f, "%.155s%s%.100s", h->prefix, *h->prefix ? "/" : "", h->name);
    *longer = NULL;
    file.path = place(f, base, name);
    file.type = h->type == '5' ? 'd' : h->type == '2' ? 'l' : 'f';
    if (file.type == 'l') {
        file.data = sbx_fake_printf(f, "%.100s", h->link);
        file.len = strlen(file.data);
    }
    sbx_fake_add_file(f, c, file);
}

enum sbx_code sbx_fake_copy_in(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                               struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) tar = SBX_BUF_INIT(SBX_FAKE_STREAM_MAX);
    struct fake *f = (struct fake *)rt;
    struct fake_container *c = sbx_fake_find(f, id);
    enum sbx_code rc = sbx_fake_call(f, err, "copy_in", "%s %s", c ? c->state.name : id, path);
    char *longer = NULL;

    if (rc)
        return rc;
    if (!c)
        return sbx_err_set(err, SBX_NOT_FOUND, "no such container");
    rc = sbx_fake_drain(fd, &tar, err);
    if (rc)
        return rc;
    for (size_t at = 0; at + BLOCK <= tar.len && tar.ptr[at];) {
        const struct tar_head *h = (const void *)(tar.ptr + at);
        size_t len = octal(h->size, 12);

        at += BLOCK;
        if (len > tar.len - at)
            return sbx_err_set(err, SBX_SYNTAX, "the archive ends early");
        unpack(f, c, path, h, tar.ptr + at, len, &longer);
        at += (len + BLOCK - 1) / BLOCK * BLOCK;
        if (at > tar.len)
            break;
    }
    return SBX_OK;
}

static void seal(struct tar_head *h)
{
    unsigned sum = 0;

    memset(h->sum, ' ', sizeof(h->sum));
    for (size_t i = 0; i < BLOCK; i++)
        sum += ((unsigned char *)h)[i];
    snprintf(h->sum, sizeof(h->sum), "%06o", sum);
}

enum sbx_code sbx_fake_copy_out(struct sbx_runtime *rt, const char *id, const char *path, int fd,
                                struct sbx_err *err)
{
    struct fake *f = (struct fake *)rt;
    struct fake_container *c = sbx_fake_find(f, id);
    enum sbx_code rc = sbx_fake_call(f, err, "copy_out", "%s %s", c ? c->state.name : id, path);
    const struct sbx_fake_file *file = sbx_fake_file(rt, id, path);
    struct tar_head h = { .magic = "ustar", .version = { '0', '0' }, .type = '0' };
    static const char zero[2 * BLOCK];
    bool ok;

    if (rc)
        return rc;
    if (!file)
        return sbx_err_set(err, SBX_NOT_FOUND, "no such %s", c ? "file" : "container");
    snprintf(h.name, sizeof(h.name), "%s", strrchr(path, '/') + 1);
    snprintf(h.mode, sizeof(h.mode), "%07o", file->mode & 07777);
    snprintf(h.uid, sizeof(h.uid), "%07o", file->uid);
    snprintf(h.gid, sizeof(h.gid), "%07o", file->gid);
    snprintf(h.size, sizeof(h.size), "%011lo", (unsigned long)file->len);
    seal(&h);
    ok = write(fd, &h, BLOCK) == BLOCK && write(fd, file->data, file->len) == (ssize_t)file->len &&
         write(fd, zero, (BLOCK - file->len % BLOCK) % BLOCK) >= 0 &&
         write(fd, zero, sizeof(zero)) == (ssize_t)sizeof(zero);
    return ok ? SBX_OK : sbx_err_errno(err, "write");
}
