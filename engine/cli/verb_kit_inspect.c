#include <string.h>
#include <sys/stat.h>

#include "groups.h"
#include "out.h"
#include "refer.h"
#include "sbx/policy.h"
#include "sbx/resolve.h"
#include "session.h"
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

/* What a rule does not open by itself is said beside it. */
static void show_allowed(struct sbx_cli *cli, const struct sbx_strs *s)
{
    for (size_t i = 0; i < s->len; i++) {
        const char *inert = NULL, *remark = "";
        struct sbx_pattern p;

        if (!sbx_pattern_parse(s->v[i], SBX_RULE_KIT, &p, &inert, NULL))
            remark = inert                           ? " (never matches)"
                     : sbx_pattern_needs_consent(&p) ? " (only with --approve)"
                                                     : "";
        line(cli, i ? "" : "Allow", sbx_arena_printf(cli->arena, "%s%s", s->v[i], remark));
    }
}

static void show_credential(struct sbx_cli *cli, const struct sbx_credential *c, const char *label)
{
    const struct sbx_api_key *k = &c->api_key;
    const char *need = c->required ? " (required)" : "";
    size_t n = 0;

    for (; n < k->inject.len; n++)
        line(cli, n ? "" : label,
             sbx_arena_printf(cli->arena, "%s%s for %s", c->service, need, k->inject.v[n].domain));
    if (c->oauth.set)
        line(cli, n++ ? "" : label,
             sbx_arena_printf(cli->arena, "%s%s by OAuth at %s", c->service, need,
                              c->oauth.token_host));
    if (!n)
        line(cli, label, sbx_arena_printf(cli->arena, "%s%s", c->service, need));
    if (k->proxy_managed && k->name && *k->name)
        line(cli, "", sbx_arena_printf(cli->arena, "  the agent sees a stand-in in %s", k->name));
}

static void show_credentials(struct sbx_cli *cli, const struct sbx_artifact *a)
{
    for (size_t i = 0; i < a->credentials.len; i++)
        show_credential(cli, &a->credentials.v[i], i ? "" : "Credentials");
}

static void show_container(struct sbx_cli *cli, const struct sbx_artifact *a)
{
    const struct sbx_resources *r = &a->resources;

    if (a->build.set)
        line(cli, "Build",
             sbx_arena_printf(cli->arena, "%s in %s",
                              a->build.dockerfile ? a->build.dockerfile : "Dockerfile",
                              a->build.context ? a->build.context : "."));
    if (r->cpu > 0)
        line(cli, "CPUs", sbx_arena_printf(cli->arena, "%g", r->cpu));
    line(cli, "Memory", r->memory);
    line(cli, "GPU", r->gpu);
    if (a->privileged)
        line(cli, "Security", "privileged");
}

static void show_setup(struct sbx_cli *cli, const struct sbx_artifact *a)
{
    for (size_t i = 0; i < a->install.len; i++) {
        const char *argv[] = { a->install.v[i].command, NULL };

        line(cli, i ? "" : "Install",
             a->install.v[i].description ? a->install.v[i].description
                                         : sbx_out_command(cli->arena, argv));
    }
    for (size_t i = 0; i < a->startup.len; i++) {
        const struct sbx_startup *s = &a->startup.v[i];
        const char *const *argv = sbx_argv(cli->arena, s->command.v, s->command.len);

        line(cli, i ? "" : "Startup",
             s->description || !argv ? s->description : sbx_out_command(cli->arena, argv));
    }
    for (size_t i = 0; i < a->setup_files.len; i++)
        line(cli, i ? "" : "Setup files", a->setup_files.v[i].path);
    for (size_t i = 0; i < a->files.len; i++)
        line(cli, i ? "" : "Files",
             sbx_arena_printf(cli->arena, "%s/%s (%zu bytes)",
                              a->files.v[i].target == SBX_TARGET_HOME ? "~" : "WORKSPACE",
                              a->files.v[i].path, a->files.v[i].size));
}

/* "?": an argument will say it. */
static const char *port_text(struct sbx_cli *cli, int port)
{
    return port ? sbx_arena_printf(cli->arena, "%d", port) : "?";
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
                 cli->arena, "%s/%s %s", port_text(cli, a->ports.v[i].container),
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
    show_container(cli, a);
    line(cli, "Extends", a->extends);
    list(cli, "Mixins", &a->mixins);
    line(cli, "Needs agent", sbx_artifact_agent(a));
    show_allowed(cli, &a->allow);
    list(cli, "Deny", &a->deny);
    show_credentials(cli, a);
    show_setup(cli, a);
    show_rest(cli, a);
    line(cli, "Instructions", a->ai_filename ? a->ai_filename : a->agent_context ? "yes" : NULL);
    list(cli, "Locked", &a->locked);
    list(cli, "Warnings", &a->warnings);
}

struct inspect_opts {
    struct sbx_kit_opts kit;
    bool resolved, provenance, annotations, referrers, tags;
};

static const struct sbx_opt rows[] = {
    SBX_SWITCH(struct inspect_opts, resolved, "resolved", 0,
               "Merge what the kit extends and the mixins it names"),
    SBX_SWITCH(struct inspect_opts, provenance, "provenance", 0,
               "List each element with the kit, file and line it comes from (with --resolved)"),
    SBX_SWITCH(struct inspect_opts, annotations, "annotations", 0,
               "Read only what its manifest says in a registry or layout; fetch nothing else"),
    SBX_SWITCH(struct inspect_opts, referrers, "referrers", 0,
               "List what refers to the kit in its registry: signatures, provenance, notes"),
    SBX_SWITCH(struct inspect_opts, tags, "tags", 0, "List the tags of the kit's repository"),
    SBX_OPT_END
};

static const struct sbx_opt_group groups[] = {
    { .v = rows },
    SBX_GROUP("Kits", sbx_kit_arg_rows, struct inspect_opts, kit),
};

/* A mixin alone has nothing to be merged with. */
static enum sbx_code load_alone(struct sbx_cli *cli, struct sbx_artifact **ret, struct sbx_err *err)
{
    struct inspect_opts *o = cli->options;
    struct sbx_resolve r = sbx_kit_resolve(cli, &o->kit, NULL);
    SBX_AUTO_PTR(sbx_arg_values) values = NULL;
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    enum sbx_code rc = sbx_resolve_values(&r, &values, err);
    bool fill_in = o->resolved || r.n_args || r.n_args_files;

    if (!rc)
        rc = sbx_resolve_load(&r, cli->args.v[0], fill_in ? values : NULL, &cli->diags, &a, err);
    if (!rc && fill_in && strcmp(a->kind, "sandbox"))
        rc = sbx_arg_values_finish(values, err);
    if (!rc)
        *ret = SBX_TAKE(a);
    return rc;
}

static enum sbx_code load_kit(struct sbx_cli *cli, struct sbx_artifact **ret, struct sbx_err *err)
{
    struct inspect_opts *o = cli->options;
    struct sbx_resolve r = sbx_kit_resolve(cli, &o->kit, cli->args.v[0]);
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    bool used;
    enum sbx_code rc = load_alone(cli, &a, err);

    if (rc || !o->resolved || strcmp(a->kind, "sandbox")) {
        *ret = SBX_TAKE(a);
        return rc;
    }
    sbx_diags_drop(&cli->diags, SBX_WARNING, "not-applied"); /* now it is */
    return sbx_resolve(&r, &cli->diags, ret, &used, err);
}

/* "claude (kits/agents/claude/spec.yaml:12:3)" */
static const char *place_text(struct sbx_cli *cli, const struct sbx_origin *at)
{
    if (!at->pos.line)
        return at->pos.file ? at->pos.file : "";
    return sbx_arena_printf(cli->arena, "%s:%u:%u", at->pos.file ? at->pos.file : "", at->pos.line,
                            at->pos.column);
}

static enum sbx_code provenance_table(struct sbx_cli *cli, const struct sbx_element *v, size_t n,
                                      struct sbx_err *err)
{
    static const char *const head[] = { "ELEMENT", "VALUE", "KIT", "PLACE", "ARGS" };
    struct sbx_columns c = { .arena = cli->arena, .head = head, .n = 5 };

    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(v[i].value, "\n"), shown = len > 40 ? 40 : len;
        const char *cells[] = {
            v[i].path,
            sbx_arena_printf(cli->arena, "%.*s%s", (int)shown, v[i].value,
                             v[i].value[shown] ? "..." : ""),
            v[i].at.kit,
            place_text(cli, &v[i].at),
            v[i].args,
        };
        enum sbx_code rc = sbx_columns_add(&c, cells, err);

        if (rc)
            return rc;
    }
    sbx_columns_print(&c, cli->out);
    return SBX_OK;
}

static json_t *provenance_json(const struct sbx_element *v, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        const struct sbx_pos *pos = &v[i].at.pos;
        json_t *row = json_pack("{s:s,s:s,s:s?,s:s?}", "path", v[i].path, "value", v[i].value,
                                "kit", v[i].at.kit, "file", pos->file);

        if (row && pos->line) {
            json_object_set_new(row, "line", json_integer(pos->line));
            json_object_set_new(row, "column", json_integer(pos->column));
        }
        if (row && v[i].args)
            json_object_set_new(row, "args", json_string(v[i].args));
        json_array_append_new(list, row);
    }
    return json_pack("{s:o}", "elements", list);
}

static enum sbx_code provenance(struct sbx_cli *cli, const struct sbx_artifact *a,
                                struct sbx_err *err)
{
    struct sbx_element *v;
    size_t n;

    if (sbx_artifact_elements(a, cli->arena, &v, &n))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return cli->format == SBX_FORMAT_TABLE ? provenance_table(cli, v, n, err)
                                           : sbx_out_value(cli, provenance_json(v, n), err);
}

#define YAML_MAX (16 * SBX_SPEC_MAX) /* bytes; escapes and indents make a spec longer */

static enum sbx_code print_yaml(struct sbx_cli *cli, const struct sbx_artifact *a,
                                struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(YAML_MAX);
    enum sbx_code rc = sbx_artifact_yaml(a, &text, err);

    if (rc)
        return rc;
    sbx_cli_report(cli);
    fwrite(text.ptr, 1, text.len, cli->out);
    cli->printed = true;
    return SBX_OK;
}

/* What names the kit that was fetched: "digest", or "commit" of git; *ret NULL: it was not fetched. */
static const char *pinned(struct sbx_cli *cli, const char **ret)
{
    const char *text = cli->args.v[0];
    struct sbx_ref ref;
    struct stat st;

    *ret = NULL;
    if (!strcmp(text, "-") || !stat(text, &st) || sbx_ref_parse(text, cli->arena, &ref, NULL))
        return "";
    *ret = ref.kind == SBX_REF_GIT ? ref.revision : ref.digest;
    return ref.kind == SBX_REF_GIT ? "commit" : "digest";
}

/* Of a fetched kit, with the digest that "kit push" printed. */
static enum sbx_code print_json(struct sbx_cli *cli, const struct sbx_artifact *a,
                                struct sbx_err *err)
{
    json_t *value = sbx_artifact_json(a);
    const char *name, *key = pinned(cli, &name);

    if (value && name && json_object_set_new(value, key, json_string(name))) {
        json_decref(value);
        value = NULL;
    }
    return sbx_out_value(cli, value, err);
}

static enum sbx_code inspect(struct sbx_cli *cli, struct sbx_err *err)
{
    struct inspect_opts *o = cli->options;
    struct sbx_remote_opts remote = { o->kit.plain_http };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    const char *name, *key;
    enum sbx_code rc;

    if (o->annotations + o->referrers + o->tags > 1)
        return sbx_err_set(err, SBX_USAGE, "one of --annotations, --referrers and --tags");
    if (o->annotations)
        return sbx_cli_annotations(cli, &remote, err);
    if (o->referrers)
        return sbx_cli_referrers(cli, &remote, err);
    if (o->tags)
        return sbx_cli_tags(cli, &remote, err);
    cli->args.v[0] = sbx_cli_kit_word(cli, cli->args.v[0]);
    if (!cli->args.v[0])
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_cli_pin(cli, &remote, cli->args.v[0], &cli->args.v[0], err);
    if (!rc)
        rc = load_kit(cli, &a, err);
    if (rc)
        return rc;
    if (o->provenance) {
        sbx_cli_report(cli);
        return provenance(cli, a, err);
    }
    if (cli->format == SBX_FORMAT_YAML)
        return print_yaml(cli, a, err);
    if (cli->format == SBX_FORMAT_JSON)
        return print_json(cli, a, err);
    sbx_cli_report(cli);
    summary(cli, a);
    key = pinned(cli, &name);
    line(cli, *key == 'c' ? "Commit" : "Digest", name ? name : a->digest);
    return SBX_OK;
}

const struct sbx_verb sbx_verb_kit_inspect = {
    .name = "inspect",
    .summary = "Show what a kit says",
    .args = "KIT",
    .about =
        "KIT is a directory, a spec file, the name of a built-in kit, one in a registry (a tag will do), or\n"
        "\"-\" for a spec on standard input. With --output json the whole artifact is printed, with the field\n"
        "names that other tools for kits know, with --output yaml as a spec of version 2; a kit that does not\n"
        "load prints {\"diagnostics\": [...]} and fails. \"extends\", \"mixins\" and references to arguments are\n"
        "shown as written; with --resolved they are followed and filled in, and with a value for an argument\n"
        "all arguments are.",
    .example = "sbx kit inspect claude\n"
               "sbx kit inspect ./my-kit --output json | jq .caps.network\n"
               "sbx kit inspect ./my-agent --resolved --provenance\n"
               "sbx kit inspect ghcr.io/me/my-kit:1.0 --annotations\n"
               "sbx kit inspect ghcr.io/me/my-kit --tags",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct inspect_opts),
    .min = 1,
    .max = 1,
    .words = SBX_WORDS_KIT,
    .run = inspect,
};
