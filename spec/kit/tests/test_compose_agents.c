/* Composition: which kits may stand together; names, kinds, agents, versions. */
#include "composed.h"

static void kinds_are_checked(void **state)
{
    struct world *w = *state;

    load(w, BASE);
    load(w, V2 "kind: sandbox\nname: other\nsandbox: {image: img}\n");
    refused(w, SBX_CONFLICT, "compose: kit other must be kind mixin, got sandbox");
    assert_string_equal(w->diags.v[w->diags.len - 1].pos.file, "1.yaml");
}

static void a_mixin_is_no_base(void **state)
{
    struct world *w = *state;

    load(w, MIXIN("m"));
    refused(w, SBX_CONFLICT, "compose: kit m must be kind sandbox, got mixin");
}

static void names_are_unique(void **state)
{
    struct world *w = *state;

    load(w, BASE);
    load(w, MIXIN("base"));
    refused(w, SBX_CONFLICT,
            "compose: duplicate kit name \"base\" — each kit must have a unique name");
}

static void all_conflicts_are_said_at_once(void **state)
{
    struct world *w = *state;

    load(w, BASE);
    load(w, MIXIN("m") "requires: {agent: claude}\n");
    load(w, MIXIN("m"));
    refused(w, SBX_CONFLICT, "compose: 2 errors");
    assert_int_equal(w->diags.errors, 2);
}

static void a_mixin_may_want_its_agent(void **state)
{
    struct world *w = *state;

    load(w, BASE);
    load(w, MIXIN("m") "requires: {agent: base}\n");
    composed(w);
}

static void a_mixin_takes_no_other_agent(void **state)
{
    struct world *w = *state;

    load(w, BASE);
    load(w, MIXIN("m") "requires: {agent: claude}\n");
    refused(w, SBX_CONFLICT, "compose: kit m requires the agent claude, got base");
    assert_string_equal(w->diags.v[w->diags.len - 1].hint,
                        "run it with claude, or leave the kit out");
}

#define OLD_MIXIN(name) "schemaVersion: \"1\"\nkind: mixin\nname: " name "\n"

/* S9, S10 and S18 are milder for what a kit of version 1 says, whatever the other kits are. */
static void a_mixin_of_version_1_is_judged_by_its_own_rules(void **state)
{
    static const char text[] = OLD_MIXIN("m")
        "credentials: {sources: {lone: {env: [LONE_KEY]}}}\n"
        "network: {serviceDomains: {api.foo.example: foo}}\n"
        "environment: {variables: {SBX_MODE: x}}\n";
    struct world *w = *state;

    load(w, BASE);
    load(w, text);
    assert_int_equal(composed(w)->credentials.len, 2);
    assert_int_equal(w->diags.errors, 0);
}

static void a_mixin_of_version_2_is_not_milder_on_an_old_base(void **state)
{
    struct world *w = *state;

    load(w, "schemaVersion: \"1\"\nkind: agent\nname: base\nagent: {image: img}\n");
    load(w, MIXIN("m") "credentials: [{service: foo, apiKey: {name: K, inject: "
                       "[{domain: api.foo.example, header: X, format: \"%s\"}]}}]\n");
    refused(w, SBX_SCHEMA, "compose: no allow rule covers this host (api.foo.example)");
}

static void extends_of_an_old_mixin_names_its_agent(void **state)
{
    struct world *w = *state;

    load(w, BASE);
    load(w, OLD_MIXIN("m") "extends: base\n");
    assert_null(composed(w)->extends);
}

static void an_old_mixin_takes_no_other_agent(void **state)
{
    struct world *w = *state;

    load(w, BASE);
    load(w, OLD_MIXIN("n") "extends: claude\n");
    refused(w, SBX_CONFLICT, "compose: kit n requires the agent claude, got base");
}

static void a_variant_of_an_agent_counts_as_the_agent(void **state)
{
    struct world *w = *state;

    load(w, V2 "kind: sandbox\nname: my-claude\nextends: claude\nsandbox: {image: img}\n");
    load(w, MIXIN("m") "requires: {agent: claude}\n");
    assert_null(composed(w)->extends);
}

static const char *digest_of(const char *name, void *data)
{
    return strcmp(name, "claude") ? NULL : data;
}

static void a_reserved_name_is_the_built_in_kit_itself(void **state)
{
    struct world *w = *state;
    struct sbx_artifact *a = load(w, V2 "kind: sandbox\nname: claude\nsandbox: {image: img}\n");
    char other[80];

    refused(w, SBX_CONFLICT,
            "compose: built-in agents cannot be overridden by a kit (claude)");
    w->diags.errors = w->diags.len = 0;
    snprintf(other, sizeof(other), "%s", a->digest);
    other[strlen(other) - 1] ^= 1;
    assert_int_equal(compose_with(w, &(struct sbx_compose_opts){ .builtin_digest = digest_of,
                                                                 .data = other }), SBX_CONFLICT);
    w->diags.errors = w->diags.len = 0;
    snprintf(other, sizeof(other), "%s", a->digest);
    assert_int_equal(compose_with(w, &(struct sbx_compose_opts){ .builtin_digest = digest_of,
                                                                 .data = other }), SBX_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COMPOSE_TEST(kinds_are_checked),
        COMPOSE_TEST(a_mixin_is_no_base),
        COMPOSE_TEST(names_are_unique),
        COMPOSE_TEST(all_conflicts_are_said_at_once),
        COMPOSE_TEST(a_mixin_may_want_its_agent),
        COMPOSE_TEST(a_mixin_takes_no_other_agent),
        COMPOSE_TEST(a_mixin_of_version_1_is_judged_by_its_own_rules),
        COMPOSE_TEST(a_mixin_of_version_2_is_not_milder_on_an_old_base),
        COMPOSE_TEST(extends_of_an_old_mixin_names_its_agent),
        COMPOSE_TEST(an_old_mixin_takes_no_other_agent),
        COMPOSE_TEST(a_variant_of_an_agent_counts_as_the_agent),
        COMPOSE_TEST(a_reserved_name_is_the_built_in_kit_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
