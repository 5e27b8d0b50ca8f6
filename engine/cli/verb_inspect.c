#include "info.h"
#include "out.h"
#include "session.h"
#include "verbs.h"

static void line(struct sbx_cli *cli, const char *label, const char *text)
{
    if (text && *text)
        fprintf(cli->out, "%-14s %s\n", label, sbx_out_clean(cli->arena, text));
}

static void show_plan(struct sbx_cli *cli, const struct sbx_plan *p,
                      const struct sbx_user_policy *policy)
{
    struct sbx_arena *a = cli->arena;

    for (size_t i = 0; i < p->n_kits; i++)
        line(cli, i ? "" : "Kits",
             sbx_arena_printf(a, "%s (%s) %s", p->kits[i].name, p->kits[i].kind,
                              p->kits[i].reference ? p->kits[i].reference : ""));
    for (size_t i = 0; i < p->n_mounts; i++)
        line(cli, i ? "" : "Mounts",
             sbx_arena_printf(a, "%s%s%s", p->mounts[i].target,
                              p->mounts[i].kind == SBX_PLAN_TMPFS    ? " (tmpfs)"
                              : p->mounts[i].kind == SBX_PLAN_VOLUME ? " (volume)"
                                                                     : "",
                              p->mounts[i].read_only ? " read-only" : ""));
    for (size_t i = 0; i < p->n_rules; i++)
        line(cli, i ? "" : "Network", sbx_plan_rule_text(a, p, &p->rules[i], policy));
    line(cli, "Plan", p->digest);
}

static void show(struct sbx_cli *cli, const struct sbx_sandbox_info *i,
                 const struct sbx_user_policy *policy)
{
    line(cli, "Name", i->name);
    line(cli, "Agent", i->agent);
    line(cli, "State", sbx_status_name(i->status));
    line(cli, "", i->detail);
    line(cli, "Image", i->image);
    line(cli, "Runtime", i->runtime_name);
    line(cli, "Container", i->container);
    line(cli, "Created", i->created_at);
    line(cli, "Last used", i->last_used_at);
    for (size_t w = 0; w < i->n_workspaces; w++)
        line(cli, w ? "" : "Workspaces",
             sbx_arena_printf(cli->arena, "%s%s", i->workspaces[w].path,
                              i->workspaces[w].read_only ? " (read-only)" : ""));
    line(cli, "", i->workspace_missing ? "a workspace is missing on the host" : NULL);
    for (size_t p = 0; p < i->n_ports; p++)
        line(cli, p ? "" : "Ports",
             sbx_arena_printf(cli->arena, "%s%s%s%s", sbx_published_text(cli->arena, &i->ports[p]),
                              i->ports[p].kit ? " (kit " : "",
                              i->ports[p].kit ? i->ports[p].kit : "", i->ports[p].kit ? ")" : ""));
    line(cli, "Gate", i->gate_up ? "up" : "down");
    line(cli, "Sessions", sbx_arena_printf(cli->arena, "%zu", i->sessions));
    line(cli, "Weak network", i->weak_network ? "accepted with --weak-network" : NULL);
    line(cli, "Policy", sbx_policy_text(cli->arena, policy, i->name));
    if (i->plan)
        show_plan(cli, i->plan, policy);
}

static enum sbx_code inspect(struct sbx_cli *cli, struct sbx_err *err)
{
    SBX_AUTO(sbx_session) s = { .quiet = true };
    struct sbx_sandbox_info info;
    enum sbx_code rc = sbx_session_open(&s, cli, NULL, err);

    if (!rc)
        rc = sbx_sandbox_inspect(s.engine, cli->args.v[0], cli->arena, &info, err);
    if (rc)
        return rc;
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli, sbx_info_full_json(&info, &s.files.policy), err);
    show(cli, &info, &s.files.policy);
    return SBX_OK;
}

const struct sbx_verb sbx_verb_inspect = {
    .name = "inspect",
    .summary = "Show a sandbox: kits, mounts, network rules, state",
    .args = "SANDBOX",
    .example = "sbx inspect my-sandbox\n"
               "sbx inspect my-sandbox --json | jq .mounts",
    .min = 1,
    .max = 1,
    .words = SBX_WORDS_SANDBOX,
    .run = inspect,
};
