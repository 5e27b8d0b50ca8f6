/* Any bytes as a decision log. */
#include <stdint.h>
#include <stdio.h>

#include "logview.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO(sbx_log_view) v = { .arena = arena };
    struct sbx_err err = SBX_ERR_INIT;
    FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;

    if (!f)
        return 0;
    if (!sbx_log_view_add(&v, f, &err))
        sbx_log_view_sort(&v);
    fclose(f);
    return 0;
}
