/* What was fetched: shown. */
#include <fnmatch.h>
#include <string.h>
#include <time.h>

#include "out.h"
#include "session.h"
#include "things.h"
#include "verbs.h"

struct ls_opts {
    struct sbx_texts filters;
    bool quiet, no_trunc, all;
};
static const struct sbx_opt ls_rows[] = {
    SBX_LISTOF(struct ls_opts, filters, "filter", 'f', "KEY=VALUE",
               "Only what has it: kind=kit (image, git, blob, ...), reference=PATTERN"),
    SBX_SWITCH(struct ls_opts, no_trunc, "no-trunc", 0, "Whole references and digests"),
    SBX_SWITCH(struct ls_opts, quiet, "quiet", 'q', "Print digests and commits only"),
    SBX_SWITCH(struct ls_opts, all, "all", 'a', "Accepted: everything is listed", .hidden = true),
    SBX_OPT_END
};
static const struct sbx_opt_group ls_groups[] = { { .v = ls_rows } };

static enum sbx_code check_filters(const struct ls_opts *o, struct sbx_err *err)
{
    for (size_t i = 0; i < o->filters.n; i++)
        if (strncmp(o->filters.v[i], "kind=", 5) && strncmp(o->filters.v[i], "reference=", 10))
            return sbx_err_set(err, SBX_USAGE,
                               "--filter %s: want kind=KIND or reference=PATTERN, such as "
                               "reference='ghcr.io/me/*'",
                               o->filters.v[i]);
    return SBX_OK;
}

/* As it is printed or as it is written. */
static bool has_reference(struct sbx_arena *arena, const struct sbx_cache_thing *t,
                          const char *pattern)
{
    for (size_t i = 0; t->references[i]; i++) {
        const char *title = sbx_thing_title(arena, t, t->references[i]);

        if (!fnmatch(pattern, t->references[i], 0) || (title && !fnmatch(pattern, title, 0)))
            return true;
    }
    return false;
}

static bool is_wanted(struct sbx_cli *cli, const struct sbx_cache_thing *t)
{
    const struct ls_opts *o = cli->options;

    for (size_t i = 0; i < o->filters.n; i++) {
        const char *value = strchr(o->filters.v[i], '=') + 1;

        if (o->filters.v[i][0] == 'k' ? strcmp(t->kind, value) != 0
                                      : !has_reference(cli->arena, t, value))
            return false;
    }
    return true;
}

/* A row for each name, as docker has it; one for what has none. */
static enum sbx_code add_rows(struct sbx_cli *cli, struct sbx_columns *c,
                              const struct sbx_cache_thing *t, const char *sandboxes,
                              struct sbx_err *err)
{
    const struct ls_opts *o = cli->options;
    const char *digits = o->no_trunc ? t->name : sbx_thing_short(cli->arena, t);
    const char *size = sbx_out_size(cli->arena, t->size);
    const char *ago = sbx_out_ago(cli->arena, t->used, time(NULL));
    size_t i = 0;

    do {
        const char *name = t->references[i];
        const char *cells[6] = { t->kind, NULL, digits, size, ago, sandboxes };

        if (name)
            cells[1] = o->no_trunc ? name : sbx_thing_title(cli->arena, t, name);
        else if (digits && !*digits)
            cells[1] = t->name;
        if (sbx_columns_add(c, cells, err))
            return SBX_NO_MEMORY;
    } while (t->references[i] && t->references[++i]);
    return SBX_OK;
}

static enum sbx_code as_table(struct sbx_cli *cli, const struct sbx_cache_thing *v, size_t n,
                              const struct sbx_thing_users *users, struct sbx_err *err)
{
    static const char *const head[] = { "KIND", "NAME", "DIGEST", "SIZE", "USED", "SANDBOXES" };
    struct sbx_columns c = { .arena = cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };
    enum sbx_code rc = SBX_OK;

    for (size_t i = n; !rc && i-- > 0;) {
        const char *const *names = sbx_thing_sandboxes(cli->arena, users, &v[i]);
        const char *text = "";

        for (size_t k = 0; names && names[k]; k++)
            text = sbx_arena_printf(cli->arena, "%s%s%s", text ? text : "", k ? ", " : "", names[k]);
        rc = add_rows(cli, &c, &v[i], text, err);
    }
    if (!rc)
        sbx_columns_print(&c, cli->out);
    return rc;
}

static enum sbx_code as_value(struct sbx_cli *cli, const char *directory, int64_t size,
                              const struct sbx_cache_thing *v, size_t n,
                              const struct sbx_thing_users *users, struct sbx_err *err)
{
    json_t *list = json_array();

    for (size_t i = n; i-- > 0;) {
        json_t *row = sbx_thing_json(&v[i]);

        json_object_set_new(row, "sandboxes",
                            sbx_json_strings(sbx_thing_sandboxes(cli->arena, users, &v[i])));
        json_array_append_new(list, row);
    }
    return sbx_out_value(cli,
                         json_pack("{s:s,s:I,s:o}", "directory", directory, "size",
                                   (json_int_t)size, "entries", list),
                         err);
}

static enum sbx_code ls(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct ls_opts *o = cli->options;
    SBX_AUTO(sbx_session) s = { .quiet = true };
    SBX_AUTO_PTR(sbx_cache) cache = NULL;
    struct sbx_thing_users users = { .n = 0 };
    struct sbx_cache_thing *v = NULL;
    struct sbx_cache_entry *files = NULL;
    size_t n = 0, n_files = 0, kept = 0;
    int64_t size = 0;
    enum sbx_code rc = check_filters(o, err);

    if (!rc)
        rc = sbx_session_open(&s, cli, NULL, err);
    if (!rc)
        rc = sbx_cache_open(sbx_engine_paths(s.engine)->cache, &cache, err);
    if (!rc)
        rc = sbx_cache_list(cache, cli->arena, &files, &n_files, err);
    if (!rc)
        rc = sbx_cache_things(cache, files, n_files, cli->arena, &v, &n, err);
    if (!rc && n)
        rc = sbx_thing_users(s.engine, cli->arena, &users, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n_files; i++)
        size += files[i].size;
    for (size_t i = 0; i < n; i++)
        if (is_wanted(cli, &v[i]))
            v[kept++] = v[i];
    if (cli->format != SBX_FORMAT_TABLE)
        return as_value(cli, sbx_cache_dir(cache), size, v, kept, &users, err);
    if (!o->quiet)
        return as_table(cli, v, kept, &users, err);
    for (size_t i = kept; i-- > 0;)
        fprintf(cli->out, "%s\n", sbx_out_clean(cli->arena, v[i].name));
    return SBX_OK;
}

const struct sbx_verb sbx_verb_cache_ls = {
    .name = "ls",
    .summary = "List what is in the cache",
    .about =
        "Kits, images and commits of git by the references they were fetched by, and the sandboxes that were made\n"
        "from them; blobs that belong to none, downloads that were cut (partial) and what killed commands left.\n"
        "A blob of two images counts in both. With --json entries have their files, too. Nothing here is needed\n"
        "by a sandbox that exists: all of it may go at any time.",
    .example = "sbx cache ls\n"
               "sbx cache ls --filter kind=kit --filter 'reference=ghcr.io/me/*'\n"
               "sbx cache ls --json | jq -r '.entries[] | select(.kind == \"kit\") | .references[]'",
    .groups = ls_groups,
    .n_groups = SBX_ARRAY_LEN(ls_groups),
    .size = sizeof(struct ls_opts),
    .run = ls,
};
