/* Who uses the cache, and how it is kept small: what was used longest ago goes first. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "cache.h"

static atomic_bool grew;

void sbx_cache_note_growth(void) { atomic_store(&grew, true); }

bool sbx_cache_grew(void) { return atomic_load(&grew); }

static enum sbx_code lock(struct sbx_cache *c, int how, int *ret_fd, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = -1;
    char path[CACHE_PATH];
    enum sbx_code rc = sbx_cache_ready(c, err);

    if (rc)
        return rc;
    snprintf(path, sizeof(path), "%.4000s/use.lock", c->dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EROFS) /* what is in it already can be used from there too */
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return sbx_err_errno(err, "open %s", path);
    while (flock(fd, how)) {
        if (errno == EWOULDBLOCK)
            return sbx_err_set(err, SBX_BUSY, "another command is fetching into the cache; try "
                                              "again when it is done");
        if (errno != EINTR)
            return sbx_err_errno(err, "lock %s", path);
    }
    *ret_fd = sbx_take_fd(&fd);
    return SBX_OK;
}

enum sbx_code sbx_cache_use(struct sbx_cache *c, int *ret_fd, struct sbx_err *err)
{
    return lock(c, LOCK_SH, ret_fd, err);
}

enum sbx_code sbx_cache_alone(struct sbx_cache *c, int *ret_fd, struct sbx_err *err)
{
    return lock(c, LOCK_EX | LOCK_NB, ret_fd, err);
}

void sbx_cache_hold(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB))
        close(fd); /* being removed: it is read as long as it is there */
    (void)utimensat(AT_FDCWD, path, NULL, 0); /* used now; where that fails it only looks older */
}

/* Leftovers are of commands that were killed; a download that was cut may go on for a while. */
static bool is_waste(const struct sbx_cache_entry *e, int64_t began)
{
    return !strcmp(e->kind, "leftover") ||
           (!strcmp(e->kind, "partial") && e->used < began - SBX_CACHE_PARTIAL_S);
}

enum sbx_code sbx_cache_trim(struct sbx_cache *c, int64_t max, int64_t began, int64_t *ret_freed,
                             struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_cache_entry *v = NULL;
    SBX_AUTO_FD int fd = -1;
    int64_t left = 0;
    size_t n = 0;
    enum sbx_code rc = arena ? sbx_cache_alone(c, &fd, err)
                             : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");

    *ret_freed = 0;
    if (!rc)
        rc = sbx_cache_list(c, arena, &v, &n, err);
    for (size_t i = 0; !rc && i < n; i++)
        left += v[i].size;
    for (size_t i = 0; !rc && i < n; i++) {
        bool gone = false;

        if (!is_waste(&v[i], began) && (left <= max || v[i].used >= began))
            continue;
        rc = sbx_cache_drop(c, &v[i], &gone, err);
        left -= gone ? v[i].size : 0;
        *ret_freed += gone ? v[i].size : 0;
    }
    return rc || !*ret_freed ? rc : sbx_blob_index_tidy(c, err);
}
