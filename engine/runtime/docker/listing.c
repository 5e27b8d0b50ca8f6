#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "parts.h"
#include "tarhead.h"

/* Parts from a directory tree and from a tar. */

#define DEPTH_MAX 16 /* levels below the directory; a layout has three */

static enum sbx_code no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code walk(struct docker_parts *p, int dirfd, const char *prefix, int depth,
                          struct sbx_err *err);

static enum sbx_code add_entry(struct docker_parts *p, int dirfd, const char *prefix,
                               const char *name, int depth, struct sbx_err *err)
{
    const char *path = sbx_arena_printf(p->arena, "%s%s", prefix, name);
    struct docker_part part = { .name = path, .file = path };
    struct stat st;
    int fd;
    enum sbx_code rc;

    if (!path)
        return no_memory(err);
    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
        fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return sbx_err_errno(err, "open %s", path);
        part.directory = true;
        rc = docker_parts_add(p, part, err);
        path = rc ? NULL : sbx_arena_printf(p->arena, "%s%s/", prefix, name);
        if (!rc && !path)
            rc = no_memory(err);
        if (rc) {
            close(fd);
            return rc;
        }
        return walk(p, fd, path, depth + 1, err);
    }
    if (fstatat(dirfd, name, &st, 0))
        return sbx_err_errno(err, "%s", path);
    if (!S_ISREG(st.st_mode))
        return sbx_err_set(err, SBX_SCHEMA, "%s is neither a file nor a directory", path);
    part.size = st.st_size;
    return docker_parts_add(p, part, err);
}

/* Takes dirfd. */
static enum sbx_code walk(struct docker_parts *p, int dirfd, const char *prefix, int depth,
                          struct sbx_err *err)
{
    DIR *dir = depth <= DEPTH_MAX ? fdopendir(dirfd) : NULL;
    enum sbx_code rc = SBX_OK;
    struct dirent *e;

    if (!dir) {
        close(dirfd);
        return sbx_err_set(err, SBX_LIMIT, "%s: cannot list, or deeper than %d levels", prefix,
                           DEPTH_MAX);
    }
    while (!rc && (e = readdir(dir)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = add_entry(p, dirfd, prefix, e->d_name, depth, err);
    closedir(dir);
    return rc;
}

enum sbx_code docker_parts_walk(struct docker_parts *p, struct sbx_err *err)
{
    int fd = openat(p->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? sbx_err_errno(err, "open") : walk(p, fd, "", 0, err);
}

enum sbx_code docker_parts_scan(struct docker_parts *p, struct sbx_err *err)
{
    char head[DOCKER_TAR_BLOCK], name[DOCKER_TAR_NAME_MAX], type;
    struct stat st;
    off_t at = 0, size;

    if (fstat(p->fd, &st) || !S_ISREG(st.st_mode))
        return SBX_OK;
    while (pread(p->fd, head, sizeof(head), at) == (ssize_t)sizeof(head) &&
           docker_tar_parse(head, name, &type, &size)) {
        const char *plain = strncmp(name, "./", 2) == 0 ? name + 2 : name;
        struct docker_part part = { .offset = at + DOCKER_TAR_BLOCK, .size = size };

        if (size > st.st_size - part.offset)
            return sbx_err_set(err, SBX_SYNTAX, "the archive ends early, in %s", plain);
        part.name = sbx_arena_strdup(p->arena, plain);
        if (!part.name)
            return no_memory(err);
        if (type == '0' || type == '\0') {
            enum sbx_code rc = docker_parts_add(p, part, err);

            if (rc)
                return rc;
        }
        at = part.offset + (size + DOCKER_TAR_BLOCK - 1) / DOCKER_TAR_BLOCK * DOCKER_TAR_BLOCK;
    }
    return SBX_OK;
}
