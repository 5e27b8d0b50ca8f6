#include <string.h>

#include "out.h"
#include "sbx/migrate.h"
#include "verbs.h"

struct migrate_opts {
    bool dry_run;
};

static json_t *strings(const struct sbx_strs *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->len; i++)
        json_array_append_new(list, json_string(s->v[i]));
    return list;
}

static enum sbx_code show_json(struct sbx_cli *cli, const struct sbx_migration *m, bool dry_run,
                               struct sbx_err *err)
{
    json_t *diags = sbx_diags_json(&cli->diags), *o;

    o = json_pack("{s:s,s:b,s:o,s:s?,s:s?}", "file", m->file, "changed", m->needed && !dry_run,
                  "warnings", strings(&m->kit->warnings), "spec",
                  m->needed && dry_run ? m->spec.ptr : NULL, "bindings", m->bindings.ptr);
    if (o && m->needed && !dry_run)
        json_object_set_new(o, "backup", json_string(m->backup));
    json_object_set_new(o, "diagnostics", diags);
    return sbx_out_value(cli, o, err);
}

static void show(struct sbx_cli *cli, const struct sbx_migration *m)
{
    sbx_cli_report(cli);
    if (!m->needed) {
        fprintf(cli->out, "no changes needed in %s\n", m->file);
        return;
    }
    fprintf(cli->out, "migrated %s (backup at %s)\n", m->file, m->backup);
    if (!m->kit->warnings.len)
        fprintf(cli->out, "  - schemaVersion is \"2\" now\n");
    for (size_t i = 0; i < m->kit->warnings.len; i++)
        fprintf(cli->out, "  - %s\n", m->kit->warnings.v[i]);
    if (m->bindings.len)
        fprintf(cli->out,
                "\nWhere credentials are found is said by each user now, in credentials.yaml. What "
                "this "
                "kit said, for\nits README:\n\n%s",
                m->bindings.ptr);
}

static enum sbx_code migrate(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct migrate_opts *o = cli->options;
    SBX_AUTO(sbx_migration) m = { .needed = false };
    enum sbx_code rc = sbx_migration_plan(cli->args.v[0], &cli->diags, &m, err);

    if (!rc && !o->dry_run)
        rc = sbx_migration_write(&m, err);
    if (rc)
        return rc;
    if (cli->format != SBX_FORMAT_TABLE)
        return show_json(cli, &m, o->dry_run, err);
    if (!o->dry_run) {
        show(cli, &m);
        return SBX_OK;
    }
    sbx_cli_report(cli);
    fwrite(m.needed ? m.spec.ptr : m.old.ptr, 1, m.needed ? m.spec.len : m.old.len, cli->out);
    return SBX_OK;
}

static const struct sbx_opt rows[] = { SBX_SWITCH(struct migrate_opts, dry_run, "dry-run", 0,
                                                  "Print the new spec and change nothing"),
                                       SBX_OPT_END };
static const struct sbx_opt_group groups[] = { { .v = rows } };

const struct sbx_verb sbx_verb_kit_migrate = {
    .name = "migrate",
    .summary = "Rewrite a kit of version 1 in version 2",
    .args = "DIR",
    .about =
        "The spec of the kit is written anew, with schemaVersion \"2\"; the old one is kept beside "
        "it "
        "as\n"
        "spec.yaml.bak, with the comments and the layout that the new one does not have. An "
        "existing "
        "backup\n"
        "is never overwritten. The new spec is loaded again and compared before anything is "
        "changed: "
        "it is\n"
        "valid, and says the same. What version 2 has no place for is reported with what to do by "
        "hand.\n"
        "A kit of version 2 is left alone.",
    .example = "sbx kit migrate ./my-kit\n"
               "sbx kit migrate --dry-run ./my-kit | diff ./my-kit/spec.yaml -",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct migrate_opts),
    .min = 1,
    .max = 1,
    .words = SBX_WORDS_DIRS,
    .run = migrate,
};
