/* stop, start, rm, reset: each takes names and goes on after a failure. */
#include "out.h"
#include "session.h"
#include "verbs.h"

struct rm_opts {
    bool all, force, preserve;
};

static const struct sbx_opt rm_rows[] = {
    SBX_SWITCH(struct rm_opts, all, "all", 0, "Remove every sandbox of this app"),
    SBX_SWITCH(struct rm_opts, force, "force", 'f', "Do not ask; also with sessions active"),
    SBX_OPT_END
};
static const struct sbx_opt reset_rows[] = {
    SBX_SWITCH(struct rm_opts, force, "force", 'f', "Do not ask"),
    SBX_SWITCH(struct rm_opts, preserve, "preserve-secrets", 0, "Accepted: no secrets are kept yet",
               .hidden = true),
    SBX_OPT_END
};
static const struct sbx_opt_group rm_groups[] = { { .v = rm_rows } };
static const struct sbx_opt_group reset_groups[] = {
    { .v = reset_rows },
};

typedef enum sbx_code (*action_fn)(struct sbx_session *s, const char *name, struct sbx_err *err);

static enum sbx_code do_stop(struct sbx_session *s, const char *name, struct sbx_err *err)
{
    return sbx_sandbox_stop(s->engine, name, err);
}

static enum sbx_code do_start(struct sbx_session *s, const char *name, struct sbx_err *err)
{
    return sbx_sandbox_start(s->engine, name, err);
}

static enum sbx_code do_rm(struct sbx_session *s, const char *name, struct sbx_err *err)
{
    const struct rm_opts *o = s->cli->options;
    enum sbx_code rc = sbx_sandbox_remove(s->engine, name, o->force, err);

    return rc ? rc : sbx_user_rules_drop(s->cli, s, name, err);
}

/* One sandbox is dealt with: a line, or a row of the value. */
static enum sbx_code note_done(struct sbx_cli *cli, const char *name, enum sbx_code rc,
                               json_t *rows, const struct sbx_err *err)
{
    if (cli->format != SBX_FORMAT_TABLE)
        return json_array_append_new(rows, json_pack("{s:s,s:b,s:s*}", "name", name, "done",
                                                     rc == SBX_OK, "error", rc ? err->text : NULL))
                   ? SBX_NO_MEMORY
                   : SBX_OK;
    if (!rc)
        fprintf(cli->out, "%s\n", name);
    return SBX_OK;
}

/* All but the last error are printed here, the last is returned: each is said once. */
static enum sbx_code for_each(struct sbx_cli *cli, struct sbx_session *s, const char *const *v,
                              size_t n, action_fn action, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *rows = json_array();
    enum sbx_code worst = SBX_OK;

    for (size_t i = 0; i < n; i++) {
        struct sbx_err one = SBX_ERR_INIT;
        enum sbx_code rc = action(s, v[i], &one);

        sbx_progress_end(s);
        if (note_done(cli, v[i], rc, rows, &one))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        if (!rc)
            continue;
        if (worst)
            sbx_cli_note(cli, "%s", err->text);
        worst = rc;
        *err = one;
        if (rc == SBX_CANCELED)
            break;
    }
    if (cli->format != SBX_FORMAT_TABLE) {
        enum sbx_code rc = sbx_out_value(cli, json_pack("{s:O}", "sandboxes", rows),
                                         worst ? NULL : err);

        worst = worst ? worst : rc;
    }
    return worst;
}

static enum sbx_code with_names(struct sbx_cli *cli, action_fn action, struct sbx_err *err)
{
    SBX_AUTO(sbx_session) s = { .quiet = false };
    enum sbx_code rc = sbx_session_open(&s, cli, NULL, err);

    return rc ? rc : for_each(cli, &s, cli->args.v, cli->args.n, action, err);
}

static enum sbx_code stop(struct sbx_cli *cli, struct sbx_err *err)
{
    return with_names(cli, do_stop, err);
}

static enum sbx_code start(struct sbx_cli *cli, struct sbx_err *err)
{
    return with_names(cli, do_start, err);
}

static enum sbx_code names_of_all(struct sbx_cli *cli, struct sbx_session *s, struct sbx_texts *ret,
                                  struct sbx_err *err)
{
    struct sbx_sandbox_info *v = NULL;
    size_t n = 0;
    enum sbx_code rc = sbx_sandbox_list(s->engine, cli->arena, &v, &n, err);

    ret->v = rc ? NULL : sbx_arena_array(cli->arena, n + 1, sizeof(*ret->v));
    if (!rc && !ret->v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (ret->n = 0; !rc && ret->n < n; ret->n++)
        ret->v[ret->n] = v[ret->n].name;
    return rc;
}

static enum sbx_code ask_rm(struct sbx_cli *cli, struct sbx_session *s,
                            const struct sbx_texts *names, struct sbx_err *err)
{
    const struct rm_opts *o = cli->options;
    const char *list = "", *question, *instead;
    struct sbx_sandbox_info info;
    size_t n = 0;

    if (o->force || !names->n)
        return SBX_OK;
    for (size_t i = 0; i < names->n;
         i++) { /* one that is not there is no question, but an error later */
        enum sbx_code rc = sbx_sandbox_inspect(s->engine, names->v[i], cli->arena, &info, err);

        if (rc == SBX_NOT_FOUND)
            continue;
        if (rc)
            return rc;
        list = sbx_arena_printf(cli->arena, "%s%s%s", list, n++ ? ", " : "", names->v[i]);
        if (!list)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    if (!n)
        return SBX_OK;
    question = n == 1 ? sbx_arena_printf(cli->arena, "Remove sandbox %s and all in it?", list)
                      : sbx_arena_printf(cli->arena, "Remove %zu sandboxes (%s) and all in them?",
                                         n, list);
    instead = sbx_arena_printf(cli->arena, "sbx rm --force %s", o->all ? "--all" : names->v[0]);
    return question && instead ? sbx_cli_confirm(cli, question, instead, err)
                               : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code rm(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct rm_opts *o = cli->options;
    SBX_AUTO(sbx_session) s = { .quiet = false };
    struct sbx_texts names = cli->args;
    enum sbx_code rc;

    if (o->all == (cli->args.n > 0))
        return sbx_err_set(err, SBX_USAGE,
                           o->all ? "name sandboxes or give --all, not both"
                                  : "which sandbox? Name one, or give --all");
    rc = sbx_session_open(&s, cli, NULL, err);
    if (!rc && o->all)
        rc = names_of_all(cli, &s, &names, err);
    if (!rc)
        rc = ask_rm(cli, &s, &names, err);
    return rc ? rc : for_each(cli, &s, names.v, names.n, do_rm, err);
}

static enum sbx_code reset(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct rm_opts *o = cli->options;
    SBX_AUTO(sbx_session) s = { .quiet = false };
    enum sbx_code rc = SBX_OK;

    if (!o->force)
        rc = sbx_cli_confirm(cli, "Remove every sandbox and all state of this app?",
                             "sbx reset --force", err);
    if (!rc)
        rc = sbx_session_open(&s, cli, NULL, err);
    if (!rc)
        rc = sbx_engine_reset(s.engine, err);
    if (!rc && (s.files.file.initialized || s.files.file.n_approvals))
        rc = sbx_user_preset_write(cli, sbx_engine_paths(s.engine), NULL, err);
    if (!rc && cli->format != SBX_FORMAT_TABLE)
        rc = sbx_out_value(cli, json_pack("{s:b}", "reset", 1), err);
    return rc;
}

const struct sbx_verb sbx_verb_stop = {
    .name = "stop",
    .summary = "Stop sandboxes; what is in them stays",
    .args = "SANDBOX...",
    .example = "sbx stop my-sandbox\n"
               "sbx stop $(sbx ls -q)",
    .min = 1,
    .max = 100000,
    .words = SBX_WORDS_SANDBOX,
    .run = stop,
};

const struct sbx_verb sbx_verb_start = {
    .name = "start",
    .summary = "Start stopped sandboxes, without their agents",
    .args = "SANDBOX...",
    .example = "sbx start my-sandbox",
    .min = 1,
    .max = 100000,
    .words = SBX_WORDS_SANDBOX,
    .run = start,
};

const struct sbx_verb sbx_verb_rm = {
    .name = "rm",
    .summary = "Remove sandboxes with all that is in them",
    .args = "[SANDBOX...]",
    .about =
        "Removes container, volumes, state and the network rules that are for this sandbox alone. Mounted\n"
        "directories of the host stay as they are.",
    .example = "sbx rm my-sandbox\n"
               "sbx rm --force --all",
    .groups = rm_groups,
    .n_groups = SBX_ARRAY_LEN(rm_groups),
    .size = sizeof(struct rm_opts),
    .max = 100000,
    .words = SBX_WORDS_SANDBOX,
    .run = rm,
};

const struct sbx_verb sbx_verb_reset = {
    .name = "reset",
    .summary = "Remove every sandbox and all state of this app",
    .about =
        "Only of this app (--app-name): others keep theirs. Files under the configuration directory stay,\n"
        "but the network policy is as before \"policy init\".",
    .example = "sbx --app-name tests reset --force",
    .groups = reset_groups,
    .n_groups = SBX_ARRAY_LEN(reset_groups),
    .size = sizeof(struct rm_opts),
    .run = reset,
};
