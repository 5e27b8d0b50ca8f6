/* The file of the address map: what is taken in is found again under its address. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbx_names *n = sbx_names_new(-1);
    struct sbx_err err = SBX_ERR_INIT;
    struct in6_addr a, b;

    if (!n)
        return 0;
    if (!sbx_names_parse(n, (const char *)data, size, &err) &&
        sbx_names_give(n, "fuzz.example.com", 1000, &a) == SBX_NAME_GIVEN) {
        const char *name = sbx_names_find(n, &a);

        if (!name || strcmp(name, "fuzz.example.com") != 0 ||
            sbx_names_give(n, name, 1000, &b) != SBX_NAME_GIVEN || memcmp(&a, &b, sizeof(a)) != 0)
            abort();
        sbx_names_use(n, &a);
    }
    sbx_names_free(n);
    return 0;
}
