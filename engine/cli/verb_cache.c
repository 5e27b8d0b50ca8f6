/* What was fetched: shown, checked, removed. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "groups.h"
#include "out.h"
#include "remote.h"
#include "verbs.h"

struct prune_opts {
    const char *max;
    bool all;
};
static const struct sbx_opt prune_rows[] = {
    SBX_TEXT(struct prune_opts, max, "max", 0, "SIZE",
             "Also remove what was used longest ago, until this much is left (such as 2g)"),
    SBX_SWITCH(struct prune_opts, all, "all", 'a', "Remove everything"), SBX_OPT_END
};
static const struct sbx_opt_group prune_groups[] = { { .v = prune_rows } };

/* The cache and what is in it. */
static enum sbx_code open_list(struct sbx_cli *cli, struct sbx_cache **ret,
                               struct sbx_cache_entry **v, size_t *n, struct sbx_err *err)
{
    const struct sbx_kit_io *io;
    enum sbx_code rc = sbx_cli_kit_io(cli, NULL, &io, err);

    if (!rc)
        rc = sbx_cache_open(io->cache, ret, err);
    return rc ? rc : sbx_cache_list(*ret, cli->arena, v, n, err);
}

static enum sbx_code ls(struct sbx_cli *cli, struct sbx_err *err)
{
    static const char *const head[] = { "KIND", "NAME", "SIZE", "USED" };
    struct sbx_columns c = { .arena = cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };
    SBX_AUTO_PTR(sbx_cache) cache = NULL;
    struct sbx_cache_entry *v = NULL;
    json_t *list;
    size_t n = 0;
    enum sbx_code rc = open_list(cli, &cache, &v, &n, err);

    if (rc)
        return rc;
    if (cli->format != SBX_FORMAT_TABLE) {
        list = json_array();
        for (size_t i = 0; i < n; i++)
            json_array_append_new(list, json_pack("{s:s,s:s,s:I,s:I}", "kind", v[i].kind, "name",
                                                  v[i].name, "size", (json_int_t)v[i].size, "used",
                                                  (json_int_t)v[i].used));
        return sbx_out_value(
            cli, json_pack("{s:s,s:o}", "directory", sbx_cache_dir(cache), "entries", list), err);
    }
    for (size_t i = n; i-- > 0;) {
        const char *cells[] = { v[i].kind, v[i].name, sbx_out_size(cli->arena, v[i].size),
                                sbx_out_ago(cli->arena, v[i].used, time(NULL)) };

        if (sbx_columns_add(&c, cells, err))
            return SBX_NO_MEMORY;
    }
    sbx_columns_print(&c, cli->out);
    return SBX_OK;
}

static bool goes(const struct prune_opts *o, const struct sbx_cache_entry *e, int64_t left,
                 int64_t max)
{
    return o->all || !strcmp(e->kind, "leftover") || !strcmp(e->kind, "partial") ||
           (o->max && left > max);
}

static enum sbx_code prune(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct prune_opts *o = cli->options;
    SBX_AUTO_PTR(sbx_cache) cache = NULL;
    struct sbx_cache_entry *v = NULL;
    SBX_AUTO_FD int alone = -1;
    int64_t max = 0, left = 0, freed = 0;
    size_t n = 0;
    enum sbx_code rc;

    if (o->max && !sbx_size_parse(o->max, &max))
        return sbx_err_set(err, SBX_USAGE, "--max %.40s: not a size; write 500m or 2g", o->max);
    rc = open_list(cli, &cache, &v, &n, err);
    if (!rc && n)
        rc = sbx_cache_alone(cache, &alone, err);
    if (!rc && n) /* as it is now that nobody changes it any more */
        rc = sbx_cache_list(cache, cli->arena, &v, &n, err);
    for (size_t i = 0; !rc && i < n; i++)
        left += v[i].size;
    for (size_t i = 0; !rc && i < n; i++) {
        bool gone = false;

        if (!goes(o, &v[i], left, max))
            continue;
        rc = sbx_cache_drop(cache, &v[i], &gone, err);
        left -= gone ? v[i].size : 0;
        freed += gone ? v[i].size : 0;
    }
    if (!rc && freed)
        rc = sbx_blob_index_tidy(cache, err);
    if (rc)
        return rc;
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(
            cli, json_pack("{s:I,s:I}", "freed", (json_int_t)freed, "left", (json_int_t)left), err);
    fprintf(cli->out, "Freed %s\n", sbx_out_size(cli->arena, freed));
    return SBX_OK;
}

struct verified {
    struct sbx_cache_entry *bad; /* blobs and kits; room for all of the cache */
    size_t blobs, kits, n_bad, bad_blobs, unknown;
    json_t *damaged, *changed, *unchecked; /* names */
};

/* Others than these have nothing that they ought to be. */
static enum sbx_code check(struct sbx_cache *cache, const struct sbx_cache_entry *e,
                           enum sbx_cache_state *ret, struct sbx_err *err)
{
    bool good = true;
    enum sbx_code rc = SBX_OK;

    *ret = SBX_CACHE_WHOLE;
    if (!strcmp(e->kind, "kit"))
        rc = sbx_kit_verify(cache, e->name, ret, err);
    else if (!strcmp(e->kind, "blob"))
        rc = sbx_cache_check(cache, e, &good, err);
    else if (!strcmp(e->kind, "git"))
        *ret = SBX_CACHE_UNKNOWN; /* the objects of its commit are not kept */
    if (!rc && !good)
        *ret = SBX_CACHE_CHANGED;
    return rc;
}

/* One after the other; nothing goes meanwhile. */
static enum sbx_code check_all(struct sbx_cache *cache, const struct sbx_cache_entry *v, size_t n,
                               struct verified *ret, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < n; i++) {
        bool kit = !strcmp(v[i].kind, "kit"), blob = !strcmp(v[i].kind, "blob");
        enum sbx_cache_state state;

        rc = check(cache, &v[i], &state, err);
        ret->blobs += blob;
        ret->kits += kit && state != SBX_CACHE_UNKNOWN;
        ret->unknown += state == SBX_CACHE_UNKNOWN;
        if (!rc && state == SBX_CACHE_CHANGED) {
            ret->bad[ret->n_bad++] = v[i];
            ret->bad_blobs += blob;
        }
        if (state != SBX_CACHE_WHOLE)
            json_array_append_new(state == SBX_CACHE_UNKNOWN ? ret->unchecked
                                  : blob                   ? ret->damaged
                                                           : ret->changed,
                                  json_string(v[i].name));
    }
    return rc;
}

/*
 * With the cache for us alone; what somebody fetched anew since it was checked is whole and stays. Kits
 * go first: without their blobs nothing would say what is wrong with them.
 */
static enum sbx_code drop_bad(struct sbx_cli *cli, struct sbx_cache *cache,
                              const struct verified *found, bool kits, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < found->n_bad; i++) {
        const struct sbx_cache_entry *e = &found->bad[i];
        enum sbx_cache_state state = SBX_CACHE_WHOLE;
        bool gone = false;

        if (kits != !strcmp(e->kind, "kit") || check(cache, e, &state, NULL) ||
            state == SBX_CACHE_WHOLE)
            continue;
        rc = sbx_cache_drop(cache, e, &gone, err);
        if (!rc && !gone)
            rc = sbx_err_set(err, SBX_BUSY, "kit sha256:%s is in use: try again when that is done",
                             e->name);
        if (!rc)
            sbx_cli_note(cli, "%s: %ssha256:%s",
                         kits ? "differs from its blobs, removed" : "damaged, removed",
                         kits ? "kit " : "", e->name);
    }
    return rc;
}

static enum sbx_code drop_damaged(struct sbx_cli *cli, struct sbx_cache *cache,
                                  const struct verified *found, struct sbx_err *err)
{
    SBX_AUTO_FD int alone = -1;
    enum sbx_code rc = sbx_cache_alone(cache, &alone, err);

    if (!rc)
        rc = drop_bad(cli, cache, found, true, err);
    if (!rc)
        rc = drop_bad(cli, cache, found, false, err);
    return rc ? rc : sbx_blob_index_tidy(cache, err);
}

static enum sbx_code print_verified(struct sbx_cli *cli, const struct verified *found,
                                    struct sbx_err *err)
{
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli,
                             json_pack("{s:I,s:I,s:O,s:O,s:O}", "blobs", (json_int_t)found->blobs,
                                       "kits", (json_int_t)found->kits, "damaged", found->damaged,
                                       "changed", found->changed, "unchecked", found->unchecked),
                             err);
    if (found->unknown)
        sbx_cli_note(
            cli,
            "note: %zu unpacked kits were not checked: from git, a blob is not here any more, or "
            "nothing can be written; \"sbx cache prune --all\" lets them be fetched anew",
            found->unknown);
    if (!found->n_bad)
        fprintf(cli->out, "%zu blobs are whole, %zu kits are as they were unpacked\n", found->blobs,
                found->kits);
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
    snprintf(text, sizeof(text), "%zu of %zu blobs and %zu of %zu kits %s damaged", found.bad_blobs,
             found.blobs, found.n_bad - found.bad_blobs, found.kits, removed ? "are" : "were");
    return removed ? sbx_err_wrap(err, removed, "%s", text)
                   : sbx_err_set(err, SBX_FAILED, "%s", text);
}

static const struct sbx_verb v_ls = {
    .name = "ls",
    .summary = "List what is in the cache",
    .example = "sbx cache ls",
    .run = ls,
};
static const struct sbx_verb v_prune = {
    .name = "prune",
    .summary = "Remove what killed commands left, and more on request",
    .about =
        "After a command that fetched, what was used longest ago goes by itself: cache.max in settings.yaml says\n"
        "how much stays (default: 20g). Nothing that is removed is lost: it is fetched again when it is\n"
        "needed. Images that were loaded or pulled for sandboxes stay usable.",
    .example = "sbx cache prune --max 2g",
    .groups = prune_groups,
    .n_groups = SBX_ARRAY_LEN(prune_groups),
    .size = sizeof(struct prune_opts),
    .run = prune,
};
static const struct sbx_verb v_verify = {
    .name = "verify",
    .summary = "Check what was fetched against its digests; remove what is damaged",
    .about =
        "Every blob is read and compared with its digest, every unpacked kit with the blobs it is from. What\n"
        "differs is removed and named, and the command fails: the next one that needs it fetches or unpacks it\n"
        "again. Commits of git have no blobs here: they are not checked, \"sbx cache prune --all\" lets them be\n"
        "fetched anew.",
    .example = "sbx cache verify",
    .run = verify,
};
static const struct sbx_verb *const subs[] = { &v_ls, &v_prune, &v_verify };

const struct sbx_verb sbx_verb_cache = {
    .name = "cache",
    .summary = "Show and clean what was fetched",
    .sub = subs,
    .n_sub = SBX_ARRAY_LEN(subs),
};
