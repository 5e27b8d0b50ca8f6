#include "remote.h"

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

enum sbx_code sbx_place_parse(const char *text, struct sbx_arena *arena, struct sbx_place *ret,
                              struct sbx_err *err)
{
    struct sbx_ref ref;
    enum sbx_code rc = sbx_ref_parse(text, arena, &ref, err);

    if (rc)
        return rc;
    if (ref.kind != SBX_REF_OCI && ref.kind != SBX_REF_LAYOUT)
        return sbx_err_set(err, SBX_SCHEMA,
                           "reference \"%.200s\" names no registry; write HOST/REPOSITORY:TAG (or "
                           "oci-layout:DIRECTORY:TAG)",
                           text);
    *ret = sbx_place_of(&ref);
    return SBX_OK;
}

const char *sbx_place_pinned(struct sbx_arena *arena, const struct sbx_place *p,
                             const char *digest)
{
    if (p->layout)
        return sbx_arena_printf(arena, "oci-layout:%s@%s", p->path, digest);
    return sbx_arena_printf(arena, "oci://%s/%s@%s", p->registry, p->repository, digest);
}

const char *sbx_place_reference(const struct sbx_place *p)
{
    return p->digest ? p->digest : p->tag ? p->tag : "latest";
}

enum sbx_code kit_remote_open(const struct sbx_kit_io *io, const struct sbx_place *p, bool make,
                              struct kit_remote **ret, struct sbx_err *err)
{
    return p->layout ? kit_remote_open_layout(p->path, make, ret, err)
                     : kit_remote_open_registry(io, p, ret, err);
}

void kit_remote_close(struct kit_remote *rm)
{
    if (rm)
        rm->ops->free(rm);
}
