/* What lies in the cache, how old it is, and getting rid of it. Whoever uses a thing marks its time. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "cache.h"
#include "sbx/file.h"

static const struct {
    const char *kind, *dir;
} places[] = {
    { "blob", "blobs/sha256" },
    { "kit", "kits" },
    { "git", "git" },
    { "partial", "partial" },
};

static _Thread_local int64_t tree_size; /* nftw() takes no context */

static int add_size(const char *path, const struct stat *st, int type, struct FTW *unused)
{
    (void)path, (void)unused;
    if (type == FTW_F)
        tree_size += st->st_size;
    return 0;
}

static int64_t size_of(const char *path, const struct stat *st)
{
    if (!S_ISDIR(st->st_mode))
        return st->st_size;
    tree_size = 0;
    nftw(path, add_size, 16, FTW_PHYS);
    return tree_size;
}

struct listing {
    struct sbx_arena *arena;
    struct sbx_cache_entry *v;
    size_t n, cap;
};

static enum sbx_code add(struct listing *l, const struct sbx_cache_entry *e, struct sbx_err *err)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        struct sbx_cache_entry *v = sbx_arena_array(l->arena, cap, sizeof(*v));

        if (!v)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (l->n)
            memcpy(v, l->v, l->n * sizeof(*v));
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n] = *e;
    l->v[l->n].name = sbx_arena_strdup(l->arena, e->name);
    return l->v[l->n++].name ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code list_place(struct sbx_cache *c, size_t i, struct listing *l,
                                struct sbx_err *err)
{
    char dir[CACHE_PATH], path[CACHE_PATH + 300];
    enum sbx_code rc = SBX_OK;
    struct dirent *e;
    DIR *d;

    snprintf(dir, sizeof(dir), "%.4000s/%s", c->dir, places[i].dir);
    d = opendir(dir);
    if (!d)
        return errno == ENOENT ? SBX_OK : sbx_err_errno(err, "%s", dir);
    while (!rc && (e = readdir(d))) {
        struct sbx_cache_entry entry = { .kind = places[i].kind, .name = e->d_name };
        struct stat st;

        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (lstat(path, &st))
            continue; /* gone meanwhile */
        if (e->d_name[0] == '.')
            entry.kind = "leftover";
        entry.place = places[i].dir;
        entry.used = st.st_mtime;
        entry.size = size_of(path, &st);
        rc = add(l, &entry, err);
    }
    closedir(d);
    return rc;
}

static int by_use(const void *a, const void *b)
{
    const struct sbx_cache_entry *x = a, *y = b;

    return x->used != y->used ? (x->used < y->used ? -1 : 1) : strcmp(x->name, y->name);
}

enum sbx_code sbx_cache_list(struct sbx_cache *c, struct sbx_arena *arena,
                             struct sbx_cache_entry **ret, size_t *ret_n, struct sbx_err *err)
{
    struct listing l = { arena, NULL, 0, 0 };
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < SBX_ARRAY_LEN(places); i++)
        rc = list_place(c, i, &l, err);
    if (l.n)
        qsort(l.v, l.n, sizeof(*l.v), by_use);
    *ret = l.v;
    *ret_n = l.n;
    return rc;
}

/* Who is at work on it, or uses it, holds its lock: a download's file, a directory. */
static bool is_running(const char *path)
{
    SBX_AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
}

bool sbx_cache_held(struct sbx_cache *c, const struct sbx_cache_entry *e)
{
    char path[CACHE_PATH + 300];

    snprintf(path, sizeof(path), "%.4000s/%s/%.255s", c->dir, e->place, e->name);
    return strcmp(e->kind, "blob") != 0 && is_running(path);
}

enum sbx_code sbx_cache_drop(struct sbx_cache *c, const struct sbx_cache_entry *e,
                             bool *ret_gone, struct sbx_err *err)
{
    char path[CACHE_PATH + 300], away[CACHE_PATH + 300];
    enum sbx_code rc;

    *ret_gone = false;
    snprintf(path, sizeof(path), "%.4000s/%s/%.255s", c->dir, e->place, e->name);
    if (sbx_cache_held(c, e))
        return SBX_OK;
    /* Its name goes first: nobody may find half of it. */
    snprintf(away, sizeof(away), "%.4000s/%s/.gone-%ld-%.64s", c->dir, e->place, (long)getpid(),
             e->name);
    if (e->name[0] != '.' && rename(path, away))
        return errno == ENOENT ? SBX_OK : sbx_err_errno(err, "%s", path);
    rc = sbx_dir_remove(AT_FDCWD, e->name[0] == '.' ? path : away, err);
    *ret_gone = rc == SBX_OK;
    return rc;
}

enum sbx_code sbx_cache_check(struct sbx_cache *c, const struct sbx_cache_entry *e, bool *ret_good,
                              struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_hasher) h = sbx_hasher_new();
    SBX_AUTO_FREE char *data = malloc(262144);
    char digest[SBX_DIGEST_TEXT_SIZE];
    SBX_AUTO_FD int fd = -1;
    ssize_t n;
    enum sbx_code rc = sbx_cache_ready(c, err);

    if (rc)
        return rc;
    if (!h || !data)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    fd = openat(c->blobs, e->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return sbx_err_errno(err, "blob %s", e->name);
    while ((n = read(fd, data, 262144)) > 0)
        sbx_hasher_add(h, data, (size_t)n);
    if (n < 0)
        return sbx_err_errno(err, "read blob %s", e->name);
    sbx_hasher_text(h, digest);
    *ret_good = !strcmp(sbx_blob_name(digest), e->name);
    return SBX_OK;
}
