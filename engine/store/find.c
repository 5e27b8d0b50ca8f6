#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store.h"

static bool hex(const char *text, size_t len)
{
    return strspn(text, "0123456789abcdef") == len && len <= HEX;
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
    bool hit = sbx_is_record(name) && q->prefix && strncmp(name, q->prefix, strlen(q->prefix)) == 0;

    if (sbx_is_record(name) && q->digest) {
        SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
        struct sbx_record r;
        enum sbx_code rc = arena ? sbx_record_read(s, name, arena, &r, err)
                                 : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");

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
    return sbx_store_each(s, s->images, match, q, err);
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

    if (!sbx_is_record(name))
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
        rc = sbx_store_each(s, s->images, list_one, &l, err);
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
    enum sbx_code rc = arena ? sbx_names_read(s, &names, err)
                             : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");

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
