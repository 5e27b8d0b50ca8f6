#include "things.h"

#include <string.h>

#include "sbx/json.h"
#include "sbx/ref.h"
#include "sbx/store.h"

#define SHORT 12 /* digits of a digest, as docker shows them */

static bool is_image(const struct sbx_cache_thing *t) { return !strcmp(t->kind, "image"); }

static bool is_commit(const struct sbx_cache_thing *t) { return !strcmp(t->kind, "git"); }

const char *sbx_thing_title(struct sbx_arena *arena, const struct sbx_cache_thing *t,
                            const char *reference)
{
    static const char scheme[] = "oci://";
    const char *familiar = is_image(t) ? sbx_store_familiar_name(arena, reference) : NULL;
    const char *at;

    if (familiar)
        reference = familiar;
    if (!strncmp(reference, scheme, strlen(scheme)))
        reference += strlen(scheme);
    at = is_commit(t) ? strrchr(reference, '#') : strstr(reference, "@sha256:");
    return sbx_arena_memdup(arena, reference, at ? (size_t)(at - reference) : strlen(reference));
}

const char *sbx_thing_short(struct sbx_arena *arena, const struct sbx_cache_thing *t)
{
    const char *digits = sbx_digest_valid(t->name) ? t->name + strlen("sha256:") : t->name;

    return digits != t->name || is_commit(t)
               ? sbx_arena_memdup(arena, digits, strnlen(digits, SHORT))
               : "";
}

const char *sbx_thing_text(struct sbx_arena *arena, const struct sbx_cache_thing *t)
{
    const char *digits = sbx_thing_short(arena, t), *title = NULL;

    if (*t->references)
        title = sbx_thing_title(arena, t, *t->references);
    if (!digits || (*t->references && !title))
        return NULL;
    return sbx_arena_printf(arena, "%s%s%s %s", t->kind, title ? " " : "", title ? title : "",
                            *digits ? digits : t->name);
}

json_t *sbx_thing_json(const struct sbx_cache_thing *t)
{
    const char *key = is_commit(t) ? "commit" : sbx_digest_valid(t->name) ? "digest" : "name";
    json_t *files = json_array();

    for (size_t i = 0; i < t->n_files; i++)
        json_array_append_new(files, json_sprintf("%s/%s", t->files[i]->place, t->files[i]->name));
    return json_pack("{s:s,s:s,s:o,s:I,s:I,s:o}", "kind", t->kind, key, t->name, "references",
                     sbx_json_strings(t->references), "size", (json_int_t)t->size, "used",
                     (json_int_t)t->used, "files", files);
}

/* What a kit's reference pins; NULL: nothing, a directory or a built-in kit. */
static const char *pinned(struct sbx_arena *arena, const char *reference)
{
    struct sbx_ref ref;

    if (!reference || sbx_ref_parse(reference, arena, &ref, NULL) || !ref.immutable)
        return NULL;
    return ref.kind == SBX_REF_GIT ? ref.revision : ref.digest;
}

static void add_user(struct sbx_thing_users *to, const char *what, const char *sandbox)
{
    if (what)
        to->v[to->n++] = (struct sbx_thing_user){ what, sandbox };
}

enum sbx_code sbx_thing_users(struct sbx_engine *e, struct sbx_arena *arena,
                              struct sbx_thing_users *ret, struct sbx_err *err)
{
    struct sbx_sandbox_info *v = NULL;
    size_t n = 0, max = 1;
    enum sbx_code rc = sbx_sandbox_list(e, arena, &v, &n, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++)
        max += 1 + (v[i].plan ? v[i].plan->n_kits : 0);
    *ret = (struct sbx_thing_users){ .v = sbx_arena_array(arena, max, sizeof(*ret->v)) };
    if (!ret->v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) {
        if (v[i].runtime == SBX_RUNTIME_OCI) /* the Engine has its own images */
            add_user(ret, sbx_store_full_name(arena, v[i].image), v[i].name);
        for (size_t k = 0; v[i].plan && k < v[i].plan->n_kits; k++)
            add_user(ret, pinned(arena, v[i].plan->kits[k].reference), v[i].name);
    }
    return SBX_OK;
}

static bool uses(const struct sbx_thing_user *u, const struct sbx_cache_thing *t)
{
    if (!is_image(t))
        return !strcmp(u->what, t->name);
    for (size_t i = 0; t->references[i]; i++)
        if (!strcmp(u->what, t->references[i]))
            return true;
    return false;
}

const char *const *sbx_thing_sandboxes(struct sbx_arena *arena, const struct sbx_thing_users *users,
                                       const struct sbx_cache_thing *t)
{
    const char **v = sbx_arena_array(arena, users->n + 1, sizeof(*v));
    size_t n = 0;

    for (size_t i = 0; v && i < users->n; i++)
        if (uses(&users->v[i], t) && (!n || strcmp(v[n - 1], users->v[i].sandbox) != 0))
            v[n++] = users->v[i].sandbox; /* those of one sandbox stand together */
    return v;
}
