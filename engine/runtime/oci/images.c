#include <stdio.h>
#include <string.h>

#include "oci.h"
#include "sbx/image_pull.h"

static const char *first_name(const struct sbx_store_image *i)
{
    return i->names[0] ? i->names[0] : i->id;
}

static struct sbx_image image_of(const struct sbx_store_image *i, const char *reference)
{
    return (struct sbx_image){
        .id = i->id,
        .reference = reference,
        .env = i->env,
        .workdir = i->workdir,
        .user = i->user,
        .entrypoint = i->entrypoint,
        .cmd = i->cmd,
        .labels = i->labels,
        .size = i->size,
        .created = i->created,
    };
}

#define TOLD_MIN 1000000 /* bytes; of smaller blobs nothing is said */

static void on_bytes(void *ctx, const char *digest, int64_t done, int64_t total)
{
    const struct sbx_progress *progress = ctx;
    char line[64];

    if (progress && progress->bytes) {
        progress->bytes(progress->ctx, digest, done, total);
        return;
    }
    if (!progress || !progress->line || done < total || total < TOLD_MIN)
        return;
    snprintf(line, sizeof(line), "layer %.12s: %.1f MB", digest + strlen("sha256:"),
             (double)total / 1e6);
    progress->line(progress->ctx, line);
}

static void on_line(void *ctx, const char *text)
{
    const struct sbx_progress *progress = ctx;

    if (progress && progress->line)
        progress->line(progress->ctx, text);
}

static enum sbx_code fetch(struct sbx_store *store, const char *reference,
                           const struct sbx_progress *progress, struct sbx_err *err)
{
    struct sbx_oci_progress told = { .line = on_line, .bytes = on_bytes, .ctx = (void *)progress };

    return sbx_image_pull(store, reference, &told, err);
}

enum sbx_code oci_image_ensure(struct sbx_runtime *rt, const char *reference, enum sbx_pull pull,
                               const struct sbx_progress *progress, struct sbx_arena *arena,
                               struct sbx_image *ret, struct sbx_err *err)
{
    struct sbx_store *store = oci_store((struct oci *)rt, err);
    struct sbx_store_image image;
    enum sbx_code rc;

    if (!store)
        return SBX_IO;
    rc = pull == SBX_PULL_ALWAYS ? fetch(store, reference, progress, err) : SBX_OK;
    if (!rc)
        rc = sbx_store_find(store, reference, arena, &image, err);
    if (rc == SBX_NOT_FOUND && pull == SBX_PULL_NEVER)
        return sbx_err_set(err, rc,
                           "not in the local store, and pulling was not allowed; --pull missing "
                           "fetches it");
    if (rc == SBX_NOT_FOUND && pull == SBX_PULL_MISSING) {
        rc = fetch(store, reference, progress, err);
        if (rc)
            return sbx_err_wrap(
                err, rc, "not in the local store (\"sbx template load\" brings one from a file)");
        rc = sbx_store_find(store, reference, arena, &image, err);
    }
    if (rc)
        return rc;
    *ret = image_of(&image, sbx_arena_strdup(arena, reference));
    return ret->reference ? SBX_OK : oci_no_memory(err);
}

enum sbx_code oci_image_load(struct sbx_runtime *rt, const char *path, struct sbx_arena *arena,
                             const char ***ret_names, size_t *ret_n, struct sbx_err *err)
{
    struct sbx_store *store = oci_store((struct oci *)rt, err);

    return store ? sbx_store_import(store, path, arena, ret_names, ret_n, err) : SBX_IO;
}

enum sbx_code oci_image_list(struct sbx_runtime *rt, struct sbx_arena *arena,
                             struct sbx_image **ret, size_t *ret_n, struct sbx_err *err)
{
    struct sbx_store *store = oci_store((struct oci *)rt, err);
    struct sbx_store_image *images;
    struct sbx_image *out;
    size_t n, rows = 0, k = 0;
    enum sbx_code rc = store ? sbx_store_list(store, arena, &images, &n, err) : SBX_IO;

    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        size_t names = 0;

        while (images[i].names[names])
            names++;
        rows += names ? names : 1;
    }
    out = sbx_arena_array(arena, rows + 1, sizeof(*out));
    if (!out)
        return oci_no_memory(err);
    for (size_t i = 0; i < n; i++) { /* a row a reference, as users know it */
        out[k++] = image_of(&images[i], first_name(&images[i]));
        for (size_t j = 1; images[i].names[0] && images[i].names[j]; j++)
            out[k++] = image_of(&images[i], images[i].names[j]);
    }
    *ret = out;
    *ret_n = k;
    return SBX_OK;
}

struct user_of {
    struct oci *o;
    const char *image;
    bool found;
};

static enum sbx_code uses(struct oci *o, struct box *b, void *ctx, struct sbx_err *err)
{
    struct user_of *u = ctx;

    (void)o;
    (void)err;
    u->found = u->found || strcmp(box_text(b, "image"), u->image) == 0;
    return SBX_OK;
}

/* When in doubt it is in use: a sandbox without its layers could not be saved any more. */
static bool used(void *ctx, const char *id)
{
    struct user_of u = { .o = ctx, .image = id };

    return box_each(ctx, uses, &u, NULL) || u.found;
}

enum sbx_code oci_image_remove(struct sbx_runtime *rt, const char *reference, struct sbx_err *err)
{
    struct oci *o = (struct oci *)rt;
    struct sbx_store *store = oci_store(o, err);

    return store ? sbx_store_remove(store, reference, used, o, err) : SBX_IO;
}
