#include <string.h>
#include <unistd.h>

#include "approvals.h"
#include "info.h"
#include "out.h"
#include "sbx/resolve.h"
#include "session.h"
#include "verbs.h"

struct run_opts {
    struct sbx_sandbox_opts sandbox;
    struct sbx_kit_opts kit;
    struct sbx_runtime_opts runtime;
    bool detach, task;
};

static const struct sbx_opt run_rows[] = {
    SBX_SWITCH(struct run_opts, detach, "detach", 'd',
               "Start the sandbox without its agent and print its name"),
    SBX_SWITCH(struct run_opts, detach, "detached", 0, "Older spelling of --detach",
               .hidden = true),
    SBX_SWITCH(struct run_opts, task, "task", 0,
               "Start the agent without a terminal, for a task given behind --"),
    SBX_OPT_END
};
static const struct sbx_opt_group groups[] = {
    { .v = run_rows },
    SBX_GROUP("Kits", sbx_kit_rows, struct run_opts, kit),
    SBX_GROUP("Sandbox", sbx_sandbox_rows, struct run_opts, sandbox),
    SBX_GROUP("Runtime", sbx_runtime_rows, struct run_opts, runtime),
};

/* Which sandbox to attach to; NULL: make one. */
struct target {
    const char *name;
    struct sbx_sandbox_info info;
};

static enum sbx_code look_up(struct sbx_cli *cli, struct sbx_session *s, const char *name,
                             struct target *t, struct sbx_err *err)
{
    enum sbx_code rc = sbx_sandbox_inspect(s->engine, name, cli->arena, &t->info, err);

    if (rc == SBX_NOT_FOUND)
        return SBX_OK;
    if (!rc)
        t->name = name;
    return rc;
}

/* `sbx run` alone: the one sandbox of this directory. */
static enum sbx_code find_here(struct sbx_cli *cli, struct sbx_session *s, struct target *t,
                               struct sbx_err *err)
{
    struct sbx_sandbox_info *v = NULL;
    SBX_AUTO_FREE char *cwd = realpath(".", NULL);
    size_t n = 0, found = 0;
    enum sbx_code rc = sbx_sandbox_list(s->engine, cli->arena, &v, &n, err);

    for (size_t i = 0; !rc && cwd && i < n; i++) {
        if (!v[i].n_workspaces || strcmp(v[i].workspaces[0].path, cwd))
            continue;
        t->info = v[i];
        t->name = v[i].name;
        found++;
    }
    if (rc || found == 1)
        return rc;
    if (found)
        return sbx_err_set(err, SBX_USAGE,
                           "%zu sandboxes have this directory: name one with --name", found);
    return sbx_err_set(err, SBX_USAGE,
                       "which agent? Name one (claude, shell ...), or a sandbox kit (./DIRECTORY)");
}

/* An approval is a part of the line that made the sandbox; a new one would have no effect. */
static enum sbx_code check_approved(const struct target *t, const char *given, struct sbx_err *err)
{
    const struct sbx_plan *p = t->info.plan;

    if (!p)
        return SBX_OK;
    for (size_t i = 0; i < p->n_rules; i++)
        if (!p->rules[i].inert && (!p->rules[i].needs_consent || p->rules[i].consented) &&
            sbx_plan_is_approval(given, p->rules[i].pattern))
            return SBX_OK;
    return sbx_err_set(err, SBX_USAGE,
                       "sandbox \"%s\" exists and was made without --approve %s; remove it first "
                       "(sbx rm %s), or allow it with: sbx policy allow network %s --sandbox %s",
                       t->name, given, t->name, given, t->name);
}

/* One that was taken back since is given again. */
static enum sbx_code approve_again(struct sbx_cli *cli, struct sbx_session *s,
                                   const struct run_opts *o, const struct target *t,
                                   struct sbx_err *err)
{
    const char *const *approve;
    enum sbx_code rc;

    if (!t->info.plan || !o->sandbox.approve.n)
        return SBX_OK;
    approve = sbx_argv(cli->arena, o->sandbox.approve.v, o->sandbox.approve.n);
    if (!approve)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_approvals_remember(cli, sbx_engine_paths(s->engine), t->info.plan, approve, err);
    return rc ? rc : sbx_sandbox_policy_refresh(s->engine, NULL, err);
}

/* Options that only matter when a sandbox is made are an error on one that exists. */
static enum sbx_code check_reattach(struct sbx_cli *cli, const struct run_opts *o,
                                    const struct target *t, struct sbx_err *err)
{
    const char *name = t->name, *runtime = o->runtime.runtime;
    const struct sbx_sandbox_opts *s = &o->sandbox;
    const char *flag = s->image             ? "template"
                       : s->memory          ? "memory"
                       : s->cpus > 0        ? "cpus"
                       : s->pull            ? "pull"
                       : s->privileged      ? "allow-privileged"
                       : s->userns          ? "allow-userns"
                       : s->learn           ? "learn"
                       : s->allow_network.n ? "allow-network"
                       : s->deny_network.n  ? "deny-network"
                       : s->sockets.n       ? "allow-socket"
                       : s->upstream_ca     ? "upstream-ca"
                       : runtime && strcmp(runtime, "auto") && t->info.runtime_name &&
                               strcmp(runtime, t->info.runtime_name)
                           ? "runtime"
                       /* with an agent its values were compared */
                       : !cli->args.n && !o->kit.kits.n && o->kit.args.n + o->kit.args_files.n
                           ? "kit-arg"
                           : NULL;

    for (size_t i = 0; !flag && i < s->approve.n; i++) {
        enum sbx_code rc = check_approved(t, s->approve.v[i], err);

        if (rc)
            return rc;
    }
    if (!flag && s->publish.n)
        sbx_cli_note(cli,
                     "note: --publish counts when a sandbox is made; now: sbx ports publish %s %s",
                     name, s->publish.v[0]);
    if (!flag)
        return SBX_OK;
    return sbx_err_set(
        err, SBX_USAGE,
        "sandbox \"%s\" exists and --%s only counts when one is made; remove it first "
        "(sbx rm %s) or leave the flag out",
        name, flag, name);
}

static enum sbx_code check_same(const struct target *t, const struct sbx_make *m,
                                struct sbx_err *err)
{
    if (t->info.agent && strcmp(t->info.agent, m->artifact->name))
        return sbx_err_set(err, SBX_EXISTS, "sandbox \"%s\" exists and its agent is %s, not %s",
                           t->name, t->info.agent, m->artifact->name);
    return SBX_OK;
}

/* One that was named has to be as the line says, where it says something. */
static enum sbx_code check_named(struct sbx_session *s, const struct run_opts *o,
                                 const struct target *t, const struct sbx_make *m,
                                 struct sbx_err *err)
{
    unsigned what = (o->kit.kits.n ? SBX_SAME_KITS : 0) | (m->create.kit_args ? SBX_SAME_ARGS : 0) |
                    (m->paths_given ? SBX_SAME_WORKSPACES : 0);
    const char *differs = NULL;
    enum sbx_code rc = check_same(t, m, err);

    if (!rc && what)
        rc = sbx_sandbox_differs(s->engine, t->name, &m->create, what, &differs, err);
    return rc || !differs
               ? rc
               : sbx_err_set(
                     err, SBX_USAGE,
                     "sandbox \"%s\" exists and has other %s; they only count when one is made: "
                     "remove it first (sbx rm %s) or leave them out",
                     t->name, differs, t->name);
}

static enum sbx_code find_same(struct sbx_cli *cli, struct sbx_session *s, struct run_opts *o,
                               struct sbx_make *m, struct target *t, struct sbx_err *err)
{
    struct sbx_found found;
    bool runtime = o->runtime.runtime && strcmp(o->runtime.runtime, "auto");
    enum sbx_code rc;

    m->create.runtime = sbx_session_runtime(s, &o->runtime);
    rc = sbx_sandbox_find(s->engine, &m->create, runtime, cli->arena, &found, err);
    if (rc)
        return rc;
    if (found.n > 1)
        return sbx_err_set(err, SBX_USAGE,
                           "%zu sandboxes are as asked for: %s; name one with --name", found.n,
                           found.names);
    if (!found.n && found.near)
        return sbx_err_set(
            err, SBX_EXISTS,
            "sandbox \"%s\" is of this agent and directory, but has other %s; attach "
            "to it with \"sbx run --name %s\", or make another one with --name NAME",
            found.near, found.differs, found.near);
    return found.n ? look_up(cli, s, found.name, t, err) : SBX_OK;
}

/* Words were given: an agent, or in the older spelling the name of a sandbox. */
static enum sbx_code find_or_make(struct sbx_cli *cli, struct sbx_session *s, struct run_opts *o,
                                  struct sbx_make *m, struct target *t, struct sbx_err *err)
{
    const char *word = cli->args.n ? cli->args.v[0] : NULL;
    enum sbx_code rc;

    if (word && cli->args.n == 1 && !o->kit.kits.n && !o->sandbox.name && !strchr(word, '/') &&
        !sbx_resolve_is_agent(word) && !sbx_name_check(word, NULL)) {
        rc = look_up(cli, s, word, t, err);
        if (rc || t->name)
            return rc;
    }
    rc = sbx_make_prepare(cli, m, err);
    if (rc)
        return rc;
    if (o->sandbox.name)
        rc = look_up(cli, s, o->sandbox.name, t, err);
    else
        rc = find_same(cli, s, o, m, t, err);
    if (rc || !t->name)
        return rc;
    return o->sandbox.name ? check_named(s, o, t, m, err) : SBX_OK;
}

static enum sbx_code choose(struct sbx_cli *cli, struct sbx_session *s, struct run_opts *o,
                            struct sbx_make *m, struct target *t, struct sbx_err *err)
{
    enum sbx_code rc;

    if (cli->args.n || o->kit.kits.n) {
        rc = find_or_make(cli, s, o, m, t, err);
    } else if (o->sandbox.name) {
        rc = look_up(cli, s, o->sandbox.name, t, err);
        if (!rc && !t->name)
            return sbx_err_set(err, SBX_NOT_FOUND,
                               "sandbox \"%s\" not found; name an agent to make it",
                               o->sandbox.name);
    } else {
        rc = find_here(cli, s, t, err);
    }
    if (rc || !t->name)
        return rc;
    rc = check_reattach(cli, o, t, err);
    if (!rc)
        rc = approve_again(cli, s, o, t, err);
    if (!rc && !o->detach)
        sbx_cli_note(cli, "attaching to %s", t->name);
    return rc;
}

static enum sbx_code bring_up(struct sbx_cli *cli, struct sbx_session *s, struct sbx_make *m,
                              struct target *t, struct sbx_err *err)
{
    enum sbx_code rc;

    if (t->name) {
        rc = sbx_sandbox_start(s->engine, t->name, err);
    } else {
        sbx_make_defaults(s, m);
        rc = sbx_sandbox_create(s->engine, &m->create, &cli->diags, cli->arena, &t->name, err);
        if (rc)
            sbx_make_failed(s, m, err);
    }
    sbx_progress_end(s);
    sbx_cli_report(cli);
    return rc;
}

static enum sbx_code launch(struct sbx_cli *cli, struct sbx_session *s, const struct run_opts *o,
                            const char *name, const char *const *env, struct sbx_err *err)
{
    bool tty = !o->task && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    const char *const *args = cli->rest.n ? sbx_argv(cli->arena, cli->rest.v, cli->rest.n) : NULL;
    struct sbx_log_mark mark = sbx_blocked_mark(s, name);
    struct sbx_streams streams;
    int status = 0;
    enum sbx_code rc = sbx_attach(&streams, tty, true, err);

    if (!rc)
        rc = sbx_sandbox_launch(s->engine, name, tty, args, env, &streams, &status, err);
    sbx_tty_restore();
    sbx_blocked_tell(s, name, mark);
    cli->status = rc ? 125 : status;
    return rc;
}

static enum sbx_code run_it(struct sbx_cli *cli, struct run_opts *o, struct sbx_err *err)
{
    SBX_AUTO(sbx_make)
    m = { .sandbox = &o->sandbox, .kit = &o->kit, .runtime = &o->runtime, .cwd_default = true };
    SBX_AUTO(sbx_session) s = { .quiet = false };
    struct target t = { .name = NULL };
    const char *const *env = NULL;
    enum sbx_code rc = sbx_session_open(&s, cli, &o->runtime, err);

    if (!rc)
        rc = choose(cli, &s, o, &m, &t, err);
    /* Variables belong to a sandbox that is made, and only to this session of one that exists. */
    if (!rc && t.name)
        rc = sbx_env_list(cli->arena, &o->sandbox.env, &o->sandbox.env_files, &env, err);
    if (!rc)
        rc = bring_up(cli, &s, &m, &t, err);
    if (rc)
        return rc;
    if (!o->detach)
        return launch(cli, &s, o, t.name, env, err);
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli, json_pack("{s:s}", "name", t.name), err);
    fprintf(cli->out, "%s\n", t.name);
    return SBX_OK;
}

static enum sbx_code run(struct sbx_cli *cli, struct sbx_err *err)
{
    struct run_opts *o = cli->options;
    enum sbx_code rc;

    if (!o->detach && cli->format != SBX_FORMAT_TABLE)
        return sbx_err_set(err, SBX_USAGE,
                           "run prints what the agent prints: --output goes with -d");
    if (o->detach && cli->rest.n)
        return sbx_err_set(err, SBX_USAGE, "with -d no agent starts that could take \"%s\"",
                           cli->rest.v[0]);
    if (o->detach && o->task)
        return sbx_err_set(err, SBX_USAGE, "--task starts the agent, -d does not: choose one");
    rc = run_it(cli, o, err);
    /* 1 belongs to the agent: what failed before it is 125, like docker (decision C1). */
    if (rc && cli->status < 0 && sbx_code_exit(rc) == 1)
        cli->status = 125;
    return rc;
}

const struct sbx_verb sbx_verb_run = {
    .name = "run",
    .summary = "Run an agent in a sandbox",
    .args = "[AGENT|KIT] [PATH[:ro]...] [-- ARG...]",
    .about =
        "Makes a sandbox and attaches to its agent; when one with this agent, these kits and PATHs exists,\n"
        "attaches to that. AGENT is a built-in agent (claude, codex, gemini, opencode, shell) or a sandbox kit:\n"
        "./DIRECTORY, or elsewhere by digest or commit, as \"sbx kit resolve\" prints it; it may also come as the\n"
        "one sandbox kit among --kit. Each PATH is mounted at the same absolute path (default: the current\n"
        "directory); \":ro\" makes it read-only. After the agent ended the sandbox stays up;\n"
        "\"sbx run --name NAME\" attaches again.\n"
        "\n"
        "Arguments behind \"--\" go to the agent: when the first begins with \"-\" they are added to its usual\n"
        "ones, else they replace those that the kit lists as its command.",
    .example = "sbx run claude\n"
               "sbx run shell --kit node ~/project\n"
               "sbx run oci://ghcr.io/me/my-agent@sha256:0123... .\n"
               "sbx run --task claude . -- -p 'fix the failing test'\n"
               "sbx run --name shell-project",
    .exits = "The agent's. Before it: 125: sbx itself failed, 2: wrong usage,\n"
             "3: consent or a log-in that works is missing, 4: refused by policy",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct run_opts),
    .max = 100,
    .rest = true,
    .words = SBX_WORDS_AGENT_DIRS,
    .run = run,
};
