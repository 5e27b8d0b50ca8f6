#include "cli.h"

#include <string.h>

#include "sbx/builtin.h"
#include "sbx/suggest.h"

static const struct sbx_verb *child(const struct sbx_verb *c, const char *name)
{
    for (size_t i = 0; i < c->n_sub; i++)
        if (!strcmp(c->sub[i]->name, name))
            return c->sub[i];
    return NULL;
}

const struct sbx_verb *sbx_cli_find(const struct sbx_verb *root, const char *const *words, size_t n,
                                    size_t *used)
{
    const struct sbx_verb *c = root, *next;

    for (*used = 0; *used < n && (next = child(c, words[*used])); (*used)++)
        c = next;
    return c;
}

/* Words of other tools, and of where people look first. */
static const struct {
    const char *path, *word, *instead;
} elsewhere[] = {
    { "sbx", "images", "sbx template ls" },
    { "sbx", "log", "sbx policy log" },
    { "sbx", "logs", "sbx policy log" },
    { "sbx", "pull", "sbx kit pull" },
    { "sbx", "push", "sbx kit push" },
    { "sbx kit", "copy", "sbx kit push REFERENCE HOST/REPOSITORY:TAG" },
    { "sbx kit", "cp", "sbx kit push REFERENCE HOST/REPOSITORY:TAG" },
    { "sbx kit", "create", "sbx create --kit" },
    { "sbx kit", "export", "sbx kit pack" },
    { "sbx kit", "list", "sbx cache ls" },
    { "sbx kit", "login", "docker login" },
    { "sbx kit", "ls", "sbx cache ls" },
    { "sbx kit", "publish", "sbx kit push" },
    { "sbx kit", "referrers", "sbx kit inspect --referrers" },
    { "sbx kit", "rm", "sbx kit delete" },
    { "sbx kit", "save", "sbx kit pack" },
    { "sbx kit", "show", "sbx kit inspect" },
    { "sbx kit", "tag", "sbx kit push REFERENCE HOST/REPOSITORY:TAG" },
    { "sbx kit", "tags", "sbx kit inspect --tags" },
};

static const char *find_elsewhere(const char *path, const char *word)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(elsewhere); i++)
        if (!strcmp(elsewhere[i].path, path) && !strcmp(elsewhere[i].word, word))
            return elsewhere[i].instead;
    return NULL;
}

enum sbx_code sbx_cli_unknown(const struct sbx_verb *parent, const char *path, const char *word,
                              struct sbx_err *err)
{
    struct sbx_suggest s = SBX_SUGGEST_INIT(word, strlen(word));
    const char *instead = find_elsewhere(path, word);

    if (instead)
        return sbx_err_set(err, SBX_USAGE,
                           "unknown command \"%s\" for \"%s\"; did you mean \"%s\"?", word, path,
                           instead);
    for (size_t i = 0; parent == &sbx_root && i < sbx_builtin_kits_n; i++)
        if (sbx_builtin_kits[i].agent && !strcmp(word, sbx_builtin_kits[i].name))
            return sbx_err_set(err, SBX_USAGE,
                               "\"%s\" is an agent, not a command; did you mean \"sbx run %s\"?",
                               word, word);
    for (size_t i = 0; i < parent->n_sub; i++)
        if (!parent->sub[i]->hidden && !parent->sub[i]->not_built)
            sbx_suggest_try(&s, parent->sub[i]->name);
    if (s.best)
        return sbx_err_set(err, SBX_USAGE,
                           "unknown command \"%s\" for \"%s\"; did you mean \"%s\"?", word, path,
                           s.best);
    if (parent->n_sub == 1) /* what it is about was left out, as in "policy allow example.com" */
        return sbx_err_set(err, SBX_USAGE,
                           "unknown command \"%s\" for \"%s\"; did you mean \"%s %s %s\"?", word,
                           path, path, parent->sub[0]->name, word);
    return sbx_err_set(err, SBX_USAGE, "unknown command \"%s\" for \"%s\"", word, path);
}

static enum sbx_code enter(struct sbx_cli *cli, const char *word, struct sbx_err *err)
{
    const struct sbx_verb *c = child(cli->verb, word);
    size_t used = strlen(cli->path);

    if (!c)
        return sbx_cli_unknown(cli->verb, cli->path, word, err);
    cli->verb = c;
    snprintf(cli->path + used, sizeof(cli->path) - used, " %s", c->name);
    if (c->not_built)
        return sbx_err_set(err, SBX_UNSUPPORTED, "\"%s\": %s", cli->path, c->not_built);
    if (!c->size)
        return SBX_OK;
    cli->options = sbx_arena_alloc(cli->arena, c->size);
    return cli->options ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static void keep(struct sbx_texts *list, const char *word) { list->v[list->n++] = word; }

static enum sbx_code read_flag(struct sbx_cli *cli, int argc, char *const *argv, int *i,
                               struct sbx_err *err)
{
    struct sbx_opt_set sets[] = {
        { cli->verb->groups, cli->verb->n_groups, cli->options },
        { &sbx_global_group, 1, &cli->global },
    };

    return sbx_opt_read(sets, SBX_ARRAY_LEN(sets), argc, argv, i, cli->path, cli->arena, err);
}

static enum sbx_code read_words(struct sbx_cli *cli, int argc, char *const *argv,
                                struct sbx_err *err)
{
    for (int i = 1; i < argc;) {
        const char *word = argv[i];
        unsigned stop = cli->verb->stop_at;
        enum sbx_code rc = SBX_OK;

        if (stop && cli->args.n >= stop) {
            keep(&cli->args, argv[i++]);
        } else if (cli->rest_given) {
            keep(cli->verb->rest ? &cli->rest : &cli->args, argv[i++]);
        } else if (!strcmp(word, "--")) {
            cli->rest_given = true;
            i++;
        } else if (word[0] == '-' && word[1]) {
            rc = read_flag(cli, argc, argv, &i, err);
        } else if (cli->verb->n_sub && !cli->args.n &&
                   (!cli->verb->run || child(cli->verb, word))) {
            rc = enter(cli, argv[i++], err);
        } else {
            keep(&cli->args, argv[i++]);
        }
        if (rc)
            return rc;
    }
    return SBX_OK;
}

static enum sbx_code check_globals(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct sbx_globals *g = &cli->global;

    if (g->json && g->output && strcmp(g->output, "json"))
        return sbx_err_set(err, SBX_USAGE, "--json and --output %s contradict each other",
                           g->output);
    cli->format = SBX_FORMAT_TABLE;
    if (g->json || (g->output && !strcmp(g->output, "json")))
        cli->format = SBX_FORMAT_JSON;
    else if (g->output && !strcmp(g->output, "yaml"))
        cli->format = SBX_FORMAT_YAML;
    cli->sarif = g->output && !strcmp(g->output, "sarif");
    if (cli->sarif && !cli->verb->sarif)
        return sbx_err_set(err, SBX_USAGE, "--output sarif is for \"sbx kit validate\"");
    if (cli->sarif)
        cli->format = SBX_FORMAT_JSON;
    return SBX_OK;
}

static enum sbx_code check_count(const struct sbx_cli *cli, struct sbx_err *err)
{
    const struct sbx_verb *c = cli->verb;

    if (cli->args.n < c->min)
        return sbx_err_set(err, SBX_USAGE, "\"%s\" needs %s", cli->path, c->args);
    if (cli->args.n > c->max)
        return sbx_err_set(err, SBX_USAGE, "\"%s\": unexpected argument \"%s\"", cli->path,
                           cli->args.v[c->max]);
    if (c->passthrough && (cli->global.json || cli->global.output))
        return sbx_err_set(err, SBX_USAGE,
                           "\"%s\" takes no --json and no --output: what it prints is no value",
                           cli->path);
    return SBX_OK;
}

enum sbx_code sbx_cli_parse(struct sbx_cli *cli, const struct sbx_verb *root, int argc,
                            char *const *argv, struct sbx_err *err)
{
    enum sbx_code rc;

    cli->verb = root;
    cli->status = -1;
    snprintf(cli->path, sizeof(cli->path), "%s", root->name);
    cli->args.v = sbx_arena_array(cli->arena, (size_t)argc + 1, sizeof(*cli->args.v));
    cli->rest.v = sbx_arena_array(cli->arena, (size_t)argc + 1, sizeof(*cli->rest.v));
    cli->root_options = cli->options = sbx_arena_alloc(cli->arena, root->size + 1);
    if (!cli->args.v || !cli->rest.v || !cli->options)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = read_words(cli, argc, argv, err);
    /* Errors are printed in the format asked for, so far as it was read. */
    if (rc) {
        (void)check_globals(cli, NULL);
        return rc;
    }
    rc = check_globals(cli, err);
    if (rc || cli->global.help || (cli->verb->n_sub && !cli->verb->run))
        return rc;
    return check_count(cli, err);
}
