/* Fields whose shape a row cannot say (custom.c). */
#ifndef SBX_KIT_CUSTOM_H
#define SBX_KIT_CUSTOM_H

#include "decode.h"

extern const struct sbx_block sbx_command_block;

sbx_custom_fn sbx_custom_version, sbx_custom_extends, sbx_custom_command, sbx_custom_context,
    sbx_custom_structure, sbx_custom_startup;
void sbx_finish_inject(struct sbx_decoder *d, const struct sbx_yaml_node *n, void *base);
void sbx_finish_resources(struct sbx_decoder *d, const struct sbx_yaml_node *n, void *base);

#endif
