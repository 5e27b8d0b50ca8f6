/**
 * @file
 * What is in the cache, as a person names it, and which sandboxes were made from it.
 */
#ifndef SBX_CLI_THINGS_H
#define SBX_CLI_THINGS_H

#include "cli.h"
#include "sbx/cache.h"
#include "sbx/sandbox.h"

/**
 * "ghcr.io/me/my-kit" of "oci://ghcr.io/me/my-kit@sha256:...", "alpine:3" of "docker.io/library/alpine:3": the
 * digest or commit stands beside it. In arena; NULL: no memory.
 */
const char *sbx_thing_title(struct sbx_arena *arena, const struct sbx_cache_thing *t,
                            const char *reference);
/** The first 12 digits; "" of what has none (a leftover); in arena, NULL: no memory. */
const char *sbx_thing_short(struct sbx_arena *arena, const struct sbx_cache_thing *t);
/** "kit ghcr.io/me/my-kit 0123456789ab", for a sentence; in arena, NULL: no memory. */
const char *sbx_thing_text(struct sbx_arena *arena, const struct sbx_cache_thing *t);
/** Its fields but the sandboxes; NULL: no memory. */
json_t *sbx_thing_json(const struct sbx_cache_thing *t);

/** What sandboxes are made from. */
struct sbx_thing_users {
    struct sbx_thing_user {
        const char *what; /**< digest or commit of a kit, full name of an image */
        const char *sandbox;
    } *v;
    size_t n;
};
/** Of the engine's sandboxes; those of another app are not seen. In arena. */
SBX_MUST_USE enum sbx_code sbx_thing_users(struct sbx_engine *e, struct sbx_arena *arena,
                                           struct sbx_thing_users *ret, struct sbx_err *err);
/** Names, each once, NULL-terminated; in arena, NULL: no memory. */
const char *const *sbx_thing_sandboxes(struct sbx_arena *arena, const struct sbx_thing_users *users,
                                       const struct sbx_cache_thing *t);

#endif
