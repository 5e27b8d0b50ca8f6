/* The default policy: set-default, init, reset. */
#include <string.h>

#include "out.h"
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

/* What holds now, for people with words around it. */
static enum sbx_code tell(struct sbx_cli *cli, const char *before, const char *preset,
                          const char *after, struct sbx_err *err)
{
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli, json_pack("{s:s}", "preset", preset), err);
    fprintf(cli->out, "Global network policy %s \"%s\"%s\n", before, preset, after);
    return SBX_OK;
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
    return rc ? rc : tell(cli, "set to", preset, "", err);
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
    return rc ? rc : tell(cli, "initialized to", preset, "", err);
}

static enum sbx_code reset(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct preset_opts *o = cli->options;
    SBX_AUTO(sbx_paths) paths = { 0 };
    enum sbx_code rc = SBX_OK;

    if (!o->force)
        rc = sbx_cli_confirm(
            cli,
            "Take the global network policy back to \"balanced\", and back what was "
            "approved of kits?",
            "sbx policy reset --force", err);
    if (!rc)
        rc = sbx_paths_init(cli->global.app, &paths, err);
    if (!rc)
        rc = put_preset(cli, &paths, NULL, err);
    return rc ? rc : tell(cli, "reset;", "balanced", " holds until it is set", err);
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
    .example = "sbx policy init balanced",
    .min = 1,
    .max = 1,
    .words = SBX_WORDS_PRESET,
    .run = init,
};

const struct sbx_verb sbx_verb_policy_reset = {
    .name = "reset",
    .summary = "Forget the chosen preset",
    .about =
        "Your own rules and all sandboxes stay; what you approved of kits (--approve) is taken back.",
    .example = "sbx policy reset",
    .groups = reset_groups,
    .n_groups = SBX_ARRAY_LEN(reset_groups),
    .size = sizeof(struct preset_opts),
    .run = reset,
};
