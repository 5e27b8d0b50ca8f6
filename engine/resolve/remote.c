#include "sbx/resolve_remote.h"

#include <string.h>

#include "resolve_impl.h"
#include "sbx/git.h"

#define LOOK_MS 3000 /* of a look-up that only makes a refusal more helpful (C11) */

static bool is_artifact(const struct sbx_ref *ref)
{
    return ref->kind == SBX_REF_OCI || ref->kind == SBX_REF_LAYOUT;
}

static struct sbx_git_source git_of(const struct sbx_ref *ref)
{
    return (
        struct sbx_git_source){ .url = ref->url, .commit = ref->revision, .subdir = ref->subdir };
}

static enum sbx_code fetch_git(const struct sbx_kit_io *io, const struct sbx_ref *ref,
                               char **ret_dir, struct sbx_err *err)
{
    struct sbx_git_source source = git_of(ref);
    enum sbx_code rc = sbx_git_fetch(io->cache, &source, ret_dir, err);

    return rc ? sbx_err_wrap(err, rc, "kit %s", ref->text) : SBX_OK;
}

static enum sbx_code look_git(const struct sbx_ref *ref, bool hurry, struct sbx_arena *arena,
                              const char **ret, struct sbx_err *err)
{
    struct sbx_git_source source = git_of(ref);
    char commit[41];
    enum sbx_code rc;

    source.limit_ms = hurry ? LOOK_MS : 0;
    rc = sbx_git_look(&source, commit, err);
    if (rc)
        return rc;
    *ret = sbx_ref_git_text(ref, commit, arena);
    return *ret ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code load(void *data, const struct sbx_ref *ref,
                          const struct sbx_kit_options *options, struct sbx_diags *diags,
                          struct sbx_artifact **ret, struct sbx_err *err)
{
    struct sbx_place place = sbx_place_of(ref);
    SBX_AUTO_FREE char *dir = NULL;
    enum sbx_code rc = is_artifact(ref) ? sbx_kit_fetch(data, &place, &dir, err)
                                        : fetch_git(data, ref, &dir, err);

    if (rc)
        return rc;
    rc = sbx_kit_load_with(dir, options, diags, ret, err);
    if (rc == SBX_NOT_FOUND && ref->kind == SBX_REF_GIT) /* else it names a directory of the cache */
        return sbx_err_set(err, rc, "kit %s: no spec.yaml or spec.yml there; %s", ref->text,
                           ref->subdir ? "is dir= the directory that holds it?"
                                       : "write its directory behind it: &dir=DIRECTORY");
    return rc;
}

static enum sbx_code look(void *data, const struct sbx_ref *ref, bool hurry,
                          struct sbx_arena *arena, const char **ret, struct sbx_err *err)
{
    struct sbx_kit_io io = *(const struct sbx_kit_io *)data;
    struct sbx_place place = sbx_place_of(ref);
    char digest[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc;

    if (!is_artifact(ref))
        return look_git(ref, hurry, arena, ret, err);
    if (hurry)
        io.limit_ms = LOOK_MS;
    rc = sbx_kit_look(&io, &place, digest, err);
    if (rc)
        return rc;
    *ret = sbx_place_pinned(arena, &place, digest);
    return *ret ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

void sbx_resolve_remote(const struct sbx_kit_io *io, struct sbx_remote *ret)
{
    *ret = (struct sbx_remote){ .data = (void *)io, .load = load, .look = look };
}

enum sbx_code sbx_remote_require_immutable(const struct sbx_remote *remote,
                                           const struct sbx_ref *ref, struct sbx_arena *arena,
                                           struct sbx_err *err)
{
    enum sbx_code rc = sbx_ref_require_immutable(ref, err);
    struct sbx_err why = SBX_ERR_INIT, first;
    const char *now = NULL;

    if (!rc || !remote->look)
        return rc;
    if (remote->look(remote->data, ref, true, arena, &now, &why)) {
        if (err) {
            first = *err;
            sbx_err_set(err, rc, "%s (what it is now could not be looked up: %s)", first.text,
                        why.text);
        }
        return rc;
    }
    return sbx_err_set(
        err, rc,
        "kit reference \"%.200s\" can move: kits are taken by digest or commit only; "
        "write what it is now: %s",
        ref->text, now);
}
