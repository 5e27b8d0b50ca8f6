#include "decode.h"

void sbx_decode_v2(struct sbx_decoder *d, const struct sbx_yaml_node *root, struct sbx_artifact *a)
{
    sbx_decode_block(d, &sbx_kit_v2, root, a);
    d->no_memory |= !sbx_flatten_launch(a);
    if (root->kind == SBX_YAML_MAPPING)
        sbx_decode_not_applied(d, root, a);
}
