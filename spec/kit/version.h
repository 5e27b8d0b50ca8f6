/* Which grammar a spec is of. */
#ifndef SBX_KIT_VERSION_H
#define SBX_KIT_VERSION_H

#include "field.h"

/* An empty file, or a kit of version 3, is refused before its keys are looked at: SBX_SCHEMA. */
enum sbx_code sbx_kit_check_version(const char *file, const struct sbx_yaml_node *root,
                                    struct sbx_diags *diags);
/* Is it to be read by the grammar of version 2? A missing or unknown version is guessed from the keys. */
bool sbx_kit_is_version_2(const struct sbx_yaml_node *root);
/* What to write where the version is missing or unknown. */
void sbx_kit_version_hint(const struct sbx_yaml_node *root, char *out, size_t size);

#endif
