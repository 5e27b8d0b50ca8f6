#include "store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "sbx/file.h"

static enum sbx_code open_below(const char *base, const char *name, int *ret, struct sbx_err *err)
{
    char path[4096];
    enum sbx_code rc;

    if (snprintf(path, sizeof(path), "%s/%s", base, name) >= (int)sizeof(path))
        return sbx_err_set(err, SBX_LIMIT, "path of the state directory is too long");
    *ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret >= 0)
        return SBX_OK;
    rc = sbx_dir_make(path, 0700, err);
    if (rc)
        return rc;
    *ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret < 0 ? sbx_err_errno(err, "open %s", path) : SBX_OK;
}

enum sbx_code sbx_store_open(const char *state_dir, const char *cache_dir, struct sbx_store **ret,
                             struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_store) s = calloc(1, sizeof(*s));
    enum sbx_code rc;

    if (!s)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    s->layers = s->images = -1;
    s->state = strdup(state_dir);
    if (!s->state)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_cache_open(cache_dir, &s->cache, err);
    if (!rc)
        rc = open_below(s->state, "layers", &s->layers, err);
    if (!rc)
        rc = open_below(s->state, "images", &s->images, err);
    if (rc)
        return sbx_err_wrap(err, rc, "image store");
    *ret = SBX_TAKE(s);
    return SBX_OK;
}

void sbx_store_close(struct sbx_store *s)
{
    if (!s)
        return;
    if (s->layers >= 0)
        close(s->layers);
    if (s->images >= 0)
        close(s->images);
    free(s->state);
    sbx_cache_close(s->cache);
    free(s);
}

enum sbx_code sbx_store_lock(struct sbx_store *s, const char *name, bool alone, int *ret_fd,
                             struct sbx_err *err)
{
    SBX_AUTO_FD int fd = openat(s->images, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return sbx_err_errno(err, "open %s/images/%s", s->state, name);
    while (flock(fd, alone ? LOCK_EX : LOCK_SH))
        if (errno != EINTR)
            return sbx_err_errno(err, "lock %s/images/%s", s->state, name);
    *ret_fd = sbx_take_fd(&fd);
    return SBX_OK;
}

enum sbx_code sbx_store_hold(struct sbx_store *s, int *ret_fd, struct sbx_err *err)
{
    return sbx_store_lock(s, "images.lock", false, ret_fd, err);
}

struct sbx_cache *sbx_store_cache(struct sbx_store *s) { return s->cache; }

enum sbx_code sbx_store_each(struct sbx_store *s, int dir, each_fn each, void *ctx,
                             struct sbx_err *err)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    enum sbx_code rc = SBX_OK;
    struct dirent *e;

    if (!d) {
        if (fd >= 0)
            close(fd);
        return sbx_err_errno(err, "read directory");
    }
    while (!rc && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = each(s, e->d_name, ctx, err);
    closedir(d);
    return rc;
}

/* Name of an image record: 64 digits and ".json". */
bool sbx_is_record(const char *name)
{
    return strlen(name) == HEX + 5 && strspn(name, "0123456789abcdef") == HEX &&
           strcmp(name + HEX, ".json") == 0;
}

/* ---- sweep: what no image needs ---- */

static enum sbx_code note_layers(struct sbx_store *s, const char *name, void *ctx,
                                 struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_record r;
    enum sbx_code rc;

    if (!sbx_is_record(name))
        return SBX_OK;
    if (!arena)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_record_read(s, name, arena, &r, err);
    for (size_t i = 0; !rc && i < r.n_layers; i++)
        if (json_object_set_new(ctx, r.diff_ids[i] + strlen("sha256:"), json_true()))
            rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return rc;
}

static enum sbx_code sweep_layer(struct sbx_store *s, const char *name, void *ctx,
                                 struct sbx_err *err)
{
    char layer[HEX + 1];

    snprintf(layer, sizeof(layer), "%.64s", name);
    if (json_object_get(ctx, layer))
        return SBX_OK;
    return sbx_dir_remove(s->layers, name, err);
}

/* A file that a killed command was writing: the next write would leave it for ever. */
static enum sbx_code sweep_image(struct sbx_store *s, const char *name, void *ctx,
                                 struct sbx_err *err)
{
    (void)ctx;
    if (name[0] != '.')
        return SBX_OK;
    return sbx_dir_remove(s->images, name, err);
}

enum sbx_code sbx_store_sweep(struct sbx_store *s, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *needed = json_object();
    SBX_AUTO_FD int lock = -1;
    enum sbx_code rc;

    if (!needed)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_store_lock(s, "images.lock", true, &lock, err);
    if (!rc)
        rc = sbx_store_each(s, s->images, note_layers, needed, err);
    if (!rc)
        rc = sbx_store_each(s, s->layers, sweep_layer, needed, err);
    if (!rc)
        rc = sbx_store_each(s, s->images, sweep_image, NULL, err);
    return rc ? sbx_err_wrap(err, rc, "clean the image store") : SBX_OK;
}
