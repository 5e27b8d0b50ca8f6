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

/* One after the other; nothing goes meanwhile. The damaged ones come first in `v` then. */
static enum sbx_code check_all(struct sbx_cache *cache, struct sbx_cache_entry *v, size_t n,
                               size_t *ret_blobs, size_t *ret_bad, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    *ret_blobs = *ret_bad = 0;
    for (size_t i = 0; !rc && i < n; i++) {
        bool good = true;

        if (strcmp(v[i].kind, "blob") != 0)
            continue;
        ++*ret_blobs;
        rc = sbx_cache_check(cache, &v[i], &good, err);
        if (!rc && !good)
            v[(*ret_bad)++] = v[i];
    }
    return rc;
}

/* With the cache for us alone; what somebody fetched anew since it was checked is whole and stays. */
static enum sbx_code drop_damaged(struct sbx_cli *cli, struct sbx_cache *cache,
                                  const struct sbx_cache_entry *v, size_t n, struct sbx_err *err)
{
    SBX_AUTO_FD int alone = -1;
    enum sbx_code rc = sbx_cache_alone(cache, &alone, err);

    for (size_t i = 0; !rc && i < n; i++) {
        bool good = false, gone;

        if (sbx_cache_check(cache, &v[i], &good, NULL) || good)
            continue;
        rc = sbx_cache_drop(cache, &v[i], &gone, err);
        sbx_cli_note(cli, "damaged, removed: sha256:%s", v[i].name);
    }
    return rc ? rc : sbx_blob_index_tidy(cache, err);
}

static enum sbx_code print_verified(struct sbx_cli *cli, const struct sbx_cache_entry *bad,
                                    size_t n, size_t blobs, struct sbx_err *err)
{
    json_t *damaged = json_array();

    if (cli->format == SBX_FORMAT_TABLE) {
        json_decref(damaged);
        if (!n)
            fprintf(cli->out, "%zu blobs are whole\n", blobs);
        return SBX_OK;
    }
    for (size_t i = 0; i < n; i++)
        json_array_append_new(damaged, json_string(bad[i].name));
    return sbx_out_value(
        cli, json_pack("{s:I,s:o}", "blobs", (json_int_t)blobs, "damaged", damaged), err);
}

/* What is damaged is removed: the next command that needs it fetches it again. */
static enum sbx_code verify(struct sbx_cli *cli, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_cache) cache = NULL;
    struct sbx_cache_entry *v = NULL;
    SBX_AUTO_FD int use = -1;
    size_t n = 0, blobs = 0, bad = 0;
    enum sbx_code rc = open_list(cli, &cache, &v, &n, err);

    if (!rc && n)
        rc = sbx_cache_use(cache, &use, err);
    if (!rc && n) /* as it is now that nothing goes any more */
        rc = sbx_cache_list(cache, cli->arena, &v, &n, err);
    if (!rc)
        rc = check_all(cache, v, n, &blobs, &bad, err);
    if (use >= 0)
        close(sbx_take_fd(&use));
    if (!rc)
        rc = print_verified(cli, v, bad, blobs, err);
    if (rc || !bad)
        return rc;
    rc = drop_damaged(cli, cache, v, bad, err);
    return rc ? sbx_err_wrap(err, rc, "%zu of %zu blobs are damaged", bad, blobs)
              : sbx_err_set(err, SBX_FAILED, "%zu of %zu blobs were damaged", bad, blobs);
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
    .summary = "Check every blob against its digest; remove damaged ones",
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
