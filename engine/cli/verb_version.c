#include "out.h"
#include "verbs.h"

static enum sbx_code version(struct sbx_cli *cli, struct sbx_err *err)
{
    if (cli->format == SBX_FORMAT_TABLE) {
        fprintf(cli->out, "sbx version %s\n", SBX_VERSION);
        return SBX_OK;
    }
    /* "server" is what scripts look for; there is none. */
    return sbx_out_value(cli,
                         json_pack("{s:{s:s,s:s,s:[]},s:{s:s}}", "client", "version", SBX_VERSION,
                                   "revision", SBX_REVISION, "build_tags", "server", "state",
                                   "none"),
                         err);
}

const struct sbx_verb sbx_verb_version = {
    .name = "version",
    .summary = "Print the version",
    .example = "sbx version\n"
               "sbx version --json | jq -r .client.revision",
    .run = version,
};
