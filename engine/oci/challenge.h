/* WWW-Authenticate (RFC 9110, 11.6.1). Pure; from outside, so fuzzed. */
#ifndef SBX_OCI_CHALLENGE_H
#define SBX_OCI_CHALLENGE_H

#include "sbx/arena.h"
#include "sbx/err.h"

#define CHALLENGES_MAX 8 /* of one header; registries send one or two */

/* What a registry asks for; NULL: not said. */
struct sbx_challenge {
    const char *scheme; /* lower case: "basic", "bearer" */
    const char *realm, *service, *scope;
};

/*
 * Append the challenges of one header. What is broken ends the list: what stood before it counts.
 * SBX_OK or SBX_NO_MEMORY.
 */
SBX_MUST_USE enum sbx_code sbx_challenge_parse(const char *text, struct sbx_arena *arena,
                                               struct sbx_challenge list[CHALLENGES_MAX],
                                               size_t *n);

#endif
