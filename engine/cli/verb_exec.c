#include <string.h>
#include <unistd.h>

#include "session.h"
#include "verbs.h"

struct exec_opts {
    bool interactive, tty, privileged;
    const char *user, *workdir;
    struct sbx_texts env, env_files;
};

static const struct sbx_opt rows[] = {
    SBX_SWITCH(struct exec_opts, interactive, "interactive", 'i', "Attach standard input"),
    SBX_SWITCH(struct exec_opts, tty, "tty", 't', "Give the command a terminal"),
    SBX_TEXT(struct exec_opts, user, "user", 'u', "USER",
             "Run as this user, NAME or UID[:GID] (default: agent)"),
    SBX_TEXT(struct exec_opts, workdir, "workdir", 'w', "DIR",
             "Run in this directory (default: the first workspace)"),
    SBX_LISTOF(struct exec_opts, env, "env", 'e', "NAME[=VALUE]",
               "Set a variable for this command (repeatable)"),
    SBX_LISTOF(struct exec_opts, env_files, "env-file", 0, "FILE",
               "Read variables from a file (repeatable)"),
    SBX_SWITCH(struct exec_opts, privileged, "privileged", 0, "Give the command extended rights"),
    SBX_REFUSED("detach", 'd', SBX_OPT_SWITCH, NULL,
                "commands are not detached; omit -d, or put it behind \"sh -c '... &'\""),
    SBX_REFUSED("detach-keys", 0, SBX_OPT_TEXT, "KEYS", "there is no detaching from a command"),
    SBX_OPT_END
};
static const struct sbx_opt_group groups[] = { { .v = rows } };

static enum sbx_code run_command(struct sbx_cli *cli, const struct exec_opts *o,
                                 struct sbx_err *err)
{
    struct sbx_command c = { .user = o->user, .workdir = o->workdir, .privileged = o->privileged };
    SBX_AUTO(sbx_session) s = { .quiet = true };
    enum sbx_code rc;
    int status = 0;

    rc = sbx_env_list(cli->arena, &o->env, &o->env_files, &c.env, err);
    if (rc)
        return rc;
    c.argv = sbx_argv(cli->arena, cli->args.v + 1, cli->args.n - 1);
    if (!c.argv)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_session_open(&s, cli, NULL, err);
    if (!rc)
        rc = sbx_attach(&c.streams, o->tty, o->interactive, err);
    if (!rc)
        rc = sbx_sandbox_exec(s.engine, cli->args.v[0], &c, &status, err);
    sbx_tty_restore();
    cli->status = rc == SBX_CANCELED ? 130 : rc ? 125 : status;
    return rc;
}

static enum sbx_code exec(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct exec_opts *o = cli->options;

    if (o->tty && o->interactive && !isatty(STDIN_FILENO))
        return sbx_err_set(err, SBX_USAGE, "standard input is no terminal: omit -t");
    return run_command(cli, o, err);
}

const struct sbx_verb sbx_verb_exec = {
    .name = "exec",
    .summary = "Run a command in a sandbox",
    .args = "SANDBOX [--] COMMAND [ARG...]",
    .about =
        "Starts a stopped sandbox first. The command runs without a shell, as the agent, in the first\n"
        "workspace.",
    .example = "sbx exec my-sandbox git status\n"
               "sbx exec -it my-sandbox bash\n"
               "sbx exec -u root my-sandbox -- sh -c 'apt-get update && apt-get install -y jq'",
    .exits =
        "The command's; 128 and more: it ended by a signal. Before it: 125: sbx itself failed,\n"
        "126: it cannot be run, or the directory of -w does not exist, 127: it was not found",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct exec_opts),
    .min = 2,
    .max = 100000,
    .stop_at = 2,
    .passthrough = true,
    .words = SBX_WORDS_SANDBOX_FIRST,
    .run = exec,
};
