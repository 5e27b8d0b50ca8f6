#include "sbx/builtin.h"

#include <string.h>

const struct sbx_embedded_kit *sbx_builtin_kit(const char *name)
{
    for (size_t i = 0; i < sbx_builtin_kits_n; i++)
        if (!strcmp(sbx_builtin_kits[i].name, name))
            return &sbx_builtin_kits[i];
    return NULL;
}
