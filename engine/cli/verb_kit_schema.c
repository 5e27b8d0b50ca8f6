#include <string.h>

#include "out.h"
#include "sbx/kit.h"
#include "verbs.h"

struct schema_opts {
    const char *version;
};

static const char *const versions[] = { "1", "2", NULL };

/* A schema is JSON, whatever is asked for but YAML. */
static enum sbx_code schema(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct schema_opts *o = cli->options;

    return sbx_out_value(cli, sbx_kit_schema(o->version && !strcmp(o->version, "1") ? 1 : 2), err);
}

static const struct sbx_opt rows[] = { SBX_TEXT(struct schema_opts, version, "version", 0, "1|2",
                                                "Version of the grammar (default 2)",
                                                .choices = versions),
                                       SBX_OPT_END };
static const struct sbx_opt_group groups[] = { { .v = rows } };

const struct sbx_verb sbx_verb_kit_schema = {
    .name = "schema",
    .summary = "Print the JSON Schema of spec.yaml, for editors",
    .args = "",
    .about =
        "The schema (draft 2020-12) is made of the same tables that read kits. Editors with the YAML language\n"
        "server check and complete a spec.yaml that names it in its first line.",
    .example =
        "sbx kit schema > ~/.config/sbx/kit.schema.json\n"
        "sed -i '1i # yaml-language-server: $schema=/home/me/.config/sbx/kit.schema.json' spec.yaml",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct schema_opts),
    .run = schema,
};
