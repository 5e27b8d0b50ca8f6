/* What was fetched: removed. */
#include <string.h>

#include "groups.h"
#include "out.h"
#include "remote.h"
#include "things.h"
#include "verbs.h"

struct prune_opts {
    const char *max;
    bool all, dry, force;
};
static const struct sbx_opt prune_rows[] = {
    SBX_TEXT(struct prune_opts, max, "max", 0, "SIZE",
             "Also remove what was used longest ago, until this much is left (such as 2g)"),
    SBX_SWITCH(struct prune_opts, all, "all", 'a', "Remove everything"),
    SBX_SWITCH(struct prune_opts, dry, "dry-run", 0, "Say what would go; remove nothing"),
    SBX_SWITCH(struct prune_opts, force, "force", 'f', "Accepted: nothing is asked", .hidden = true),
    SBX_OPT_END
};
static const struct sbx_opt_group prune_groups[] = { { .v = prune_rows } };

struct pruned {
    struct sbx_cache *cache;
    struct sbx_cache_entry *v;
    size_t n;
    bool *gone; /* beside `v` */
    int64_t left, freed;
};

static bool goes(const struct prune_opts *o, const struct sbx_cache_entry *e, int64_t left,
                 int64_t max)
{
    return o->all || !strcmp(e->kind, "leftover") || !strcmp(e->kind, "partial") ||
           (o->max && left > max);
}

static enum sbx_code drop(const struct prune_opts *o, struct pruned *p, int64_t max,
                          struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; i < p->n; i++)
        p->left += p->v[i].size;
    for (size_t i = 0; !rc && i < p->n; i++) {
        if (!goes(o, &p->v[i], p->left, max))
            continue;
        if (o->dry)
            p->gone[i] = !sbx_cache_held(p->cache, &p->v[i]);
        else
            rc = sbx_cache_drop(p->cache, &p->v[i], &p->gone[i], err);
        p->left -= p->gone[i] ? p->v[i].size : 0;
        p->freed += p->gone[i] ? p->v[i].size : 0;
    }
    return rc || !p->freed || o->dry ? rc : sbx_blob_index_tidy(p->cache, err);
}

/* How much of it went; a file of several things is told of the first. *ret_n: files. */
static int64_t take_gone(struct pruned *p, const struct sbx_cache_thing *t, size_t *ret_n)
{
    int64_t size = 0;

    *ret_n = 0;
    for (size_t k = 0; k < t->n_files; k++) {
        size_t i = (size_t)(t->files[k] - p->v);

        if (!p->gone[i])
            continue;
        p->gone[i] = false;
        size += p->v[i].size;
        ++*ret_n;
    }
    return size;
}

static enum sbx_code tell(struct sbx_cli *cli, struct pruned *p, const struct sbx_cache_thing *v,
                          size_t n, struct sbx_err *err)
{
    const struct prune_opts *o = cli->options;
    bool table = cli->format == SBX_FORMAT_TABLE;
    json_t *list = json_array();
    size_t files;

    for (size_t i = 0; i < n; i++) {
        int64_t size = take_gone(p, &v[i], &files);
        const char *text = sbx_thing_text(cli->arena, &v[i]);

        if (!files)
            continue;
        if (table && text)
            fprintf(cli->out, "%s %s%s (%s)\n", o->dry ? "Would remove" : "Removed",
                    files < v[i].n_files ? "part of " : "", sbx_out_clean(cli->arena, text),
                    sbx_out_size(cli->arena, size));
        json_array_append_new(list, json_pack("{s:s,s:s,s:o,s:I,s:b}", "kind", v[i].kind, "name",
                                              v[i].name, "references",
                                              sbx_json_strings(v[i].references), "size",
                                              (json_int_t)size, "whole", files == v[i].n_files));
    }
    if (!table)
        return sbx_out_value(cli,
                             json_pack("{s:I,s:I,s:o}", "freed", (json_int_t)p->freed, "left",
                                       (json_int_t)p->left, "removed", list),
                             err);
    json_decref(list);
    fprintf(cli->out, "%s %s\n", o->dry ? "Would free" : "Freed",
            sbx_out_size(cli->arena, p->freed));
    return SBX_OK;
}

static enum sbx_code prune(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct prune_opts *o = cli->options;
    SBX_AUTO_PTR(sbx_cache) cache = NULL;
    SBX_AUTO_FD int alone = -1;
    struct sbx_cache_thing *things = NULL;
    struct pruned p = { .cache = NULL };
    const struct sbx_kit_io *io;
    int64_t max = 0;
    size_t n = 0;
    enum sbx_code rc;

    if (o->max && !sbx_size_parse(o->max, &max))
        return sbx_err_set(err, SBX_USAGE, "--max %.40s: not a size; write 500m or 2g", o->max);
    rc = sbx_cli_kit_io(cli, NULL, &io, err);
    if (!rc)
        rc = sbx_cache_open(io->cache, &cache, err);
    if (!rc)
        rc = sbx_cache_list(cache, cli->arena, &p.v, &p.n, err);
    if (!rc && p.n) /* nothing is made where nothing is */
        rc = sbx_cache_alone(cache, &alone, err);
    if (!rc && p.n) /* as it is now that nobody changes it any more */
        rc = sbx_cache_list(cache, cli->arena, &p.v, &p.n, err);
    if (!rc)
        rc = sbx_cache_things(cache, p.v, p.n, cli->arena, &things, &n, err);
    if (rc)
        return rc;
    p.cache = cache;
    p.gone = sbx_arena_array(cli->arena, p.n + 1, sizeof(*p.gone));
    if (!p.gone)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = drop(o, &p, max, err);
    return rc ? rc : tell(cli, &p, things, n, err);
}

const struct sbx_verb sbx_verb_cache_prune = {
    .name = "prune",
    .summary = "Remove what killed commands left, and more on request",
    .about =
        "After a command that fetched, what was used longest ago goes by itself: cache.max in settings.yaml says\n"
        "how much stays (default: 20g). Nothing that is removed is lost: it is fetched again when it is\n"
        "needed. Images that were loaded or pulled for sandboxes stay usable. What a running command uses stays.",
    .example = "sbx cache prune --max 2g\n"
               "sbx cache prune --all --dry-run",
    .groups = prune_groups,
    .n_groups = SBX_ARRAY_LEN(prune_groups),
    .size = sizeof(struct prune_opts),
    .run = prune,
};
