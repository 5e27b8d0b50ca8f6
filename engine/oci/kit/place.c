#include "remote.h"

#include <string.h>

#define NO_REGISTRY                                                                                \
    "reference \"%.200s\" names no registry; write HOST/REPOSITORY:TAG, such as "                  \
    "ghcr.io/me/kit:1.0 (or "                                                                      \
    "oci-layout:DIRECTORY:TAG)"

bool sbx_place_is(const char *text)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_ref ref;

    return arena && !sbx_ref_parse(text, arena, &ref, NULL) &&
           (ref.kind == SBX_REF_OCI || ref.kind == SBX_REF_LAYOUT);
}

struct sbx_place sbx_place_of(const struct sbx_ref *ref)
{
    return (struct sbx_place){ .text = ref->text,
                               .layout = ref->kind == SBX_REF_LAYOUT,
                               .path = ref->path,
                               .registry = ref->registry,
                               .repository = ref->repository,
                               .tag = ref->tag,
                               .digest = ref->digest };
}

/* "me/kit:1" and "kit:1": what docker would take for a place on Docker Hub is a path here. */
static bool has_host(const char *text)
{
    size_t first = strcspn(text, "/");

    if (strstr(text, "://") || !strncmp(text, "oci-layout:", 11))
        return true;
    return text[first] && (memchr(text, '.', first) || memchr(text, ':', first) ||
                           !strncmp(text, "localhost/", 10));
}

enum sbx_code sbx_place_parse(const char *text, struct sbx_arena *arena, struct sbx_place *ret,
                              struct sbx_err *err)
{
    struct sbx_ref ref;
    enum sbx_code rc;

    if (!strncmp(text, "http://", 7) || !strncmp(text, "https://", 8))
        return sbx_err_set(err, SBX_SCHEMA, "%.200s: write the place without \"%.*s\": %.200s",
                           text, text[4] == 's' ? 8 : 7, text, strstr(text, "://") + 3);
    if (!has_host(text))
        return sbx_err_set(err, SBX_SCHEMA, NO_REGISTRY, text);
    rc = sbx_ref_parse(text, arena, &ref, err);
    if (rc)
        return rc;
    if (ref.kind != SBX_REF_OCI && ref.kind != SBX_REF_LAYOUT)
        return sbx_err_set(err, SBX_SCHEMA, NO_REGISTRY, text);
    *ret = sbx_place_of(&ref);
    return SBX_OK;
}

static bool ends(const char *text, const char *with)
{
    size_t len = strlen(text), n = strlen(with);

    return len > n && !strcasecmp(text + len - n, with);
}

enum sbx_code sbx_kit_not_a_directory(const char *path, struct sbx_err *err)
{
    if (ends(path, ".zip"))
        return sbx_err_set(err, SBX_UNSUPPORTED, SBX_REF_ZIP_HINT);
    if (ends(path, ".tar"))
        return sbx_err_set(err, SBX_USAGE,
                           "is a file; an archive of \"sbx kit pack\" is written oci-layout:%.300s:TAG, where it is "
                           "used oci-layout:%.300s@sha256:<digest>", path, path);
    return sbx_err_set(err, SBX_USAGE, "is a file; give the directory that holds spec.yaml");
}

const char *sbx_place_pinned(struct sbx_arena *arena, const struct sbx_place *p, const char *digest)
{
    if (p->layout)
        return sbx_arena_printf(arena, "oci-layout:%s@%s", p->path, digest);
    return sbx_arena_printf(arena, "oci://%s/%s@%s", p->registry, p->repository, digest);
}

const char *sbx_place_reference(const struct sbx_place *p)
{
    return p->digest ? p->digest : p->tag ? p->tag : "latest";
}

enum sbx_code kit_remote_open(const struct sbx_kit_io *io, const struct sbx_place *p,
                              enum kit_use use, struct kit_remote **ret, struct sbx_err *err)
{
    return p->layout ? kit_remote_open_layout(p->path, io->cache, use == KIT_MAKE, ret, err)
                     : kit_remote_open_registry(io, p, use, ret, err);
}

void kit_remote_close(struct kit_remote *rm)
{
    if (rm)
        rm->ops->free(rm);
}
