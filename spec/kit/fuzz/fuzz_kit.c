/* Any bytes give an artifact that can be printed, or a refusal with at least one finding. */
#include <stdint.h>

#include "sbx/kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    json_t *json;

    if (size > SBX_SPEC_MAX || sbx_diags_init(&diags))
        return 0;
    if (sbx_kit_load_bytes("spec.yaml", (const char *)data, size, &diags, &a, NULL) != SBX_OK) {
        if (!diags.errors)
            __builtin_trap();
    } else {
        json = sbx_artifact_json(a);
        if (!json)
            __builtin_trap(); /* text that is not UTF-8 must not come this far */
        json_decref(json);
    }
    json = sbx_diags_json(&diags);
    if (!json)
        __builtin_trap();
    json_decref(json);
    return 0;
}
