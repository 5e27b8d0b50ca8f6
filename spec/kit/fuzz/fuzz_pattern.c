/* Any text as a pattern: what the grammar takes, PCRE2 takes too, and matching ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../pattern_re.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbx_err err = SBX_ERR_INIT;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (!sbx_re_check(text, &err)) {
        enum sbx_code rc = sbx_re_match(text, "aaaaaaaaaaaaaaaaaaaaaaaaaa 1.20-\xc3\xa9", &err);

        if (rc && rc != SBX_CONFLICT && rc != SBX_LIMIT)
            abort();
    }
    free(text);
    return 0;
}
