/* A command line of words between NUL bytes against the real table; the last word is completed too. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "complete.h"

#define WORDS_MAX 64 /* more words show nothing new */

static void no_names(const char *app, void (*name)(void *ctx, const char *text), void *ctx)
{
    (void)app;
    (void)name;
    (void)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    char *copy = sbx_arena_memdup(arena, data, size), *argv[WORDS_MAX + 1] = { (char *)"sbx" };
    struct sbx_cli cli = { .arena = arena };
    struct sbx_err err = SBX_ERR_INIT;
    static FILE *sink;
    int argc = 1;

    if (!sink)
        sink = fopen("/dev/null", "w");
    for (char *p = copy; p < copy + size && argc < WORDS_MAX; p += strlen(p) + 1)
        argv[argc++] = p;
    if (sbx_cli_parse(&cli, &sbx_root, argc, argv, &err) && !err.text[0])
        __builtin_trap(); /* a refusal says why */
    sbx_complete((const char *const *)argv + 1, (size_t)argc - 1, no_names, sink);
    return 0;
}
