/*
 * What the files of the cache are: a manifest stands for its blobs and for the kit that was unpacked from them.
 * Looking is no use: no time of a file changes, and nothing is made.
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cache.h"
#include "sbx/file.h"
#include "sbx/json.h"
#include "sbx/store.h"

#define KIT_TYPE "application/vnd.docker.sandbox.kit." /* begins the types of kits, of all versions */

#define DOCKER_TYPE "application/vnd.docker.distribution.manifest.v2+json" /* the registry's, not ours */

struct thing {
    struct sbx_cache_thing pub;
    const char *image; /* digest of an image's configuration; NULL: it is none */
    size_t n_names;
};

struct things {
    struct sbx_cache *cache;
    struct sbx_arena *arena;
    const struct sbx_cache_entry **sorted; /* by kind and name */
    bool *claimed;                         /* beside `sorted` */
    size_t n_sorted;
    struct thing *v; /* room for one of each entry */
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    const struct sbx_cache_entry *x = *(const struct sbx_cache_entry *const *)a;
    const struct sbx_cache_entry *y = *(const struct sbx_cache_entry *const *)b;
    int kinds = strcmp(x->kind, y->kind);

    return kinds ? kinds : strcmp(x->name, y->name);
}

/* -1: not in the cache. */
static ssize_t find(const struct things *t, const char *kind, const char *digest)
{
    const struct sbx_cache_entry want = { .kind = kind, .name = sbx_blob_name(digest) }, *p = &want;
    const struct sbx_cache_entry **found = bsearch(&p, t->sorted, t->n_sorted, sizeof(*found),
                                                   by_name);

    return found ? found - t->sorted : -1;
}

/* Lists double when they are full: sizes are powers of two. */
static bool add_pointer(struct sbx_arena *arena, const void ***v, size_t n, const void *p)
{
    if (!(n & (n - 1))) {
        const void **more = sbx_arena_array(arena, n ? 2 * n : 1, sizeof(*more));

        if (!more)
            return false;
        if (n)
            memcpy(more, *v, n * sizeof(*more));
        *v = more;
    }
    (*v)[n] = p;
    return true;
}

/* One that stands twice in a manifest is one file. */
static bool add_file(struct things *t, struct sbx_cache_thing *to, size_t i)
{
    const struct sbx_cache_entry *e = t->sorted[i];

    for (size_t k = 0; k < to->n_files; k++)
        if (to->files[k] == e)
            return true;
    if (!add_pointer(t->arena, (const void ***)&to->files, to->n_files, e))
        return false;
    to->n_files++;
    t->claimed[i] = true;
    to->size += e->size;
    to->used = e->used > to->used ? e->used : to->used;
    return true;
}

static bool add_blob(struct things *t, struct sbx_cache_thing *to, const json_t *descriptor)
{
    const char *digest = sbx_json_text_of(descriptor, "digest");
    ssize_t i = sbx_digest_valid(digest) ? find(t, "blob", digest) : -1;

    return i < 0 || add_file(t, to, (size_t)i);
}

static bool has_blob(const struct sbx_cache_thing *t, const char *digest)
{
    for (size_t i = 0; sbx_digest_valid(digest) && i < t->n_files; i++)
        if (!strcmp(t->files[i]->kind, "blob") && !strcmp(t->files[i]->name, sbx_blob_name(digest)))
            return true;
    return false;
}

/* `name` is copied with `prefix` before it; *ret NULL: no memory. */
static struct sbx_cache_thing *add_thing(struct things *t, const char *kind, const char *prefix,
                                         const char *name, size_t file)
{
    struct sbx_cache_thing *new = &t->v[t->n].pub;

    *new = (struct sbx_cache_thing){ .kind = kind,
                                     .name = sbx_arena_printf(t->arena, "%s%s", prefix, name) };
    if (!new->name || !add_file(t, new, file))
        return NULL;
    t->n++;
    return new;
}

/* A small blob that is a JSON object; NULL: it is none, or there is no memory to tell. */
static json_t *read_json(const struct things *t, const struct sbx_cache_entry *e)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_STORE_JSON_MAX);
    SBX_AUTO_FD int fd = -1;
    char path[CACHE_PATH], first = '\0', self[64];

    if (e->size > SBX_STORE_JSON_MAX)
        return NULL;
    snprintf(path, sizeof(path), "%.3900s/%s/%s", t->cache->dir, e->place, e->name);
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || pread(fd, &first, 1, 0) != 1 || first != '{')
        return NULL;
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (sbx_file_read(AT_FDCWD, self, &text, NULL) || !text.len)
        return NULL;
    return json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES, NULL);
}

static const char *kind_of(const json_t *manifest)
{
    const char *type = sbx_json_text_of(manifest, "artifactType");
    const char *config = sbx_json_text_of(json_object_get(manifest, "config"), "mediaType");

    if (!strncmp(type, KIT_TYPE, strlen(KIT_TYPE)) || !strncmp(config, KIT_TYPE, strlen(KIT_TYPE)))
        return "kit";
    if (!*type && (!strcmp(config, "application/vnd.oci.image.config.v1+json") ||
                   !strcmp(config, "application/vnd.docker.container.image.v1+json")))
        return "image";
    return "artifact";
}

/* One image may have several manifests: Docker's, and what other tools read in its place (import_image.c). */
static struct sbx_cache_thing *image_of(struct things *t, const json_t *manifest, size_t file)
{
    const char *config = sbx_json_text_of(json_object_get(manifest, "config"), "digest");
    struct thing *to = NULL;

    for (size_t i = 0; !to && i < t->n; i++)
        if (t->v[i].image && !strcmp(t->v[i].image, config))
            to = &t->v[i];
    if (!to) {
        to = &t->v[t->n];
        if (!add_thing(t, "image", "sha256:", t->sorted[file]->name, file))
            return NULL;
        to->image = sbx_arena_strdup(t->arena, config);
    } else if (!strcmp(sbx_json_text_of(manifest, "mediaType"), DOCKER_TYPE)) {
        to->pub.name = sbx_arena_printf(t->arena, "sha256:%s", t->sorted[file]->name);
    }
    return to->image && to->pub.name && add_file(t, &to->pub, file) ? &to->pub : NULL;
}

static bool add_manifest(struct things *t, size_t i)
{
    SBX_AUTO_JSON json_t *root = read_json(t, t->sorted[i]);
    json_t *layers = json_object_get(root, "layers"), *layer;
    struct sbx_cache_thing *thing;
    const char *kind;
    size_t k;
    ssize_t kit;

    if (!json_is_object(json_object_get(root, "config")) || !json_is_array(layers))
        return true;
    kind = kind_of(root);
    thing = strcmp(kind, "image") ? add_thing(t, kind, "sha256:", t->sorted[i]->name, i)
                                  : image_of(t, root, i);
    if (!thing || !add_blob(t, thing, json_object_get(root, "config")))
        return false;
    json_array_foreach(layers, k, layer)
        if (!add_blob(t, thing, layer))
            return false;
    kit = find(t, "kit", thing->name);
    return kit < 0 || add_file(t, thing, (size_t)kit);
}

/* Of the platforms that it lists one or two were fetched. */
static bool add_index(struct things *t, size_t i)
{
    SBX_AUTO_JSON json_t *root = read_json(t, t->sorted[i]);
    json_t *list = json_object_get(root, "manifests"), *entry;
    size_t k;

    json_array_foreach(list, k, entry)
        for (size_t j = 0; j < t->n; j++)
            if (has_blob(&t->v[j].pub, sbx_json_text_of(entry, "digest")) &&
                !add_file(t, &t->v[j].pub, i))
                return false;
    return true;
}

/* Kits whose blobs went, commits, blobs of nothing, leftovers. */
static bool add_alone(struct things *t, size_t i)
{
    const char *kind = t->sorted[i]->kind;
    bool hex = !strcmp(kind, "blob") || !strcmp(kind, "kit") || !strcmp(kind, "partial");

    return add_thing(t, kind, hex ? "sha256:" : "", t->sorted[i]->name, i) != NULL;
}

static bool each_unclaimed(struct things *t, const char *kind, bool (*add)(struct things *, size_t))
{
    for (size_t i = 0; i < t->n_sorted; i++)
        if (!t->claimed[i] && (!kind || !strcmp(t->sorted[i]->kind, kind)) && !add(t, i))
            return false;
    return true;
}

static bool add_name(struct things *t, struct thing *to, const char *prefix, const char *name)
{
    const char *copy = sbx_arena_printf(t->arena, "%s%s", prefix, name);

    if (!copy ||
        !add_pointer(t->arena, (const void ***)&to->pub.references, to->n_names, copy) ||
        !add_pointer(t->arena, (const void ***)&to->pub.references, to->n_names + 1, NULL))
        return false;
    to->n_names++;
    return true;
}

/* What a kit or a commit was fetched by. */
static bool add_record(struct things *t, struct thing *to)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_CACHE_NAMES_SIZE);
    char *rest, *line;

    if (sbx_cache_names_read(t->cache, to->pub.name, &text) || !text.len)
        return true;
    for (rest = text.ptr; (line = strsep(&rest, "\n"));)
        if (*line && !add_name(t, to, "", line))
            return false;
    return true;
}

/* Names of index.json: of images as they are, of kits that nothing else names as one writes them. */
static bool take_name(void *ctx, const char *digest, const char *name)
{
    struct things *t = ctx;

    for (size_t i = 0; i < t->n; i++) {
        struct thing *to = &t->v[i];
        bool kit = !strcmp(to->pub.kind, "kit");

        if (!has_blob(&to->pub, digest))
            continue;
        if (!kit)
            return add_name(t, to, "", name);
        return to->n_names || !strchr(name, '/') || add_name(t, to, "oci://", name);
    }
    return true;
}

static int by_use(const void *a, const void *b)
{
    const struct sbx_cache_thing *x = a, *y = b;

    return x->used != y->used ? (x->used < y->used ? -1 : 1) : strcmp(x->name, y->name);
}

static bool find_all(struct things *t)
{
    if (!each_unclaimed(t, "blob", add_manifest) || !each_unclaimed(t, "blob", add_index) ||
        !each_unclaimed(t, NULL, add_alone))
        return false;
    for (size_t i = 0; i < t->n; i++)
        if (!add_record(t, &t->v[i]))
            return false;
    sbx_blob_index_each(t->cache, take_name, t);
    return true;
}

enum sbx_code sbx_cache_things(struct sbx_cache *c, const struct sbx_cache_entry *v, size_t n,
                               struct sbx_arena *arena, struct sbx_cache_thing **ret, size_t *ret_n,
                               struct sbx_err *err)
{
    static const char *const none[] = { NULL };
    struct things t = { .cache = c, .arena = arena, .n_sorted = n };
    struct sbx_cache_thing *list = sbx_arena_array(arena, n + 1, sizeof(*list));

    t.sorted = sbx_arena_array(arena, n + 1, sizeof(*t.sorted));
    t.claimed = sbx_arena_array(arena, n + 1, sizeof(*t.claimed));
    t.v = sbx_arena_array(arena, n + 1, sizeof(*t.v));
    if (!list || !t.sorted || !t.claimed || !t.v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++)
        t.sorted[i] = &v[i];
    qsort(t.sorted, n, sizeof(*t.sorted), by_name);
    if (!find_all(&t))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < t.n; i++) {
        list[i] = t.v[i].pub;
        if (!list[i].references)
            list[i].references = none;
    }
    qsort(list, t.n, sizeof(*list), by_use);
    *ret = list;
    *ret_n = t.n;
    return SBX_OK;
}
