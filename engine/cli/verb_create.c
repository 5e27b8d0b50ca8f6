#include "out.h"
#include "session.h"
#include "verbs.h"

struct create_opts {
    struct sbx_sandbox_opts sandbox;
    struct sbx_kit_opts kit;
    struct sbx_runtime_opts runtime;
    bool quiet;
};

static const struct sbx_opt create_rows[] = { SBX_SWITCH(
                                                  struct create_opts, quiet, "quiet", 'q',
                                                  "Print the name of the sandbox, no progress"),
                                              SBX_OPT_END };
static const struct sbx_opt_group groups[] = {
    { .v = create_rows },
    SBX_GROUP("Kits", sbx_kit_rows, struct create_opts, kit),
    SBX_GROUP("Sandbox", sbx_sandbox_rows, struct create_opts, sandbox),
    SBX_GROUP("Runtime", sbx_runtime_rows, struct create_opts, runtime),
};

static enum sbx_code create(struct sbx_cli *cli, struct sbx_err *err)
{
    struct create_opts *o = cli->options;
    SBX_AUTO(sbx_make) m = { .sandbox = &o->sandbox, .kit = &o->kit, .runtime = &o->runtime };
    SBX_AUTO(sbx_session) s = { .quiet = o->quiet };
    const char *name = NULL;
    enum sbx_code rc;

    cli->quiet = o->quiet;
    rc = sbx_make_prepare(cli, &m, err);
    if (!rc)
        rc = sbx_session_open(&s, cli, &o->runtime, err);
    if (rc)
        return rc;
    sbx_make_defaults(&s, &m);
    rc = sbx_sandbox_create(s.engine, &m.create, &cli->diags, cli->arena, &name, err);
    sbx_progress_end(&s);
    if (rc)
        sbx_make_failed(&s, &m, err);
    sbx_cli_report(cli);
    if (rc)
        return rc;
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli, json_pack("{s:s}", "name", name), err);
    fprintf(cli->out, "%s\n", name);
    if (!o->quiet)
        sbx_cli_note(cli, "created; attach with: sbx run --name %s", name);
    return SBX_OK;
}

const struct sbx_verb sbx_verb_create = {
    .name = "create",
    .summary = "Make a sandbox and start it, without its agent",
    .args = "[AGENT|KIT] [PATH[:ro]...]",
    .about =
        "AGENT is a built-in agent (claude, codex, gemini, opencode, shell) or a sandbox kit: ./DIRECTORY, or\n"
        "elsewhere by digest or commit; it may also come as the one sandbox kit among --kit. Each PATH is mounted\n"
        "at the same absolute path; the first one is where commands run; \":ro\" makes it read-only. Without a PATH\n"
        "nothing is mounted. Prints the name of the sandbox.",
    .example = "sbx create claude ~/project\n"
               "sbx create shell --kit node --kit ./my-mixin --name try ~/project ~/reference:ro",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct create_opts),
    .max = 100,
    .words = SBX_WORDS_AGENT_DIRS,
    .run = create,
};
