/* What a plan refuses, and the small pure parts. */
#include "compose.h"

#include "sbx/json.h"

struct refusal {
    const char *kit;
    struct sbx_plan_options o;
    enum sbx_code code;
    const char *part; /* of the error */
};

static const struct sbx_workspace root[] = { { "/", false } }, etc[] = { { "/etc", false } },
                                  dots[] = { { "/a/../b", false } },
                                  relative[] = { { "a", false } },
                                  twice[] = { { "/w", false }, { "/w", true } },
                                  w[] = { { "/w", false } };
static const char *const no_equals[] = { "NAME", NULL }, *const no_name[] = { "=x", NULL };

static const struct refusal refusals[] = {
    { "security: { privileged: true }\n", { .name = "n" }, SBX_CONSENT, "--allow-privileged" },
    { "", { .name = "n", .cpus = -1 }, SBX_USAGE, "--cpus" },
    { "", { .name = "n", .memory = -1 }, SBX_USAGE, "--memory" },
    { "", { .name = "n", .env = no_equals }, SBX_USAGE, "NAME=VALUE" },
    { "", { .name = "n", .env = no_name }, SBX_USAGE, "NAME=VALUE" },
    { "", { .name = "n", .workspaces = root, .n_workspaces = 1 }, SBX_FAILED, "hide" },
    { "", { .name = "n", .workspaces = etc, .n_workspaces = 1 }, SBX_FAILED, "/etc" },
    { "", { .name = "n", .workspaces = dots, .n_workspaces = 1 }, SBX_USAGE, "absolute" },
    { "", { .name = "n", .workspaces = relative, .n_workspaces = 1 }, SBX_USAGE, "absolute" },
    { "", { .name = "n", .workspaces = twice, .n_workspaces = 2 }, SBX_USAGE, "given twice" },
    { "volumes: [{ path: /w }]\n", { .name = "n", .workspaces = w, .n_workspaces = 1 },
      SBX_CONFLICT, "also a workspace" },
    { "volumes: [{ path: /proc/x }]\n", { .name = "n" }, SBX_SCHEMA, "/proc" },
    { "volumes: [{ path: /run/sbx }]\n", { .name = "n" }, SBX_SCHEMA, "/run/sbx" },
    { "volumes: [{ path: /var/run/sbx }]\n", { .name = "n" }, SBX_SCHEMA, "hide" },
    { "volumes: [{ path: /var/run/sbx-startup }]\n", { .name = "n" }, SBX_SCHEMA, "hide" },
    { "volumes: [{ path: /var/run }]\n", { .name = "n" }, SBX_SCHEMA, "hide" },
    { "volumes: [{ path: /usr/bin }]\n", { .name = "n" }, SBX_SCHEMA, "hide" },
    { "volumes: [{ path: /usr/lib }]\n", { .name = "n" }, SBX_SCHEMA, "hide" },
    { "volumes: [{ path: /lib/x86_64-linux-gnu }]\n", { .name = "n" }, SBX_SCHEMA, "hide" },
    { "volumes: [{ path: /bin/x }]\n", { .name = "n" }, SBX_SCHEMA, "hide" },
    { "volumes: [{ path: /var/run/sbx, type: tmpfs }]\n", { .name = "n" }, SBX_SCHEMA, "hide" },
    { "volumes: [{ path: / }]\n", { .name = "n" }, SBX_SCHEMA, "volumes: /" },
};

static void what_cannot_be_planned_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(refusals); i++) {
        const struct refusal *r = &refusals[i];
        SBX_AUTO_PTR(sbx_artifact) a = kit_of(r->kit);
        SBX_AUTO(sbx_diags) diags = { 0 };
        struct sbx_err err = SBX_ERR_INIT;
        struct sbx_plan *p = NULL;

        assert_int_equal(sbx_diags_init(&diags), SBX_OK);
        assert_int_equal(sbx_plan_make(a, &r->o, &diags, &p, &err), r->code);
        if (p || !strstr(err.text, r->part))
            fail_msg("row %zu: \"%s\" does not hold \"%s\"", i, err.text, r->part);
    }
}

static struct sbx_plan *plan_of(const char *kit, const struct sbx_plan_options *o)
{
    SBX_AUTO_PTR(sbx_artifact) a = kit_of(kit);
    SBX_AUTO(sbx_diags) diags = { 0 };
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_plan *p = NULL;

    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    if (sbx_plan_make(a, o, &diags, &p, &err))
        fail_msg("%s", err.text);
    return p;
}

static void a_runtime_that_cannot_is_named(void **state)
{
    static const struct sbx_plan_options o = { .name = "n", .allow_privileged = true };
    SBX_AUTO_PTR(sbx_plan) gpu =
        plan_of("sandbox: { image: \"i:1\", resources: { gpu: \"1\" } }\n", &o);
    SBX_AUTO_PTR(sbx_plan) privileged = plan_of("security: { privileged: true }\n", &o);
    struct sbx_runtime_info info = { .name = "oci" };
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    assert_int_equal(sbx_plan_check(gpu, &info, &err), SBX_UNSUPPORTED);
    assert_non_null(strstr(err.text, "oci runtime cannot give GPUs"));
    assert_int_equal(sbx_plan_check(privileged, &info, &err), SBX_UNSUPPORTED);
    info.gpu = info.privileged = true;
    assert_int_equal(sbx_plan_check(gpu, &info, &err), SBX_OK);
    assert_int_equal(sbx_plan_check(privileged, &info, &err), SBX_OK);
}

static void a_sandbox_without_workspace_works_in_its_home(void **state)
{
    static const struct sbx_plan_options o = { .name = "a.b" };
    SBX_AUTO_PTR(sbx_plan) p = plan_of("setup: { files: [{ path: /x, content: "
                                       "\"${WORKDIR}${WORKDIR}\" }] }\n", &o);
    const struct sbx_plan_file *f = NULL;

    (void)state;
    assert_string_equal(p->workdir, SBX_WORKDIR_DEFAULT);
    assert_string_equal(p->hostname, "a-b");
    for (size_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].phase == SBX_PHASE_SETUP_FILES)
            f = p->steps[i].files;
    assert_non_null(f);
    assert_string_equal(f->data, SBX_WORKDIR_DEFAULT SBX_WORKDIR_DEFAULT);
}

/* The seed's launch table, and what users put behind "--". */
static void agents_are_launched_by_the_table(void **state)
{
    static const struct {
        const char *sandbox;
        bool interactive;
        const char *args[3];
        const char *want;
    } rows[] = {
        { "entrypoint: [a, f]", true, { NULL }, "a f" },
        { "entrypoint: [a, f]", false, { NULL }, "a f" },
        { "entrypoint: [a, f], command: [t]", true, { NULL }, "a f t" },
        { "entrypoint: [a, f], command: { default: [t], interactive: [] }", true, { NULL }, "a f" },
        { "entrypoint: [a, f], command: { default: [t], interactive: [i] }", true, { NULL }, "a f i" },
        { "entrypoint: [a, f], command: { default: [t], interactive: [i] }", false, { NULL },
          "a f t" },
        { "entrypoint: [a, f], command: { interactive: [i] }", false, { NULL }, "a f" },
        { "entrypoint: [a, f], command: [t]", true, { "-x", "y" }, "a f t -x y" },
        { "entrypoint: [a, f], command: [t]", true, { "", "y" }, "a f t  y" },
        { "entrypoint: [a, f], command: [t]", true, { "sub", "y" }, "a sub y" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        static const struct sbx_plan_options o = { .name = "n" };
        char kit[256], got[256] = "";
        SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
        SBX_AUTO_PTR(sbx_plan) p = NULL;

        snprintf(kit, sizeof(kit), "sandbox: { image: \"i:1\", %s }\n", rows[i].sandbox);
        p = plan_of(kit, &o);
        for (const char *const *v = sbx_plan_launch(p, rows[i].interactive, rows[i].args, arena); *v;
             v++)
            snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", *got ? " " : "", *v);
        if (strcmp(got, rows[i].want))
            fail_msg("row %zu: \"%s\", want \"%s\"", i, got, rows[i].want);
    }
}

#define S "<!-- sbx:kits-section start -->\n"
#define E "<!-- sbx:kits-section end -->\n"

static void the_kits_section_is_replaced_and_the_users_text_stays(void **state)
{
    static const struct {
        const char *old, *fresh, *want;
    } rows[] = {
        { "", "base\n\n" S "new\n" E, "base\n\n" S "new\n" E },
        { "mine\n", "base\n\n" S "new\n" E, "mine\n\nbase\n\n" S "new\n" E },
        { "mine\n" S "old\n" E "more\n", S "new\n" E, "mine\n" S "new\n" E "more\n" },
        { "base\n\n" S "old\n" E, "base\n\n" S "new\n" E, "base\n\n" S "new\n" E },
        { "mine\n" S "never closed\n", S "new\n" E, "mine\n" S "never closed\n\n" S "new\n" E },
        { "mine\n", "base\n", "mine\n\nbase\n" },
        { "mine\n\nbase\n", "base\n", "mine\n\nbase\n" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1 << 16);

        assert_int_equal(sbx_instructions_merge(rows[i].old, strlen(rows[i].old), rows[i].fresh,
                                                &out), SBX_OK);
        if (strcmp(out.ptr, rows[i].want))
            fail_msg("row %zu: [%s], want [%s]", i, out.ptr, rows[i].want);
    }
}

static void the_gate_gets_rules_of_preset_user_and_kits(void **state)
{
    static const struct sbx_user_rule rules[] = {
        { .decision = SBX_DENY, .pattern = "bad.example.com" },
        { .decision = SBX_ALLOW, .pattern = "mine.example.com", .id = "m", .sandbox = "n", .line = 9 },
        { .decision = SBX_ALLOW, .pattern = "theirs.example.com", .sandbox = "other" },
    };
    static const char *const addresses[] = { "203.0.113.10", NULL };
    static const struct sbx_host_entry hosts[] = { { "api.example.com", addresses } };
    static const struct sbx_user_policy policy = { .preset = "deny-all", .rules = rules,
                                                   .n_rules = 3, .hosts = hosts, .n_hosts = 1 };
    static const struct sbx_plan_options o = { .name = "n" };
    SBX_AUTO_PTR(sbx_plan) p =
        plan_of("permissions: { network: { allow: [\"localhost:8080\"] } }\n", &o);
    SBX_AUTO_JSON json_t *got = NULL;
    char *text;

    (void)state;
    assert_true(p->rules[0].needs_consent);
    assert_int_equal(sbx_gate_config_json(p, &policy, 3, &got, NULL), SBX_OK);
    text = json_dumps(got, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        text,
        "{\"generation\":3,\"hosts\":{\"api.example.com\":[\"203.0.113.10\"]},"
        "\"limits\":{\"tunnels\":4096,\"tunnelsPerHost\":512},\"publicTestRanges\":[],\"rules\":["
        "{\"consented\":true,\"decision\":\"deny\",\"id\":\"user:1\",\"origin\":\"user\","
        "\"pattern\":\"bad.example.com\",\"source\":\"user\"},"
        "{\"consented\":true,\"decision\":\"allow\",\"id\":\"m\",\"origin\":\"user policy.yaml:9\","
        "\"pattern\":\"mine.example.com\",\"source\":\"user\"},"
        "{\"consented\":false,\"decision\":\"allow\",\"id\":\"kit:basis:1\",\"origin\":\"kit basis/"
        "spec.yaml:7:35\","
        "\"pattern\":\"localhost:8080\",\"source\":\"kit\"}],\"sandbox\":\"n\",\"upstream\":null,"
        "\"version\":1}");
    free(text);
}

/* A kit as it was: another digest, name or resource is another question; the gate asks the policy of now. */
static void an_approval_counts_for_the_kit_as_it_was(void **state)
{
    static const char rules[] = "permissions: { network: { allow: [\"localhost:8080\"] } }\n";
    static const char other[] = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const struct sbx_plan_options plain = { .name = "n" };
    SBX_AUTO_PTR(sbx_plan) first = plan_of(rules, &plain);
    const char *digest = sbx_plan_rule_digest(first, &first->rules[0]);
    const struct {
        struct sbx_approval v;
        bool want;
    } rows[] = {
        { { "basis", digest, "localhost:8080" }, true },
        { { "basis", digest, "host.docker.internal:8080" }, true },
        { { "basis", digest, "127.0.0.1:8080" }, true },
        { { "basis", digest, "localhost:8081" }, false },
        { { "basis", digest, "localhost" }, false },
        { { "basis", other, "localhost:8080" }, false },
        { { "bases", digest, "localhost:8080" }, false },
    };

    (void)state;
    assert_non_null(digest);
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_plan_options o = { .name = "n", .approvals = &rows[i].v, .n_approvals = 1 };
        struct sbx_user_policy policy = { .preset = "deny-all", .approvals = &rows[i].v, .n_approvals = 1 };
        SBX_AUTO_PTR(sbx_plan) p = plan_of(rules, &o);

        for (int taken_back = 0; taken_back < 2; taken_back++) {
            SBX_AUTO_JSON json_t *got = NULL;
            const json_t *rule;

            policy.n_approvals = !taken_back;
            assert_int_equal(sbx_gate_config_json(p, &policy, 1, &got, NULL), SBX_OK);
            rule = json_array_get(json_object_get(got, "rules"), 0);
            if (p->rules[0].consented != rows[i].want ||
                json_is_true(json_object_get(rule, "consented")) != (rows[i].want && !taken_back))
                fail_msg("row %zu%s", i, taken_back ? ", taken back" : "");
        }
    }
}

/* An agent that extends `n` kits of that name, of which the first has the digest; its rule is the parent's. */
static struct sbx_plan *plan_of_child(const char *name, size_t n, const char *digest,
                                      const char *const *approve, const struct sbx_approval *v)
{
    static const char other[] = "sha256:2222222222222222222222222222222222222222222222222222222222222222";
    SBX_AUTO_PTR(sbx_artifact) a = kit_of("permissions: { network: { allow: [\"localhost:8080\"] } }\n");
    SBX_AUTO(sbx_diags) diags = { 0 };
    struct sbx_kit_ref parents[] = { { .name = name, .digest = digest }, { .name = name, .digest = other } };
    struct sbx_plan_options o = { .name = "n", .approve = approve, .approvals = v, .n_approvals = v ? 1 : 0 };
    struct sbx_plan *p = NULL;

    a->parents.v = parents;
    a->parents.len = n;
    a->allow.at[0].kit = name;
    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    assert_int_equal(sbx_plan_make(a, &o, &diags, &p, NULL), SBX_OK);
    return p;
}

/* A kit that the agent extends may change while the agent's digest does not: approved is that one as it was. */
static void an_approval_of_a_parents_rule_counts_for_the_parent_as_it_was(void **state)
{
    static const char one[] = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
    static const char two[] = "sha256:3333333333333333333333333333333333333333333333333333333333333333";
    static const char *const wish[] = { "localhost:8080", NULL };
    static const struct { const char *name; size_t before, now; const char *digest; bool same; } rows[] = {
        { "parent", 1, 1, one, true }, { "parent", 1, 1, two, false }, { "parent", 2, 2, one, true },
        { "parent", 1, 2, one, false }, { "basis", 1, 1, one, true }, { "basis", 1, 1, two, false },
        { "basis", 0, 1, one, false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_PTR(sbx_plan) given = plan_of_child(rows[i].name, rows[i].before, one, wish, NULL);
        struct sbx_approval v = { rows[i].name, sbx_plan_rule_digest(given, &given->rules[0]), "localhost:8080" };
        struct sbx_user_policy policy = { .preset = "deny-all", .approvals = &v, .n_approvals = 1 };
        SBX_AUTO_PTR(sbx_plan) again = plan_of_child(rows[i].name, rows[i].now, rows[i].digest, NULL, &v);
        SBX_AUTO_PTR(sbx_plan) kept = NULL;
        SBX_AUTO_JSON json_t *config = NULL, *text = sbx_plan_json(given);
        const json_t *rule;

        assert_non_null(v.digest);
        if (again->rules[0].consented != rows[i].same)
            fail_msg("row %zu", i);
        assert_int_equal(sbx_plan_parse(text, "/", &kept, NULL), SBX_OK);
        assert_int_equal(sbx_gate_config_json(kept, &policy, 1, &config, NULL), SBX_OK);
        rule = json_array_get(json_object_get(config, "rules"), 0);
        if (!json_is_true(json_object_get(rule, "consented")))
            fail_msg("row %zu: the gate", i);
    }
}

/* The plan asks for consent exactly where the gate wants it: odd spellings are no way around. */
static void rules_for_this_machine_need_consent_in_any_spelling(void **state)
{
    static const struct { const char *pattern; bool want; } rows[] = {
        { "localhost:8080", true }, { "LOCALHOST:8080", true }, { "host.docker.internal:1", true },
        { "127.0.0.1:80", true }, { "127.1:80", true }, { "[::1]:80", true }, { "10.0.0.0/8", true },
        { "192.168.1.1", true }, { "[fd00::1]:443", true }, { "example.com:443", false },
        { "8.8.8.8:53", false }, { "**.example.com", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static const struct sbx_plan_options o = { .name = "n" };
        char spec[128];

        snprintf(spec, sizeof(spec), "permissions: { network: { allow: [\"%s\"] } }\n",
                 rows[i].pattern);
        SBX_AUTO_PTR(sbx_plan) p = plan_of(spec, &o);
        if (p->rules[0].needs_consent != rows[i].want)
            fail_msg("%s: %d", rows[i].pattern, !rows[i].want);
    }
}

static void a_bad_preset_or_rule_of_the_user_is_an_error(void **state)
{
    static const struct sbx_user_rule rules[] = {
        { .decision = SBX_ALLOW, .pattern = "no spaces.example.com" }
    };
    static const struct sbx_user_policy preset = { .preset = "open" },
                                        rule = { .rules = rules, .n_rules = 1 };
    static const struct sbx_plan_options o = { .name = "n" };
    SBX_AUTO_PTR(sbx_plan) p = plan_of("", &o);
    struct sbx_err err = SBX_ERR_INIT;
    json_t *got = NULL;

    (void)state;
    assert_int_equal(sbx_gate_config_json(p, &preset, 1, &got, &err), SBX_SCHEMA);
    assert_non_null(strstr(err.text, "\"open\""));
    assert_int_equal(sbx_gate_config_json(p, &rule, 1, &got, &err), SBX_SCHEMA);
    assert_non_null(strstr(err.text, "rule 1"));
}

static void what_is_not_a_plan_is_refused(void **state)
{
    static const char *const texts[] = {
        "[]", "{}", "{\"version\":2}", "{\"version\":1}",
        "{\"version\":1,\"name\":1,\"app\":\"a\",\"agent\":\"x\"}",
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(texts); i++) {
        SBX_AUTO_JSON json_t *o = json_loads(texts[i], 0, NULL);
        struct sbx_plan *p = NULL;

        assert_int_equal(sbx_plan_parse(o, "/b", &p, NULL), SBX_SCHEMA);
        assert_null(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_planned_is_refused_by_name),
        cmocka_unit_test(a_runtime_that_cannot_is_named),
        cmocka_unit_test(a_sandbox_without_workspace_works_in_its_home),
        cmocka_unit_test(agents_are_launched_by_the_table),
        cmocka_unit_test(the_kits_section_is_replaced_and_the_users_text_stays),
        cmocka_unit_test(the_gate_gets_rules_of_preset_user_and_kits),
        cmocka_unit_test(an_approval_counts_for_the_kit_as_it_was),
        cmocka_unit_test(an_approval_of_a_parents_rule_counts_for_the_parent_as_it_was),
        cmocka_unit_test(rules_for_this_machine_need_consent_in_any_spelling),
        cmocka_unit_test(a_bad_preset_or_rule_of_the_user_is_an_error),
        cmocka_unit_test(what_is_not_a_plan_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
