/* Any text as a byte size: what is one is not negative, and its number of bytes is that size too. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbx/kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t exact = INT64_C(1) << 53; /* a size is read as a double */
    char *text = strndup((const char *)data, size), plain[32];
    int64_t bytes = -1, again;

    if (!text)
        return 0;
    if (sbx_size_parse(text, &bytes)) {
        snprintf(plain, sizeof(plain), "%" PRId64, bytes);
        if (bytes < 0 || (bytes <= exact && (!sbx_size_parse(plain, &again) || again != bytes)))
            abort();
    } else if (bytes != -1) {
        abort(); /* written without a size */
    }
    free(text);
    return 0;
}
