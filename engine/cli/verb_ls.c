#include "info.h"
#include "out.h"
#include "session.h"
#include "verbs.h"

struct ls_opts {
    bool quiet, all;
};

static const struct sbx_opt rows[] = {
    SBX_SWITCH(struct ls_opts, quiet, "quiet", 'q', "Print names only"),
    SBX_SWITCH(struct ls_opts, all, "all", 'a', "Accepted: stopped ones are always listed",
               .hidden = true),
    SBX_OPT_END
};
static const struct sbx_opt_group groups[] = { { .v = rows } };

static enum sbx_code as_table(struct sbx_cli *cli, const struct sbx_sandbox_info *v, size_t n,
                              struct sbx_err *err)
{
    static const char *const head[] = { "SANDBOX", "AGENT", "STATUS", "PORTS", "WORKSPACE" };
    struct sbx_columns c = { .arena = cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };

    for (size_t i = 0; i < n; i++) {
        const char *cells[] = {
            v[i].name,
            v[i].agent,
            sbx_status_name(v[i].status),
            sbx_info_ports(cli->arena, &v[i]),
            sbx_info_workspace(cli->arena, &v[i]),
        };

        if (sbx_columns_add(&c, cells, err))
            return SBX_NO_MEMORY;
    }
    sbx_columns_print(&c, cli->out);
    return SBX_OK;
}

static enum sbx_code as_value(struct sbx_cli *cli, const struct sbx_sandbox_info *v, size_t n,
                              struct sbx_err *err)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, sbx_info_row_json(&v[i]));
    return sbx_out_value(cli, json_pack("{s:o}", "sandboxes", list), err);
}

static enum sbx_code ls(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct ls_opts *o = cli->options;
    SBX_AUTO(sbx_session) s = { .quiet = true };
    struct sbx_sandbox_info *v = NULL;
    size_t n = 0;
    enum sbx_code rc = sbx_session_open(&s, cli, NULL, err);

    if (!rc)
        rc = sbx_sandbox_list(s.engine, cli->arena, &v, &n, err);
    if (rc)
        return rc;
    if (cli->format != SBX_FORMAT_TABLE)
        return as_value(cli, v, n, err);
    if (!o->quiet)
        return as_table(cli, v, n, err);
    for (size_t i = 0; i < n; i++)
        fprintf(cli->out, "%s\n", v[i].name);
    return SBX_OK;
}

const struct sbx_verb sbx_verb_ls = {
    .name = "ls",
    .summary = "List sandboxes",
    .example = "sbx ls\n"
               "sbx ls --json | jq -r '.sandboxes[] | select(.status == \"stopped\") | .name'",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct ls_opts),
    .run = ls,
};
