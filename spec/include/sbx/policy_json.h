/**
 * @file
 * Rules as JSON: the `rules` and `publicTestRanges` of gate.json (docs/gate-config.md, section 2).
 * The engine writes them, the gate reads them, both with these functions.
 */
#ifndef SBX_POLICY_JSON_H
#define SBX_POLICY_JSON_H

#include <jansson.h>

#include "sbx/policy.h"

/** {"id","decision","pattern","source","origin","consented"}; NULL: no memory, or not UTF-8. */
json_t *sbx_rule_json(const struct sbx_rule *r);
/** The list of all of them, in their order; NULL as above. */
json_t *sbx_rules_json(const struct sbx_rule *rules, size_t n);

/**
 * Build a policy from gate.json's values. Strict: unknown keys, wrong types, patterns that do not
 * parse and an id given twice are SBX_SCHEMA, and err names the rule.
 *
 * @param rules  the array
 * @param ranges array of CIDR strings, or NULL: none
 * @return SBX_OK, SBX_SCHEMA, SBX_LIMIT or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_policy_from_json(const json_t *rules, const json_t *ranges,
                                                struct sbx_policy **ret, struct sbx_err *err);

const char *sbx_decision_name(enum sbx_decision d);    /**< "allow", "deny" */
const char *sbx_rule_source_name(enum sbx_rule_source s); /**< "preset", "user", "kit" */

#endif
