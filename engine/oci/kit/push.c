/* From a directory to an artifact, and on to its place. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "again.h"
#include "anchor.h"
#include "artifact.h"
#include "known.h"
#include "sbx/file.h"

#define LOCAL_LOOK_MS 10000 /* for a place without a network, a look-up is a courtesy */

struct push {
    const struct sbx_kit_io *io;
    const struct sbx_place *place;
    enum sbx_anchor anchor;
    struct sbx_arena *arena;
    struct sbx_pushed *ret;
    struct sbx_artifact *a;
    struct sbx_cache *cache;
    struct kit_remote *rm;
    struct sbx_buf spec; /* the configuration's bytes */
    struct kit_image image;
    bool has_image; /* pinned */
    char note[512];
};

static enum sbx_code read_spec(const char *dir, struct sbx_buf *out, const char **ret_name,
                               struct sbx_err *err)
{
    static const char *const names[] = SBX_KIT_SPEC_NAMES;
    SBX_AUTO_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum sbx_code rc = SBX_NOT_FOUND;

    if (fd < 0)
        return sbx_err_errno(err, "%s", dir);
    for (size_t i = 0; rc == SBX_NOT_FOUND && i < SBX_ARRAY_LEN(names); i++) {
        *ret_name = names[i];
        rc = sbx_file_read(fd, names[i], out, err);
    }
    return rc;
}

/* What an artifact cannot name is told to its author, not to all who fetch it (S24, C5). */
static enum sbx_code check_named(const char *field, const char *reference, struct sbx_arena *arena,
                                 struct sbx_err *err)
{
    const struct sbx_ref artifact = { .kind = SBX_REF_OCI, .text = "" };
    struct sbx_ref ref;
    enum sbx_code rc = sbx_ref_parse_in(&artifact, reference, arena, &ref, err);

    if (!rc)
        rc = sbx_ref_require_immutable(&ref, err);
    return rc ? sbx_err_wrap(err, rc, "%s", field) : SBX_OK;
}

static enum sbx_code check_all_named(struct push *p, struct sbx_err *err)
{
    enum sbx_code rc = p->a->extends && *p->a->extends
                           ? check_named("extends", p->a->extends, p->arena, err)
                           : SBX_OK;

    for (size_t i = 0; !rc && i < p->a->mixins.len; i++)
        rc = check_named("mixins", p->a->mixins.v[i], p->arena, err);
    return rc;
}

static enum sbx_code load(struct push *p, const char *dir, struct sbx_diags *diags,
                          struct sbx_buf *text, const char **ret_name, struct sbx_err *err)
{
    /* Mixins that it names are applied by those who use it: nothing to warn the publisher of. */
    const struct sbx_kit_options options = { .for_use = true };
    struct stat st;
    enum sbx_code rc;

    if (!strncmp(dir, "git+", 4))
        return sbx_err_set(err, SBX_USAGE, "%.300s: fetch it first: sbx kit pull REFERENCE DIRECTORY", dir);
    if (!stat(dir, &st) && !S_ISDIR(st.st_mode))
        return sbx_err_wrap(err, sbx_kit_not_a_directory(dir, err), "%s", dir);
    rc = sbx_kit_load_with(dir, &options, diags, &p->a, err);
    if (!rc && strcmp(p->a->schema_version, "2") != 0)
        rc = sbx_err_set(err, SBX_UNSUPPORTED,
                         "kit %s is of version 1, which is not pushed: run \"sbx kit migrate %s\" "
                         "first",
                         p->a->name, dir);
    if (!rc && (rc = check_all_named(p, err)))
        sbx_err_wrap(err, rc, "kit %s", p->a->name);
    return rc ? rc : read_spec(dir, text, ret_name, err);
}

/* A place on this machine takes the kit as it is when the image's registry does not answer. */
static enum sbx_code pin(struct push *p, struct sbx_err *err)
{
    struct sbx_kit_io io = *p->io;
    struct sbx_err why = SBX_ERR_INIT;
    enum sbx_code rc;

    if (!p->a->image || !*p->a->image)
        return SBX_OK;
    if (p->place->layout)
        io.limit_ms = LOCAL_LOOK_MS;
    rc = kit_image_pin(&io, p->a->image, p->arena, &p->image, p->place->layout ? &why : err);
    if (rc == SBX_OK)
        p->has_image = true;
    if (rc && p->place->layout && rc != SBX_NO_MEMORY) {
        snprintf(p->note, sizeof(p->note), "the image is not pinned: %.400s", why.text);
        rc = SBX_OK;
    }
    p->ret->image = sbx_arena_strdup(p->arena, p->has_image ? p->image.pinned : p->a->image);
    return rc || p->ret->image ? rc : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code make_spec(struct push *p, const char *dir, const char *name,
                               const struct sbx_buf *text, struct sbx_err *err)
{
    const char *image = p->has_image && strcmp(p->image.pinned, p->a->image) != 0 ? p->image.pinned
                                                                                  : NULL;
    enum sbx_code rc;

    if (!image && !p->a->build.set)
        return sbx_buf_add(&p->spec, text->ptr, text->len);
    rc = kit_spec_distribute(name, text->ptr, text->len, image, &p->spec, err);
    return rc ? sbx_err_wrap(err, rc, "%s/%s", dir, name) : SBX_OK;
}

static enum sbx_code push_spec(struct push *p, struct kit_remote *rm, struct kit_blob *ret,
                               struct sbx_err *err)
{
    SBX_AUTO_FD int fd = memfd_create("spec", MFD_CLOEXEC);

    if (fd < 0 || sbx_write_all(fd, p->spec.ptr, p->spec.len))
        return sbx_err_errno(err, "keep the spec");
    if (sbx_digest(p->spec.ptr, p->spec.len, ret->digest))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    ret->size = (int64_t)p->spec.len;
    return rm->ops->push_blob(rm, ret->digest, ret->size, fd, err);
}

/* The configuration, sent beside the layer by a thread of its own. */
struct side {
    struct push *p;
    struct kit_remote *rm;
    struct kit_blob *ret;
    atomic_bool *stop; /* of both: who fails does not let the other send gigabytes for nothing */
    enum sbx_code rc;
    struct sbx_err err;
};

static void *push_beside(void *ctx)
{
    struct side *s = ctx;

    s->rc = push_spec(s->p, s->rm, s->ret, &s->err);
    if (s->rc)
        atomic_store(s->stop, true);
    return NULL;
}

static enum sbx_code push_blobs(struct push *p, int layer, struct kit_manifest *m,
                                struct sbx_err *err)
{
    SBX_AUTO_PTR(kit_remote) twin = NULL;
    atomic_bool stop = false;
    struct side s = { .p = p, .ret = &m->config, .stop = &stop, .err = SBX_ERR_INIT };
    pthread_t thread;
    bool beside;
    enum sbx_code rc = p->rm->ops->twin(p->rm, &twin, err);

    if (rc)
        return rc;
    s.rm = twin;
    twin->stop = p->rm->stop = &stop;
    beside = !pthread_create(&thread, NULL, push_beside, &s);
    if (!beside)
        push_beside(&s);
    rc = m->has_layer ? p->rm->ops->push_blob(p->rm, m->layer.digest, m->layer.size, layer, err)
                      : SBX_OK;
    if (rc)
        atomic_store(&stop, true);
    if (beside)
        pthread_join(thread, NULL);
    p->rm->stop = NULL;
    if (!s.rc || (rc && rc != SBX_CANCELED))
        return rc;
    if (err)
        *err = s.err;
    return s.rc;
}

/* What was pulled goes on as it is, with its digest; else the files are packed. */
static enum sbx_code prepare(struct push *p, struct kit_known *known, int *ret_layer,
                             struct sbx_err *err)
{
    char spec[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc = sbx_digest(p->spec.ptr, p->spec.len, spec);

    if (rc)
        return sbx_err_set(err, rc, "out of memory");
    rc = kit_known_find(p->io, p->cache, p->a, spec, p->arena, known, err);
    if (rc)
        return rc;
    if (known->text)
        return known->m.has_layer ? sbx_blob_open(p->cache, known->m.layer.digest, ret_layer, err)
                                  : SBX_OK;
    known->m.has_layer = true;
    return kit_layer_make(p->a, p->io->cache, ret_layer, &known->m.layer, err);
}

static enum sbx_code push_manifest(struct push *p, const char *tag, const char *text, size_t len,
                                   struct sbx_err *err)
{
    enum sbx_code rc = sbx_digest(text, len, p->ret->digest);

    return rc ? sbx_err_set(err, rc, "out of memory")
              : p->rm->ops->push_manifest(p->rm, tag, TYPE_MANIFEST, text, len, err);
}

static enum sbx_code publish(struct push *p, struct sbx_err *err)
{
    const char *tag = p->place->tag ? p->place->tag : "latest";
    struct kit_known known;
    SBX_AUTO_FREE char *text = NULL;
    SBX_AUTO_FD int layer = -1;
    enum sbx_code rc = prepare(p, &known, &layer, err);

    if (!rc)
        rc = kit_remote_open(p->io, p->place, KIT_MAKE, &p->rm, err);
    if (!rc && p->has_image) /* before the kit: a kit that can be found has its anchor */
        rc = kit_anchor_make(p->io, &p->image, p->rm, p->cache, p->anchor, tag, p->arena, p->ret,
                             err);
    if (!rc)
        rc = push_blobs(p, layer, &known.m, err);
    if (!rc && known.text)
        return push_manifest(p, tag, known.text, known.len, err);
    if (!rc)
        rc = kit_manifest_write(p->a, &known.m, &text, err);
    return rc ? rc : push_manifest(p, tag, text, strlen(text), err);
}

enum sbx_code sbx_kit_push(const struct sbx_kit_io *io, const char *dir, const struct sbx_place *p,
                           enum sbx_anchor anchor, struct sbx_diags *diags,
                           struct sbx_arena *arena, struct sbx_pushed *ret, struct sbx_err *err)
{
    struct push push = { .io = io, .place = p, .anchor = anchor, .arena = arena, .ret = ret,
                         .spec = SBX_BUF_INIT(SBX_SPEC_MAX) };
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX);
    const char *name = NULL;
    SBX_AUTO_FD int use = -1;
    enum sbx_code rc;

    *ret = (struct sbx_pushed){ .image = NULL };
    if (p->digest)
        return sbx_err_set(err, SBX_USAGE, "%s: a push has a tag, not a digest", p->text);
    if (access(dir, F_OK) && sbx_place_is(dir))
        return kit_push_again(io, dir, p, anchor, diags, arena, ret, err);
    rc = load(&push, dir, diags, &text, &name, err);
    if (!rc)
        rc = pin(&push, err);
    if (!rc)
        rc = make_spec(&push, dir, name, &text, err);
    if (!rc)
        rc = sbx_cache_open(io->cache, &push.cache, err);
    if (!rc)
        rc = sbx_cache_use(push.cache, &use, err);
    if (!rc && (rc = publish(&push, err)))
        sbx_err_wrap(err, rc, "push to %s", p->text);
    if (push.note[0])
        ret->note = sbx_arena_strdup(arena, push.note);
    kit_remote_close(push.rm);
    sbx_cache_close(push.cache);
    sbx_artifact_free(push.a);
    sbx_buf_release(&push.spec);
    return rc;
}
