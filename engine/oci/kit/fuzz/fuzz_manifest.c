/* A kit's manifest from anywhere. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "artifact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct kit_manifest m;

    if (kit_manifest_parse((const char *)data, len, &m, NULL))
        return 0;
    if (!sbx_digest_valid(m.config.digest) || m.config.size < 0 || m.config.size > SBX_SPEC_MAX)
        abort();
    if (m.has_layer && (!sbx_digest_valid(m.layer.digest) || m.layer.size < 0 ||
                        m.layer.size > SBX_KIT_LAYER_MAX))
        abort();
    return 0;
}
