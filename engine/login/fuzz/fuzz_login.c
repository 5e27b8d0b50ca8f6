/* config.json from anywhere: no crash, no leak; helpers are not run (PATH is empty). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sbx/json.h"
#include "sbx/login.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const registries[] = { "docker.io", "localhost:5000", "ghcr.io" };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_JSON json_t *config = json_loadb((const char *)data, len, 0, NULL);

    setenv("PATH", "/nonexistent", 1);
    if (!config || !arena)
        return 0;
    for (size_t i = 0; i < SBX_ARRAY_LEN(registries); i++) {
        SBX_AUTO(sbx_login) login = { 0 };
        const char *remark = NULL;

        if (sbx_login_from(config, registries[i], arena, &login, &remark, NULL))
            continue;
        if (login.user && (strlen(login.user) > len || !login.secret))
            abort();
    }
    return 0;
}
