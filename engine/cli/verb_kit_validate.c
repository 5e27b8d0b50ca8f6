#include <string.h>

#include "groups.h"
#include "out.h"
#include "remote.h"
#include "sbx/resolve.h"
#include "verbs.h"

/* Why an invalid kit is invalid where no finding says so: it could not be read at all. */
static enum sbx_code note_error(struct sbx_cli *cli, const char *reference, enum sbx_code rc,
                                const struct sbx_err *err)
{
    struct sbx_pos at = { .file = reference };
    SBX_AUTO_FREE char *prefix = NULL;
    size_t len = asprintf(&prefix, "kit %s: ", reference) < 0 ? 0 : strlen(prefix);
    const char *text = err->text;

    if (len && !strncmp(text, prefix, len)) /* the place says it */
        text += len;
    /* Of one kit alone, main() says it. */
    if (!cli->diags.errors && (cli->args.n > 1 || cli->format != SBX_FORMAT_TABLE))
        sbx_diags_add(&cli->diags, SBX_ERROR, sbx_code_name(rc), at, NULL, NULL, "%s", text);
    return rc;
}

static json_t *strings(const struct sbx_strs *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->len; i++)
        json_array_append_new(list, json_string(s->v[i]));
    return list;
}

static json_t *row(const char *reference, const struct sbx_artifact *a, const struct sbx_err *err)
{
    if (!a)
        return json_pack("{s:s,s:b,s:s,s:[]}", "reference", reference, "valid", 0, "error",
                         err->text, "warnings");
    return json_pack("{s:s,s:b,s:s,s:s,s:o}", "reference", reference, "valid", 1, "name", a->name,
                     "kind", a->kind, "warnings", strings(&a->warnings));
}

struct validate_opts {
    struct sbx_kit_opts kit;
    const char *with;
};

static const struct sbx_opt rows[] = {
    SBX_TEXT(struct validate_opts, with, "with", 0, "AGENT",
             "Compose too: this agent, then --kit, then each KIT by itself"),
    SBX_OPT_END
};

static const struct sbx_opt_group groups[] = {
    { .v = rows },
    SBX_GROUP("Kits", sbx_kit_rows, struct validate_opts, kit),
};

static enum sbx_code two_agents(const char *given, const struct sbx_artifact *a,
                                struct sbx_err *err)
{
    return sbx_err_set(
        err, SBX_CONFLICT,
        "two sandbox kits, \"%s\" and \"%s\": a sandbox has one agent; leave one of them out",
        given, a->name);
}

/* The kit behind the others on --with; a sandbox kit is the agent itself. */
static enum sbx_code compose(struct sbx_cli *cli, const char *reference,
                             const struct sbx_artifact *a, struct sbx_err *err)
{
    struct validate_opts *o = cli->options;
    bool sandbox = !strcmp(a->kind, "sandbox"), used = false;
    struct sbx_resolve r = sbx_kit_resolve(cli, &o->kit, sandbox ? reference : o->with);
    SBX_AUTO_PTR(sbx_artifact) whole = NULL;
    const char **kits = sbx_arena_array(cli->arena, r.n_kits + 1, sizeof(*kits));
    enum sbx_code rc;

    if (!kits)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (sandbox && o->with)
        return two_agents(o->with, a, err);
    if (!sandbox && !o->with)
        return sbx_err_set(err, SBX_USAGE,
                           "%s is a mixin: with --kit name the agent too, as in --with claude",
                           a->name);
    if (r.n_kits)
        memcpy(kits, r.kits, r.n_kits * sizeof(*kits));
    if (!sandbox)
        kits[r.n_kits++] = reference;
    r.kits = kits;
    r.any_args = cli->args.n > 1;
    sbx_diags_drop(&cli->diags, SBX_WARNING, "not-applied"); /* now it is */
    rc = sbx_resolve(&r, &cli->diags, &whole, &used, err);
    if (!rc && !used) /* a sandbox kit among --kit took its place */
        rc = two_agents(o->with ? o->with : reference, whole, err);
    return rc;
}

/* What all kits of the run share. */
struct run {
    struct sbx_cli *cli;
    struct sbx_arg_values *values; /* each kit may take its own of them */
    json_t *kits;
    struct sbx_diags all; /* of JSON: cli->diags holds those of one kit at a time */
};

static void run_release(struct run *r)
{
    sbx_arg_values_free(r->values);
    json_decref(r->kits);
    sbx_diags_release(&r->all);
}
SBX_DEFINE_AUTO(run, run_release);

static enum sbx_code load(struct run *run, const char *word, struct sbx_artifact **ret,
                          struct sbx_err *err)
{
    struct sbx_cli *cli = run->cli;
    const char *reference = sbx_cli_kit_word(cli, word);
    struct validate_opts *o = cli->options;
    struct sbx_resolve r = sbx_kit_resolve(cli, &o->kit, NULL);
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    enum sbx_code rc;

    if (!reference)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_resolve_load(&r, reference, run->values, &cli->diags, &a, err);

    if (!rc && (o->with || r.n_kits))
        rc = compose(cli, reference, a, err);
    else if (!rc)
        rc = sbx_resolve_named(&r, reference, a, &cli->diags, err);
    if (!rc)
        *ret = SBX_TAKE(a);
    return rc;
}

static enum sbx_code check(struct run *run, const char *reference, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    struct sbx_cli *cli = run->cli;
    enum sbx_code rc = load(run, reference, &a, err);

    if (rc)
        rc = note_error(cli, reference, rc, err);
    json_array_append_new(run->kits, row(reference, a, err));
    if (cli->format != SBX_FORMAT_TABLE) {
        sbx_diags_append(&run->all, &cli->diags);
        return rc;
    }
    sbx_cli_report(cli);
    if (!rc)
        fprintf(cli->out, "VALID: %s (%s)\n", a->name, a->kind);
    return rc;
}

/* The bound on findings is one kit's, so that a bad one does not hide those of the next. */
static enum sbx_code check_all(struct run *run, size_t *ret_bad, struct sbx_err *err)
{
    struct sbx_cli *cli = run->cli;
    enum sbx_code worst = SBX_OK;

    for (size_t i = 0; i < cli->args.n; i++) {
        enum sbx_code rc;

        sbx_diags_release(&cli->diags);
        cli->reported = 0;
        rc = sbx_diags_init(&cli->diags);
        if (!rc)
            rc = check(run, cli->args.v[i], err);
        if (rc == SBX_NO_MEMORY)
            return sbx_err_set(err, rc, "out of memory");
        *ret_bad += rc != SBX_OK;
        worst = rc ? rc : worst;
    }
    return worst;
}

static enum sbx_code print_value(struct run *run, struct sbx_err *err)
{
    json_t *list;

    if (run->cli->sarif)
        return sbx_out_value(run->cli, sbx_diags_sarif(&run->all, SBX_VERSION), err);
    list = sbx_diags_json(&run->all);
    return sbx_out_value(run->cli,
                         list ? json_pack("{s:O,s:o,s:I}", "kits", run->kits, "diagnostics", list,
                                          "dropped", (json_int_t)run->all.dropped)
                              : NULL,
                         err);
}

static enum sbx_code validate(struct sbx_cli *cli, struct sbx_err *err)
{
    struct validate_opts *o = cli->options;
    struct sbx_resolve r = sbx_kit_resolve(cli, &o->kit, NULL);
    SBX_AUTO(run) run = { .cli = cli, .kits = json_array() };
    enum sbx_code rc = sbx_resolve_values(&r, &run.values, err), worst;
    size_t bad = 0, from_stdin = 0;

    if (rc || sbx_diags_init(&run.all))
        return rc ? rc : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < cli->args.n; i++)
        from_stdin += !strcmp(cli->args.v[i], "-");
    if (from_stdin > 1)
        return sbx_err_set(err, SBX_USAGE, "\"-\" is standard input, which can be read once");
    run.all.max = cli->args.n * SBX_DIAGS_MAX;
    worst = check_all(&run, &bad, err);
    if (worst == SBX_NO_MEMORY)
        return worst;
    if (!worst && !o->with && !o->kit.kits.n)
        rc = sbx_arg_values_finish(run.values, err);
    if (rc)
        return rc;
    if (cli->format != SBX_FORMAT_TABLE)
        rc = print_value(&run, err);
    if (!rc && worst && cli->args.n > 1)
        sbx_err_set(err, worst, "%zu of %zu kits are not valid", bad, cli->args.n);
    return rc ? rc : worst;
}

const struct sbx_verb sbx_verb_kit_validate = {
    .name = "validate",
    .summary = "Check kits and say all that is wrong with them",
    .args = "KIT...",
    .about =
        "KIT is a directory, a spec file, the name of a built-in kit, or \"-\" for a spec on standard\n"
        "input. Every finding is one line, FILE:LINE:COLUMN: FIELD: what is wrong; what to write; on a\n"
        "terminal the line of the file follows. --output json gives {\"kits\", \"diagnostics\"}, --output\n"
        "sarif a SARIF 2.1.0 log for code scanners.\n"
        "A valid kit prints \"VALID: NAME (KIND)\". Arguments are filled in, so required ones need a value. What a\n"
        "kit extends and names as mixins is looked at too, but for kits in registries and git. Nothing is run; what\n"
        "kits only contradict together shows with --with, or with --kit for a sandbox kit.",
    .example = "sbx kit validate ./my-kit\n"
               "sbx kit validate ./my-kit --with claude --kit ./other\n"
               "sbx kit validate --json ./my-kits/*/ | jq '.diagnostics[].message'",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct validate_opts),
    .min = 1,
    .max = 100000,
    .sarif = true,
    .words = SBX_WORDS_KIT,
    .run = validate,
};
