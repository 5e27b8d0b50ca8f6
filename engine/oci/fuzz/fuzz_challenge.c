/* WWW-Authenticate from anywhere. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "challenge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    char *text = arena ? sbx_arena_memdup(arena, data, len) : NULL;
    struct sbx_challenge list[CHALLENGES_MAX];
    size_t n = 0;

    if (!text || sbx_challenge_parse(text, arena, list, &n))
        return 0;
    if (n > CHALLENGES_MAX)
        abort();
    for (size_t i = 0; i < n; i++)
        if (!*list[i].scheme || strlen(list[i].scheme) > len ||
            (list[i].realm && strlen(list[i].realm) > len))
            abort();
    return 0;
}
