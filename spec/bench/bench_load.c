/*
 * Loading kits beside libyaml's bare events over the same bytes, in turn in one run:
 *
 *     bench_load DIRECTORY [ROUNDS]     every .yaml and .yml file below DIRECTORY is a spec
 *
 * Kits that do not load count too: refusing takes as long. "load" is decoding, folding of version 1 and
 * validation from memory, beside "events"; "check" is sbx_kit_check() of the file, beside "file", libyaml's events
 * straight from the file. A figure is the mean over the kits of each kit's fastest round, which a busy machine
 * disturbs least; behind it the processor time of the cheapest round, and the allocations of one kit.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yaml.h>

#include "../kit/load.h"
#include "sbx/file.h"

#define KITS_MAX 10000 /* the public corpus has 394 */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
static size_t allocations, allocated; /* calls, bytes */

static void count(size_t size)
{
    allocations++;
    allocated += size;
}

void *malloc(size_t size)
{
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    count(n * size);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    count(size);
    return __libc_realloc(p, size);
}

struct spec {
    char *path, *text;
    size_t len;
};
static struct spec specs[KITS_MAX];
static size_t n_specs;

static int take(const char *path, const struct stat *st, int type, struct FTW *at)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX);
    const char *dot = strrchr(path + at->base, '.');

    (void)st;
    if (type != FTW_F || !dot || (strcmp(dot, ".yaml") && strcmp(dot, ".yml")) || n_specs == KITS_MAX)
        return 0;
    if (sbx_file_read(AT_FDCWD, path, &text, NULL))
        return 0;
    specs[n_specs].path = strdup(path);
    specs[n_specs].len = text.len;
    specs[n_specs].text = sbx_buf_take(&text);
    return !specs[n_specs].path || !specs[n_specs++].text;
}

static void drain(yaml_parser_t *parser)
{
    yaml_event_t e;
    bool done = false;

    while (!done && yaml_parser_parse(parser, &e)) {
        done = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
    }
    yaml_parser_delete(parser);
}

static void events(const struct spec *s)
{
    yaml_parser_t parser;

    if (!yaml_parser_initialize(&parser))
        abort();
    yaml_parser_set_input_string(&parser, (const unsigned char *)s->text, s->len);
    drain(&parser);
}

static void file_events(const struct spec *s)
{
    FILE *f = fopen(s->path, "re");
    yaml_parser_t parser;

    if (!f || !yaml_parser_initialize(&parser))
        abort();
    yaml_parser_set_input_file(&parser, f);
    drain(&parser);
    fclose(f);
}

static void load(const struct spec *s)
{
    static const struct sbx_kit_options plain;
    SBX_AUTO(sbx_diags) diags = { 0 };
    struct sbx_artifact *a = NULL;
    struct sbx_err err;

    if (sbx_diags_init(&diags))
        abort();
    if (!sbx_kit_decode("spec.yaml", s->text, s->len, &plain, &diags, &a, &err))
        sbx_artifact_free(a);
}

static void check(const struct spec *s)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    struct sbx_artifact *a = NULL;
    struct sbx_err err;

    if (sbx_diags_init(&diags))
        abort();
    if (!sbx_kit_check(s->path, &diags, &a, &err))
        sbx_artifact_free(a);
}

static double clock_us(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

struct subject {
    const char *name;
    void (*run)(const struct spec *s);
    double best[KITS_MAX]; /* microseconds of each kit's fastest round */
    double cpu;            /* microseconds of processor time, of the round with the least */
    size_t calls, bytes;   /* allocations of one round */
};
static struct subject subjects[] = {
    { .name = "events", .run = events },
    { .name = "load", .run = load },
    { .name = "file", .run = file_events },
    { .name = "check", .run = check },
};

static void run_round(struct subject *s, int round)
{
    double cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID), before = clock_us(CLOCK_MONOTONIC);
    size_t calls = allocations, bytes = allocated;

    for (size_t i = 0; i < n_specs; i++) {
        double after;

        s->run(&specs[i]);
        after = clock_us(CLOCK_MONOTONIC);
        if (!round || after - before < s->best[i])
            s->best[i] = after - before;
        before = after;
    }
    cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (!round || cpu < s->cpu)
        s->cpu = cpu;
    s->calls = allocations - calls;
    s->bytes = allocated - bytes;
}

static double report(const struct subject *s)
{
    double sum = 0, n = (double)n_specs;

    for (size_t i = 0; i < n_specs; i++)
        sum += s->best[i];
    printf("%-7s %8.1f us a kit %8.1f us processor %7.1f allocations %9.1f bytes\n", s->name, sum / n,
           s->cpu / n, (double)s->calls / n, (double)s->bytes / n);
    return sum;
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 20;
    double us[SBX_ARRAY_LEN(subjects)];

    if (argc < 2 || rounds < 1 || nftw(argv[1], take, 20, FTW_PHYS) || !n_specs) {
        fprintf(stderr, "usage: bench_load DIRECTORY [ROUNDS]\n");
        return 2;
    }
    for (int r = 0; r < rounds; r++)
        for (size_t i = 0; i < SBX_ARRAY_LEN(subjects); i++)
            run_round(&subjects[i], r);
    printf("%zu kits, %d rounds\n", n_specs, rounds);
    for (size_t i = 0; i < SBX_ARRAY_LEN(subjects); i++)
        us[i] = report(&subjects[i]);
    printf("ratio load/events %.2f check/file %.2f check/events %.2f\n", us[1] / us[0], us[3] / us[2],
           us[3] / us[0]);
    return 0;
}
