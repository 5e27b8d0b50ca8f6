/* A kit from its place into the cache: CACHE/kits/HEX, named by its manifest's digest. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact.h"
#include "remote.h"
#include "sbx/file.h"
#include "sbx/yaml.h"
#include "work.h"

struct fetch {
    const struct sbx_kit_io *io;
    const struct sbx_place *place;
    struct sbx_cache *cache;
    struct kit_remote *rm; /* NULL until something is not in the cache */
    struct sbx_arena *arena;
    bool verify; /* only from blobs of the cache, and only from whole ones */
};

static enum sbx_code need_remote(struct fetch *f, struct sbx_err *err)
{
    if (f->verify)
        return sbx_err_set(err, SBX_NOT_FOUND, "a blob of it is not in the cache");
    return f->rm ? SBX_OK : kit_remote_open(f->io, f->place, KIT_READ, &f->rm, err);
}

static enum sbx_code check_blob(struct fetch *f, const char *digest, struct sbx_err *err)
{
    const struct sbx_cache_entry e = { .kind = "blob", .name = digest + strlen("sha256:") };
    bool good = true;
    enum sbx_code rc = f->verify ? sbx_cache_check(f->cache, &e, &good, err) : SBX_OK;

    return rc || good ? rc : sbx_err_set(err, SBX_SCHEMA, "blob %s is damaged", digest);
}

/* From the cache, else from the place. */
static enum sbx_code get_manifest(struct fetch *f, struct sbx_buf *out, struct sbx_err *err)
{
    char unused[SBX_DIGEST_TEXT_SIZE], self[64];
    struct sbx_oci_doc doc;
    SBX_AUTO_FD int fd = -1;
    enum sbx_code rc;

    if (sbx_blob_has(f->cache, f->place->digest, NULL) &&
        !sbx_blob_open(f->cache, f->place->digest, &fd, NULL)) {
        snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
        rc = check_blob(f, f->place->digest, err);
        return rc ? rc : sbx_file_read(AT_FDCWD, self, out, err);
    }
    rc = need_remote(f, err);
    if (!rc)
        rc = f->rm->ops->manifest(f->rm, f->place->digest, f->arena, &doc, err);
    if (!rc)
        rc = sbx_blob_put_mem(f->cache, doc.text, doc.len, f->place->digest, unused, err);
    return rc ? rc : sbx_buf_add(out, doc.text, doc.len);
}

static enum sbx_code get_blob(struct fetch *f, const struct kit_blob *b, int *ret_fd,
                              struct sbx_err *err)
{
    struct stat st;
    enum sbx_code rc = SBX_OK;

    if (!sbx_blob_has(f->cache, b->digest, NULL)) {
        rc = need_remote(f, err);
        if (!rc)
            rc = f->rm->ops->pull_blob(f->rm, b->digest, b->size, f->cache, err);
    }
    if (!rc)
        rc = check_blob(f, b->digest, err);
    if (!rc)
        rc = sbx_blob_open(f->cache, b->digest, ret_fd, err);
    if (!rc && (fstat(*ret_fd, &st) || st.st_size != b->size))
        rc = sbx_err_set(err, SBX_SCHEMA, "blob %s has %lld bytes, but the manifest says %lld",
                         b->digest, (long long)st.st_size, (long long)b->size);
    return rc;
}

/* The type of the configuration says version 2; the text must not say another one. */
static enum sbx_code check_version(const struct sbx_buf *text, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO(sbx_diags) unused = { 0 };
    const struct sbx_yaml_node *root = NULL, *n;

    if (!arena || sbx_diags_init(&unused))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (sbx_yaml_parse(arena, "spec.yaml", text->ptr ? text->ptr : "", text->len, &unused, &root))
        return SBX_OK; /* loading it says where it is broken */
    n = root ? sbx_yaml_get(root, "schemaVersion") : NULL;
    if (n && !sbx_yaml_is(n, "2"))
        return sbx_err_set(err, SBX_UNSUPPORTED, "its spec is not of schemaVersion \"2\"");
    return SBX_OK;
}

static enum sbx_code write_spec(struct fetch *f, const struct kit_blob *b, int dir,
                                struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX);
    SBX_AUTO_FD int fd = -1, out = -1;
    char self[64];
    enum sbx_code rc = get_blob(f, b, &fd, err);

    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (!rc)
        rc = sbx_file_read(AT_FDCWD, self, &text, err);
    if (!rc)
        rc = check_version(&text, err);
    if (rc)
        return rc;
    out = openat(dir, "spec.yaml", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0 || sbx_write_all(out, text.ptr ? text.ptr : "", text.len) || fchmod(out, 0644))
        return sbx_err_errno(err, "write spec.yaml");
    return SBX_OK;
}

/* A name in the cache's index, for other tools: the cache is a layout. And the reference, for people. */
static enum sbx_code name_it(struct fetch *f, size_t size, struct sbx_err *err)
{
    SBX_AUTO_FREE char *path = f->place->layout ? realpath(f->place->path, NULL) : NULL;
    struct sbx_place p = *f->place;
    const char *name = sbx_arena_printf(f->arena, "%s%s%s@%s", p.layout ? "" : p.registry,
                                        p.layout ? "" : "/", p.layout ? "kit" : p.repository,
                                        p.digest);
    const char *reference;
    enum sbx_code rc;

    if (path)
        p.path = path;
    reference = sbx_place_pinned(f->arena, &p, p.digest);
    if (!name || !reference)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_blob_index(f->cache, p.digest, size, TYPE_MANIFEST, name, err);
    return rc || !f->rm ? rc : sbx_cache_name(f->cache, p.digest, reference, err);
}

static enum sbx_code fill(struct fetch *f, int dir, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_REGISTRY_MANIFEST_MAX);
    SBX_AUTO_FD int layer = -1;
    struct kit_manifest m;
    enum sbx_code rc = get_manifest(f, &text, err);

    if (!rc)
        rc = kit_manifest_parse(text.ptr ? text.ptr : "", text.len, &m, err);
    if (!rc)
        rc = write_spec(f, &m.config, dir, err);
    if (!rc && m.has_layer)
        rc = get_blob(f, &m.layer, &layer, err);
    if (!rc && m.has_layer)
        rc = kit_layer_unpack(layer, dir, err);
    return rc || f->verify ? rc : name_it(f, text.len, err);
}

enum sbx_code kit_fill_from_cache(struct sbx_cache *cache, const char *digest, int dir,
                                  struct sbx_err *err)
{
    const struct sbx_place place = { .text = digest, .digest = digest };
    struct fetch f = { .place = &place, .cache = cache, .verify = true };

    return fill(&f, dir, err);
}

/* A directory with all of it; its lock (*ret_fd) says that somebody is at work on it. */
static enum sbx_code make(struct fetch *f, char **ret_tmp, int *ret_fd, struct sbx_err *err)
{
    SBX_AUTO_FREE char *tmp = NULL;
    SBX_AUTO_FD int dir = -1;
    enum sbx_code rc = kit_work_make(f->io->cache, &tmp, &dir, err);

    if (rc)
        return rc;
    rc = fill(f, dir, err);
    if (rc && sbx_dir_remove(AT_FDCWD, tmp, NULL))
        return rc; /* `cache prune` removes it */
    if (rc)
        return rc;
    *ret_tmp = SBX_TAKE(tmp);
    *ret_fd = sbx_take_fd(&dir);
    return SBX_OK;
}

/* All of it, or nothing: made under another name. */
static enum sbx_code make_named(struct fetch *f, const char *path, struct sbx_err *err)
{
    SBX_AUTO_FREE char *tmp = NULL;
    SBX_AUTO_FD int dir = -1;
    enum sbx_code rc = make(f, &tmp, &dir, err);

    if (rc)
        return rc;
    if (sbx_cache_sync_tree(dir))
        rc = sbx_err_errno(err, "write %s", tmp);
    if (!rc && rename(tmp, path) && errno != EEXIST && errno != ENOTEMPTY)
        rc = sbx_err_errno(err, "name %s", path);
    if (!access(tmp, F_OK) && sbx_dir_remove(AT_FDCWD, tmp, NULL))
        return rc;
    return rc;
}

/*
 * With `ret_mine` a kit that is not unpacked yet is unpacked for the caller alone. Either directory is held
 * until this process ends: the caller reads or moves it when the cache is no longer in use.
 */
static enum sbx_code bring(const struct sbx_kit_io *io, const struct sbx_place *p, bool *ret_mine,
                           char **ret_dir, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_PTR(sbx_cache) cache = NULL;
    SBX_AUTO_FREE char *path = NULL, *tmp = NULL;
    SBX_AUTO_FD int dir = -1, use = -1;
    struct fetch f = { .io = io, .place = p, .arena = arena };
    enum sbx_code rc;

    if (!arena ||
        asprintf(&path, "%s/kits/%s", io->cache, p->digest + strlen("sha256:")) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_cache_open(io->cache, &cache, err);
    if (!rc)
        rc = sbx_cache_use(cache, &use, err);
    f.cache = cache;
    if (!rc && access(path, F_OK)) {
        sbx_cache_hurry(cache);
        rc = ret_mine ? make(&f, &tmp, &dir, err) : make_named(&f, path, err);
        kit_remote_close(f.rm);
    }
    if (rc)
        return sbx_err_wrap(err, rc, "kit %s", p->text);
    if (ret_mine)
        *ret_mine = tmp != NULL;
    if (tmp)
        (void)sbx_take_fd(&dir);
    else
        sbx_cache_hold(path);
    *ret_dir = tmp ? SBX_TAKE(tmp) : SBX_TAKE(path);
    return SBX_OK;
}

enum sbx_code sbx_kit_fetch(const struct sbx_kit_io *io, const struct sbx_place *p, char **ret_dir,
                            struct sbx_err *err)
{
    return bring(io, p, NULL, ret_dir, err);
}

enum sbx_code sbx_kit_unpack(const struct sbx_kit_io *io, const struct sbx_place *p, bool *ret_mine,
                             char **ret_dir, struct sbx_err *err)
{
    return bring(io, p, ret_mine, ret_dir, err);
}

enum sbx_code sbx_kit_look(const struct sbx_kit_io *io, const struct sbx_place *p,
                           char ret_digest[SBX_DIGEST_TEXT_SIZE], struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_PTR(kit_remote) rm = NULL;
    struct sbx_oci_doc doc;
    enum sbx_code rc = arena ? kit_remote_open(io, p, KIT_READ, &rm, err)
                             : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");

    if (!rc)
        rc = rm->ops->look(rm, sbx_place_reference(p), arena, &doc, err);
    if (rc)
        return sbx_err_wrap(err, rc, "%s", p->text);
    memcpy(ret_digest, doc.digest, sizeof(doc.digest));
    return SBX_OK;
}

enum sbx_code sbx_kit_manifest(const struct sbx_kit_io *io, const struct sbx_place *p,
                               struct sbx_arena *arena, struct sbx_oci_doc *ret,
                               struct sbx_err *err)
{
    SBX_AUTO_PTR(kit_remote) rm = NULL;
    struct kit_manifest unused;
    enum sbx_code rc = kit_remote_open(io, p, KIT_READ, &rm, err);

    if (!rc)
        rc = rm->ops->manifest(rm, sbx_place_reference(p), arena, ret, err);
    if (!rc)
        rc = kit_manifest_parse(ret->text, ret->len, &unused, err);
    return rc ? sbx_err_wrap(err, rc, "%s", p->text) : SBX_OK;
}
