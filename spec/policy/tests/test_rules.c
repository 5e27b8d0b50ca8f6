/* Many rules: the index over them, presets, bounds. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "policy_int.h"

static unsigned next(unsigned *x) /* the same numbers each time */
{
    *x = *x * 1103515245u + 12345u;
    return *x >> 16;
}

static void random_name(unsigned *x, char out[100])
{
    static const char *const labels[] = { "a", "b", "cc", "docker" }, *const tops[] = {
        "com", "org", "internal"
    };
    unsigned more = next(x) % 3;

    snprintf(out, 100, "%s%u.%s", labels[next(x) % 4], next(x) % 9, tops[next(x) % 3]);
    for (unsigned i = 0; i < more; i++) {
        char rest[100];

        memcpy(rest, out, sizeof(rest));
        snprintf(out, 100, "%s.%.80s", labels[next(x) % 4], rest);
    }
}

static void random_address(unsigned *x, char out[100])
{
    static const char *const nets[] = { "10.0", "203.0", "8.8", "127.0" };
    unsigned a = next(x) % 4, b = next(x) % 3, c = next(x) % 4;

    if (next(x) % 3)
        snprintf(out, 100, "%s.%u.%u", nets[a], b * 100, c);
    else
        snprintf(out, 100, "%s:%x::%x", a % 2 ? "2606:4700" : "fd00:1", b, c);
}

static void random_rule(unsigned *x, struct sbx_rule *r)
{
    static const char *const prefixes[] = { "", "*.", "**." };
    enum sbx_rule_source source = next(x) % 2 ? SBX_RULE_KIT : SBX_RULE_USER;
    unsigned kind = next(x) % 16, port = next(x) % 4 + 1;
    char host[100], text[200];

    if (kind < 9) {
        random_name(x, host);
        snprintf(text, sizeof(text), "%s%s:%u", prefixes[kind % 3], host, port);
    } else if (kind < 14) {
        random_address(x, host);
        snprintf(text, sizeof(text), strchr(host, ':') ? "[%s/%u]:%u-%u" : "%s/%u:%u-%u", host,
                 strchr(host, ':') ? next(x) % 129 : next(x) % 33, port, port + next(x) % 2);
    } else {
        snprintf(text, sizeof(text), "%s:%u",
                 kind == 14 && source == SBX_RULE_USER ? "**" : "localhost", port);
    }
    assert_int_equal(
        sbx_rule_init(r, next(x) % 4 ? SBX_ALLOW : SBX_DENY, source, text, "", "", NULL), SBX_OK);
    r->consented = next(x) % 2;
    r->text = NULL;
}

/* Does a rule count for what is closed unless it is named? */
static bool names_it(const struct sbx_rule *r)
{
    return r->pattern.kind == PATTERN_HOST ||
           (r->pattern.kind == PATTERN_CIDR &&
            sbx_range_is_named(&r->pattern.address, r->pattern.prefix_len));
}

/* The plain definition: every rule tried in turn. Deny wins, then what allows, then what lacks consent. */
static const struct sbx_rule *try_all(const struct sbx_rule *rules, size_t n,
                                      const struct sbx_host *host, uint16_t port, bool named)
{
    const struct sbx_rule *deny = NULL, *allow = NULL, *unasked = NULL;

    for (size_t k = n; k-- > 0;) {
        const struct sbx_rule *r = &rules[k];

        if (!sbx_pattern_matches(&r->pattern, host, port))
            continue;
        if (r->decision == SBX_DENY)
            deny = r;
        else if (named && !names_it(r))
            continue;
        else if (named && r->source == SBX_RULE_KIT && !r->consented)
            unasked = r;
        else
            allow = r;
    }
    return deny ? deny : allow ? allow : unasked;
}

static void same_verdict(const struct sbx_policy *p, const struct sbx_rule *rules, size_t n,
                         const struct sbx_host *host, uint16_t port, unsigned *matched)
{
    bool name = host->kind == SBX_HOST_NAME;
    const char *class = name ? "public" : sbx_address_class(&host->address);
    bool named = strcmp(class, "public") != 0 || !strcmp(host->text, HOST_RESOURCE);
    const struct sbx_rule *want = try_all(rules, n, host, port, named), *all;
    struct sbx_verdict v = name ? sbx_policy_judge(p, host, port)
                                : sbx_policy_judge_address(p, &host->address, port);

    sbx_policy_rules(p, &all);
    if (v.rule != (want ? all + (want - rules) : NULL))
        fail_msg("%s:%u: rule %td, want %td", host->text, port, v.rule ? v.rule - all : -1,
                 want ? want - rules : -1);
    assert_int_equal(v.decision == SBX_ALLOW && v.rule,
                     want && want->decision == SBX_ALLOW &&
                         (!named || want->source != SBX_RULE_KIT || want->consented));
    *matched += want != NULL;
}

static void the_index_agrees_with_trying_every_rule(void **state)
{
    enum { MOST = 700, ASKED = 300, POLICIES = 12 };
    SBX_AUTO_FREE struct sbx_rule *rules = calloc(MOST, sizeof(*rules));
    unsigned x = 12345, matched = 0, asked = 0;

    (void)state;
    for (size_t n = 1; n <= MOST; n += MOST / POLICIES) {
        SBX_AUTO_PTR(sbx_policy) p = NULL;

        for (size_t i = 0; i < n; i++)
            random_rule(&x, &rules[i]);
        assert_int_equal(sbx_policy_new(rules, n, &p, NULL), SBX_OK);
        for (size_t i = 0; i < ASKED; i++, asked++) {
            struct sbx_host host;
            char text[100];

            if (next(&x) % 3)
                random_name(&x, text);
            else
                random_address(&x, text);
            if (i % 16 == 0)
                strcpy(text, HOST_RESOURCE);
            assert_int_equal(sbx_host_parse(text, strlen(text), &host, NULL), SBX_OK);
            if (strncmp(text, "127.", 4)) /* that is the host resource, by a name of its own */
                same_verdict(p, rules, n, &host, (uint16_t)(next(&x) % 5 + 1), &matched);
        }
    }
    assert_in_range(matched, asked / 10, asked - asked / 10); /* both outcomes were tried */
}

/* Domains and networks in each other, as deep as they go, each rule for a port of its own. */
static void however_deep_rules_lie_in_each_other_each_counts(void **state)
{
    enum { DEEP = 128 };
    SBX_AUTO_PTR(sbx_policy) p = NULL;
    struct sbx_rule rules[2 * DEEP];
    struct sbx_host name, address;
    const struct sbx_rule *all;
    char long_name[SBX_HOST_MAX + 1], text[300];

    (void)state;
    for (size_t i = 0; i < SBX_HOST_MAX; i++)
        long_name[i] = i % 2 ? '.' : 'a';
    long_name[SBX_HOST_MAX] = '\0';
    for (unsigned i = 0; i < DEEP; i++) {
        unsigned labels = i + 1 < DEEP ? i + 1
                                       : i; /* the name has 127, 126 of them below some domain */

        snprintf(text, sizeof(text), "**.%s:%u",
                 long_name + SBX_HOST_MAX - 2 * (labels < 126 ? labels : 126) + 1, i + 1);
        assert_int_equal(sbx_rule_init(&rules[2 * i], SBX_ALLOW, SBX_RULE_USER, text, "", "", NULL),
                         SBX_OK);
        snprintf(text, sizeof(text), "[2606:4700::1/%u]:%u", i + 1, i + 1);
        assert_int_equal(
            sbx_rule_init(&rules[2 * i + 1], SBX_ALLOW, SBX_RULE_USER, text, "", "", NULL), SBX_OK);
    }
    assert_int_equal(sbx_policy_new(rules, 2 * DEEP, &p, NULL), SBX_OK);
    sbx_policy_rules(p, &all);
    assert_int_equal(sbx_host_parse(long_name, SBX_HOST_MAX, &name, NULL), SBX_OK);
    assert_int_equal(sbx_host_parse("2606:4700::1", 12, &address, NULL), SBX_OK);
    for (unsigned i = 0; i < DEEP; i++) {
        assert_ptr_equal(sbx_policy_judge(p, &name, (uint16_t)(i + 1)).rule, all + 2 * i);
        assert_ptr_equal(sbx_policy_judge(p, &address, (uint16_t)(i + 1)).rule, all + 2 * i + 1);
    }
    assert_true(sbx_policy_could_allow(p, &name));
}

#define MANY 1000

/* Against a policy of those rules alone that are for the port asked for. */
static void same_as_few(const struct sbx_rule *rules, size_t n, const struct sbx_policy *many,
                        const char *name, uint16_t port)
{
    SBX_AUTO_PTR(sbx_policy) few = NULL;
    struct sbx_rule fitting[MANY];
    struct sbx_verdict a, b;
    struct sbx_host host;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (rules[i].pattern.port_lo <= port && port <= rules[i].pattern.port_hi)
            fitting[k++] = rules[i];
    assert_int_equal(sbx_policy_new(fitting, k, &few, NULL), SBX_OK);
    assert_int_equal(sbx_host_parse(name, strlen(name), &host, NULL), SBX_OK);
    a = sbx_policy_judge(many, &host, port);
    b = sbx_policy_judge(few, &host, port);
    assert_int_equal(a.decision, b.decision);
    assert_string_equal(a.reason, b.reason);
    assert_int_equal(!a.rule, !b.rule);
    if (a.rule)
        assert_string_equal(a.rule->id, b.rule->id);
}

/* Ports one by one against the answer about all of them at once. */
static void same_as_each_port(const struct sbx_policy *p, const char *name)
{
    struct sbx_host host;
    bool some = false;

    assert_int_equal(sbx_host_parse(name, strlen(name), &host, NULL), SBX_OK);
    for (unsigned port = 1; !some && port <= 65535; port++)
        some = sbx_policy_judge(p, &host, (uint16_t)port).decision == SBX_ALLOW;
    assert_int_equal(sbx_policy_could_allow(p, &host), some && host.kind == SBX_HOST_NAME);
}

static void a_host_with_many_rules_is_judged_as_any_other(void **state)
{
    static const char *const hosts[] = { "a.example.com", "*.example.com", "**.example.org",
                                         "203.0.113.7",   "localhost",     "**",
                                         "**.com" };
    static const char *const asked[] = { "a.example.com",        "b.example.com",
                                         "x.y.example.org",      "203.0.113.7",
                                         "host.docker.internal", "other.example.net",
                                         "example.org" };
    static struct sbx_rule rules[MANY];
    static char texts[MANY][40], ids[MANY][8];
    SBX_AUTO_PTR(sbx_policy) many = NULL;

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        const char *host = hosts[i % SBX_ARRAY_LEN(hosts)];
        bool kit = i % 5 == 2 && strcmp(host, "**"); /* which a kit may not write */

        snprintf(ids[i], sizeof(ids[i]), "%zu", i);
        if (i % 3 == 1) /* ranges among them, that lie in each other or overlap */
            snprintf(texts[i], sizeof(texts[i]), "%s:%zu-%zu", host, i / 7 + 1,
                     i / 7 + 1 + i * i % 41);
        else
            snprintf(texts[i], sizeof(texts[i]), "%s:%zu", host, i / 7 + 1);
        assert_int_equal(sbx_rule_init(&rules[i], i % 11 ? SBX_ALLOW : SBX_DENY,
                                       kit ? SBX_RULE_KIT : SBX_RULE_USER, texts[i], ids[i], "x",
                                       NULL),
                         SBX_OK);
        rules[i].consented = i % 2;
    }
    assert_int_equal(sbx_policy_new(rules, MANY, &many, NULL), SBX_OK);
    for (size_t k = 0; k < SBX_ARRAY_LEN(asked); k++) {
        for (uint16_t port = 1; port < MANY / 7 + 50; port++)
            same_as_few(rules, MANY, many, asked[k], port);
        same_as_each_port(many, asked[k]);
    }
}

static void a_host_is_closed_when_its_many_denials_cover_what_is_allowed(void **state)
{
    enum { N = 64 };
    static char texts[N + 1][40];
    struct sbx_rule rules[N + 1];

    (void)state;
    for (size_t i = 0; i < N; i++) {
        snprintf(texts[i], sizeof(texts[i]), "example.com:%zu-%zu", i ? i * 1024 : 1,
                 i * 1024 + 1023);
        assert_int_equal(sbx_rule_init(&rules[i], SBX_DENY, SBX_RULE_USER, texts[i], "", "", NULL),
                         SBX_OK);
    }
    assert_int_equal(sbx_rule_init(&rules[N], SBX_ALLOW, SBX_RULE_USER, "**", "", "", NULL),
                     SBX_OK);
    for (size_t less = 0; less < 2; less++) {
        SBX_AUTO_PTR(sbx_policy) p = NULL;
        struct sbx_host host;

        assert_int_equal(sbx_policy_new(rules + less, N + 1 - less, &p, NULL), SBX_OK);
        assert_int_equal(sbx_host_parse("example.com", 11, &host, NULL), SBX_OK);
        assert_int_equal(sbx_policy_could_allow(p, &host), less);
        same_as_each_port(p, "example.com");
    }
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
        cmocka_unit_test(the_index_agrees_with_trying_every_rule),
        cmocka_unit_test(however_deep_rules_lie_in_each_other_each_counts),
        cmocka_unit_test(a_host_with_many_rules_is_judged_as_any_other),
        cmocka_unit_test(a_host_is_closed_when_its_many_denials_cover_what_is_allowed),
        cmocka_unit_test(too_many_rules_are_refused),
        cmocka_unit_test(presets_parse_and_say_what_they_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
