#include <string.h>

#include "out.h"
#include "sbx/resolve.h"
#include "verbs.h"

static void line(struct sbx_cli *cli, const char *label, const char *text)
{
    if (text && *text)
        fprintf(cli->out, "%-14s %s\n", label, sbx_out_clean(cli->arena, text));
}

static void list(struct sbx_cli *cli, const char *label, const struct sbx_strs *s)
{
    for (size_t i = 0; i < s->len; i++)
        line(cli, i ? "" : label, s->v[i]);
}

static void command(struct sbx_cli *cli, const char *label, const struct sbx_strs *s)
{
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(65536);

    for (size_t i = 0; i < s->len; i++)
        if (sbx_buf_addf(&b, "%s%s", i ? " " : "", s->v[i]))
            return;
    line(cli, label, b.ptr);
}

static void show_credentials(struct sbx_cli *cli, const struct sbx_artifact *a)
{
    for (size_t i = 0; i < a->credentials.len; i++) {
        const struct sbx_credential *c = &a->credentials.v[i];

        for (size_t j = 0; j < c->api_key.inject.len; j++)
            line(cli, i || j ? "" : "Credentials",
                 sbx_arena_printf(cli->arena, "%s for %s", c->service,
                                  c->api_key.inject.v[j].domain));
        if (c->oauth.set)
            line(
                cli, i || c->api_key.inject.len ? "" : "Credentials",
                sbx_arena_printf(cli->arena, "%s by OAuth at %s", c->service, c->oauth.token_host));
    }
}

static void show_setup(struct sbx_cli *cli, const struct sbx_artifact *a)
{
    for (size_t i = 0; i < a->install.len; i++)
        line(cli, i ? "" : "Install",
             a->install.v[i].description ? a->install.v[i].description : a->install.v[i].command);
    for (size_t i = 0; i < a->startup.len; i++) {
        const struct sbx_startup *s = &a->startup.v[i];

        if (s->description)
            line(cli, i ? "" : "Startup", s->description);
        else
            command(cli, i ? "" : "Startup", &s->command);
    }
    for (size_t i = 0; i < a->setup_files.len; i++)
        line(cli, i ? "" : "Setup files", a->setup_files.v[i].path);
    for (size_t i = 0; i < a->files.len; i++)
        line(cli, i ? "" : "Files",
             sbx_arena_printf(cli->arena, "%s/%s (%zu bytes)",
                              a->files.v[i].target == SBX_TARGET_HOME ? "~" : "WORKSPACE",
                              a->files.v[i].path, a->files.v[i].size));
}

static void show_rest(struct sbx_cli *cli, const struct sbx_artifact *a)
{
    for (size_t i = 0; i < a->variables.len; i++)
        line(
            cli, i ? "" : "Environment",
            sbx_arena_printf(cli->arena, "%s=%s", a->variables.v[i].name, a->variables.v[i].value));
    for (size_t i = 0; i < a->volumes.len; i++)
        line(cli, i ? "" : "Volumes",
             sbx_arena_printf(cli->arena, "%s%s", a->volumes.v[i].path,
                              a->volumes.v[i].type && *a->volumes.v[i].type ? " (tmpfs)" : ""));
    for (size_t i = 0; i < a->ports.len; i++)
        line(cli, i ? "" : "Ports",
             sbx_arena_printf(
                 cli->arena, "%d/%s %s", a->ports.v[i].container,
                 a->ports.v[i].protocol && *a->ports.v[i].protocol ? a->ports.v[i].protocol : "tcp",
                 a->ports.v[i].name ? a->ports.v[i].name : ""));
    for (size_t i = 0; i < a->args.len; i++)
        line(cli, i ? "" : "Arguments",
             sbx_arena_printf(cli->arena, "%s%s%s", a->args.v[i].name,
                              a->args.v[i].required ? " (required)" : " = ",
                              a->args.v[i].required        ? ""
                              : a->args.v[i].default_value ? a->args.v[i].default_value
                                                           : ""));
}

static void summary(struct sbx_cli *cli, const struct sbx_artifact *a)
{
    line(cli, "Name", a->name);
    line(cli, "Kind", a->kind);
    line(cli, "Schema", a->schema_version);
    line(cli, "Title", a->display_name);
    line(cli, "Description", a->description);
    line(cli, "Version", a->version);
    line(cli, "Source", a->source_url);
    list(cli, "Licenses", &a->licenses);
    line(cli, "Image", a->image);
    command(cli, "Entrypoint", &a->launch.entrypoint);
    command(cli, "Interactive", &a->launch.interactive);
    command(cli, "Task", &a->launch.noninteractive);
    line(cli, "Extends", a->extends);
    list(cli, "Mixins", &a->mixins);
    line(cli, "Needs agent", a->requires_agent);
    list(cli, "Allow", &a->allow);
    list(cli, "Deny", &a->deny);
    show_credentials(cli, a);
    show_setup(cli, a);
    show_rest(cli, a);
    line(cli, "Instructions", a->ai_filename ? a->ai_filename : a->agent_context ? "yes" : NULL);
    list(cli, "Locked", &a->locked);
    list(cli, "Warnings", &a->warnings);
    line(cli, "Digest", a->digest);
}

static enum sbx_code inspect(struct sbx_cli *cli, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    enum sbx_code rc;

    if (cli->format == SBX_FORMAT_YAML)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "--output yaml, the kit as a v2 spec, is not built yet; use json");
    rc = sbx_resolve_load(cli->args.v[0], &cli->diags, &a, err);
    if (rc)
        return rc;
    if (cli->format == SBX_FORMAT_JSON)
        return sbx_out_value(cli, sbx_artifact_json(a), err);
    sbx_cli_report(cli);
    summary(cli, a);
    return SBX_OK;
}

const struct sbx_verb sbx_verb_kit_inspect = {
    .name = "inspect",
    .summary = "Show what a kit says",
    .args = "KIT",
    .about = "KIT is a directory, a spec file, the name of a built-in kit, or \"-\" for a spec on "
             "standard\n"
             "input. With --output json the whole artifact is printed, with the field names that "
             "other tools\n"
             "for kits know; a kit that does not load prints {\"diagnostics\": [...]} and fails. "
             "\"extends\" and\n"
             "\"mixins\" are shown as written.",
    .example = "sbx kit inspect claude\n"
               "sbx kit inspect ./my-kit --output json | jq .caps.network",
    .min = 1,
    .max = 1,
    .words = SBX_WORDS_KIT,
    .run = inspect,
};
