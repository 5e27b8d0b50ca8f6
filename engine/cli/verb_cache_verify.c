/* What was fetched, against what it ought to be. */
#include <string.h>

#include "out.h"
#include "remote.h"
#include "sbx/git.h"
#include "verbs.h"

struct verified {
    struct sbx_cache_entry *bad; /* room for all of the cache */
    size_t blobs, kits, commits, n_bad;
    json_t *damaged, *changed, *unchecked; /* names */
};

static bool is_kind(const struct sbx_cache_entry *e, const char *kind)
{
    return !strcmp(e->kind, kind);
}

/* Other kinds than these have nothing that they ought to be. `ret_what` is malloc'd: what differs, or NULL. */
static enum sbx_code check(struct sbx_cache *cache, const struct sbx_cache_entry *e,
                           enum sbx_cache_state *ret, char **ret_what, struct sbx_err *err)
{
    bool good = true;
    enum sbx_code rc = SBX_OK;

    *ret = SBX_CACHE_WHOLE;
    if (is_kind(e, "kit"))
        return sbx_kit_verify(cache, e->name, ret, err);
    if (is_kind(e, "git"))
        return sbx_git_verify(sbx_cache_dir(cache), e->name, ret, ret_what, err);
    if (is_kind(e, "blob"))
        rc = sbx_cache_check(cache, e, &good, err);
    if (!rc && !good)
        *ret = SBX_CACHE_CHANGED;
    return rc;
}

static json_t *list_for(const struct verified *v, const struct sbx_cache_entry *e,
                        enum sbx_cache_state state)
{
    if (state == SBX_CACHE_UNKNOWN)
        return v->unchecked;
    return is_kind(e, "blob") ? v->damaged : v->changed;
}

/* One after the other; nothing goes meanwhile. */
static enum sbx_code check_all(struct sbx_cache *cache, const struct sbx_cache_entry *v, size_t n,
                               struct verified *ret, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < n; i++) {
        SBX_AUTO_FREE char *what = NULL;
        enum sbx_cache_state state;

        rc = check(cache, &v[i], &state, &what, err);
        if (rc)
            break;
        if (state != SBX_CACHE_UNKNOWN) {
            ret->blobs += is_kind(&v[i], "blob");
            ret->kits += is_kind(&v[i], "kit");
            ret->commits += is_kind(&v[i], "git");
        }
        if (state == SBX_CACHE_CHANGED)
            ret->bad[ret->n_bad++] = v[i];
        if (state != SBX_CACHE_WHOLE)
            json_array_append_new(list_for(ret, &v[i], state), json_string(v[i].name));
    }
    return rc;
}

static void tell(struct sbx_cli *cli, const struct sbx_cache_entry *e, const char *what)
{
    if (is_kind(e, "git"))
        sbx_cli_note(cli, "differs from its commit, removed: git %s: %s", e->name, what);
    else if (is_kind(e, "kit"))
        sbx_cli_note(cli, "differs from its blobs, removed: kit sha256:%s", e->name);
    else
        sbx_cli_note(cli, "damaged, removed: sha256:%s", e->name);
}

/*
 * With the cache for us alone; what somebody fetched anew since it was checked is whole and stays. Kits
 * go first: without their blobs nothing would say what is wrong with them.
 */
static enum sbx_code drop_bad(struct sbx_cli *cli, struct sbx_cache *cache,
                              const struct verified *found, bool blobs, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < found->n_bad; i++) {
        const struct sbx_cache_entry *e = &found->bad[i];
        enum sbx_cache_state state = SBX_CACHE_WHOLE;
        SBX_AUTO_FREE char *what = NULL;
        bool gone = false;

        if (blobs != is_kind(e, "blob") || check(cache, e, &state, &what, NULL) ||
            state != SBX_CACHE_CHANGED)
            continue;
        rc = sbx_cache_drop(cache, e, &gone, err);
        if (!rc && !gone)
            rc = sbx_err_set(err, SBX_BUSY, "%s%s is in use: try again when that is done",
                             is_kind(e, "git") ? "commit " : "kit sha256:", e->name);
        if (!rc)
            tell(cli, e, what);
    }
    return rc;
}

static enum sbx_code drop_damaged(struct sbx_cli *cli, struct sbx_cache *cache,
                                  const struct verified *found, struct sbx_err *err)
{
    SBX_AUTO_FD int alone = -1;
    enum sbx_code rc = sbx_cache_alone(cache, &alone, err);

    if (!rc)
        rc = drop_bad(cli, cache, found, false, err);
    if (!rc)
        rc = drop_bad(cli, cache, found, true, err);
    return rc ? rc : sbx_blob_index_tidy(cache, err);
}

static enum sbx_code print_verified(struct sbx_cli *cli, const struct verified *found,
                                    struct sbx_err *err)
{
    size_t unknown = json_array_size(found->unchecked);
    char commits[64] = "";

    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(
            cli,
            json_pack("{s:I,s:I,s:I,s:O,s:O,s:O}", "blobs", (json_int_t)found->blobs, "kits",
                      (json_int_t)found->kits, "commits", (json_int_t)found->commits, "damaged",
                      found->damaged, "changed", found->changed, "unchecked", found->unchecked),
            err);
    if (unknown)
        sbx_cli_note(
            cli,
            "note: %zu unpacked kits were not checked: a blob is not here any more, an "
            "earlier version fetched them from git, or nothing can be written; \"sbx cache "
            "prune --all\" lets them be fetched anew",
            unknown);
    if (found->commits)
        snprintf(commits, sizeof(commits), ", %zu commits are as they were fetched",
                 found->commits);
    if (!found->n_bad)
        fprintf(cli->out, "%zu blobs are whole, %zu kits are as they were unpacked%s\n",
                found->blobs, found->kits, commits);
    return SBX_OK;
}

static enum sbx_code find_damaged(struct sbx_cli *cli, struct sbx_cache *cache,
                                  struct verified *ret, struct sbx_err *err)
{
    struct sbx_cache_entry *v = NULL;
    SBX_AUTO_FD int use = -1;
    size_t n = 0;
    enum sbx_code rc = sbx_cache_list(cache, cli->arena, &v, &n, err);

    if (!rc && n)
        rc = sbx_cache_use(cache, &use, err);
    if (!rc && n) /* as it is now that nothing goes any more */
        rc = sbx_cache_list(cache, cli->arena, &v, &n, err);
    if (!rc) {
        ret->bad = sbx_arena_array(cli->arena, n + 1, sizeof(*ret->bad));
        if (!ret->bad)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        rc = check_all(cache, v, n, ret, err);
    }
    return rc;
}

/* What is damaged is removed: the next command that needs it fetches or unpacks it again. */
static enum sbx_code verify(struct sbx_cli *cli, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *damaged = json_array(), *changed = json_array(),
                         *unchecked = json_array();
    struct verified found = { .damaged = damaged, .changed = changed, .unchecked = unchecked };
    SBX_AUTO_PTR(sbx_cache) cache = NULL;
    const struct sbx_kit_io *io;
    enum sbx_code rc = sbx_cli_kit_io(cli, NULL, &io, err), removed;
    char text[128];

    if (!rc)
        rc = sbx_cache_open(io->cache, &cache, err);
    if (!rc)
        rc = find_damaged(cli, cache, &found, err);
    if (!rc)
        rc = print_verified(cli, &found, err);
    if (rc || !found.n_bad)
        return rc;
    removed = drop_damaged(cli, cache, &found, err);
    snprintf(text, sizeof(text), "%zu of %zu blobs, kits and commits %s damaged", found.n_bad,
             found.blobs + found.kits + found.commits, removed ? "are" : "were");
    return removed ? sbx_err_wrap(err, removed, "%s", text)
                   : sbx_err_set(err, SBX_FAILED, "%s", text);
}

const struct sbx_verb sbx_verb_cache_verify = {
    .name = "verify",
    .summary = "Check what was fetched against its digests; remove what is damaged",
    .about =
        "Every blob is read and compared with its digest, every unpacked kit with the blobs it is from, every\n"
        "file from git with the id of its commit. What differs is removed and named, and the command fails: the\n"
        "next one that needs it fetches or unpacks it again.",
    .example = "sbx cache verify",
    .run = verify,
};
