/* First byte: which parser; the rest: its input. */
#include <stdint.h>
#include <string.h>

#include "store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void names(const char *text, bool layer)
{
    struct sbx_entry_name e;
    size_t len;

    if (sbx_entry_name(text, layer, &e, NULL))
        return;
    /* whatever came in, what comes out stays below the directory */
    len = strlen(e.path);
    if (e.path[0] == '/' || strcmp(e.path, "..") == 0 || strncmp(e.path, "../", 3) == 0 ||
        strstr(e.path, "/../") || (len >= 3 && strcmp(e.path + len - 3, "/..") == 0) ||
        strchr(e.name, '/') || e.parent_len > len)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbx_store_platform ours = { "linux", "amd64", 1 };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_manifest m, *list;
    struct sbx_index index;
    struct sbx_config config;
    SBX_AUTO_FREE char *text = NULL;
    enum sbx_code rc = SBX_OK;
    size_t n;

    if (!size || !arena || !(text = calloc(1, size)))
        return 0;
    memcpy(text, data + 1, size - 1);
    switch (data[0] % 7) {
    case 0:
        rc = sbx_manifest_docker(text, size - 1, arena, &list, &n, &err);
        break;
    case 1:
        rc = sbx_manifest_oci(text, size - 1, arena, &m, &err);
        break;
    case 2:
        rc = sbx_manifest_index(text, size - 1, &ours, arena, &index, &err);
        break;
    case 3:
        rc = sbx_config_parse(text, size - 1, arena, &config, &err);
        break;
    case 4:
        rc = sbx_layout_check(text, size - 1, &err);
        break;
    case 5:
        names(text, true);
        names(text, false);
        break;
    default:
        sbx_store_full_name(arena, text);
    }
    if (rc && !err.text[0])
        __builtin_trap(); /* an error without a reason */
    return 0;
}
