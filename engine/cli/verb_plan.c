#include <string.h>

#include "approvals.h"
#include "info.h"
#include "out.h"
#include "session.h"
#include "verbs.h"

struct plan_opts {
    struct sbx_sandbox_opts sandbox;
    struct sbx_kit_opts kit;
    struct sbx_runtime_opts runtime;
};

static const struct sbx_opt_group groups[] = {
    SBX_GROUP("Kits", sbx_kit_rows, struct plan_opts, kit),
    SBX_GROUP("Sandbox", sbx_sandbox_rows, struct plan_opts, sandbox),
    SBX_GROUP("Runtime", sbx_runtime_rows, struct plan_opts, runtime),
};

static const char *when_text(unsigned when, struct sbx_arena *arena)
{
    return sbx_arena_printf(arena, "%s%s%s", when & SBX_AT_CREATE ? "create " : "",
                            when & SBX_AT_START ? "start " : "", when & SBX_AT_ADD ? "add" : "");
}

static const char *what_text(const struct sbx_plan_step *s, struct sbx_arena *arena)
{
    if (s->description && *s->description)
        return s->description;
    if (s->argv && s->argv[0])
        return sbx_out_command(arena, s->argv);
    if (s->n_files == 1)
        return s->files[0].path;
    return s->n_files ? sbx_arena_printf(arena, "%zu files", s->n_files) : "";
}

static enum sbx_code steps(struct sbx_cli *cli, const struct sbx_plan *p, struct sbx_err *err)
{
    static const char *const head[] = { "STEP", "KIT", "WHEN", "USER", "WHAT" };
    struct sbx_columns c = { .arena = cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };

    for (size_t i = 0; i < p->n_steps; i++) {
        const struct sbx_plan_step *s = &p->steps[i];
        const char *cells[] = { sbx_phase_name(s->phase), s->kit, when_text(s->when, cli->arena),
                                s->user, what_text(s, cli->arena) };

        if (sbx_columns_add(&c, cells, err))
            return SBX_NO_MEMORY;
    }
    sbx_columns_print(&c, cli->out);
    return SBX_OK;
}

static void line(struct sbx_cli *cli, const char *label, const char *text)
{
    if (text && *text)
        fprintf(cli->out, "%-10s %s\n", label, sbx_out_clean(cli->arena, text));
}

static enum sbx_code as_text(struct sbx_cli *cli, const struct sbx_plan *p,
                             const struct sbx_user_policy *policy, struct sbx_err *err)
{
    struct sbx_arena *a = cli->arena;

    line(cli, "Name", p->name);
    line(cli, "Agent", p->agent);
    line(cli, "Image", p->image);
    line(cli, "Workdir", p->workdir);
    for (size_t i = 0; i < p->n_mounts; i++)
        line(cli, i ? "" : "Mounts",
             sbx_arena_printf(a, "%s%s", p->mounts[i].target,
                              p->mounts[i].read_only ? " (read-only)" : ""));
    for (size_t i = 0; i < p->n_env; i++)
        line(cli, i ? "" : "Variables",
             sbx_arena_printf(a, "%s=%s (%s)", p->env[i].name, p->env[i].value, p->env[i].origin));
    line(cli, "Policy", sbx_policy_text(a, policy, p->name));
    for (size_t i = 0; i < p->n_rules; i++)
        line(cli, i ? "" : "Network", sbx_plan_rule_text(a, p, &p->rules[i], policy));
    for (size_t i = 0; i < p->n_ports; i++)
        line(cli, i ? "" : "Ports",
             sbx_arena_printf(a, "%d/%s (kit %s)", p->ports[i].container,
                              p->ports[i].protocol && *p->ports[i].protocol ? p->ports[i].protocol
                                                                            : "tcp",
                              p->ports[i].kit));
    line(cli, "Digest", p->digest);
    fputc('\n', cli->out);
    return steps(cli, p, err);
}

/* The plan as it is recorded, with its digest and the gate's configuration beside it. */
static enum sbx_code as_value(struct sbx_cli *cli, const struct sbx_user_policy *policy,
                              const struct sbx_plan *p, struct sbx_err *err)
{
    json_t *value = sbx_plan_json(p), *gate = NULL;
    enum sbx_code rc = sbx_gate_config_json(p, policy, 1, &gate, err);

    if (rc) {
        json_decref(value);
        return rc;
    }
    if (value && (json_object_set_new(value, "digest", json_string(p->digest)) ||
                  json_object_set(value, "gate", gate) ||
                  json_object_set_new(value, "policy_preset",
                                      json_string(policy->preset ? policy->preset : "balanced")))) {
        json_decref(value);
        value = NULL;
    }
    json_decref(gate);
    return sbx_out_value(cli, value, err);
}

static enum sbx_code plan(struct sbx_cli *cli, struct sbx_err *err)
{
    struct plan_opts *o = cli->options;
    SBX_AUTO(sbx_make)
    m = { .sandbox = &o->sandbox, .kit = &o->kit, .runtime = &o->runtime, .cwd_default = true };
    SBX_AUTO(sbx_session) s = { .quiet = true };
    SBX_AUTO_PTR(sbx_plan) p = NULL;
    struct sbx_user_policy policy;
    enum sbx_code rc = sbx_make_prepare(cli, &m, err);

    if (!rc)
        rc = sbx_session_open(&s, cli, &o->runtime, err);
    if (!rc) {
        sbx_make_defaults(&s, &m);
        rc = sbx_sandbox_plan(s.engine, &m.create, &cli->diags, &p, err);
    }
    sbx_cli_report(cli);
    if (!rc)
        rc = sbx_approvals_assume(cli->arena, &s.files.policy, p, &policy, err);
    if (rc)
        return rc;
    return cli->format == SBX_FORMAT_TABLE ? as_text(cli, p, &policy, err)
                                           : as_value(cli, &policy, p, err);
}

const struct sbx_verb sbx_verb_plan = {
    .name = "plan",
    .summary = "Show what run would make and do, and make nothing",
    .args = "[AGENT|KIT] [PATH[:ro]...]",
    .about =
        "Takes what \"sbx run\" takes. With --output json the whole plan is printed as it would be recorded\n"
        "with the sandbox, with its digest and the configuration of the gate.",
    .example = "sbx plan claude --kit ./my-kit\n"
               "sbx plan shell --json | jq .gate.rules",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct plan_opts),
    .max = 100,
    .words = SBX_WORDS_AGENT_DIRS,
    .run = plan,
};
