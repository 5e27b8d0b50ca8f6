/**
 * @file
 * The rules in force, as the gate has them or would have them.
 */
#ifndef SBX_CLI_POLICY_RULES_H
#define SBX_CLI_POLICY_RULES_H

#include "cli.h"

/**
 * gate.json of a sandbox, or (sandbox NULL) what one without kits would get.
 * @param ret the caller's to decref
 */
SBX_MUST_USE enum sbx_code sbx_rules_of(struct sbx_cli *cli, const char *sandbox, json_t **ret,
                                        struct sbx_err *err);

#endif
