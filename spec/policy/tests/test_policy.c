/* Verdicts: the decision tables that `policy check` and the gate have to agree with. */
#include "build.h"

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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
