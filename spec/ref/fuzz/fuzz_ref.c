/* A reference from a command line or a spec, also as one that a git kit makes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sbx/digest.h"
#include "sbx/ref.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sbx_ref *r)
{
    struct sbx_err err;

    if (r->kind == SBX_REF_OCI && (!r->registry || !r->repository || !*r->repository))
        abort();
    if (r->kind == SBX_REF_LAYOUT && (!r->path || !*r->path || r->registry))
        abort();
    if (r->digest && !sbx_digest_valid(r->digest))
        abort();
    if (r->subdir && (r->subdir[0] == '/' || !strncmp(r->subdir, "..", 3) ||
                      strstr(r->subdir, "/../")))
        abort();
    if ((sbx_ref_require_immutable(r, &err) == SBX_OK) != r->immutable)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbx_arena *arena = sbx_arena_new();
    char *text = arena ? sbx_arena_memdup(arena, data, size) : NULL;
    struct sbx_ref git, r;
    struct sbx_err err;

    if (text && !sbx_ref_parse("git+https://h/r#dir=a/b", arena, &git, &err)) {
        if (!sbx_ref_parse(text, arena, &r, &err))
            check(&r);
        if (!sbx_ref_parse_in(&git, text, arena, &r, &err))
            check(&r);
    }
    sbx_arena_free(arena);
    return 0;
}
