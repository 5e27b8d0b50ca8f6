/* No account is needed; scripts that log in first must still work (decision C6). */
#include <string.h>
#include <unistd.h>

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

static enum sbx_code login(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct login_opts *o = cli->options;
    char dropped[4096];

    (void)err;
    if (o->password_stdin)
        while (read(STDIN_FILENO, dropped, sizeof(dropped)) > 0)
            ;
    explicit_bzero(dropped, sizeof(dropped));
    sbx_cli_note(cli, "no account is needed: nothing to log in to");
    return SBX_OK;
}

static enum sbx_code logout(struct sbx_cli *cli, struct sbx_err *err)
{
    (void)err;
    sbx_cli_note(cli, "no account is needed: nothing to log out of");
    return SBX_OK;
}

const struct sbx_verb sbx_verb_login = {
    .name = "login",
    .summary = "Succeed: no account is needed",
    .about = "Kept so that scripts written for other versions of sbx work unchanged.",
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
    .groups = logout_groups,
    .n_groups = SBX_ARRAY_LEN(logout_groups),
    .size = sizeof(struct login_opts),
    .run = logout,
};
