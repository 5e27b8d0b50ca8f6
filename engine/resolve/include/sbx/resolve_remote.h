/**
 * @file
 * Kits from registries and git for the resolver: fetched into the cache, loaded from there. After the
 * first time no network is needed.
 */
#ifndef SBX_RESOLVE_REMOTE_H
#define SBX_RESOLVE_REMOTE_H

#include "sbx/kit_artifact.h"
#include "sbx/resolve.h"

/** Fill in `ret`; `io` must outlive it. */
void sbx_resolve_remote(const struct sbx_kit_io *io, struct sbx_remote *ret);

#endif
