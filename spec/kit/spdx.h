#ifndef SBX_KIT_SPDX_H
#define SBX_KIT_SPDX_H

#include "sbx/kit.h"

extern const char *const sbx_spdx_ids[], *const sbx_spdx_old_ids[];
extern const size_t sbx_n_spdx_ids, sbx_n_spdx_old_ids;

enum sbx_spdx { SBX_SPDX_UNKNOWN, SBX_SPDX_DEPRECATED, SBX_SPDX_KNOWN };

enum sbx_spdx sbx_spdx_status(const char *text);
/* The identifier that was probably meant, NULL: no idea. */
const char *sbx_spdx_suggest(const char *text);

#endif
