/* Migration of kits in directories of their own, and the layout of what is written. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "sbx/file.h"
#include "sbx/migrate.h"

#define V1 "schemaVersion: \"1\"\n"
#define AGENT V1 "kind: agent\nname: old\nagent:\n  image: img\n"

struct place {
    char dir[64];
    int fd;
    struct sbx_diags diags;
    struct sbx_migration m;
    struct sbx_err err;
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    if (!p)
        return -1;
    strcpy(p->dir, SBX_TEST_TMP "/migrate-XXXXXX");
    if (!mkdtemp(p->dir) || sbx_diags_init(&p->diags))
        return -1;
    p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    enum sbx_code rc = sbx_dir_remove(AT_FDCWD, p->dir, NULL);

    close(p->fd);
    sbx_migration_release(&p->m);
    sbx_diags_release(&p->diags);
    free(p);
    return rc ? -1 : 0;
}

static void put(struct place *p, const char *name, const char *text)
{
    assert_int_equal(sbx_file_write(p->fd, name, text, strlen(text), 0640, NULL), SBX_OK);
}

static bool there_is(struct place *p, const char *name)
{
    return faccessat(p->fd, name, F_OK, 0) == 0;
}

static void assert_file(struct place *p, const char *name, const char *want)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX);

    assert_int_equal(sbx_file_read(p->fd, name, &text, NULL), SBX_OK);
    assert_string_equal(text.ptr, want);
}

static void plan(struct place *p, const char *spec)
{
    put(p, "spec.yaml", spec);
    if (sbx_migration_plan(p->dir, &p->diags, &p->m, &p->err)) {
        sbx_diags_print(&p->diags, stdout);
        fail_msg("%s", p->err.text);
    }
}

static void refused(struct place *p, const char *spec, const char *code)
{
    bool said = false;

    put(p, "spec.yaml", spec);
    assert_int_equal(sbx_migration_plan(p->dir, &p->diags, &p->m, &p->err), SBX_SCHEMA);
    for (size_t i = 0; i < p->diags.len; i++)
        said = said || (p->diags.v[i].severity == SBX_ERROR && !strcmp(p->diags.v[i].code, code));
    assert_true(said);
    assert_file(p, "spec.yaml", spec);
    assert_false(there_is(p, "spec.yaml.bak"));
}

static const struct sbx_diag *find(struct place *p, const char *code, const char *path)
{
    for (size_t i = 0; i < p->diags.len; i++)
        if (!strcmp(p->diags.v[i].code, code) && !strcmp(p->diags.v[i].path, path))
            return &p->diags.v[i];
    fail_msg("no %s at %s", code, path);
    return NULL;
}

static const char old_spec[] =
    AGENT "  aiFilename: A.md\n"
    "  entrypoint: {run: [a, -x], args: [b], ttyArgs: []}\n"
    "  resources: {memoryMB: 512, cpu: 1.50}\n"
    "credentials: {sources: {foo: {env: [FOO_KEY], required: true}}}\n"
    "network:\n"
    "  serviceDomains: {api.foo.example: foo}\n"
    "  serviceAuth: {foo: {headerName: X-Key, valueFormat: \"%s\"}}\n"
    "  allowedDomains: [api.foo.example]\n"
    "  publishedPorts: [{container: 80}]\n"
    "environment: {proxyManaged: [FOO_KEY], variables: {B10: '1', B2: text}}\n"
    "commands: {install: [{command: \"a\\nb\\n\", user: 0}]}\n"
    "memory: hello\n"
    "tmpfs: {/t: 1m}\n";
static const char new_spec[] =
    "schemaVersion: \"2\"\n"
    "kind: sandbox\n"
    "name: old\n"
    "sandbox:\n"
    "  image: img\n"
    "  entrypoint:\n"
    "    - a\n"
    "    - -x\n"
    "  command:\n"
    "    default:\n"
    "      - b\n"
    "    interactive: []\n"
    "  resources:\n"
    "    cpu: 1.5\n"
    "    memory: 512m\n"
    "agentInstructions:\n"
    "  filename: A.md\n"
    "  content: hello\n"
    "permissions:\n"
    "  network:\n"
    "    allow:\n"
    "      - api.foo.example\n"
    "volumes:\n"
    "  - path: /t\n"
    "    type: tmpfs\n"
    "    size: 1m\n"
    "ports:\n"
    "  - container: 80\n"
    "credentials:\n"
    "  - service: foo\n"
    "    required: true\n"
    "    apiKey:\n"
    "      name: FOO_KEY\n"
    "      proxyManaged: true\n"
    "      inject:\n"
    "        - domain: api.foo.example\n"
    "          header: X-Key\n"
    "          format: '%s'\n"
    "environment:\n"
    "  variables:\n"
    "    B2: text\n"
    "    B10: \"1\"\n"
    "setup:\n"
    "  install:\n"
    "    - command: |\n"
    "        a\n"
    "        b\n"
    "      user: \"0\"\n";

static void each_surface_is_written_where_version_2_has_it(void **state)
{
    struct place *p = *state;

    plan(p, old_spec);
    assert_true(p->m.needed);
    assert_string_equal(p->m.spec.ptr, new_spec);
}

static void a_migrated_kit_has_no_warnings(void **state)
{
    struct place *p = *state;
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;

    plan(p, old_spec);
    assert_true(p->m.kit->warnings.len > 0);
    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    assert_int_equal(sbx_kit_load_bytes("spec.yaml", p->m.spec.ptr, p->m.spec.len, &diags, &a, NULL), SBX_OK);
    assert_int_equal(a->warnings.len, 0);
    assert_string_equal(a->schema_version, "2");
}

static void the_old_spec_is_kept_and_the_mode_too(void **state)
{
    struct place *p = *state;
    struct stat st;

    plan(p, "# a comment\n" AGENT);
    assert_int_equal(fchmodat(p->fd, "spec.yaml", 0400, 0), 0);
    sbx_migration_release(&p->m);
    assert_int_equal(sbx_migration_plan(p->dir, &p->diags, &p->m, &p->err), SBX_OK);
    assert_int_equal(sbx_migration_write(&p->m, &p->err), SBX_OK);
    assert_file(p, "spec.yaml.bak", "# a comment\n" AGENT);
    assert_file(p, "spec.yaml",
                "schemaVersion: \"2\"\nkind: sandbox\nname: old\nsandbox:\n  image: img\n");
    assert_int_equal(fstatat(p->fd, "spec.yaml", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0400);
}

static void a_kit_of_version_2_is_left_alone(void **state)
{
    static const char text[] = "schemaVersion: \"2\" # yes\nkind: mixin\nname: a\n";
    struct place *p = *state;

    plan(p, text);
    assert_false(p->m.needed);
    assert_int_equal(sbx_migration_write(&p->m, &p->err), SBX_OK);
    assert_file(p, "spec.yaml", text);
    assert_false(there_is(p, "spec.yaml.bak"));
}

static void a_backup_is_never_overwritten(void **state)
{
    struct place *p = *state;

    put(p, "spec.yaml.bak", "precious");
    plan(p, AGENT);
    assert_int_equal(sbx_migration_write(&p->m, &p->err), SBX_CONFLICT);
    assert_non_null(strstr(p->err.text, "refusing to clobber an existing backup"));
    assert_file(p, "spec.yaml", AGENT);
    assert_file(p, "spec.yaml.bak", "precious");
}

static void what_cannot_be_written_is_named(void **state)
{
    struct place *p = *state;
    char none[100];

    snprintf(none, sizeof(none), "%s/none", p->dir);
    assert_int_equal(sbx_migration_plan(none, &p->diags, &p->m, &p->err), SBX_NOT_FOUND);
    assert_non_null(strstr(p->err.text, "/none: No such file or directory"));
    assert_int_equal(sbx_migration_plan(p->dir, &p->diags, &p->m, &p->err), SBX_NOT_FOUND);
    assert_non_null(strstr(p->err.text, "no spec.yaml or spec.yml in this directory"));
    plan(p, AGENT);
    assert_int_equal(unlinkat(p->fd, "spec.yaml", 0), 0);
    assert_int_equal(mkdirat(p->fd, "spec.yaml", 0755), 0); /* nothing can be put in its place */
    assert_int_not_equal(sbx_migration_write(&p->m, &p->err), SBX_OK);
    assert_false(there_is(p, "spec.yaml.bak"));
    assert_int_equal(sbx_dir_remove(AT_FDCWD, p->dir, NULL), SBX_OK);
    assert_int_equal(sbx_migration_write(&p->m, &p->err), SBX_NOT_FOUND);
    assert_non_null(strstr(p->err.text, "spec.yaml.bak: No such file or directory"));
    assert_int_equal(mkdir(p->dir, 0700), 0);
}

static void a_spec_yml_stays_one(void **state)
{
    struct place *p = *state;

    put(p, "spec.yml", AGENT);
    assert_int_equal(sbx_migration_plan(p->dir, &p->diags, &p->m, &p->err), SBX_OK);
    assert_int_equal(sbx_migration_write(&p->m, &p->err), SBX_OK);
    assert_true(there_is(p, "spec.yml.bak"));
    assert_false(there_is(p, "spec.yaml"));
}

static void what_version_2_refuses_is_not_migrated(void **state)
{
    static const struct {
        const char *spec, *code;
    } rows[] = {
        { V1 "kind: mixin\nname: a\nnetwrok: {}\n", "unknown-field" },
        { V1 "kind: mixin\nname: a\nenvironment: {variables: {SBX_X: a}}\n", "reserved-variable" },
        { V1 "kind: mixin\nname: a\nresources: {cpu: 1}\n", "wrong-kind" },
        { V1 "kind: mixin\nname: a\nbuild: {context: .}\n", "wrong-kind" },
        { V1 "kind: mixin\nname: a\nsandbox: {image: x}\n", "wrong-kind" },
        { V1 "kind: sandbox\nname: a\n", "missing-field" },
        { V1 "kind: agent\nname: a\nbinary: b\n", "removed-field" },
        { V1 "kind: mixin\nname: a\nname: b\n", "duplicate-key" },
        { "kind: mixin\nname: a\n", "bad-version" },
    };
    struct place *p = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        refused(p, rows[i].spec, rows[i].code);
        sbx_migration_release(&p->m);
    }
    refused(p, rows[1].spec, rows[1].code);
    assert_int_equal(find(p, "reserved-variable", "environment.variables.SBX_X")->pos.line, 4);
}

static void what_is_lost_is_told_with_its_recipe(void **state)
{
    struct place *p = *state;

    plan(p, AGENT "  entrypoint: {run: [a], pipeMode: prepend}\n"
                  "sandbox: {image: other, entrypoint: {run: [b], ttyArgs: [t], pipeMode: append}}\n"
                  "network: {serviceAuth: {lone: {headerName: X, valueFormat: \"%s\"}}}\n"
                  "memory: one\nagentContext: two\n"
                  "resources: {cpu: 1}\n"
                  "interactiveOptions: [x]\n"
                  "settings: {containerSettings: {claude: true}}\n");
    assert_non_null(find(p, "not-migrated", "sandbox.entrypoint.pipeMode")->hint);
    assert_non_null(find(p, "not-migrated", "agent")->hint);
    assert_non_null(find(p, "not-migrated", "network.serviceAuth.lone")->hint);
    assert_non_null(find(p, "not-migrated", "memory")->hint);
    assert_non_null(find(p, "not-migrated", "resources")->hint);
    assert_non_null(find(p, "not-migrated", "interactiveOptions")->hint);
    assert_non_null(strstr(find(p, "deprecated-field", "settings")->hint, "setup.files"));
    assert_int_equal(find(p, "not-migrated", "sandbox.entrypoint.pipeMode")->pos.line, 7);
}

/* The flat list replaced the always-on arguments too. */
static void interactive_options_become_the_command(void **state)
{
    struct place *p = *state;

    plan(p, AGENT "  entrypoint: {run: [a, -x], args: [b]}\ninteractiveOptions: [i]\n");
    assert_int_equal(p->m.kit->launch.entrypoint.len, 1);
    assert_non_null(strstr(p->m.spec.ptr, "  entrypoint:\n    - a\n"
                                          "  command:\n"
                                          "    default:\n      - -x\n      - b\n"
                                          "    interactive:\n      - i\n"));
    for (size_t i = 0; i < p->diags.len; i++)
        assert_string_not_equal(p->diags.v[i].code, "not-migrated");
}

static void where_credentials_are_found_goes_to_the_user(void **state)
{
    struct place *p = *state;

    plan(p, V1 "kind: mixin\nname: a\n"
               "credentials:\n  sources:\n"
               "    foo: {env: [FOO_KEY, FOO], file: {path: \"~/.foo\", parser: \"json:a.b\"}, "
               "priority: file-first}\n"
               "secrets: [BAR_TOKEN]\n"
               "network: {serviceDomains: {api.foo.example: foo, '*.foo.example': foo}}\n");
    find(p, "moved-to-user", "credentials.sources.foo");
    assert_string_equal(p->m.bindings.ptr, "bindings:\n"
                                           "  foo:\n"
                                           "    discovery:\n"
                                           "      - file:\n"
                                           "          path: ~/.foo\n"
                                           "          parser: json:a.b\n"
                                           "      - env:\n"
                                           "          - FOO_KEY\n"
                                           "          - FOO\n"
                                           "    allowedDomains:\n"
                                           "      - '*.foo.example'\n"
                                           "      - api.foo.example\n"
                                           "  bar:\n"
                                           "    discovery:\n"
                                           "      - env:\n"
                                           "          - BAR_TOKEN\n"
                                           "    allowedDomains: []\n");
}

static void extends_of_a_mixin_becomes_requires(void **state)
{
    struct place *p = *state;

    plan(p, V1 "kind: mixin\nname: a\nextends: claude\n");
    assert_string_equal(p->m.spec.ptr,
                        "schemaVersion: \"2\"\nkind: mixin\nname: a\nrequires:\n  agent: claude\n");
}

static void the_rest_of_the_directory_is_not_touched(void **state)
{
    struct place *p = *state;

    assert_int_equal(mkdirat(p->fd, "files", 0755), 0);
    put(p, "README.md", "text");
    plan(p, AGENT);
    assert_int_equal(sbx_migration_write(&p->m, &p->err), SBX_OK);
    assert_file(p, "README.md", "text");
    sbx_migration_release(&p->m);
    assert_int_equal(sbx_migration_plan(p->dir, &p->diags, &p->m, &p->err), SBX_OK);
    assert_false(p->m.needed);
}

#define MIGRATE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MIGRATE_TEST(each_surface_is_written_where_version_2_has_it),
        MIGRATE_TEST(a_migrated_kit_has_no_warnings),
        MIGRATE_TEST(the_old_spec_is_kept_and_the_mode_too),
        MIGRATE_TEST(a_kit_of_version_2_is_left_alone),
        MIGRATE_TEST(a_backup_is_never_overwritten),
        MIGRATE_TEST(what_cannot_be_written_is_named),
        MIGRATE_TEST(a_spec_yml_stays_one),
        MIGRATE_TEST(what_version_2_refuses_is_not_migrated),
        MIGRATE_TEST(what_is_lost_is_told_with_its_recipe),
        MIGRATE_TEST(interactive_options_become_the_command),
        MIGRATE_TEST(where_credentials_are_found_goes_to_the_user),
        MIGRATE_TEST(extends_of_a_mixin_becomes_requires),
        MIGRATE_TEST(the_rest_of_the_directory_is_not_touched),
    };

    return cmocka_run_group_tests_name("kit migrate", tests, NULL, NULL);
}
