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
    s->layers = s->images = s->blobs = -1;
    s->state = strdup(state_dir);
    s->cache = strdup(cache_dir);
    if (!s->state || !s->cache)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
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
    if (s->blobs >= 0)
        close(s->blobs);
    free(s->state);
    free(s->cache);
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

static bool hex(const char *text, size_t len)
{
    return strspn(text, "0123456789abcdef") == len && len <= HEX;
}

typedef enum sbx_code (*each_fn)(struct sbx_store *s, const char *name, void *ctx,
                                 struct sbx_err *err);

static enum sbx_code each_name(struct sbx_store *s, int dir, each_fn each, void *ctx,
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
static bool is_record(const char *name)
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

    if (!is_record(name))
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
    if (hex(layer, HEX) && json_object_get(ctx, layer))
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
        rc = each_name(s, s->images, note_layers, needed, err);
    if (!rc)
        rc = each_name(s, s->layers, sweep_layer, needed, err);
    if (!rc)
        rc = each_name(s, s->images, sweep_image, NULL, err);
    return rc ? sbx_err_wrap(err, rc, "clean the image store") : SBX_OK;
}

/* ---- find ---- */

struct search {
    const char *prefix; /* of an id, or NULL */
    const char *digest; /* of a manifest, or NULL */
    char found[HEX + 1];
    size_t n;
};

static enum sbx_code match(struct sbx_store *s, const char *name, void *ctx, struct sbx_err *err)
{
    struct search *q = ctx;
    bool hit = is_record(name) && q->prefix && strncmp(name, q->prefix, strlen(q->prefix)) == 0;

    if (is_record(name) && q->digest) {
        SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
        struct sbx_record r;
        enum sbx_code rc = arena ? sbx_record_read(s, name, arena, &r, err) : SBX_NO_MEMORY;

        if (rc)
            return rc;
        hit = strcmp(r.manifest, q->digest) == 0 || strcmp(r.id, q->digest) == 0;
    }
    if (hit) {
        snprintf(q->found, sizeof(q->found), "%.64s", name);
        q->n++;
    }
    return SBX_OK;
}

#define PREFIX_MIN 4 /* digits of an id that say enough */

static enum sbx_code by_digest(struct sbx_store *s, const char *reference, struct search *q,
                               struct sbx_err *err)
{
    const char *id = strncmp(reference, "sha256:", 7) == 0 ? reference + 7 : reference;
    const char *at = strrchr(reference, '@');

    if (at && sbx_digest_valid(at + 1))
        q->digest = at + 1;
    else if (hex(id, strlen(id)) && strlen(id) >= PREFIX_MIN)
        q->prefix = id;
    else
        return SBX_OK;
    return each_name(s, s->images, match, q, err);
}

/* `ret_name` is the full name that led there, or NULL (found by id or digest). Tables are locked. */
static enum sbx_code resolve(struct sbx_store *s, const char *reference, const json_t *names,
                             struct sbx_arena *arena, const char **ret_hex, const char **ret_name,
                             struct sbx_err *err)
{
    const char *full = sbx_store_full_name(arena, reference);
    const char *id = full ? json_string_value(json_object_get(names, full)) : NULL;
    struct search q = { 0 };
    enum sbx_code rc = SBX_OK;

    *ret_name = id ? full : NULL;
    if (id && sbx_digest_valid(id))
        snprintf(q.found, sizeof(q.found), "%s", id + strlen("sha256:"));
    else
        rc = by_digest(s, reference, &q, err);
    if (rc)
        return rc;
    if (q.n > 1)
        return sbx_err_set(err, SBX_CONFLICT, "more than one image begins with %.100s", reference);
    if (!q.found[0])
        return sbx_err_set(err, SBX_NOT_FOUND, "no image %.300s here", reference);
    *ret_hex = sbx_arena_strdup(arena, q.found);
    return *ret_hex ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code names_of(const json_t *names, const char *id, struct sbx_arena *arena,
                              struct sbx_store_image *ret, struct sbx_err *err)
{
    const char **list = sbx_arena_array(arena, json_object_size(names) + 1, sizeof(*list));
    const char *name;
    const json_t *value;
    size_t n = 0;

    if (!list)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    json_object_foreach((json_t *)names, name, value) {
        if (!json_is_string(value) || strcmp(json_string_value(value), id) != 0)
            continue;
        list[n] = sbx_store_familiar_name(arena, name);
        if (!list[n++])
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    ret->names = list;
    return SBX_OK;
}

/* Of a layer that comes twice only the upper one counts: overlayfs refuses the same one again. */
static enum sbx_code layers_of(struct sbx_store *s, const struct sbx_record *r,
                               struct sbx_arena *arena, struct sbx_store_image *ret,
                               struct sbx_err *err)
{
    const char **list = sbx_arena_array(arena, r->n_layers + 1, sizeof(*list));
    size_t n = 0;

    if (!list)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < r->n_layers; i++) {
        bool again = false;

        for (size_t j = i + 1; j < r->n_layers; j++)
            again = again || strcmp(r->diff_ids[i], r->diff_ids[j]) == 0;
        if (again)
            continue;
        list[n] = sbx_arena_printf(arena, "%s/layers/%s", s->state,
                                   r->diff_ids[i] + strlen("sha256:"));
        if (!list[n++])
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    ret->layers = list;
    ret->n_layers = n;
    return SBX_OK;
}

static enum sbx_code image_of(struct sbx_store *s, const char *hex_id, const json_t *names,
                              struct sbx_arena *arena, struct sbx_store_image *ret,
                              struct sbx_err *err)
{
    struct sbx_record r;
    struct sbx_config c;
    enum sbx_code rc = sbx_record_read(s, hex_id, arena, &r, err);

    if (!rc)
        rc = sbx_config_parse(r.config, strlen(r.config), arena, &c, err);
    if (rc)
        return rc;
    *ret = (struct sbx_store_image){
        .id = r.id,
        .env = c.env,
        .entrypoint = c.entrypoint,
        .cmd = c.cmd,
        .labels = c.labels,
        .workdir = c.workdir,
        .user = c.user,
        .size = r.size,
        .created = c.created,
    };
    rc = names_of(names, r.id, arena, ret, err);
    return rc ? rc : layers_of(s, &r, arena, ret, err);
}

enum sbx_code sbx_store_find(struct sbx_store *s, const char *reference, struct sbx_arena *arena,
                             struct sbx_store_image *ret, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *names = NULL;
    SBX_AUTO_FD int lock = -1;
    const char *id, *name;
    enum sbx_code rc = sbx_store_hold(s, &lock, err);

    if (!rc)
        rc = sbx_names_read(s, &names, err);
    if (!rc)
        rc = resolve(s, reference, names, arena, &id, &name, err);
    return rc ? rc : image_of(s, id, names, arena, ret, err);
}

/* ---- list ---- */

struct listing {
    struct sbx_arena *arena;
    const json_t *names;
    struct sbx_store_image *v;
    size_t n, cap;
};

static enum sbx_code list_one(struct sbx_store *s, const char *name, void *ctx, struct sbx_err *err)
{
    struct listing *l = ctx;

    if (!is_record(name))
        return SBX_OK;
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        struct sbx_store_image *grown = sbx_arena_array(l->arena, cap, sizeof(*grown));

        if (!grown)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (l->n)
            memcpy(grown, l->v, l->n * sizeof(*grown));
        l->v = grown;
        l->cap = cap;
    }
    return image_of(s, name, l->names, l->arena, &l->v[l->n++], err);
}

static int by_id(const void *a, const void *b)
{
    const struct sbx_store_image *x = a, *y = b;

    return strcmp(x->id, y->id);
}

enum sbx_code sbx_store_list(struct sbx_store *s, struct sbx_arena *arena,
                             struct sbx_store_image **ret, size_t *ret_n, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *names = NULL;
    SBX_AUTO_FD int lock = -1;
    struct listing l = { .arena = arena };
    enum sbx_code rc = sbx_store_hold(s, &lock, err);

    if (!rc)
        rc = sbx_names_read(s, &names, err);
    l.names = names;
    if (!rc)
        rc = each_name(s, s->images, list_one, &l, err);
    if (rc)
        return rc;
    if (l.n)
        qsort(l.v, l.n, sizeof(*l.v), by_id);
    *ret = l.v;
    *ret_n = l.n;
    return SBX_OK;
}

/* ---- remove ---- */

static size_t count_names(const json_t *names, const char *id)
{
    const char *key;
    const json_t *value;
    size_t n = 0;

    json_object_foreach((json_t *)names, key, value)
        n += json_is_string(value) && strcmp(json_string_value(value), id) == 0;
    return n;
}

static void drop_names(json_t *names, const char *id)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(names, next, key, value) {
        if (json_is_string(value) && strcmp(json_string_value(value), id) == 0)
            json_object_del(names, key);
    }
}

static enum sbx_code remove_locked(struct sbx_store *s, const char *reference,
                                   bool (*used)(void *ctx, const char *id), void *ctx,
                                   struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_JSON json_t *names = NULL;
    char id[SBX_DIGEST_TEXT_SIZE], file[HEX + 8];
    const char *hex_id, *name;
    enum sbx_code rc = arena ? sbx_names_read(s, &names, err) : SBX_NO_MEMORY;

    if (!rc)
        rc = resolve(s, reference, names, arena, &hex_id, &name, err);
    if (rc)
        return rc;
    snprintf(id, sizeof(id), "sha256:%s", hex_id);
    if (name && count_names(names, id) > 1) {
        json_object_del(names, name);
        return sbx_names_write(s, names, err);
    }
    if (used && used(ctx, id))
        return sbx_err_set(err, SBX_BUSY, "image %.300s is in use by a sandbox", reference);
    drop_names(names, id);
    rc = sbx_names_write(s, names, err);
    snprintf(file, sizeof(file), "%s.json", hex_id);
    if (!rc && unlinkat(s->images, file, 0))
        rc = sbx_err_errno(err, "remove image %s", hex_id);
    return rc;
}

enum sbx_code sbx_store_remove(struct sbx_store *s, const char *reference,
                               bool (*used)(void *ctx, const char *id), void *ctx,
                               struct sbx_err *err)
{
    SBX_AUTO_FD int importing = -1;
    enum sbx_code rc = sbx_store_lock(s, "import.lock", true, &importing, err);

    if (!rc) {
        SBX_AUTO_FD int lock = -1;

        rc = sbx_store_lock(s, "images.lock", true, &lock, err);
        if (!rc)
            rc = remove_locked(s, reference, used, ctx, err);
    }
    return rc ? rc : sbx_store_sweep(s, err);
}
