#include <string.h>

#include "sbx/kit.h"

bool sbx_kit_name_reserved(const char *name)
{
    static const char *const names[] = { "shell", "shell-docker", "claude", "codex",
                                         "gemini", "cursor", "docker-agent" };

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}
