/* files/: an overlay by target and path; the last kit wins. */
#include <stdlib.h>
#include <string.h>

#include "compose.h"
#include "load.h"

static int compare_places(const struct sbx_static_file *a, const struct sbx_static_file *b)
{
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    return strcmp(a->path, b->path);
}

/* A file with the number of its kit: by place, then by kit. */
struct layer {
    const struct sbx_static_file *file;
    size_t kit;
};

static int compare_layers(const void *a, const void *b)
{
    const struct layer *x = a, *y = b;
    int order = compare_places(x->file, y->file);

    return order ? order : (x->kit > y->kit) - (x->kit < y->kit);
}

static struct layer *sorted_layers(struct sbx_composer *c, size_t *ret_n)
{
    struct layer *layers;
    size_t n = 0;

    for (size_t k = 0; k < c->n; k++)
        n += c->kits[k]->files.len;
    layers = calloc(n ? n : 1, sizeof(*layers));
    if (!layers) {
        c->no_memory = true;
        return NULL;
    }
    *ret_n = n;
    n = 0;
    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; i < c->kits[k]->files.len; i++)
            layers[n++] = (struct layer){ &c->kits[k]->files.v[i], k };
    qsort(layers, n, sizeof(*layers), compare_layers);
    return layers;
}

static int compare_to_file(const void *key, const void *file)
{
    return compare_places(key, file);
}

/* What one kit has as a file, another may not have as a directory. */
static void check_directories(struct sbx_composer *c, const struct sbx_static_file *f)
{
    SBX_AUTO_FREE char *path = strdup(f->path);
    struct sbx_static_file key = { .target = f->target, .path = path };
    const struct sbx_static_file *found;

    if (!path) {
        c->no_memory = true;
        return;
    }
    for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
        *slash = '\0';
        found = bsearch(&key, c->out->files.v, c->out->files.len, sizeof(*found), compare_to_file);
        if (!found)
            continue;
        sbx_compose_conflict(c, "file-conflict", f->at, "files", "rename one of them",
                             "compose: files/%s/%s is a file in kit %s and a directory in kit %s",
                             f->target == SBX_TARGET_HOME ? "home" : "workspace", path,
                             found->at.kit ? found->at.kit : "?", f->at.kit ? f->at.kit : "?");
        return;
    }
}

void sbx_compose_files(struct sbx_composer *c)
{
    struct sbx_artifact *out = c->out;
    size_t n = 0;
    SBX_AUTO_FREE struct layer *layers = sorted_layers(c, &n);

    out->files.v = sbx_copy_array(c, n, sizeof(*out->files.v));
    out->files.set = n > 0;
    for (size_t i = 0; i < n && !c->no_memory; i++) {
        bool covered = i + 1 < n && !compare_places(layers[i].file, layers[i + 1].file);

        if (!covered)
            out->files.v[out->files.len++] = sbx_copy_file(c, layers[i].file);
    }
    for (size_t i = 0; i < out->files.len && !c->no_memory; i++)
        check_directories(c, &out->files.v[i]);
}
