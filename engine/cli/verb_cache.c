/* What was fetched: shown, removed. */
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
static const struct sbx_verb *const subs[] = { &v_ls, &v_prune, &sbx_verb_cache_verify };

const struct sbx_verb sbx_verb_cache = {
    .name = "cache",
    .summary = "Show and clean what was fetched",
    .sub = subs,
    .n_sub = SBX_ARRAY_LEN(subs),
};
