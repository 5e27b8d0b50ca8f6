/* What is said about a verdict: the rule that decided, the nearest one, what to do. */
#include "build.h"

#define NAME63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void explained_to(const char *sandbox, const char *const *rules, const char *target, const char *want)
{
    SBX_AUTO_PTR(sbx_policy) p = NULL;
    char text[SBX_EXPLAIN_MAX];
    struct sbx_verdict v;
    struct sbx_host host;
    uint16_t port;

    build(rules, &p);
    assert_int_equal(sbx_target_parse(target, strlen(target), 0, &host, &port, NULL), SBX_OK);
    v = sbx_policy_judge(p, &host, port);
    sbx_verdict_explain(p, &v, sandbox, &host, port, text);
    assert_string_equal(text, want);
}

static void explained(const char *const *rules, const char *target, const char *want)
{
    explained_to(NULL, rules, target, want);
}

static void the_nearest_rule_and_what_keeps_it_from_matching(void **state)
{
    static const struct {
        const char *rules[RULES], *target, *rule, *why;
    } rows[] = {
        { { "+a.com:443", NULL }, "a.com:80", "a.com:443", "is for other ports" },
        { { "+10.0.0.0/8:443", NULL }, "10.1.2.3:80", "10.0.0.0/8:443", "is for other ports" },
        { { "+a.com", NULL }, "x.a.com:80", "a.com", "is for the domain itself, not for hosts below it" },
        { { "+**.a.com", NULL }, "a.com:80", "**.a.com",
          "is for hosts below the name, not for the name itself" },
        { { "+*.a.com", NULL }, "x.y.a.com:80", "*.a.com",
          "is for one label only; ** is for any number" },
        { { "+y.a.com", NULL }, "x.a.com:80", "y.a.com", "is for another host of the domain" },
        { { "+y.a.com", "+a.com", "+x.a.com:1", NULL }, "x.a.com:80", "x.a.com:1", "is for other ports" },
        { { "+b.com", "-x.a.com:1", NULL }, "x.a.com:80", NULL, NULL },
        { { "+b.com", NULL }, "a.com:80", NULL, NULL }, /* "com" alone makes no neighbours */
        { { "+a.com:443", NULL }, "x.a.com:80", NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_PTR(sbx_policy) p = NULL;
        const struct sbx_rule *r;
        const char *why = NULL;
        struct sbx_host host;
        uint16_t port;

        build(rows[i].rules, &p);
        assert_int_equal(sbx_target_parse(rows[i].target, strlen(rows[i].target), 0, &host, &port,
                                          NULL),
                         SBX_OK);
        r = sbx_policy_nearest(p, &host, port, &why);
        if (!r != !rows[i].rule || (r && (strcmp(r->text, rows[i].rule) || strcmp(why, rows[i].why))))
            fail_msg("row %zu: %s %s", i, r ? r->text : "none", why ? why : "");
    }
}

static void a_verdict_says_what_to_do(void **state)
{
    (void)state;
    explained((const char *[]){ NULL }, "api.example.com:443",
              "blocked: api.example.com:443 (no allow rule); to allow it: sbx policy allow network "
              "api.example.com:443");
    explained((const char *[]){ "+example.com", NULL }, "deb.example.com:443",
              "blocked: deb.example.com:443 (no allow rule); to allow it: sbx policy allow network "
              "deb.example.com:443, or *.example.com for all hosts of that domain");
    explained((const char *[]){ "+docker.internal", NULL }, "host.docker.internal:80", /* which no wildcard opens */
              "blocked: host.docker.internal:80 (no allow rule); to allow it: sbx policy allow network "
              "host.docker.internal:80");
    explained((const char *[]){ "+a.com", "-a.com:443", NULL }, "a.com:443",
              "blocked: a.com:443 (deny rule a.com:443 of user)");
    explained((const char *[]){ "k+localhost:80", NULL }, "host.docker.internal:80",
              "blocked: host.docker.internal:80 (asked for by kit k, not approved); to approve: "
              "--approve localhost:80, or sbx policy allow network localhost:80");
    explained_to("box", (const char *[]){ NULL }, "a.com:443",
                 "blocked: a.com:443 (no allow rule); to allow it: sbx policy allow network a.com:443 --sandbox box");
    explained_to("box", (const char *[]){ "+a.com", NULL }, "x.a.com:443",
                 "blocked: x.a.com:443 (no allow rule); to allow it: sbx policy allow network x.a.com:443 "
                 "--sandbox box, or *.a.com for all hosts of that domain");
    explained_to("box", (const char *[]){ "k+localhost:80", NULL }, "host.docker.internal:80",
                 "blocked: host.docker.internal:80 (asked for by kit k, not approved); to approve: --approve "
                 "localhost:80, or sbx policy allow network localhost:80 --sandbox box");
    explained((const char *[]){ "+**", NULL }, "[::1]:80",
              "blocked: [::1]:80 (this is the sandbox's own; the host's services are "
              "host.docker.internal:PORT)");
    explained((const char *[]){ "+**", NULL }, "a.com:1", "allowed: a.com:1 (rule ** of user)");
    explained((const char *[]){ NULL }, NAME63 "." NAME63 "." NAME63 ".example.com:443",
              "blocked: " NAME63 "." NAME63 "." "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
              " (no allow rule); to allow it: sbx policy allow network "
              NAME63 "." NAME63 "." "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

static void an_address_that_needs_its_own_rule_is_told_with_that_rule(void **state)
{
    const struct sbx_verdict v = { .decision = SBX_DENY, .reason = "private" };
    char text[SBX_EXPLAIN_MAX];
    struct sbx_host host;
    uint16_t port;

    (void)state;
    explained_to("box", (const char *[]){ "+**", NULL }, "10.1.2.3:80",
                 "blocked: 10.1.2.3:80 (a private address); to allow it: sbx policy allow network "
                 "10.1.2.3:80 --sandbox box");
    explained((const char *[]){ "+**", NULL }, "[fe80::1]:80",
              "blocked: [fe80::1]:80 (a link-local address); to allow it: sbx policy allow network "
              "[fe80::1]:80");
    explained((const char *[]){ "+**", NULL }, "192.0.2.1:80",
              "blocked: 192.0.2.1:80 (a documentation address); to allow it: sbx policy allow "
              "network 192.0.2.1:80");
    assert_int_equal(sbx_target_parse("db.corp:5432", 12, 0, &host, &port, NULL), SBX_OK);
    sbx_verdict_explain(NULL, &v, "box", &host, port, text);
    assert_string_equal(text, "blocked: db.corp:5432 (resolves to a private address); to allow it, allow that address "
                              "too: sbx policy allow network ADDRESS:5432 --sandbox box");
}

static void the_first_rule_that_decides_is_named(void **state)
{
    SBX_AUTO_PTR(sbx_policy) p = NULL;
    struct sbx_host host;
    uint16_t port;

    (void)state;
    build((const char *[]){ "+**", "+a.b.c", "+*.b.c", "-a.b.c:1", "-**.c:1", NULL }, &p);
    assert_int_equal(sbx_target_parse("a.b.c:2", 7, 0, &host, &port, NULL), SBX_OK);
    assert_string_equal(sbx_policy_judge(p, &host, 2).rule->id, "+**");
    assert_string_equal(sbx_policy_judge(p, &host, 1).rule->id, "-a.b.c:1");
}

static void who_learns_passes_public_hosts_that_no_rule_speaks_of(void **state)
{
    static const struct {
        const char *rules[RULES], *target, *want;
    } rows[] = {
        { { "+b.com", NULL }, "a.com:80", "learn" },
        { { "-a.com:443", NULL }, "a.com:80", "learn" },
        { { "-a.com", NULL }, "a.com:80", "rule" },
        { { "+a.com", NULL }, "a.com:80", "rule" },
        { { "k+localhost:80", NULL }, "host.docker.internal:80", "consent" },
        { { NULL }, "host.docker.internal:80", "default-deny" },
        { { NULL }, "x.docker.internal:80", "default-deny" },
        { { NULL }, "xdocker.internal:80", "learn" },
        { { NULL }, "localhost:80", "loopback" },
        { { NULL }, "metadata.google.internal:80", "metadata" },
        { { NULL }, "1.1.1.1:80", "default-deny" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_PTR(sbx_policy) p = NULL;
        struct sbx_verdict v;
        struct sbx_host host;
        char text[SBX_EXPLAIN_MAX];
        uint16_t port;

        build(rows[i].rules, &p);
        assert_int_equal(sbx_target_parse(rows[i].target, strlen(rows[i].target), 0, &host, &port, NULL), SBX_OK);
        v = sbx_policy_learn(&host, sbx_policy_judge(p, &host, port));
        sbx_verdict_explain(p, &v, NULL, &host, port, text);
        if (strcmp(v.reason, rows[i].want) || !strstr(text, "--learn") != !!strcmp(v.reason, "learn"))
            fail_msg("row %zu: %s: %s", i, v.reason, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_rule_and_what_keeps_it_from_matching),
        cmocka_unit_test(a_verdict_says_what_to_do),
        cmocka_unit_test(an_address_that_needs_its_own_rule_is_told_with_that_rule),
        cmocka_unit_test(the_first_rule_that_decides_is_named),
        cmocka_unit_test(who_learns_passes_public_hosts_that_no_rule_speaks_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
