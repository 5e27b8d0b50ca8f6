/* Any text through the scanner of references: nothing crashes, what is unchanged is equal. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../args.h"

static const char *find_value(void *data, const char *name, size_t len)
{
    (void)data;
    return len == 1 && *name == 'v' ? "${{ kit.args.v }}$" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1 << 20);
    struct sbx_err err = SBX_ERR_INIT;
    bool changed = false;
    const char *text = size ? (const char *)data : "";

    if (!sbx_args_expand(text, size, find_value, NULL, &out, &changed, &err) && !changed &&
        (out.len != size || (size && memcmp(out.ptr, data, size))))
        abort();
    sbx_args_mentioned(text, size);
    return 0;
}
