/* The program's own kits by digest, for names that no other kit may take (S30). */
#include "resolve_impl.h"

#include "sbx/builtin.h"

const char *sbx_builtin_digest(const char *name, void *loader)
{
    const struct sbx_loader *l = loader;
    const struct sbx_embedded_kit *own = sbx_builtin_kit(name);
    SBX_AUTO_PTR(sbx_artifact) kit = NULL;
    SBX_AUTO(sbx_diags) unused = { 0 };

    if (!own || sbx_diags_init(&unused) || sbx_kit_load_embedded(own, &unused, &kit, NULL))
        return NULL; /* nothing to be equal to: the other kit is refused */
    return sbx_arena_strdup(l->arena, kit->digest);
}
