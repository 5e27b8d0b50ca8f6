/* extends, mixins and locked over kits that a table holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/kit.h"

#define HEAD "schemaVersion: \"2\"\n"

static const struct {
    const char *name, *text;
} table[] = {
    { "shell", HEAD "kind: sandbox\nname: shell\nversion: \"1.0\"\ndescription: A shell\n"
               "licenses: [MIT]\nlocked: [sandbox.image, \"credentials[service=github]\"]\n"
               "sandbox:\n  image: shell:1\n  entrypoint: [bash, -l]\n  command: [--norc]\n"
               "  resources: {cpu: 2, memory: 1g}\n"
               "permissions: {network: {allow: [a.example.com, b.example.com], deny: [x.example.com]}}\n"
               "environment: {variables: {A: shell, B: shell}}\n"
               "credentials: [{service: github, apiKey: {name: GH, inject: [{domain: a.example.com, scheme: bearer}]}}]\n"
               "volumes: [{path: /v}]\nports: [{container: 80, name: web}]\n"
               "setup:\n  install: [{command: one}]\n  startup: [{command: [s1]}]\n"
               "agentInstructions: {filename: SHELL.md, content: shell}\n" },
    { "claude", HEAD "kind: sandbox\nname: claude\nextends: shell\nlicenses: [MIT, Apache-2.0]\n"
                "sandbox: {entrypoint: [claude], resources: {memory: 2g}}\n"
                "permissions: {network: {allow: [b.example.com, c.example.com]}}\n"
                "environment: {variables: {B: claude, C: claude}}\n"
                "setup: {install: [{command: two}]}\n" },
    { "mine", HEAD "kind: sandbox\nname: mine\nextends: claude\nmixins: [m1, m2]\n"
              "security: {privileged: true}\nenvironment: {variables: {C: mine}}\n" },
    { "m1", HEAD "kind: mixin\nname: m1\nrequires: {agent: claude}\nenvironment: {variables: {C: m1, D: m1}}\n" },
    { "m2", HEAD "kind: mixin\nname: m2\nenvironment: {variables: {D: m2}}\nsetup: {install: [{command: m2}]}\n" },
    { "m3", HEAD "kind: mixin\nname: m3\nrequires: {agent: codex}\n" },
    { "a-mixin", HEAD "kind: sandbox\nname: k\nsandbox: {image: x:1}\nmixins: [shell]\n" },
    { "from-mixin", HEAD "kind: sandbox\nname: k\nextends: m1\n" },
    { "twice", HEAD "kind: sandbox\nname: k\nsandbox: {image: x:1}\nmixins: [m2, m2]\n" },
    { "nowhere", HEAD "kind: sandbox\nname: k\nextends: nobody\n" },
    { "circle-a", HEAD "kind: sandbox\nname: circle-a\nextends: circle-b\n" },
    { "circle-b", HEAD "kind: sandbox\nname: circle-b\nextends: circle-a\n" },
    { "itself", HEAD "kind: sandbox\nname: itself\nextends: itself\n" },
    { "level0", HEAD "kind: sandbox\nname: level0\nsandbox: {image: x:1}\n" },
    { "level1", HEAD "kind: sandbox\nname: level1\nextends: level0\n" },
    { "level2", HEAD "kind: sandbox\nname: level2\nextends: level1\n" },
    { "level3", HEAD "kind: sandbox\nname: level3\nextends: level2\n" },
    { "level4", HEAD "kind: sandbox\nname: level4\nextends: level3\n" },
    { "level5", HEAD "kind: sandbox\nname: level5\nextends: level4\n" },
    { "level6", HEAD "kind: sandbox\nname: level6\nextends: level5\n" },
    { "bare", HEAD "kind: sandbox\nname: bare\nextends: bare0\n" },
    { "bare0", HEAD "kind: sandbox\nname: bare0\nextends: bare1\n" },
    /* conflicts */
    { "image", HEAD "kind: sandbox\nname: k\nextends: claude\nsandbox:\n  image: other:1\n" },
    { "same-image", HEAD "kind: sandbox\nname: k\nextends: claude\nsandbox:\n  image: shell:1\n" },
    { "github", HEAD "kind: sandbox\nname: k\nextends: shell\ncredentials: [{service: github, apiKey: {name: GH, "
                "inject: [{domain: a.example.com, scheme: basic, username: u}]}}]\n" },
    { "npm", HEAD "kind: sandbox\nname: npm\nsandbox: {image: x:1}\npermissions: {network: {allow: [a.example.com]}}\n"
             "credentials: [{service: npm, apiKey: {name: N, inject: [{domain: a.example.com, scheme: bearer}]}}]\n" },
    { "npm-again", HEAD "kind: sandbox\nname: k\nextends: npm\ncredentials: [{service: npm, apiKey: {name: N, "
                   "inject: [{domain: a.example.com, scheme: bearer}]}}]\n" },
    { "volume", HEAD "kind: sandbox\nname: k\nextends: shell\nvolumes: [{path: /v, size: 1g}]\n" },
    { "port", HEAD "kind: sandbox\nname: k\nextends: shell\nports: [{container: 80, name: other}]\n" },
    { "same-port", HEAD "kind: sandbox\nname: k\nextends: shell\nports: [{container: 80, name: web}, {container: 81}]\n" },
    { "locked-network", HEAD "kind: sandbox\nname: locked-network\nsandbox: {image: x:1}\nlocked:\n  - permissions\n  - setup.install\n"
                        "permissions: {network: {allow: [a.example.com]}}\n" },
    { "adds-rule", HEAD "kind: sandbox\nname: k\nextends: locked-network\npermissions:\n  network:\n    allow:\n"
                   "      - a.example.com\n      - evil.example.com\n" },
    { "adds-install", HEAD "kind: sandbox\nname: k\nextends: locked-network\nsetup: {install: [{command: x}]}\n" },
    { "adds-nothing", HEAD "kind: sandbox\nname: k\nextends: locked-network\n"
                      "permissions: {network: {allow: [a.example.com]}}\n" },
};

struct world {
    struct sbx_diags diags;
    struct sbx_err err;
    struct sbx_artifact *a;
    enum sbx_code rc;
};

static enum sbx_code fetch(void *data, const char *reference, struct sbx_origin at,
                           struct sbx_diags *diags, struct sbx_artifact **ret, struct sbx_err *err)
{
    char file[100];

    (void)data;
    (void)at;
    for (size_t i = 0; i < SBX_ARRAY_LEN(table); i++) {
        if (strcmp(table[i].name, reference))
            continue;
        snprintf(file, sizeof(file), "%s/spec.yaml", reference);
        return sbx_kit_load_bytes(file, table[i].text, strlen(table[i].text), diags, ret, err);
    }
    return sbx_err_set(err, SBX_NOT_FOUND, "no kit %s", reference);
}

static void compose(struct world *w, const char *base, const char *mixin)
{
    const struct sbx_compose_opts opts = { .fetch = fetch };
    SBX_AUTO_PTR(sbx_artifact) b = NULL;
    SBX_AUTO_PTR(sbx_artifact) m = NULL;
    const struct sbx_artifact *mixins[1];

    memset(w, 0, sizeof(*w));
    assert_int_equal(sbx_diags_init(&w->diags), SBX_OK);
    assert_int_equal(fetch(NULL, base, (struct sbx_origin){ NULL }, &w->diags, &b, &w->err), SBX_OK);
    if (mixin)
        assert_int_equal(fetch(NULL, mixin, (struct sbx_origin){ NULL }, &w->diags, &m, &w->err),
                         SBX_OK);
    mixins[0] = m;
    w->rc = sbx_compose(b, mixins, mixin ? 1 : 0, &opts, &w->diags, &w->a, &w->err);
}

static void release(struct world *w)
{
    sbx_artifact_free(w->a);
    sbx_diags_release(&w->diags);
}

static void expect_list(const struct sbx_strs *list, const char *want)
{
    char got[300] = "";

    for (size_t i = 0; i < list->len; i++) {
        strcat(got, i ? " " : "");
        strcat(got, list->v[i]);
    }
    assert_string_equal(got, want);
}

static const struct sbx_pair *variable(const struct sbx_artifact *a, const char *name)
{
    for (size_t i = 0; i < a->variables.len; i++)
        if (!strcmp(a->variables.v[i].name, name))
            return &a->variables.v[i];
    return NULL;
}

static void the_chain_is_merged_and_mixins_follow(void **state)
{
    struct world w;

    (void)state;
    compose(&w, "mine", NULL);
    assert_int_equal(w.rc, SBX_OK);
    assert_string_equal(w.a->name, "mine");
    assert_string_equal(w.a->image, "shell:1");
    assert_string_equal(w.a->version, "1.0");
    assert_string_equal(w.a->binary, "claude");
    expect_list(&w.a->launch.entrypoint, "claude");
    expect_list(&w.a->run_options, "--norc"); /* the parent's command behind the child's entrypoint */
    assert_int_equal(w.a->resources.memory_mb, 2048);
    assert_true(w.a->resources.cpu == 2);
    expect_list(&w.a->allow, "a.example.com b.example.com c.example.com");
    expect_list(&w.a->deny, "x.example.com");
    expect_list(&w.a->licenses, "MIT Apache-2.0");
    assert_string_equal(variable(w.a, "A")->value, "shell");
    assert_string_equal(variable(w.a, "B")->value, "claude");
    assert_string_equal(variable(w.a, "C")->value, "m1");
    assert_string_equal(variable(w.a, "D")->value, "m2");
    assert_int_equal(w.a->install.len, 3);
    assert_string_equal(w.a->install.v[0].command, "one");
    assert_string_equal(w.a->install.v[1].command, "two");
    assert_string_equal(w.a->install.v[2].command, "m2");
    assert_true(w.a->privileged);
    assert_string_equal(w.a->agent_context, "shell");
    assert_int_equal(w.a->kits.len, 3);
    assert_int_equal(w.a->parents.len, 2);
    assert_string_equal(w.a->parents.v[0].name, "claude");
    assert_string_equal(w.a->parents.v[1].name, "shell");
    assert_null(w.a->extends);
    assert_int_equal(w.a->mixins.len, 0);
    release(&w);
}

static void every_element_tells_its_kit_and_place(void **state)
{
    static const struct {
        const char *path, *kit;
        unsigned line;
    } want[] = {
        { "name", "mine", 3 },          { "version", "shell", 4 },
        { "sandbox.image", "shell", 9 }, { "sandbox.entrypoint", "claude", 6 },
        { "environment.variables.A", "shell", 14 }, { "environment.variables.C", "m1", 5 },
        { "setup.install[2]", "m2", 5 }, { "security.privileged", "mine", 6 },
        { "sandbox.resources.cpu", "shell", 12 }, { "sandbox.resources.memory", "claude", 6 },
        { "volumes[path=/v]", "shell", 16 }, { "ports[container=80]", "shell", 17 },
        { "credentials[service=github]", "shell", 15 },
    };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_element *v;
    struct world w;
    size_t n;

    (void)state;
    compose(&w, "mine", NULL);
    assert_int_equal(w.rc, SBX_OK);
    assert_int_equal(sbx_artifact_elements(w.a, arena, &v, &n), SBX_OK);
    for (size_t i = 0; i < SBX_ARRAY_LEN(want); i++) {
        const struct sbx_element *e = NULL;

        for (size_t k = 0; k < n; k++)
            if (!strcmp(v[k].path, want[i].path))
                e = &v[k];
        print_message("%s\n", want[i].path);
        assert_non_null(e);
        assert_non_null(e->at.kit);
        assert_string_equal(e->at.kit, want[i].kit);
        assert_int_equal(e->at.pos.line, want[i].line);
        assert_int_equal(strncmp(e->at.pos.file, e->at.kit, strlen(e->at.kit)), 0);
    }
    release(&w);
}

static void a_variant_satisfies_what_asks_for_its_parent(void **state)
{
    struct world w;

    (void)state;
    compose(&w, "mine", "m3");
    assert_int_equal(w.rc, SBX_CONFLICT);
    assert_non_null(strstr(w.err.text, "requires the agent codex"));
    release(&w);
}

static void five_levels_are_followed_and_six_are_not(void **state)
{
    struct world w;

    (void)state;
    compose(&w, "level5", NULL);
    assert_int_equal(w.rc, SBX_OK);
    assert_string_equal(w.a->image, "x:1");
    release(&w);
    compose(&w, "level6", NULL);
    assert_int_equal(w.rc, SBX_LIMIT);
    assert_string_equal(w.diags.v[w.diags.len - 1].code, "extends-depth");
    release(&w);
}

static const struct {
    const char *base;
    enum sbx_code rc;
    const char *code, *text;
} refused[] = {
    { "circle-a", SBX_CONFLICT, "extends-circle", "circle-a extends circle-b extends circle-a" },
    { "itself", SBX_CONFLICT, "extends-circle", "itself extends itself" },
    { "from-mixin", SBX_CONFLICT, "wrong-kind", "must be kind sandbox, got mixin" },
    { "a-mixin", SBX_CONFLICT, "wrong-kind", "kit shell must be kind mixin, got sandbox" },
    { "twice", SBX_CONFLICT, "duplicate-kit", "compose: duplicate kit name \"m2\"" },
    { "nowhere", SBX_NOT_FOUND, "unresolved-kit", "no kit nobody" },
    { "image", SBX_CONFLICT, "locked-path",
      "kit k may not change sandbox.image: kit shell locks sandbox.image (shell/spec.yaml:7)" },
    { "github", SBX_CONFLICT, "locked-path",
      "kit k may not change credentials[service=github]" },
    { "npm-again", SBX_CONFLICT, "credential-conflict",
      "credential npm defined in both npm and k (npm/spec.yaml:6)" },
    { "volume", SBX_CONFLICT, "extends-conflict",
      "volume /v is declared in both shell and k (shell/spec.yaml:16)" },
    { "port", SBX_CONFLICT, "extends-conflict", "port 80/tcp is declared in both shell and k" },
    { "adds-rule", SBX_CONFLICT, "locked-path", "locks permissions (locked-network/spec.yaml:6)" },
    { "adds-install", SBX_CONFLICT, "locked-path", "locks setup.install (locked-network/spec.yaml:7)" },
};

static void contradictions_name_both_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(refused); i++) {
        bool found = false;
        struct world w;

        print_message("%s\n", refused[i].base);
        compose(&w, refused[i].base, NULL);
        assert_int_equal(w.rc, refused[i].rc);
        if (!strstr(w.err.text, refused[i].text) && strncmp(w.err.text, "compose: 2", 10))
            assert_string_equal(w.err.text, refused[i].text);
        for (size_t k = 0; k < w.diags.len; k++)
            found |= refused[i].code && !strcmp(w.diags.v[k].code, refused[i].code) &&
                     strstr(w.diags.v[k].message, refused[i].text) && w.diags.v[k].pos.line;
        assert_true(found || !refused[i].code);
        assert_null(w.a);
        release(&w);
    }
}

static void saying_the_same_again_is_no_change(void **state)
{
    static const char *const fine[] = { "same-image", "adds-nothing", "same-port" };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(fine); i++) {
        struct world w;

        compose(&w, fine[i], NULL);
        assert_int_equal(w.rc, SBX_OK);
        if (!strcmp(fine[i], "same-port"))
            assert_int_equal(w.a->ports.len, 2);
        release(&w);
    }
}

static void a_plain_load_resolves_nothing(void **state)
{
    struct sbx_artifact *a = NULL;
    struct world w;

    (void)state;
    memset(&w, 0, sizeof(w));
    assert_int_equal(sbx_diags_init(&w.diags), SBX_OK);
    assert_int_equal(fetch(NULL, "mine", (struct sbx_origin){ NULL }, &w.diags, &a, &w.err), SBX_OK);
    assert_string_equal(a->extends, "claude");
    assert_null(a->image);
    assert_int_equal(a->warnings.len, 1);
    sbx_artifact_free(a);
    release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_chain_is_merged_and_mixins_follow),
        cmocka_unit_test(every_element_tells_its_kit_and_place),
        cmocka_unit_test(a_variant_satisfies_what_asks_for_its_parent),
        cmocka_unit_test(five_levels_are_followed_and_six_are_not),
        cmocka_unit_test(contradictions_name_both_files),
        cmocka_unit_test(saying_the_same_again_is_no_change),
        cmocka_unit_test(a_plain_load_resolves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
