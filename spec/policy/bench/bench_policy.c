/* Judged names a second, and what one costs, with 10 to 20,000 rules; a part of the names match. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sbx/policy.h"

#define RUN_MS 300
#define HOSTS 512

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct sbx_policy *build(size_t n)
{
    struct sbx_rule *rules = calloc(n, sizeof(*rules));
    struct sbx_policy *p = NULL;

    if (!rules)
        exit(1);
    for (size_t i = 0; i < n; i++) {
        static const char *const forms[] = { "h", "*.d", "**.z" };
        char text[64];

        if (i % 10 == 9)
            snprintf(text, sizeof(text), "10.%zu.%zu.0/24", i / 256 % 256, i % 256);
        else
            snprintf(text, sizeof(text), "%s%zu.example.com%s", forms[i % 3], i, i % 3 ? "" : ":443");
        if (sbx_rule_init(&rules[i], i % 7 ? SBX_ALLOW : SBX_DENY, SBX_RULE_USER, text, "", "",
                          NULL))
            exit(1);
        rules[i].text = NULL;
    }
    if (sbx_policy_new(rules, n, &p, NULL))
        exit(1);
    free(rules);
    return p;
}

static void run(size_t n)
{
    static struct sbx_host hosts[HOSTS];
    struct sbx_policy *p;
    double start = now_ms(), built, spent;
    uint64_t count = 0, allowed = 0;
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;

    p = build(n);
    built = now_ms() - start;
    for (size_t i = 0; i < HOSTS; i++) {
        char text[64];

        snprintf(text, sizeof(text), "%s%zu.example.com", i % 3 ? "x.d" : "h", i * n / HOSTS);
        if (sbx_host_parse(text, strlen(text), &hosts[i], NULL))
            exit(1);
    }
    for (start = now_ms(); (spent = now_ms() - start) < RUN_MS;)
        for (size_t i = 0; i < HOSTS; i++, count++)
            allowed += sbx_policy_judge(p, &hosts[i], 443).decision;
    printf("%6zu rules: built in %6.2f ms, %5zu KiB, %9.0f names/s, %4.0f ns each (%.0f%% allowed)\n", n,
           built, (mallinfo2().uordblks + mallinfo2().hblkhd - before) / 1024, (double)count * 1e3 / spent,
           spent * 1e6 / (double)count, 100.0 * (double)allowed / (double)count);
    sbx_policy_free(p);
}

/* All rules are one host's, for a port each. */
static void run_ports(size_t n)
{
    struct sbx_rule *rules = calloc(n, sizeof(*rules));
    struct sbx_policy *p = NULL;
    struct sbx_host host;
    uint64_t count = 0, allowed = 0;
    double start, spent;

    if (!rules || sbx_host_parse("a.example.com", 13, &host, NULL))
        exit(1);
    for (size_t i = 0; i < n; i++) {
        char text[64];

        snprintf(text, sizeof(text), "a.example.com:%zu", i + 1);
        if (sbx_rule_init(&rules[i], SBX_ALLOW, SBX_RULE_USER, text, "", "", NULL))
            exit(1);
        rules[i].text = NULL;
    }
    if (sbx_policy_new(rules, n, &p, NULL))
        exit(1);
    for (start = now_ms(); (spent = now_ms() - start) < RUN_MS; count++)
        allowed += sbx_policy_judge(p, &host, (uint16_t)(count % n + 1)).decision;
    printf("%6zu rules of one host: %4.0f ns each (%.0f%% allowed)\n", n, spent * 1e6 / (double)count,
           100.0 * (double)allowed / (double)count);
    sbx_policy_free(p);
    free(rules);
}

int main(void)
{
    run(10);
    run(1000);
    run(10000);
    run(20000);
    run_ports(10000);
    return 0;
}
