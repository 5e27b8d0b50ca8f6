/* Version 1: what its surfaces are folded to, where real kits and the vectors do not say it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/kit.h"

#define MIXIN "schemaVersion: \"1\"\nkind: mixin\nname: a\n"
#define AGENT "schemaVersion: \"1\"\nkind: agent\nname: a\n"

struct kit {
    struct sbx_diags diags;
    struct sbx_artifact *a;
};

static void kit_auto(struct kit *k)
{
    sbx_artifact_free(k->a);
    sbx_diags_release(&k->diags);
}

#define KIT __attribute__((cleanup(kit_auto))) struct kit

static struct kit load(const char *text)
{
    struct kit k = { .a = NULL };
    struct sbx_err err = SBX_ERR_INIT;

    assert_int_equal(sbx_diags_init(&k.diags), SBX_OK);
    if (sbx_kit_load_bytes("spec.yaml", text, strlen(text), &k.diags, &k.a, &err))
        fail_msg("%s", err.text);
    return k;
}

static void assert_part(const struct kit *k, const char *part, const char *want)
{
    json_t *o = sbx_artifact_json(k->a);
    SBX_AUTO_FREE char *got = json_dumps(json_object_get(o, part), JSON_COMPACT | JSON_SORT_KEYS);

    json_decref(o);
    assert_string_equal(got ? got : "", want);
}

static void a_listed_credential_wins_over_the_old_surfaces(void **state)
{
    KIT k = load(MIXIN "credentials:\n"
                       "  - service: github\n"
                       "    apiKey: {name: MINE, inject: [{domain: api.github.com, scheme: bearer}]}\n"
                       "secrets: [GH_TOKEN, FOO_SECRET]\n"
                       "network: {serviceDomains: {api.github.com: github, api.foo.example: foo}}\n"
                       "environment: {proxyManaged: [GITHUB_TOKEN, FOO_SECRET]}\n");

    (void)state;
    assert_part(&k, "credentials",
                "[{\"apiKey\":{\"inject\":[{\"domain\":\"api.github.com\",\"format\":\"Bearer %s\","
                "\"header\":\"Authorization\"}],\"name\":\"MINE\"},\"service\":\"github\"},"
                "{\"apiKey\":{\"inject\":[{\"domain\":\"api.foo.example\",\"format\":\"%s\",\"header\":\"\"}],"
                "\"name\":\"FOO_SECRET\",\"proxyManaged\":true},\"required\":true,\"service\":\"foo\"}]");
}

static void domains_without_a_header_belong_to_oauth(void **state)
{
    KIT k = load(MIXIN "network: {serviceDomains: {api.foo.example: foo, auth.foo.example: foo}}\n"
                       "oauth: {service: foo, tokenEndpoint: {host: auth.foo.example, path: /t},\n"
                       "  sentinels: {accessToken: a, refreshToken: r}, passthroughResponse: true}\n");

    (void)state;
    assert_part(&k, "credentials",
                "[{\"oauth\":{\"passthrough\":true,\"resourceHosts\":[\"api.foo.example\"],"
                "\"sentinels\":{\"accessToken\":\"a\",\"refreshToken\":\"r\"},"
                "\"tokenEndpoint\":{\"host\":\"auth.foo.example\",\"path\":\"/t\"}},\"service\":\"foo\"}]");
}

static void oauth_does_not_replace_that_of_a_listed_credential(void **state)
{
    KIT k = load(MIXIN "credentials: [{service: foo, oauth: {tokenEndpoint: {host: one, path: /t},\n"
                       "  sentinels: {accessToken: a, refreshToken: r}}}]\n"
                       "oauth: {service: foo, tokenEndpoint: {host: two, path: /t},\n"
                       "  sentinels: {accessToken: a, refreshToken: r}}\n");

    (void)state;
    assert_int_equal(k.a->credentials.len, 1);
    assert_string_equal(k.a->credentials.v[0].oauth.token_host, "one");
}

static void egress_knows_the_headers_of_its_time(void **state)
{
    static const char *const rows[][3] = {
        { "anthropic", "x-api-key", "%s" },       { "github", "Authorization", "token %s" },
        { "google", "x-goog-api-key", "%s" },     { "factory", "Authorization", "Bearer %s" },
        { "openrouter", NULL, "%s" }, /* known today, but not to version 1 */
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[300];

        snprintf(text, sizeof(text), MIXIN "egress: {b.example: %s, a.example: %s}\n", rows[i][0],
                 rows[i][0]);
        KIT k = load(text);
        const struct sbx_api_key *key = &k.a->credentials.v[0].api_key;

        assert_int_equal(key->inject.len, 2);
        assert_string_equal(key->inject.v[0].domain, "a.example");
        assert_string_equal(key->inject.v[0].format, rows[i][2]);
        assert_true(rows[i][1] ? !strcmp(key->inject.v[0].header, rows[i][1])
                               : !key->inject.v[0].header);
    }
}

static void variables_name_their_service(void **state)
{
    static const char *const rows[][2] = {
        { "FOO_API_KEY", "foo" },   { "FOO_TOKEN", "foo" },    { "FOO_KEY", "foo" },
        { "FOO_SECRET", "foo" },    { "FOO", "foo" },          { "A_B_API_KEY", "a_b" },
        { "GH_TOKEN", "github" },   { "GITHUB_TOKEN", "github" }, { "Y", "y" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[200];

        snprintf(text, sizeof(text), MIXIN "secrets: [\"%s\"]\n", rows[i][0]);
        KIT k = load(text);
        assert_string_equal(k.a->credentials.v[0].service, rows[i][1]);
        assert_string_equal(k.a->credentials.v[0].api_key.name, rows[i][0]);
    }
}

static void the_launch_keeps_what_the_flat_lists_lose(void **state)
{
    KIT k = load(AGENT "agent: {image: x, entrypoint: {run: [a, -x], args: [b], ttyArgs: []}}\n");
    const struct sbx_launch *l = &k.a->launch;

    (void)state;
    assert_string_equal(k.a->binary, "a");
    assert_int_equal(l->entrypoint.len, 2);
    assert_string_equal(l->noninteractive.v[0], "b");
    assert_true(l->interactive.set && !l->interactive.len);
    assert_int_equal(k.a->run_options.len, 2);
    assert_int_equal(k.a->interactive_options.len, 0);
}

static void of_two_blocks_one_counts(void **state)
{
    KIT k = load(AGENT "agent: {image: old, aiFilename: OLD.md}\nsandbox: {image: new}\n"
                       "memory: old\nagentContext: new\nresources: {memoryMB: 5}\n");

    (void)state;
    assert_string_equal(k.a->image, "new");
    assert_null(k.a->ai_filename);
    assert_string_equal(k.a->agent_context, "new");
    assert_false(k.a->resources.set);
}

static void memory_is_read_in_mebibytes(void **state)
{
    KIT k = load(AGENT "agent: {image: x, resources: {memoryMB: 1536.9, cpu: 2, gpu: all}}\n");
    KIT none = load(AGENT "agent: {image: x, resources: {memoryMB: 0}}\n");

    (void)state;
    assert_string_equal(k.a->resources.memory, "1536m");
    assert_int_equal(k.a->resources.memory_mb, 1536);
    assert_string_equal(k.a->resources.gpu, "all");
    assert_null(none.a->resources.memory);
}

static void old_and_new_ports_follow_each_other(void **state)
{
    KIT k = load(MIXIN "network: {publishedPorts: [{container: 2}]}\npublishedPorts: [{container: 1}]\n");

    (void)state;
    assert_part(&k, "publishedPorts", "[{\"container\":1},{\"container\":2}]");
}

static void an_agent_is_named_by_requires_or_extends(void **state)
{
    KIT both = load(MIXIN "extends: claude\nrequires: {agent: codex}\n");
    KIT old = load(MIXIN "extends: claude\n");
    KIT path = load(MIXIN "extends: ./claude\n");

    (void)state;
    assert_string_equal(sbx_artifact_agent(both.a), "codex");
    assert_string_equal(sbx_artifact_agent(old.a), "claude");
    assert_null(sbx_artifact_agent(path.a));
}

/* 10,000 of each: everything is sorted and searched, nothing compared with everything. */
static void long_lists_take_no_time(void **state)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX);
    const size_t n = 9000;

    (void)state;
    assert_int_equal(sbx_buf_adds(&text, MIXIN "credentials: {sources: {"), SBX_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(sbx_buf_addf(&text, "s%zu: {env: [E%zu]},", i, i), SBX_OK);
    assert_int_equal(sbx_buf_adds(&text, "}}\nnetwork: {serviceDomains: {"), SBX_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(sbx_buf_addf(&text, "d%zu.x: s%zu,", i, n - i), SBX_OK);
    assert_int_equal(sbx_buf_adds(&text, "}}\nenvironment: {proxyManaged: ["), SBX_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(sbx_buf_addf(&text, "E%zu,", n - i), SBX_OK);
    assert_int_equal(sbx_buf_adds(&text, "]}\n"), SBX_OK);
    KIT k = load(text.ptr);
    assert_int_equal(k.a->credentials.len, n + 2); /* s9000 by a domain, e9000 by its variable */
}

static void a_schema_is_made_for_the_two_versions_alone(void **state)
{
    json_t *old = sbx_kit_schema(1), *new = sbx_kit_schema(2);

    (void)state;
    assert_non_null(json_object_get(json_object_get(old, "properties"), "commands"));
    assert_non_null(json_object_get(json_object_get(new, "properties"), "setup"));
    assert_null(json_object_get(json_object_get(old, "properties"), "binary"));
    assert_null(sbx_kit_schema(3));
    json_decref(old);
    json_decref(new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listed_credential_wins_over_the_old_surfaces),
        cmocka_unit_test(domains_without_a_header_belong_to_oauth),
        cmocka_unit_test(oauth_does_not_replace_that_of_a_listed_credential),
        cmocka_unit_test(egress_knows_the_headers_of_its_time),
        cmocka_unit_test(variables_name_their_service),
        cmocka_unit_test(the_launch_keeps_what_the_flat_lists_lose),
        cmocka_unit_test(of_two_blocks_one_counts),
        cmocka_unit_test(memory_is_read_in_mebibytes),
        cmocka_unit_test(old_and_new_ports_follow_each_other),
        cmocka_unit_test(an_agent_is_named_by_requires_or_extends),
        cmocka_unit_test(long_lists_take_no_time),
        cmocka_unit_test(a_schema_is_made_for_the_two_versions_alone),
    };

    return cmocka_run_group_tests_name("kit version 1", tests, NULL, NULL);
}
