/* The one table of commands. */
#include "cli.h"
#include "verbs.h"

static const char *const outputs[] = { "table", "json", "yaml", "sarif", NULL };

static const struct sbx_opt global_rows[] = {
    SBX_TEXT(struct sbx_globals, app, "app-name", 0, "NAME",
             "Keep sandboxes, state and settings apart under this name"),
    SBX_SWITCH(struct sbx_globals, debug, "debug", 'D', "Say more about what happens"),
    SBX_TEXT(struct sbx_globals, output, "output", 0, "FORMAT",
             "Print results as table, json or yaml", .choices = outputs, .some = "sarif"),
    SBX_SWITCH(struct sbx_globals, json, "json", 0, "Short for --output json"),
    SBX_TEXT(struct sbx_globals, output, "format", 0, "FORMAT", "Older spelling of --output",
             .choices = outputs, .some = "sarif", .hidden = true),
    SBX_SWITCH(struct sbx_globals, no_input, "no-input", 0,
               "Never ask; a command that would ask fails and names the command to run"),
    SBX_SWITCH(struct sbx_globals, help, "help", 'h', "Show help for the command"),
    SBX_OPT_END
};

const struct sbx_opt_group sbx_global_group = {
    .title = "Global flags",
    .v = global_rows,
};

static const struct sbx_verb
    n_cp = SBX_NOT_BUILT("cp", "copying files is not built yet; mount a directory with PATH"),
    n_daemon = SBX_NOT_BUILT("daemon", "there is no daemon: nothing to start, stop or ask"),
    n_df = SBX_NOT_BUILT("df", "not built yet"),
    n_diagnose = SBX_NOT_BUILT("diagnose", "not built yet"),
    n_env = SBX_NOT_BUILT("env", "environment files are not built yet"),
    n_mcp = SBX_NOT_BUILT("mcp", "MCP servers are not built"),
    n_mount = SBX_NOT_BUILT("mount",
                            "mounts are fixed when a sandbox is made; pass PATH to create"),
    n_move = SBX_NOT_BUILT("move", "there is no cloud: sandboxes run on this machine"),
    n_prune = SBX_NOT_BUILT("prune", "not built yet; use ls -q and rm"),
    n_secret = SBX_NOT_BUILT("secret", "secrets are not built yet"),
    n_settings = SBX_NOT_BUILT("settings", "not built yet; edit settings.yaml"),
    n_setup = SBX_NOT_BUILT("setup", "not built yet"),
    n_skills = SBX_NOT_BUILT("skills", "the shared skills store is not built");

static const struct sbx_verb *const top[] = {
    &sbx_verb_run,
    &sbx_verb_create,
    &sbx_verb_exec,
    &sbx_verb_ls,
    &sbx_verb_inspect,
    &sbx_verb_stop,
    &sbx_verb_start,
    &sbx_verb_rm,
    &sbx_verb_plan,
    &sbx_verb_kit,
    &sbx_verb_policy,
    &sbx_verb_ports,
    &sbx_verb_port,
    &sbx_verb_template,
    &sbx_verb_cache,
    &sbx_verb_login,
    &sbx_verb_logout,
    &sbx_verb_reset,
    &sbx_verb_version,
    &sbx_verb_completion,
    &sbx_verb_help,
    &sbx_verb_complete,
    &n_cp,
    &n_daemon,
    &n_df,
    &n_diagnose,
    &n_env,
    &n_mcp,
    &n_mount,
    &n_move,
    &n_prune,
    &n_secret,
    &n_settings,
    &n_setup,
    &n_skills,
};

static const struct sbx_opt root_rows[] = {
    SBX_SWITCH(struct sbx_root_opts, version, "version", 'v', "Print the version"), SBX_OPT_END
};
static const struct sbx_opt_group root_groups[] = { { .v = root_rows } };

const struct sbx_verb sbx_root = {
    .name = "sbx",
    .summary = "Run coding agents in sandboxes that kits describe",
    .about =
        "A sandbox is a container whose only network is a gate on this machine. Kits, directories with\n"
        "a spec.yaml, say what is in it: image, files, commands, environment, and the hosts it may reach.\n"
        "No daemon and no account: each command does its work and ends.",
    .example = "sbx run claude\n"
               "sbx run shell --kit ./my-kit ~/project\n"
               "sbx exec my-sandbox -- git status",
    .groups = root_groups,
    .n_groups = SBX_ARRAY_LEN(root_groups),
    .size = sizeof(struct sbx_root_opts),
    .sub = top,
    .n_sub = SBX_ARRAY_LEN(top),
};
