/**
 * @file
 * A sandbox as ls and inspect show it: JSON with the names that scripts for sbx know.
 */
#ifndef SBX_CLI_INFO_H
#define SBX_CLI_INFO_H

#include "cli.h"
#include "sbx/sandbox.h"

json_t *sbx_info_row_json(const struct sbx_sandbox_info *i);  /**< one of `ls`; NULL: no memory */
json_t *sbx_info_full_json(const struct sbx_sandbox_info *i); /**< `inspect`; NULL: no memory */
/** "PATH", "PATH (+2)"; in arena. */
const char *sbx_info_workspace(struct sbx_arena *arena, const struct sbx_sandbox_info *i);

#endif
