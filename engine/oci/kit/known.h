/* A kit that was pulled keeps its bytes when it is pushed on, whoever packed it. */
#ifndef SBX_KIT_KNOWN_H
#define SBX_KIT_KNOWN_H

#include "artifact.h"

struct kit_known {
    struct kit_manifest m;
    const char *text; /* the manifest's bytes; NULL: no such kit is in the cache */
    size_t len;
};

/**
 * The artifact in the cache that has this configuration and exactly these files. Everything of it is in the cache then.
 *
 * @param spec_digest of the configuration's bytes
 * @return SBX_OK, also where there is none; SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code kit_known_find(const struct sbx_kit_io *io, struct sbx_cache *cache,
                                          const struct sbx_artifact *a, const char *spec_digest,
                                          struct sbx_arena *arena, struct kit_known *ret,
                                          struct sbx_err *err);

#endif
