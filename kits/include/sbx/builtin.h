/**
 * @file
 * The kits compiled into the program: agents (kits/agents) and mixins (kits/mixins).
 */
#ifndef SBX_BUILTIN_H
#define SBX_BUILTIN_H

#include "sbx/kit.h"

extern const struct sbx_embedded_kit sbx_builtin_kits[]; /**< agents first, sorted by name */
extern const size_t sbx_builtin_kits_n;

/** Find by name; NULL: no such kit. */
const struct sbx_embedded_kit *sbx_builtin_kit(const char *name);

#endif
