#include "parts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tarhead.h"

enum sbx_code docker_parts_add(struct docker_parts *p, struct docker_part part, struct sbx_err *err)
{
    if (p->n == DOCKER_PARTS_MAX)
        return sbx_err_set(err, SBX_LIMIT, "more than %d files", DOCKER_PARTS_MAX);
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        struct docker_part *more = sbx_arena_array(p->arena, cap, sizeof(*more));

        if (!more)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (p->n)
            memcpy(more, p->v, p->n * sizeof(*more));
        p->v = more;
        p->cap = cap;
    }
    p->v[p->n++] = part;
    return SBX_OK;
}

const struct docker_part *docker_parts_find(const struct docker_parts *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].name, name) == 0)
            return &p->v[i];
    return NULL;
}

/* Never leaves the tree, never waits for a device. */
static int open_below(int dirfd, const char *path)
{
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };

    return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

static enum sbx_code open_part(const struct docker_parts *p, const struct docker_part *part,
                               int *ret, struct sbx_err *err)
{
    struct stat st;
    int fd = part->file ? open_below(p->fd, part->file) : fcntl(p->fd, F_DUPFD_CLOEXEC, 3);

    if (fd < 0)
        return sbx_err_errno(err, "open %s", part->name);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < part->offset + part->size) {
        close(fd);
        return sbx_err_set(err, SBX_IO, "%s changed while it was read", part->name);
    }
    *ret = fd;
    return SBX_OK;
}

static enum sbx_code read_at(int fd, char *room, size_t len, off_t at, const char *name,
                             struct sbx_err *err)
{
    while (len) {
        ssize_t n = pread(fd, room, len, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sbx_err_errno(err, "read %s", name);
        if (n == 0)
            return sbx_err_set(err, SBX_IO, "%s changed while it was read", name);
        room += n;
        len -= (size_t)n;
        at += n;
    }
    return SBX_OK;
}

enum sbx_code docker_parts_content(const struct docker_parts *p, const struct docker_part *part,
                                   off_t max, const char **ret, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    char *text;
    enum sbx_code rc;

    if (part->size > max)
        return sbx_err_set(err, SBX_LIMIT, "%s is longer than %lld bytes", part->name,
                           (long long)max);
    text = sbx_arena_alloc(p->arena, (size_t)part->size + 1);
    if (!text)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = open_part(p, part, &fd, err);
    if (!rc)
        rc = read_at(fd, text, (size_t)part->size, part->offset, part->name, err);
    if (!rc)
        *ret = text;
    return rc;
}

/* ---- the stream ---- */

static off_t padded(off_t size)
{
    return (size + DOCKER_TAR_BLOCK - 1) / DOCKER_TAR_BLOCK * DOCKER_TAR_BLOCK;
}

static size_t at_most(off_t left, size_t len) { return left < (off_t)len ? (size_t)left : len; }

/* Bytes of the part from `done` on: header, content, zeros. */
static ssize_t read_part(struct docker_parts *p, const struct docker_part *part, char *room,
                         size_t len, struct sbx_err *err)
{
    char head[DOCKER_TAR_BLOCK];
    off_t at = p->done - DOCKER_TAR_BLOCK;

    if (at < 0) {
        if (docker_tar_head(head, part->name, part->directory, part->size)) {
            sbx_err_set(err, SBX_LIMIT, "%s: the name is too long for an archive", part->name);
            return -1;
        }
        len = at_most(-at, len);
        memcpy(room, head + p->done, len);
        return (ssize_t)len;
    }
    if (at >= part->size) {
        len = at_most(padded(part->size) - at, len);
        memset(room, 0, len);
        return (ssize_t)len;
    }
    len = at_most(part->size - at, len);
    if (part->memory) {
        memcpy(room, part->memory + at, len);
        return (ssize_t)len;
    }
    if (p->open < 0 && open_part(p, part, &p->open, err))
        return -1;
    return read_at(p->open, room, len, part->offset + at, part->name, err) ? -1 : (ssize_t)len;
}

ssize_t docker_parts_read(struct docker_parts *p, char *room, size_t len, struct sbx_err *err)
{
    ssize_t n;

    if (p->at == p->n) { /* two empty records end an archive */
        len = at_most(2 * DOCKER_TAR_BLOCK - p->done, len);
        memset(room, 0, len);
        p->done += (off_t)len;
        return (ssize_t)len;
    }
    n = read_part(p, &p->v[p->at], room, len, err);
    if (n < 0)
        return -1;
    p->done += n;
    if (p->done == DOCKER_TAR_BLOCK + padded(p->v[p->at].size)) {
        docker_parts_release(p);
        p->at++;
        p->done = 0;
    }
    return n;
}

void docker_parts_release(struct docker_parts *p)
{
    if (p->open >= 0)
        close(p->open);
    p->open = -1;
}
