/* No account is needed; scripts that log in first must still work (decision C6). */
#include <string.h>
#include <unistd.h>

#include "out.h"
#include "verbs.h"

struct login_opts {
    const char *user;
    bool password_stdin, yes;
};

static const struct sbx_opt login_rows[] = {
    SBX_TEXT(struct login_opts, user, "username", 0, "NAME", "Accepted and not used"),
    SBX_SWITCH(struct login_opts, password_stdin, "password-stdin", 0,
               "Read a password from standard input and drop it"),
    SBX_OPT_END
};
static const struct sbx_opt logout_rows[] = {
    SBX_SWITCH(struct login_opts, yes, "yes", 'y', "Accepted and not used"), SBX_OPT_END
};
static const struct sbx_opt_group login_groups[] = {
    { .v = login_rows },
};
static const struct sbx_opt_group logout_groups[] = {
    { .v = logout_rows },
};

static enum sbx_code no_account(struct sbx_cli *cli, const char *text, struct sbx_err *err)
{
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli, json_pack("{s:n}", "account"), err);
    sbx_cli_note(cli, "no account is needed: %s", text);
    return SBX_OK;
}

/* Who names a server means the log-in of a registry, and that is Docker's. */
static enum sbx_code not_here(const struct sbx_cli *cli, const char *word, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_USAGE,
                       "log-ins of registries are Docker's: run \"docker %s %s\", which changes "
                       "config.json in $DOCKER_CONFIG or ~/.docker",
                       word, cli->args.v[0]);
}

static enum sbx_code login(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct login_opts *o = cli->options;
    char dropped[4096];

    if (cli->args.n)
        return not_here(cli, "login", err);
    if (o->password_stdin)
        while (read(STDIN_FILENO, dropped, sizeof(dropped)) > 0)
            ;
    explicit_bzero(dropped, sizeof(dropped));
    return no_account(cli, "nothing to log in to", err);
}

static enum sbx_code logout(struct sbx_cli *cli, struct sbx_err *err)
{
    if (cli->args.n)
        return not_here(cli, "logout", err);
    return no_account(cli, "nothing to log out of", err);
}

const struct sbx_verb sbx_verb_login = {
    .name = "login",
    .summary = "Succeed: no account is needed",
    .about =
        "Kept so that scripts written for other versions of sbx work unchanged. Log-ins of registries\n"
        "are those of \"docker login\".",
    .example = "sbx login",
    .args = "[SERVER]",
    .max = 1,
    .groups = login_groups,
    .n_groups = SBX_ARRAY_LEN(login_groups),
    .size = sizeof(struct login_opts),
    .run = login,
};

const struct sbx_verb sbx_verb_logout = {
    .name = "logout",
    .summary = "Succeed: no account is needed",
    .about =
        "Kept so that scripts written for other versions of sbx work unchanged. Stops nothing.",
    .example = "sbx logout",
    .args = "[SERVER]",
    .max = 1,
    .groups = logout_groups,
    .n_groups = SBX_ARRAY_LEN(logout_groups),
    .size = sizeof(struct login_opts),
    .run = logout,
};
