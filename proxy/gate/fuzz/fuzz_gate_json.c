/* gate.json. */
#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SBX_AUTO_PTR(sbx_config) c = NULL;
    struct sbx_err err = SBX_ERR_INIT;

    if (!sbx_config_parse((const char *)data, size, &c, &err))
        sbx_config_find(c, "api.example.com");
    return 0;
}
