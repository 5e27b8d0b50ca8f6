/* Verdicts: the decision tables that `policy check` and the gate have to agree with. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sbx/policy.h"

#define RULES 6

/* Rules in one line: "+pattern" allows, "-pattern" denies; behind "k" a kit's, "K" a consented kit's. */
static void build(const char *const *lines, struct sbx_policy **ret)
{
    struct sbx_rule rules[RULES];
    size_t n = 0;

    for (; n < RULES && lines[n]; n++) {
        const char *s = lines[n];
        bool kit = *s == 'k' || *s == 'K';
        struct sbx_err err = SBX_ERR_INIT;

        if (sbx_rule_init(&rules[n], s[kit] == '+' ? SBX_ALLOW : SBX_DENY,
                          kit ? SBX_RULE_KIT : SBX_RULE_USER, s + kit + 1, s, kit ? "kit k" : "user",
                          &err))
            fail_msg("%s", err.text);
        rules[n].consented = *s == 'K';
    }
    assert_int_equal(sbx_policy_new(rules, n, ret, NULL), SBX_OK);
}

struct row {
    const char *rules[RULES];
    const char *target; /* as on the wire */
    const char *want;   /* "allow", "host" (allowed, host resource), "bad", or the reason of a deny */
};

static const char *verdict_of(const struct sbx_policy *p, const char *target)
{
    struct sbx_verdict v;
    struct sbx_host host;
    uint16_t port;

    if (sbx_target_parse(target, strlen(target), 0, &host, &port, NULL))
        return "bad";
    v = sbx_policy_judge(p, &host, port);
    if (v.decision == SBX_DENY) {
        assert_false(v.host_resource);
        return v.reason;
    }
    assert_non_null(v.rule);
    return v.host_resource ? "host" : "allow";
}

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        SBX_AUTO_PTR(sbx_policy) p = NULL;
        const char *got;

        build(rows[i].rules, &p);
        got = verdict_of(p, rows[i].target);
        if (strcmp(got, rows[i].want))
            fail_msg("row %zu: %s with %s ...: got %s, want %s", i, rows[i].target,
                     rows[i].rules[0] ? rows[i].rules[0] : "(none)", got, rows[i].want);
    }
}

#define NAME63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void the_decision_table(void **state)
{
    static const struct row rows[] = {
        { { NULL }, "example.com:443", "default-deny" },
        { { "+example.com" }, "example.com:443", "allow" },
        { { "+example.com" }, "example.com:8443", "allow" },
        { { "+example.com" }, "deb.example.com:443", "default-deny" },
        { { "+*.example.com" }, "a.example.com:443", "allow" },
        { { "+*.example.com" }, "example.com:443", "default-deny" },
        { { "+*.example.com" }, "a.b.example.com:443", "default-deny" },
        { { "+*.example.com" }, "aexample.com:443", "default-deny" },
        { { "+*.example.com" }, "evilexample.com:443", "default-deny" },
        { { "+**.example.com" }, "a.b.example.com:443", "allow" },
        { { "+**.example.com" }, "a.example.com:443", "allow" },
        { { "+**.example.com" }, "example.com:443", "default-deny" },
        { { "+**.example.com" }, "evilexample.com:443", "default-deny" },
        { { "+*.example.com", "-telemetry.example.com" }, "telemetry.example.com:443", "rule" },
        { { "-telemetry.example.com", "+*.example.com" }, "telemetry.example.com:443", "rule" },
        { { "+*.example.com", "-telemetry.example.com" }, "other.example.com:443", "allow" },
        { { "+EXAMPLE.com." }, "example.COM:443", "allow" },
        { { "+example.com" }, "EXAMPLE.com.:443", "allow" },
        { { "+[fd00::1]:22" }, "[fd00:0:0:0:0:0:0:1]:22", "allow" },
        { { "+[fd00::1]:22" }, "[fd00::1]:23", "private" },
        { { "+127.0.0.1:80" }, "127.1:80", "bad" },
        { { "+127.0.0.1:80" }, "0x7f.1:80", "bad" },
        { { "+127.0.0.1:80" }, "host.docker.internal:80", "host" },
        { { "+example.com" }, "a..example.com:443", "bad" },
        { { "+example.com:443" }, "example.com:443", "allow" },
        { { "+example.com:443" }, "example.com:80", "default-deny" },
        { { "+example.com:80-443" }, "example.com:80", "allow" },
        { { "+example.com:80-443" }, "example.com:443", "allow" },
        { { "+example.com:80-443" }, "example.com:444", "default-deny" },
        { { "+example.com:*" }, "example.com:1", "allow" },
        { { "+**" }, "anything.example:443", "allow" },
        { { "+**", "-*.example.com:443" }, "a.example.com:443", "rule" },
        { { "+**", "-*.example.com:443" }, "a.example.com:80", "allow" },
        { { "+example.com", "-**" }, "example.com:443", "rule" },
        { { "k+example.com" }, "example.com:443", "allow" },
        { { "k+*" }, "example.com:443", "default-deny" },
        { { "k+**" }, "example.com:443", "default-deny" },
        { { "k+api.*.example.com" }, "api.eu.example.com:443", "default-deny" },
    };

    (void)state;
    check_rows(rows, SBX_ARRAY_LEN(rows));
}

static void names_of_the_host_are_one_resource(void **state)
{
    static const struct row rows[] = {
        { { NULL }, "host.docker.internal:18095", "default-deny" },
        { { "+localhost:18095" }, "host.docker.internal:18095", "host" },
        { { "+localhost:18095" }, "HOST.docker.internal.:18095", "host" },
        { { "+localhost:18095" }, "host.docker.internal:18096", "default-deny" },
        { { "+host.docker.internal:18095" }, "host.docker.internal:18095", "host" },
        { { "+[::1]:18095" }, "host.docker.internal:18095", "host" },
        { { "+127.0.0.0/8" }, "host.docker.internal:18095", "host" },
        { { "+127.5:18095" }, "host.docker.internal:18095", "host" },
        { { "+localhost:18095", "-host.docker.internal:18095" }, "host.docker.internal:18095",
          "rule" },
        { { "+host.docker.internal", "-localhost:1" }, "host.docker.internal:1", "rule" },
        { { "+host.docker.internal", "-**.docker.internal" }, "host.docker.internal:1", "rule" },
        /* the sandbox's own loopback stays its own, whatever the rules are */
        { { "+localhost:18095" }, "localhost:18095", "loopback" },
        { { "+localhost:18095" }, "a.localhost:18095", "loopback" },
        { { "+localhost:18095" }, "127.0.0.1:18095", "loopback" },
        { { "+localhost:18095" }, "127.9.9.9:18095", "loopback" },
        { { "+localhost:18095" }, "[::1]:18095", "loopback" },
        { { "+localhost:18095" }, "[::ffff:127.0.0.1]:18095", "loopback" },
        { { "+**" }, "localhost:80", "loopback" },
        /* wide rules do not name it */
        { { "+**" }, "host.docker.internal:80", "default-deny" },
        { { "+**.docker.internal" }, "host.docker.internal:80", "default-deny" },
        { { "+0.0.0.0/0" }, "host.docker.internal:80", "default-deny" },
        /* a kit needs consent, a user's rule does not */
        { { "k+localhost:80" }, "host.docker.internal:80", "consent" },
        { { "k+localhost:80", "+localhost:80" }, "host.docker.internal:80", "host" },
        { { "K+localhost:80" }, "host.docker.internal:80", "host" },
        { { "k-localhost:80", "+localhost:80" }, "host.docker.internal:80", "rule" },
        /* the bridge and the host's other addresses are private ones like any other */
        { { "+localhost:18095" }, "172.17.0.1:18095", "private" },
    };

    (void)state;
    check_rows(rows, SBX_ARRAY_LEN(rows));
}

static void literal_addresses(void **state)
{
    static const struct row rows[] = {
        { { NULL }, "8.8.8.8:53", "default-deny" },
        { { "+8.8.8.8:53" }, "8.8.8.8:53", "allow" },
        { { "+8.8.8.0/24" }, "8.8.8.8:53", "allow" },
        { { "+8.8.8.0/24:443" }, "8.8.8.8:53", "default-deny" },
        { { "+8.8.8.8/24" }, "8.8.8.9:53", "allow" },
        { { "+0.0.0.0/0" }, "8.8.8.8:53", "allow" },
        { { "+::/0" }, "8.8.8.8:53", "default-deny" },
        { { "+::/0" }, "[2606:4700::1]:53", "allow" },
        { { "+**" }, "8.8.8.8:53", "allow" },
        { { "+**", "-8.8.0.0/16" }, "8.8.8.8:53", "rule" },
        { { "+8.8.8.8" }, "[::ffff:8.8.8.8]:53", "allow" },
        { { "+**" }, "10.0.0.1:80", "private" },
        { { "+0.0.0.0/0" }, "10.0.0.1:80", "private" },
        { { "+10.0.0.0/8" }, "10.0.0.1:80", "allow" },
        { { "+10.0.0.0/8" }, "[::ffff:10.0.0.1]:80", "allow" },
        { { "+10.0.0.0/8", "-10.0.0.1" }, "10.0.0.1:80", "rule" },
        { { "k+10.0.0.0/8" }, "10.0.0.1:80", "consent" },
        { { "K+10.0.0.0/8" }, "10.0.0.1:80", "allow" },
        { { "k+8.8.8.8" }, "8.8.8.8:80", "allow" },
        { { "+169.254.0.0/16" }, "169.254.7.7:80", "allow" },
        { { "+[fd00::/8]:443" }, "[fd12::1]:443", "allow" },
        { { "+fd00::/8" }, "[fd12::1]:1", "allow" },
        { { "+example.com" }, "203.0.113.1:80", "documentation" },
        { { "+203.0.113.1" }, "203.0.113.1:80", "allow" },
    };

    (void)state;
    check_rows(rows, SBX_ARRAY_LEN(rows));
}

static void what_no_rule_opens(void **state)
{
    static const struct {
        const char *target, *want;
    } rows[] = {
        { "169.254.169.254:80", "metadata" },
        { "[::ffff:169.254.169.254]:80", "metadata" },
        { "169.254.170.2:80", "metadata" },
        { "100.100.100.200:80", "metadata" },
        { "168.63.129.16:80", "metadata" },
        { "192.0.0.192:80", "metadata" },
        { "[fd00:ec2::254]:80", "metadata" },
        { "[fd20:ce::254]:80", "metadata" },
        { "metadata.google.internal:80", "metadata" },
        { "METADATA.google.internal.:80", "metadata" },
        { "metadata:80", "metadata" },
        { "gateway.docker.internal:3128", "gate" },
        { "198.18.0.1:3128", "gate" },
        { "198.19.255.255:1", "gate" },
        { "[2001:2::1]:3128", "gate" },
        { "[64:ff9b::a00:1]:80", "translated" },
        { "[64:ff9b:1::1]:80", "translated" },
        { "[2002:a00:1::]:80", "translated" },
        { "[2001::1]:80", "translated" },
        { "[::10.0.0.1]:80", "translated" },
        { "0.0.0.0:80", "special" },
        { "[::]:80", "special" },
        { "224.0.0.1:80", "special" },
        { "255.255.255.255:80", "special" },
        { "[ff02::1]:80", "special" },
    };
    SBX_AUTO_PTR(sbx_policy) p = NULL;

    (void)state;
    build((const char *[]){ "+**", "+0.0.0.0/0", "+::/0", "+169.254.0.0/16", "+fd00::/8", NULL },
          &p);
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        assert_string_equal(verdict_of(p, rows[i].target), rows[i].want);
    /* not even by its own name */
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_PTR(sbx_policy) own = NULL;
        char rule[100];

        snprintf(rule, sizeof(rule), "+%s", rows[i].target);
        build((const char *[]){ rule, NULL }, &own);
        assert_string_equal(verdict_of(own, rows[i].target), rows[i].want);
    }
}

static struct sbx_verdict judge_resolved(const struct sbx_policy *p, const char *text, uint16_t port)
{
    struct sbx_host host;

    assert_int_equal(sbx_host_parse(text, strlen(text), &host, NULL), SBX_OK);
    return sbx_policy_judge_address(p, &host.address, port);
}

static void addresses_behind_an_allowed_name(void **state)
{
    static const struct row rows[] = {
        { { "+example.com" }, "93.184.215.14", "public" },
        { { "+example.com" }, "10.1.2.3", "private" },
        { { "+example.com" }, "127.0.0.1", "loopback" },
        { { "+example.com" }, "::1", "loopback" },
        { { "+example.com" }, "169.254.169.254", "metadata" },
        { { "+example.com" }, "203.0.113.9", "documentation" },
        { { "+**" }, "10.1.2.3", "private" },
        { { "+10.1.2.3:443" }, "10.1.2.3", "rule" },
        { { "+10.1.2.3:444" }, "10.1.2.3", "private" },
        { { "+10.0.0.0/8" }, "::ffff:10.1.2.3", "rule" },
        { { "k+10.0.0.0/8" }, "10.1.2.3", "consent" },
        { { "K+10.0.0.0/8" }, "10.1.2.3", "rule" },
        { { "+localhost:443" }, "127.0.0.1", "rule" },
        { { "+0.0.0.0/0" }, "127.0.0.1", "loopback" },
        { { "+**", "-93.184.0.0/16" }, "93.184.215.14", "-rule" },
        { { "+10.0.0.0/8", "-10.1.0.0/16" }, "10.1.2.3", "-rule" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_PTR(sbx_policy) p = NULL;
        const char *want = rows[i].want;
        bool refuse = *want == '-';
        struct sbx_verdict v;

        build(rows[i].rules, &p);
        v = judge_resolved(p, rows[i].target, 443);
        assert_string_equal(v.reason, want + refuse);
        if (!strcmp(want, "rule") || !strcmp(want, "public"))
            assert_int_equal(v.decision, SBX_ALLOW);
        else
            assert_int_equal(v.decision, SBX_DENY);
        assert_int_equal(v.host_resource,
                         v.decision == SBX_ALLOW && strstr(rows[i].target, "127.0.0.1") != NULL);
    }
}

static void test_ranges_count_as_public(void **state)
{
    SBX_AUTO_PTR(sbx_policy) p = NULL;

    (void)state;
    build((const char *[]){ "+example.com", "-203.0.113.66", NULL }, &p);
    assert_int_equal(sbx_policy_public_test_range(p, "example.com", NULL), SBX_SCHEMA);
    assert_int_equal(judge_resolved(p, "203.0.113.10", 443).decision, SBX_DENY);
    assert_int_equal(sbx_policy_public_test_range(p, "203.0.113.0/24", NULL), SBX_OK);
    assert_int_equal(sbx_policy_public_test_range(p, "169.254.169.254/32", NULL), SBX_OK);
#ifdef SBX_FAULTS
    assert_string_equal(judge_resolved(p, "203.0.113.10", 443).reason, "public");
#else
    assert_string_equal(judge_resolved(p, "203.0.113.10", 443).reason, "documentation");
#endif
    assert_int_equal(judge_resolved(p, "203.0.113.66", 443).decision, SBX_DENY);
    assert_int_equal(judge_resolved(p, "169.254.169.254", 80).decision, SBX_DENY);
    assert_int_equal(judge_resolved(p, "198.51.100.1", 443).decision, SBX_DENY);
}

static void names_that_some_rule_could_allow(void **state)
{
    static const struct {
        const char *rules[RULES], *name;
        bool want;
    } rows[] = {
        { { "+example.com:22" }, "example.com", true },
        { { "+example.com:22", "-example.com:22" }, "example.com", false },
        { { "+example.com:22-30", "-example.com:22" }, "example.com", true },
        { { "+example.com:22-23", "-example.com:22", "-example.com:23" }, "example.com", false },
        { { "+example.com", "-*.com" }, "example.com", false },
        { { "+*.example.com" }, "example.com", false },
        { { "+**" }, "x.example", true },
        { { "+**" }, "localhost", false },
        { { "+**" }, "metadata.google.internal", false },
        { { "+**" }, "host.docker.internal", false },
        { { "+localhost:5432" }, "host.docker.internal", true },
        { { "k+localhost:5432" }, "host.docker.internal", false },
        { { "+10.0.0.0/8" }, "10.0.0.1", false },
        { { NULL }, "example.com", false },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_PTR(sbx_policy) p = NULL;
        struct sbx_host host;

        build(rows[i].rules, &p);
        assert_int_equal(sbx_host_parse(rows[i].name, strlen(rows[i].name), &host, NULL), SBX_OK);
        if (sbx_policy_could_allow(p, &host) != rows[i].want)
            fail_msg("row %zu: %s", i, rows[i].name);
    }
}

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

static unsigned next(unsigned *x) /* the same numbers each time */
{
    *x = *x * 1103515245u + 12345u;
    return *x >> 16;
}

static const char *random_name(unsigned *x, char out[100])
{
    static const char *const labels[] = { "a", "b", "cc", "ab" };
    const char *a = labels[next(x) % 4], *b = labels[next(x) % 4], *c = labels[next(x) % 4];

    snprintf(out, 100, "%s.%s.%s%u", a, b, c, next(x) % 40);
    return out;
}

static void random_rule(unsigned *x, struct sbx_rule *r)
{
    static const char *const prefixes[] = { "", "*.", "**." };
    const char *prefix = prefixes[next(x) % 3];
    char name[100], text[200];

    random_name(x, name);
    snprintf(text, sizeof(text), "%s%s:%u", prefix, name, next(x) % 3 + 1);
    assert_int_equal(sbx_rule_init(r, next(x) % 4 ? SBX_ALLOW : SBX_DENY, SBX_RULE_USER, text, "",
                                   "", NULL), SBX_OK);
    r->text = NULL;
}

/* The plain definition: every rule tried in turn, deny first. */
static const struct sbx_rule *try_all(const struct sbx_rule *rules, size_t n,
                                      const struct sbx_host *host, uint16_t port)
{
    const struct sbx_rule *first[2] = { NULL, NULL };

    for (size_t k = n; k-- > 0;)
        if (sbx_pattern_matches(&rules[k].pattern, host, port))
            first[rules[k].decision] = &rules[k];
    return first[SBX_DENY] ? first[SBX_DENY] : first[SBX_ALLOW];
}

static void the_index_agrees_with_trying_every_rule(void **state)
{
    enum { N = 3000, ASKED = 2000 };
    SBX_AUTO_FREE struct sbx_rule *rules = calloc(N, sizeof(*rules));
    SBX_AUTO_PTR(sbx_policy) p = NULL;
    const struct sbx_rule *all;
    unsigned x = 12345, matched = 0;

    (void)state;
    for (size_t i = 0; i < N; i++)
        random_rule(&x, &rules[i]);
    assert_int_equal(sbx_policy_new(rules, N, &p, NULL), SBX_OK);
    sbx_policy_rules(p, &all);
    for (size_t i = 0; i < ASKED; i++) {
        uint16_t port = (uint16_t)(next(&x) % 3 + 1);
        const struct sbx_rule *want;
        char name[100], text[200];
        struct sbx_host host;

        random_name(&x, name);
        snprintf(text, sizeof(text), "%s%s", next(&x) % 2 ? "a.b." : "", name);
        assert_int_equal(sbx_host_parse(text, strlen(text), &host, NULL), SBX_OK);
        want = try_all(rules, N, &host, port);
        assert_ptr_equal(sbx_policy_judge(p, &host, port).rule, want ? all + (want - rules) : NULL);
        matched += want != NULL;
    }
    assert_in_range(matched, 50, ASKED - 50); /* both outcomes were tried */
}

static void too_many_rules_are_refused(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_policy *p = NULL;

    (void)state;
    assert_int_equal(sbx_policy_new(NULL, SBX_RULES_MAX + 1, &p, &err), SBX_LIMIT);
    assert_string_equal(err.text, "20001 network rules; at most 20000");
    assert_int_equal(sbx_policy_new(NULL, 0, &p, &err), SBX_OK);
    sbx_policy_free(p);
    sbx_policy_free(NULL);
}

static void presets_parse_and_say_what_they_should(void **state)
{
    static const char *const names[] = { "allow-all", "balanced", "deny-all" };
    static const char *const closed[] = { "example.com", "bucket.s3.amazonaws.com",
                                          "me.blob.core.windows.net", "storage.googleapis.com" };
    size_t n = 0;

    (void)state;
    assert_null(sbx_policy_preset("open", &n));
    for (size_t k = 0; k < SBX_ARRAY_LEN(names); k++) {
        const char *const *list = sbx_policy_preset(names[k], &n);

        assert_non_null(list);
        for (size_t i = 0; i < n; i++) {
            struct sbx_pattern a;
            const char *inert = NULL;

            assert_int_equal(sbx_pattern_parse(list[i], SBX_RULE_PRESET, &a, &inert, NULL), SBX_OK);
            assert_null(inert);
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(list[i], list[j]);
            for (size_t j = 0; j < SBX_ARRAY_LEN(closed) && k == 1; j++) {
                struct sbx_host host;

                assert_int_equal(sbx_host_parse(closed[j], strlen(closed[j]), &host, NULL), SBX_OK);
                assert_false(sbx_pattern_matches(&a, &host, 443));
            }
        }
    }
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_decision_table),
        cmocka_unit_test(names_of_the_host_are_one_resource),
        cmocka_unit_test(literal_addresses),
        cmocka_unit_test(what_no_rule_opens),
        cmocka_unit_test(addresses_behind_an_allowed_name),
        cmocka_unit_test(test_ranges_count_as_public),
        cmocka_unit_test(names_that_some_rule_could_allow),
        cmocka_unit_test(the_nearest_rule_and_what_keeps_it_from_matching),
        cmocka_unit_test(a_verdict_says_what_to_do),
        cmocka_unit_test(the_first_rule_that_decides_is_named),
        cmocka_unit_test(the_index_agrees_with_trying_every_rule),
        cmocka_unit_test(too_many_rules_are_refused),
        cmocka_unit_test(presets_parse_and_say_what_they_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
