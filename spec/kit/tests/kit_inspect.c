/* The library behind the shape of `sbx kit inspect|schema|migrate`, for corpus runs and measurements. */
#include <stdio.h>
#include <string.h>

#include "sbx/kit.h"
#include "sbx/migrate.h"

static int print_json(json_t *value)
{
    if (!value)
        return 3;
    json_dumpf(value, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
    putchar('\n');
    json_decref(value);
    return 0;
}

static int print_yaml(const struct sbx_artifact *a)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_MIGRATED_MAX);

    if (sbx_artifact_yaml(a, &text, NULL))
        return 3;
    fwrite(text.ptr, 1, text.len, stdout);
    return 0;
}

static int inspect(const char *path, bool yaml, struct sbx_diags *diags, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    enum sbx_code rc = sbx_kit_check(path, diags, &a, err);

    if (!rc)
        return yaml ? print_yaml(a) : print_json(sbx_artifact_json(a));
    print_json(json_pack("{s:o}", "diagnostics", sbx_diags_json(diags)));
    return 1;
}

static int migrate(const char *dir, struct sbx_diags *diags, struct sbx_err *err)
{
    SBX_AUTO(sbx_migration) m = { .needed = false };

    if (sbx_migration_plan(dir, diags, &m, err) || sbx_migration_write(&m, err))
        return 1;
    printf("%s\n%s", m.needed ? "migrated" : "no changes needed", m.bindings.ptr ? m.bindings.ptr : "");
    return 0;
}

int main(int argc, char **argv)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    struct sbx_err err = SBX_ERR_INIT;
    const char *last = argv[argc - 1];
    int status;

    if (argc < 4 || sbx_diags_init(&diags))
        return 2;
    if (!strcmp(argv[2], "schema"))
        return print_json(sbx_kit_schema(*last == '1' ? 1 : 2));
    status = !strcmp(argv[2], "migrate")
                 ? migrate(last, &diags, &err)
                 : inspect(last, !strcmp(argv[argc - 2], "yaml"), &diags, &err);
    sbx_diags_print(&diags, stderr);
    if (err.text[0])
        fprintf(stderr, "%s\n", err.text);
    return status;
}
