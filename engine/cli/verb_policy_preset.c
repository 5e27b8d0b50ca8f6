/* The default policy: set-default, init, reset, ls. */
#include <string.h>

#include "out.h"
#include "policy_rules.h"
#include "session.h"
#include "userfiles.h"
#include "verbs.h"

struct preset_opts {
    bool force;
};

static const struct sbx_opt reset_rows[] = {
    SBX_SWITCH(struct preset_opts, force, "force", 'f', "Do not ask"), SBX_OPT_END
};
static const struct sbx_opt_group reset_groups[] = { { .v = reset_rows } };

static enum sbx_code check_preset(const char *name, struct sbx_err *err)
{
    if (sbx_policy_is_preset(name))
        return SBX_OK;
    return sbx_err_set(err, SBX_USAGE, "no preset \"%s\": want allow-all, balanced or deny-all",
                       name);
}

/* Write it, then tell the gates of running sandboxes. */
static enum sbx_code put_preset(struct sbx_cli *cli, const struct sbx_paths *paths,
                                const char *preset, struct sbx_err *err)
{
    SBX_AUTO(sbx_session) s = { .quiet = true };
    enum sbx_code rc = sbx_user_preset_write(cli, paths, preset, err);

    if (!rc)
        rc = sbx_session_open(&s, cli, NULL, err);
    return rc ? rc : sbx_sandbox_policy_refresh(s.engine, NULL, err);
}

static enum sbx_code set_default(struct sbx_cli *cli, struct sbx_err *err)
{
    const char *preset = cli->args.v[0];
    SBX_AUTO(sbx_paths) paths = { 0 };
    enum sbx_code rc = check_preset(preset, err);

    if (!rc)
        rc = sbx_paths_init(cli->global.app, &paths, err);
    if (!rc)
        rc = put_preset(cli, &paths, preset, err);
    if (!rc)
        fprintf(cli->out, "Global network policy set to \"%s\"\n", preset);
    return rc;
}

static enum sbx_code init(struct sbx_cli *cli, struct sbx_err *err)
{
    const char *preset = cli->args.v[0];
    SBX_AUTO(sbx_paths) paths = { 0 };
    struct sbx_user_files files = { .policy = { .preset = NULL } };
    enum sbx_code rc = check_preset(preset, err);

    if (!rc)
        rc = sbx_paths_init(cli->global.app, &paths, err);
    if (!rc)
        rc = sbx_user_files_read(cli, &paths, &files, err);
    if (rc)
        return rc;
    if (files.file.initialized && strcmp(files.file.preset, preset))
        return sbx_err_set(err, SBX_EXISTS,
                           "the global network policy is already \"%s\"; change it with: "
                           "sbx policy set-default %s",
                           files.file.preset, preset);
    rc = put_preset(cli, &paths, preset, err);
    if (!rc)
        fprintf(cli->out, "Global network policy initialized to \"%s\"\n", preset);
    return rc;
}

static enum sbx_code reset(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct preset_opts *o = cli->options;
    SBX_AUTO(sbx_paths) paths = { 0 };
    enum sbx_code rc = SBX_OK;

    if (!o->force)
        rc = sbx_cli_confirm(cli, "Take the global network policy back to \"balanced\"?",
                             "sbx policy reset --force", err);
    if (!rc)
        rc = sbx_paths_init(cli->global.app, &paths, err);
    if (!rc)
        rc = put_preset(cli, &paths, NULL, err);
    if (!rc)
        fputs("Global network policy reset; \"balanced\" holds until it is set\n", cli->out);
    return rc;
}

static const char *field(const json_t *rule, const char *name)
{
    const char *text = json_string_value(json_object_get(rule, name));

    return text ? text : "";
}

static json_t *rule_json(const json_t *rule, const char *sandbox)
{
    const char *source = field(rule, "source");
    bool preset = !strcmp(source, "preset");

    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:[s],s:s,s:s,s:s,s:b}", "id", field(rule, "id"),
                     "name", field(rule, "id"), "policy_name", field(rule, "origin"), "scope",
                     sandbox && !strcmp(source, "kit") ? "sandbox" : "global", "applies_to",
                     sandbox && !strcmp(source, "kit") ? sandbox : "all", "decision",
                     field(rule, "decision"), "resources", field(rule, "pattern"), "resource_type",
                     "network", "origin", source, "status", "active", "editable",
                     (int)(!preset && strcmp(source, "kit")));
}

static enum sbx_code list(struct sbx_cli *cli, const json_t *rules, const char *sandbox,
                          struct sbx_err *err)
{
    static const char *const head[] = { "RULE", "SOURCE", "APPLIES TO", "DECISION", "RESOURCE" };
    struct sbx_columns c = { .arena = cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };
    json_t *all = json_array(), *rule;
    size_t i;

    json_array_foreach((json_t *)rules, i, rule) {
        bool kit = sandbox && !strcmp(field(rule, "source"), "kit");
        const char *cells[] = { field(rule, "id"), field(rule, "origin"), kit ? sandbox : "all",
                                field(rule, "decision"), field(rule, "pattern") };

        json_array_append_new(all, rule_json(rule, sandbox));
        if (sbx_columns_add(&c, cells, err)) {
            json_decref(all);
            return SBX_NO_MEMORY;
        }
    }
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli, json_pack("{s:o}", "rules", all), err);
    json_decref(all);
    sbx_columns_print(&c, cli->out);
    return SBX_OK;
}

static enum sbx_code ls(struct sbx_cli *cli, struct sbx_err *err)
{
    const char *sandbox = cli->args.n ? cli->args.v[0] : NULL;
    SBX_AUTO_JSON json_t *config = NULL;
    enum sbx_code rc = sbx_rules_of(cli, sandbox, &config, err);

    return rc ? rc : list(cli, json_object_get(config, "rules"), sandbox, err);
}

const struct sbx_verb sbx_verb_policy_set_default = {
    .name = "set-default",
    .summary = "Choose the preset that holds for every sandbox",
    .args = "allow-all|balanced|deny-all",
    .about = "allow-all opens every public host; balanced opens a documented list of registries, "
             "code hosts and\n"
             "model services; deny-all opens nothing. What a kit allows counts under each of them, "
             "and a deny rule\n"
             "always wins. Running sandboxes follow at once.",
    .example = "sbx policy set-default deny-all",
    .min = 1,
    .max = 1,
    .words = SBX_WORDS_PRESET,
    .run = set_default,
};

const struct sbx_verb sbx_verb_policy_init = {
    .name = "init",
    .summary = "Choose the preset the first time",
    .args = "allow-all|balanced|deny-all",
    .about = "Like set-default, but fails when another preset was chosen before, so that a script "
             "cannot widen\n"
             "what a person set.",
    .min = 1,
    .max = 1,
    .words = SBX_WORDS_PRESET,
    .run = init,
};

const struct sbx_verb sbx_verb_policy_reset = {
    .name = "reset",
    .summary = "Forget the chosen preset",
    .about = "Your own rules and all sandboxes stay.",
    .groups = reset_groups,
    .n_groups = SBX_ARRAY_LEN(reset_groups),
    .size = sizeof(struct preset_opts),
    .run = reset,
};

const struct sbx_verb sbx_verb_policy_ls = {
    .name = "ls",
    .summary = "List rules: of the preset, your own, and a sandbox's kits",
    .args = "[SANDBOX]",
    .max = 1,
    .words = SBX_WORDS_SANDBOX,
    .run = ls,
};
