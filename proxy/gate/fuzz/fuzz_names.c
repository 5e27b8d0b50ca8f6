/* The file of the address map: what is taken in is found again under its address. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sbx_names *n; /* one for all inputs: with its 640 KiB a new one takes longer than they do */
    struct sbx_err err = SBX_ERR_INIT;
    struct in6_addr a, b;

    if (!n && !(n = sbx_names_new(-1)))
        return 0;
    if (!sbx_names_parse(n, (const char *)data, size, &err) &&
        sbx_names_give(n, "fuzz.example.com", 1000, &a) == SBX_NAME_GIVEN) {
        const char *name = sbx_names_find(n, &a);

        if (!name || strcmp(name, "fuzz.example.com") != 0 ||
            sbx_names_give(n, name, 1000, &b) != SBX_NAME_GIVEN || memcmp(&a, &b, sizeof(a)) != 0)
            abort();
        sbx_names_use(n, &a);
    }
    sbx_names_clear(n);
    if (sbx_names_count(n))
        abort();
    return 0;
}
