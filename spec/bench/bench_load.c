/*
 * Loading kits, per kit, beside libyaml's bare events over the same bytes, in one run:
 *
 *     bench_load DIRECTORY [ROUNDS]     every .yaml and .yml file below DIRECTORY is a spec
 *
 * Kits that do not load count too: refusing takes as long. "load" is decoding, folding of version 1 and
 * validation from memory; "check" is sbx_kit_check() of the file. Allocations are those of one load.
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
static size_t allocations;

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
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

static void events(const struct spec *s)
{
    yaml_parser_t parser;
    yaml_event_t e;
    bool done = false;

    if (!yaml_parser_initialize(&parser))
        abort();
    yaml_parser_set_input_string(&parser, (const unsigned char *)s->text, s->len);
    while (!done && yaml_parser_parse(&parser, &e)) {
        done = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&parser);
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

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The fastest round, in microseconds a kit. */
static double measure(const char *what, void (*run)(const struct spec *s), int rounds)
{
    double best = 1e18;
    size_t before = allocations;

    for (int r = 0; r < rounds; r++) {
        double start = now_us(), took;

        for (size_t i = 0; i < n_specs; i++)
            run(&specs[i]);
        took = (now_us() - start) / (double)n_specs;
        best = took < best ? took : best;
    }
    printf("%-7s %8.1f us a kit %8.1f malloc calls\n", what, best,
           (double)(allocations - before) / rounds / (double)n_specs);
    return best;
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 20;
    double bare, ours;

    if (argc < 2 || rounds < 1 || nftw(argv[1], take, 20, FTW_PHYS) || !n_specs) {
        fprintf(stderr, "usage: bench_load DIRECTORY [ROUNDS]\n");
        return 2;
    }
    printf("%zu kits, fastest of %d rounds\n", n_specs, rounds);
    bare = measure("events", events, rounds);
    ours = measure("load", load, rounds);
    measure("check", check, rounds);
    printf("load is %.2f times libyaml's events\n", ours / bare);
    return 0;
}
