/* Composition of one sandbox kit and mixins: merge rules, credentials, files. */
#include "composed.h"

static void assert_list(const struct sbx_strs *s, const char *want)
{
    char got[500] = "";

    for (size_t i = 0; i < s->len; i++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "", s->v[i]);
    assert_string_equal(got, want);
}

static void a_sandbox_alone_composes_to_itself(void **state)
{
    struct world *w = *state;
    const struct sbx_artifact *a;

    load(w, BASE "displayName: B\nagentInstructions: {filename: A.md, content: hello}\n");
    a = composed(w);
    assert_string_equal(a->name, "base");
    assert_string_equal(a->image, "img");
    assert_string_equal(a->ai_filename, "A.md");
    assert_string_equal(a->agent_context, "hello");
    assert_list(&a->launch.entrypoint, "run");
    assert_int_equal(a->kits.len, 1);
    assert_null(a->kits.v[0].agent_context);
}

static void lists_are_appended_in_order_and_know_their_kit(void **state)
{
    struct world *w = *state;
    const struct sbx_artifact *a;

    load(w, BASE "licenses: [MIT]\npermissions: {network: {allow: [a.com], deny: [t.com]}}\n"
            "setup: {install: [{command: one}], startup: [{command: s1}],\n"
            "        files: [{path: /f, content: x}]}\nports: [{container: 80}]\n");
    load(w, MIXIN("m") "licenses: [Apache-2.0, MIT]\npermissions: {network: {allow: [b.com, a.com]}}\n"
            "setup: {install: [{command: two}], startup: [{command: [s2, x], background: true}],\n"
            "        files: [{path: /f, content: y}]}\nports: [{container: 80}]\n");
    a = composed(w);
    assert_list(&a->allow, "a.com b.com a.com");
    assert_list(&a->deny, "t.com");
    assert_list(&a->licenses, "MIT Apache-2.0");
    assert_int_equal(a->ports.len, 2);
    assert_int_equal(a->setup_files.len, 2);
    assert_string_equal(a->install.v[1].command, "two");
    assert_list(&a->startup.v[0].command, "sh -c s1");
    assert_list(&a->startup.v[1].command, "s2 x");
    assert_true(a->startup.v[1].background);
    assert_string_equal(a->allow.at[0].kit, "base");
    assert_string_equal(a->allow.at[1].kit, "m");
    assert_string_equal(a->allow.at[1].pos.file, "1.yaml");
    assert_int_equal(a->allow.at[1].pos.line, 5);
    assert_string_equal(a->install.v[1].at.kit, "m");
}

static void the_last_kit_wins_variables_and_volumes(void **state)
{
    struct world *w = *state;
    const struct sbx_artifact *a;

    load(w, BASE "environment: {variables: {A: base, B: base}}\n"
            "volumes: [{path: /a, size: 1g}, {path: /b}]\n");
    load(w, MIXIN("m") "environment: {variables: {B: m, C: m}}\nvolumes: [{path: /a, size: 2g}]\n");
    load(w, MIXIN("n") "environment: {variables: {B: n}}\nvolumes: [{path: /c, type: tmpfs}]\n");
    a = composed(w);
    assert_int_equal(a->variables.len, 3);
    assert_string_equal(a->variables.v[1].name, "B");
    assert_string_equal(a->variables.v[1].value, "n");
    assert_string_equal(a->variables.v[1].at.kit, "n");
    assert_int_equal(a->volumes.len, 3);
    assert_string_equal(a->volumes.v[0].size, "2g");
    assert_string_equal(a->volumes.v[0].at.kit, "m");
    assert_string_equal(a->volumes.v[2].type, "tmpfs");
}

static void one_privileged_kit_makes_it_privileged(void **state)
{
    struct world *w = *state;

    load(w, BASE);
    load(w, MIXIN("m") "security: {privileged: true}\n");
    load(w, MIXIN("n") "security: {privileged: false}\n");
    assert_true(composed(w)->privileged);
}

static void instructions_of_mixins_stay_apart(void **state)
{
    struct world *w = *state;
    const struct sbx_artifact *a;

    load(w, BASE "agentInstructions: {content: mine}\n");
    load(w, MIXIN("m") "agentInstructions: {content: theirs}\n");
    load(w, MIXIN("n"));
    a = composed(w);
    assert_string_equal(a->agent_context, "mine");
    assert_int_equal(a->kits.len, 3);
    assert_string_equal(a->kits.v[1].name, "m");
    assert_string_equal(a->kits.v[1].kind, "mixin");
    assert_string_equal(a->kits.v[1].agent_context, "theirs");
    assert_null(a->kits.v[2].agent_context);
    assert_int_equal(strncmp(a->kits.v[1].digest, "sha256:", 7), 0);
}

static void references_are_kept_as_written(void **state)
{
    static const char *const references[] = { "claude", "./m" };
    struct world *w = *state;

    load(w, BASE);
    load(w, MIXIN("m"));
    assert_int_equal(compose_with(w, &(struct sbx_compose_opts){ .references = references }), SBX_OK);
    assert_string_equal(w->out->kits.v[1].reference, "./m");
}

#define CRED(header)                                                                               \
    "credentials:\n- service: svc\n  apiKey: {name: SVC_KEY, inject: [{domain: api.a.com, header: " \
    header ", format: \"%s\"}]}\n"
#define ALLOW "permissions: {network: {allow: [api.a.com]}}\n"

static void equal_credentials_are_one(void **state)
{
    struct world *w = *state;
    const struct sbx_artifact *a;

    load(w, BASE ALLOW CRED("x-key"));
    load(w, MIXIN("m") CRED("x-key"));
    a = composed(w);
    assert_int_equal(a->credentials.len, 1);
    assert_string_equal(a->credentials.v[0].api_key.inject.v[0].header, "x-key");
    assert_string_equal(a->credentials.v[0].at.kit, "base");
}

static void different_credentials_are_refused_with_the_key(void **state)
{
    struct world *w = *state;

    load(w, BASE ALLOW CRED("x-key"));
    load(w, MIXIN("m") CRED("authorization"));
    refused(w, SBX_CONFLICT, "compose: credential svc defined in both base and m: "
                             "apiKey.inject[0].header is \"x-key\" and \"authorization\"");
}

static void a_key_that_only_one_has_differs_too(void **state)
{
    struct world *w = *state;

    load(w, BASE ALLOW CRED("x-key"));
    load(w, MIXIN("m") CRED("x-key") "  required: true\n");
    refused(w, SBX_CONFLICT, "compose: credential svc defined in both base and m: required is "
                             "nothing and true");
}

static void another_kit_may_allow_the_host_of_a_credential(void **state)
{
    struct world *w = *state;

    load(w, BASE CRED("x-key"));
    load(w, MIXIN("m") "permissions: {network: {allow: [\"*.a.com:443\"]}}\n");
    composed(w);
    for (size_t i = 0; i < w->diags.len; i++) /* the single kit's warning is settled */
        assert_string_not_equal(w->diags.v[i].code, "uncovered-domain");
}

static void a_host_that_no_kit_allows_is_an_error(void **state)
{
    struct world *w = *state;

    load(w, BASE CRED("x-key"));
    refused(w, SBX_SCHEMA, "compose: no allow rule covers this host (api.a.com)");
}

static void a_credential_that_goes_nowhere_is_an_error(void **state)
{
    struct world *w = *state;

    load(w, BASE "credentials: [{service: my-own}]\n");
    assert_int_equal(compose_with(w, NULL), SBX_SCHEMA);
    assert_non_null(strstr(w->err.text, "nothing says where the credential goes"));
}

/* Static files as a loader gives them. */
static void give_file(struct sbx_artifact *a, enum sbx_target target, const char *path,
                      const char *text)
{
    struct sbx_static_file *v = sbx_arena_array(a->arena, a->files.len + 1, sizeof(*v));

    assert_non_null(v);
    if (a->files.len)
        memcpy(v, a->files.v, a->files.len * sizeof(*v));
    v[a->files.len] = (struct sbx_static_file){
        .at = { a->name, { .file = path } }, .target = target, .mode = 0644,
        .path = sbx_arena_strdup(a->arena, path), .size = strlen(text),
        .data = sbx_arena_strdup(a->arena, text),
    };
    a->files.v = v;
    a->files.len++;
}

static void files_are_an_overlay(void **state)
{
    struct world *w = *state;
    struct sbx_artifact *base = load(w, BASE), *m = load(w, MIXIN("m"));
    const struct sbx_artifact *a;

    give_file(base, SBX_TARGET_HOME, "a", "base");
    give_file(base, SBX_TARGET_HOME, "b/c", "base");
    give_file(base, SBX_TARGET_WORKSPACE, "a", "base");
    give_file(m, SBX_TARGET_HOME, "a", "mine!");
    give_file(m, SBX_TARGET_HOME, "b/d", "m");
    a = composed(w);
    assert_int_equal(a->files.len, 4);
    assert_string_equal(a->files.v[0].path, "a");
    assert_memory_equal(a->files.v[0].data, "mine!", 5);
    assert_string_equal(a->files.v[0].at.kit, "m");
    assert_string_equal(a->files.v[1].path, "b/c");
    assert_string_equal(a->files.v[2].path, "b/d");
    assert_int_equal(a->files.v[3].target, SBX_TARGET_WORKSPACE);
    assert_memory_equal(a->files.v[3].data, "base", 4);
}

static void a_file_is_no_directory_of_another_kit(void **state)
{
    struct world *w = *state;
    struct sbx_artifact *base = load(w, BASE), *m = load(w, MIXIN("m"));

    give_file(base, SBX_TARGET_HOME, "x/a", "base");
    give_file(base, SBX_TARGET_HOME, "x/a-b", "base");
    give_file(m, SBX_TARGET_HOME, "x/a/b/c", "m");
    refused(w, SBX_CONFLICT,
            "compose: files/home/x/a is a file in kit base and a directory in kit m");
}

static void the_json_of_a_composition(void **state)
{
    struct world *w = *state;
    json_t *json;

    load(w, BASE "credentials:\n- service: o\n  oauth:\n    tokenEndpoint: {host: t.a.com, path: /t}\n"
            "    sentinels: {accessToken: a, refreshToken: r}\n"
            "    credentialFile: {path: ~/.c, structure: {x: {y: \"{{.AccessToken}}\"}}}\n"
            "permissions: {network: {allow: [\"**.a.com\"]}}\n");
    load(w, MIXIN("m") "environment: {variables: {A: b}}\n");
    json = sbx_artifact_json(composed(w));
    assert_non_null(json);
    assert_non_null(json_object_get(json, "environment"));
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COMPOSE_TEST(a_sandbox_alone_composes_to_itself),
        COMPOSE_TEST(lists_are_appended_in_order_and_know_their_kit),
        COMPOSE_TEST(the_last_kit_wins_variables_and_volumes),
        COMPOSE_TEST(one_privileged_kit_makes_it_privileged),
        COMPOSE_TEST(instructions_of_mixins_stay_apart),
        COMPOSE_TEST(references_are_kept_as_written),
        COMPOSE_TEST(equal_credentials_are_one),
        COMPOSE_TEST(different_credentials_are_refused_with_the_key),
        COMPOSE_TEST(a_key_that_only_one_has_differs_too),
        COMPOSE_TEST(another_kit_may_allow_the_host_of_a_credential),
        COMPOSE_TEST(a_host_that_no_kit_allows_is_an_error),
        COMPOSE_TEST(a_credential_that_goes_nowhere_is_an_error),
        COMPOSE_TEST(files_are_an_overlay),
        COMPOSE_TEST(a_file_is_no_directory_of_another_kit),
        COMPOSE_TEST(the_json_of_a_composition),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
