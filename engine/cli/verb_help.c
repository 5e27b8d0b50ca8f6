#include "verbs.h"

#include <string.h>

static enum sbx_code help(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct sbx_verb *v;
    char path[96];
    size_t used, len;

    v = sbx_cli_find(&sbx_root, cli->args.v, cli->args.n, &used);
    len = (size_t)snprintf(path, sizeof(path), "%s", sbx_root.name);
    for (size_t i = 0; i < used && len < sizeof(path); i++)
        len += (size_t)snprintf(path + len, sizeof(path) - len, " %s", cli->args.v[i]);
    if (used < cli->args.n)
        return sbx_cli_unknown(v, path, cli->args.v[used], err);
    if (v->not_built)
        return sbx_err_set(err, SBX_UNSUPPORTED, "\"%s\": %s", path, v->not_built);
    sbx_help_print(v, path, cli->out);
    return SBX_OK;
}

const struct sbx_verb sbx_verb_help = {
    .name = "help",
    .summary = "Show help for a command",
    .args = "[COMMAND...]",
    .example = "sbx help kit push",
    .max = 4,
    .passthrough = true,
    .words = SBX_WORDS_COMMAND,
    .run = help,
};
