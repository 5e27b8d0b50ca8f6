/* Judged names a second, and what one costs, with 10 to 20,000 rules; a part of the names match. */
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
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

/* ---- shapes that a kit could choose to be slow ---- */

struct shape {
    const char *what;
    void (*text)(char *out, size_t size, size_t i); /* of rule i */
    const char *asked;
    bool denies; /* every second rule is one */
};

static void one_port(char *out, size_t size, size_t i) { snprintf(out, size, "a.example.com:%zu", i + 1); }
static void wide_ranges(char *out, size_t size, size_t i)
{
    snprintf(out, size, "a.example.com:%zu-%zu", i + 1, 65535 - i);
}
static void small_ranges(char *out, size_t size, size_t i)
{
    snprintf(out, size, "a.example.com:%zu-%zu", i * 6 + 1, i * 6 + 4);
}
static void wildcard_ranges(char *out, size_t size, size_t i)
{
    snprintf(out, size, "%s.com:%zu-%zu", i % 2 ? "**" : "**.example", i + 1, i + 3000);
}
static void networks(char *out, size_t size, size_t i) { snprintf(out, size, "203.%zu.%zu.0/24", i / 256, i % 256); }
static void nested_networks(char *out, size_t size, size_t i)
{
    snprintf(out, size, "203.0.%zu.%zu/%zu:%zu", i % 256, i / 7 % 256, 8 + i % 25, i % 60000 + 1);
}
static void nested_six(char *out, size_t size, size_t i)
{
    snprintf(out, size, "[2606:4700:%zx::%zx]/%zu:%zu", i % 4096, i % 65536, 1 + i % 128, i % 60000 + 1);
}
static void address_ranges(char *out, size_t size, size_t i)
{
    snprintf(out, size, "203.0.113.7:%zu-%zu", i + 1, i + 2000);
}
static void many_labels(char *out, size_t size, size_t i)
{
    static const char tail[] = "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.com";

    snprintf(out, size, "**.%s:%zu", tail + 2 * (i % 45), i + 1);
}

static void run_shape(const struct shape *x, size_t n)
{
    struct sbx_rule *rules = calloc(n, sizeof(*rules));
    struct sbx_policy *p = NULL;
    struct sbx_host host;
    uint64_t count = 0, allowed = 0, names = 0;
    double start, spent, names_spent, built = now_ms();
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;

    if (!rules || sbx_host_parse(x->asked, strlen(x->asked), &host, NULL))
        exit(1);
    for (size_t i = 0; i < n; i++) {
        struct sbx_err err = SBX_ERR_INIT;
        char text[300];

        x->text(text, sizeof(text), i);
        if (sbx_rule_init(&rules[i], x->denies && i % 2 ? SBX_DENY : SBX_ALLOW, SBX_RULE_USER, text, "", "", &err)) {
            fprintf(stderr, "%s: %s\n", text, err.text);
            exit(1);
        }
        rules[i].text = NULL;
    }
    if (sbx_policy_new(rules, n, &p, NULL))
        exit(1);
    built = now_ms() - built;
    free(rules);
    before = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    for (start = now_ms(); (spent = now_ms() - start) < RUN_MS;)
        for (int i = 0; i < 64; i++, count++)
            allowed += sbx_policy_judge(p, &host, (uint16_t)(count * 7919 % 65535 + 1)).decision;
    for (start = now_ms(); (names_spent = now_ms() - start) < RUN_MS; names++)
        allowed += sbx_policy_could_allow(p, &host);
    printf("%-44s %5zu rules: built in %6.2f ms, %5zu KiB, %5.0f ns a verdict, %5.1f us a name resolved\n", x->what,
           n, built, before / 1024, spent * 1e6 / (double)count, names_spent * 1e3 / (double)names);
    sbx_policy_free(p);
}

int main(void)
{
    static const struct shape shapes[] = {
        { "ports of one host", one_port, "a.example.com", false },
        { "ports of one host, half denied", one_port, "a.example.com", true },
        { "ranges of one host in each other", wide_ranges, "a.example.com", false },
        { "ranges of one host in each other, half denied", wide_ranges, "a.example.com", true },
        { "small ranges of one host, half denied", small_ranges, "a.example.com", true },
        { "overlapping ranges of two wildcards", wildcard_ranges, "a.example.com", true },
        { "45 wildcards above one host", many_labels,
          "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.com", true },
        { "IPv4 networks", networks, "203.0.113.7", false },
        { "IPv4 networks of 25 lengths", nested_networks, "203.0.113.7", true },
        { "IPv6 networks of 128 lengths", nested_six, "2606:4700:1::1", true },
        { "ranges of one address", address_ranges, "203.0.113.7", true },
    };

    run(10);
    run(1000);
    run(10000);
    run(20000);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        run_shape(&shapes[i], 10000);
    return 0;
}
